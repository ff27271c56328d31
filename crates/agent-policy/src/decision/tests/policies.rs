//! What the configuration's `[permissions]` changes (PRM-7, PRM-11, PRM-12, PRM-13).

use agent_protocol::ToolRoles;

use super::*;
use crate::testing::core_tool;

fn judge_by(settings: &PolicySettings, tool: &ToolDescriptor, facts: &Facts) -> Verdict {
    decide(tool, facts, &rules(), settings, &Grants::new())
}

fn readonly(stance: Stance) -> PolicySettings {
    PolicySettings { readonly: stance, ..PolicySettings::default() }
}

fn list(hosts: &[&str], domains: &[&str]) -> HostList {
    HostList::new(&crate::testing::strings(hosts), &crate::testing::strings(domains))
}

/// The verdict in a word, for tables.
fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow { .. } => "allow",
        Verdict::Ask(_) => "ask",
        Verdict::Deny { .. } => "deny",
    }
}

/// PRM-11: `readonly_default` is about calls that only look; what asks anyway still asks or is refused, writes are none
/// of its business.
#[test]
fn readonly_default() {
    let plain = touching(Access::Read, "/t/ws/src/a.rs");
    let secret = touching(Access::Read, "/t/ws/.env");
    let write = touching(Access::Write, "/t/ws/a");
    for (stance, expected) in
        [(Stance::Allow, ["allow", "ask", "ask"]), (Stance::Ask, ["ask"; 3]), (Stance::Deny, ["deny", "deny", "ask"])]
    {
        let settings = readonly(stance);
        let verdicts = [
            judge_by(&settings, &read_file(), &plain),
            judge_by(&settings, &read_file(), &secret),
            judge_by(&settings, &edit_file(), &write),
        ];
        assert_eq!(verdicts.each_ref().map(word), expected, "{stance:?}");
    }
    let asked = question(judge_by(&readonly(Stance::Ask), &read_file(), &plain));
    assert_eq!(asked.reasons, ["code.read_file reads, and reading asks here"]);
    assert_eq!(asked.grant_covers.as_deref(), Some("reads of files directly in src/ by code.read_file"));
    assert_eq!(asked.unattended, Unattended::Deny(ErrorCode::PermissionDenied));
    let Verdict::Deny { code, reason } = judge_by(&readonly(Stance::Deny), &read_file(), &plain) else { panic!() };
    assert_eq!(code, ErrorCode::PermissionDenied);
    assert!(reason.contains("permissions.readonly_default"), "{reason}");
}

/// PRM-11: where nobody can be asked, `write_without_callback` lets plain writes inside the roots run and nothing else.
#[test]
fn write_without_callback() {
    let settings = PolicySettings { unattended_writes: true, ..PolicySettings::default() };
    let network = tool("x.put", Permission::Write, &["network"]);
    let dangerous = tool("x.wipe", Permission::Write, &["dangerous"]);
    let write = |path| touching(Access::Write, path);
    let warned = Facts { dangers: vec!["it hides bytes".to_owned()], ..write("/t/ws/a") };
    let sent = Facts { network_host: Some("h".to_owned()), ..write("/t/ws/a") };
    let mixed =
        Facts { targets: vec![target(Access::Write, "/t/ws/a"), target(Access::Write, "/t/x")], ..Facts::default() };
    let peeks = Facts {
        targets: vec![target(Access::Write, "/t/ws/a"), target(Access::Read, "/t/ws/.env")],
        ..Facts::default()
    };
    let command = command("/bin/x", "/t/ws", &["x"]);
    for (definition, facts, expected) in [
        (edit_file(), write("/t/ws/src/a.rs"), "allow"),
        (edit_file(), write("/t/out/a"), "allow"),
        (edit_file(), write("/tmp/a"), "allow"),
        (edit_file(), write("/t/x"), "deny"),
        (edit_file(), write("/t/ws/.env"), "deny"),
        (edit_file(), write("/t/ws/.git/config"), "deny"),
        (edit_file(), write("/home/u/.soong-agent/config.toml"), "deny"),
        (edit_file(), warned, "deny"),
        (edit_file(), mixed, "deny"),
        (edit_file(), peeks, "deny"),
        (edit_file(), sent, "deny"),
        (network, write("/t/ws/a"), "deny"),
        (dangerous, write("/t/ws/a"), "deny"),
        (run_command(), command, "deny"),
        (tool("x.y", Permission::Write, &[]), Facts::default(), "deny"),
        (read_file(), touching(Access::Read, "/t/ws/.env"), "deny"),
    ] {
        let verdict = judge_by(&settings, &definition, &facts);
        assert_eq!(word(&verdict.clone().unattended()), expected, "{} {facts:?}", definition.name());
        assert_eq!(word(&verdict.clone()), if matches!(verdict, Verdict::Deny { .. }) { "deny" } else { "ask" });
        // Without the setting nothing runs unasked.
        assert_eq!(word(&judge_by(&PolicySettings::default(), &definition, &facts).unattended()), "deny");
    }
}

/// PRM-7, PRM-12: what the network policy makes of a call, by default, trusted hosts, and the outer limit.
#[test]
fn network() {
    let get = tool("web.get", Permission::Readonly, &["network"]);
    let untagged = tool("web.get", Permission::Readonly, &[]);
    let put = tool("web.put", Permission::Write, &["network"]);
    let trusted = || list(&["api.example.com"], &["example.org"]);
    let limit = || list(&["api.example.com"], &["example.org", "example.net"]);
    let (trusting, limited) = (list(&[], &[]), list(&[], &[]));
    let to = |host: &str| Facts { network_host: Some(host.to_owned()), ..Facts::default() };
    let unknown = Facts::default;
    // definition, facts, default, trusted, limit, expected
    for (definition, facts, default, trusted, limit, expected) in [
        (&get, to("a.b"), Stance::Allow, trusting.clone(), limited.clone(), "allow"),
        (&get, to("a.b"), Stance::Ask, trusting.clone(), limited.clone(), "ask"),
        (&get, to("a.b"), Stance::Deny, trusting.clone(), limited.clone(), "deny"),
        (&get, unknown(), Stance::Allow, trusting.clone(), limited.clone(), "allow"),
        (&get, unknown(), Stance::Ask, trusting.clone(), limited.clone(), "ask"),
        (&get, unknown(), Stance::Deny, trusted(), limited.clone(), "deny"),
        (&untagged, to("a.b"), Stance::Ask, trusting.clone(), limited.clone(), "ask"),
        (&untagged, to("a.b"), Stance::Deny, trusting.clone(), limited.clone(), "deny"),
        (&untagged, unknown(), Stance::Deny, trusting.clone(), limit(), "allow"),
        (&get, to("api.example.com"), Stance::Ask, trusted(), limited.clone(), "allow"),
        (&get, to("API.Example.com."), Stance::Deny, trusted(), limited.clone(), "allow"),
        (&get, to("x.api.example.com"), Stance::Ask, trusted(), limited.clone(), "ask"),
        (&get, to("example.org"), Stance::Ask, trusted(), limited.clone(), "allow"),
        (&get, to("deep.in.example.org"), Stance::Ask, trusted(), limited.clone(), "allow"),
        (&get, to("badexample.org"), Stance::Ask, trusted(), limited.clone(), "ask"),
        (&get, to("example.org.evil.com"), Stance::Ask, trusted(), limited.clone(), "ask"),
        (&put, to("api.example.com"), Stance::Allow, trusted(), limited.clone(), "ask"),
        (&put, to("a.b"), Stance::Deny, trusted(), limited.clone(), "deny"),
        (&get, to("example.net"), Stance::Ask, trusted(), limit(), "ask"),
        (&get, to("example.net"), Stance::Allow, trusted(), limit(), "allow"),
        (&get, to("a.b"), Stance::Allow, trusted(), limit(), "deny"),
        (&put, to("a.b"), Stance::Allow, trusted(), limit(), "deny"),
        (&get, unknown(), Stance::Allow, trusted(), limit(), "deny"),
    ] {
        let settings =
            PolicySettings { network: NetworkPolicy { default, trusted, limit }, ..PolicySettings::default() };
        let verdict = judge_by(&settings, definition, &facts);
        assert_eq!(word(&verdict), expected, "{} {:?} {settings:?}", definition.name(), facts.network_host);
        if let Verdict::Deny { code, .. } = verdict {
            assert_eq!(code, ErrorCode::PermissionDenied);
        }
    }
}

/// PRM-12: reading that asks still asks when the host is trusted, and the file it sends is still sensitive.
#[test]
fn trust_is_about_the_host_only() {
    let get = tool("web.get", Permission::Readonly, &["network"]);
    let network = NetworkPolicy { trusted: list(&["h"], &[]), ..NetworkPolicy::default() };
    let settings = PolicySettings { readonly: Stance::Ask, network: network.clone(), ..PolicySettings::default() };
    let to = Facts { network_host: Some("h".to_owned()), ..Facts::default() };
    assert_eq!(word(&judge_by(&settings, &get, &to)), "ask");
    let settings = PolicySettings { network, ..PolicySettings::default() };
    let upload = Facts { network_host: Some("h".to_owned()), ..touching(Access::Read, "/t/ws/.env") };
    assert_eq!(word(&judge_by(&settings, &get, &upload)), "ask");
    assert_eq!(word(&judge_by(&settings, &get, &to)), "allow");
}

/// PRM-12: names compare without case and final dot, addresses by value; an address lies in no domain.
#[test]
fn hosts() {
    let list = list(&["Example.COM.", "10.0.0.1", "[::1]", "::ffff:10.0.0.9"], &["corp.example", "1"]);
    for host in
        ["example.com", "EXAMPLE.com.", "10.0.0.1", "::1", "[0:0::1]", "::ffff:10.0.0.1", "10.0.0.9", "x.corp.example"]
    {
        assert!(list.covers(host), "{host}");
    }
    for host in
        ["", ".", "www.example.com", "10.0.0.2", "10.0.0.1.evil.com", ".corp.example", "127.0.0.1", "corp.example.com"]
    {
        assert!(!list.covers(host), "{host}");
    }
}

/// PRM-13: tools of core never ask, whatever the policies say; nothing else is let through by its name.
#[test]
fn core_tools_never_ask() {
    let strict = PolicySettings {
        readonly: Stance::Deny,
        network: NetworkPolicy { default: Stance::Deny, ..NetworkPolicy::default() },
        ..PolicySettings::default()
    };
    for name in ["agent.task_create", "internal.load_skill"] {
        for permission in [Permission::Readonly, Permission::Write] {
            let mut tool = core_tool(name, ToolRoles::ALL);
            tool.definition.permission = permission;
            assert_eq!(word(&judge_by(&strict, &tool, &Facts::default())), "allow", "{name}");
        }
    }
    for name in ["agent.task_create", "internal.load_skill", "agents.x", "mcp.agent.x", "internal", "Internal.x"] {
        let verdict = judge_by(&PolicySettings::default(), &tool(name, Permission::Write, &[]), &Facts::default());
        assert_eq!(word(&verdict), "ask", "{name}");
    }
    // Not even core writes where nobody may.
    let write = touching(Access::Write, "/home/u/.soong-agent/memory/a.md");
    assert_eq!(word(&judge_by(&strict, &core_tool("agent.x", ToolRoles::ALL), &write)), "deny");
}
