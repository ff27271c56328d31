use agent_protocol::ToolRoles;

use super::*;
use crate::{
    decision::{HostList, NetworkPolicy},
    testing::{core_tool, edit_file, read_file, run_command, tool},
};

const TASK_READERS: ToolRoles = ToolRoles::only(&[AgentRole::Orchestrator, AgentRole::Worker]);
const ORCHESTRATOR: ToolRoles = ToolRoles::only(&[AgentRole::Orchestrator]);
const MAIN: ToolRoles = ToolRoles::only(&[AgentRole::Main]);

/// The table of roles (11-agents), as the tools' definitions say it.
fn table() -> Vec<ToolDescriptor> {
    [
        ("agent.list_agent_definitions", ToolRoles::ROOT),
        ("agent.create_sub_agent", MAIN),
        ("agent.fork_agent", MAIN),
        ("agent.list_workers", ORCHESTRATOR),
        ("agent.dispatch_worker", ORCHESTRATOR),
        ("agent.plan_template", ToolRoles::ROOT),
        ("agent.task_template", ORCHESTRATOR),
        ("agent.task_create", ORCHESTRATOR),
        ("agent.task_get", TASK_READERS),
        ("agent.task_list", ORCHESTRATOR),
        ("agent.task_update", ORCHESTRATOR),
        ("agent.task_query_steps", TASK_READERS),
        ("agent.task_claim_step", ToolRoles::only(&[AgentRole::Worker])),
        ("agent.task_update_step", TASK_READERS),
        ("agent.task_complete", ORCHESTRATOR),
        ("agent.task_fail", ORCHESTRATOR),
        ("agent.task_cancel", ORCHESTRATOR),
        ("internal.recall_memory", ToolRoles::ROOT),
        ("internal.load_skill", ToolRoles::ALL),
    ]
    .map(|(name, roles)| core_tool(name, roles))
    .into_iter()
    .chain([read_file()])
    .collect()
}

fn of_table(name: &str) -> ToolDescriptor {
    table().into_iter().find(|tool| tool.name() == name).unwrap()
}

fn withheld(
    role: AgentRole,
    disabled: &[&str],
    policy: &PolicySettings,
    requested: Option<&[&str]>,
    tool: &ToolDescriptor,
) -> Option<Withheld> {
    let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<HashSet<_>>();
    let (disabled, requested) = (set(disabled), requested.map(set));
    ToolScope { role, disabled: &disabled, policy, requested: requested.as_ref() }.withholds(tool)
}

fn reads(name: &str, tags: &[&str]) -> ToolDescriptor {
    tool(name, Permission::Readonly, tags)
}

/// TOL-4: each role gets what the table of roles says; children get nothing that plans, lists, or makes tasks or children.
#[test]
fn roles() {
    let default = PolicySettings::default();
    let of = |role| -> Vec<String> {
        let has = |tool: &ToolDescriptor| withheld(role, &[], &default, None, tool).is_none();
        table()
            .iter()
            .filter(|tool| has(tool))
            .map(|tool| tool.name().trim_start_matches("agent.").to_owned())
            .collect()
    };
    let everybody = ["internal.load_skill", "code.read_file"];
    let main = ["list_agent_definitions", "create_sub_agent", "fork_agent", "plan_template", "internal.recall_memory"];
    assert_eq!(of(AgentRole::Main), [&main[..], &everybody].concat());
    let orchestrator = [
        "list_agent_definitions",
        "list_workers",
        "dispatch_worker",
        "plan_template",
        "task_template",
        "task_create",
        "task_get",
        "task_list",
        "task_update",
        "task_query_steps",
        "task_update_step",
        "task_complete",
        "task_fail",
        "task_cancel",
        "internal.recall_memory",
    ];
    assert_eq!(of(AgentRole::Orchestrator), [&orchestrator[..], &everybody].concat());
    let worker = ["task_get", "task_query_steps", "task_claim_step", "task_update_step"];
    assert_eq!(of(AgentRole::Worker), [&worker[..], &everybody].concat());
    for child in [AgentRole::Sub, AgentRole::Fork] {
        assert_eq!(of(child), everybody);
    }
    let asked = |role| withheld(role, &[], &default, None, &of_table("agent.task_create"));
    assert_eq!(asked(AgentRole::Main), Some(Withheld::ModeRestricted));
    assert_eq!(asked(AgentRole::Sub), Some(Withheld::PolicyRestricted));
}

/// TOL-4: configuration, permissions and what was asked for only take away, and each says so.
#[test]
fn everything_only_narrows() {
    let default = PolicySettings::default();
    let main = |disabled, policy, requested, tool: &ToolDescriptor| {
        withheld(AgentRole::Main, disabled, policy, requested, tool)
    };
    let read = reads("code.read_file", &[]);
    assert_eq!(main(&[], &default, None, &read), None);
    assert_eq!(main(&["code.read_file"], &default, None, &read), Some(Withheld::DisabledByConfig));
    assert_eq!(main(&[], &default, Some(&["code.search"]), &read), Some(Withheld::NotRequested));
    assert_eq!(main(&[], &default, Some(&["code.read_file"]), &read), None);
    // Asking for it does not bring back what is disabled, or what a role does not get.
    assert_eq!(main(&["code.read_file"], &default, Some(&["code.read_file"]), &read), Some(Withheld::DisabledByConfig));
    let claim = of_table("agent.task_claim_step");
    assert_eq!(main(&[], &default, Some(&["agent.task_claim_step"]), &claim), Some(Withheld::ModeRestricted));

    let no_reads = PolicySettings { readonly: Stance::Deny, ..PolicySettings::default() };
    assert_eq!(main(&[], &no_reads, None, &read), Some(Withheld::PermissionDenied));
    assert_eq!(main(&[], &no_reads, None, &of_table("internal.load_skill")), None);
    assert_eq!(main(&[], &no_reads, None, &tool("code.edit_file", Permission::Write, &[])), None);

    let get = reads("web.get", &["network"]);
    let offline = |trusted| PolicySettings {
        network: NetworkPolicy { default: Stance::Deny, trusted, ..NetworkPolicy::default() },
        ..PolicySettings::default()
    };
    let (nobody, somebody) = (offline(HostList::default()), offline(HostList::new(&["h".to_owned()], &[])));
    assert_eq!(main(&[], &nobody, None, &get), Some(Withheld::PermissionDenied));
    assert_eq!(main(&[], &somebody, None, &get), None);
}

/// AGT-8, AGT-3: a child has a default set and a higher ceiling; a request replaces the default within the ceiling.
#[test]
fn a_request_replaces_the_default() {
    let default = PolicySettings::default();
    for role in [AgentRole::Sub, AgentRole::Fork, AgentRole::Worker] {
        let of = |requested: Option<&[&str]>, tool: &ToolDescriptor| withheld(role, &[], &default, requested, tool);
        assert_eq!(of(None, &read_file()), None);
        for writes in [edit_file(), run_command()] {
            assert_eq!(of(None, &writes), Some(Withheld::NotRequested));
            assert_eq!(of(Some(&[writes.name()]), &writes), None);
        }
        assert_eq!(of(Some(&["code.edit_file"]), &read_file()), Some(Withheld::NotRequested));
        let plan = of_table("agent.plan_template");
        assert_eq!(of(Some(&["agent.plan_template"]), &plan), Some(Withheld::PolicyRestricted));
    }
    let own = withheld(AgentRole::Main, &[], &default, None, &edit_file());
    assert_eq!(own, None, "the session's own agent has no smaller default");
}

/// AGT-3: what no request can bring is told apart from what was not asked for.
#[test]
fn the_ceiling() {
    let policy = PolicySettings::default();
    let disabled = HashSet::from(["code.read_file".to_owned()]);
    let scope = ToolScope { role: AgentRole::Sub, disabled: &disabled, policy: &policy, requested: None };
    assert_eq!(scope.excludes(&edit_file()), None);
    assert_eq!(scope.excludes(&read_file()), Some(Withheld::DisabledByConfig));
    assert_eq!(scope.excludes(&of_table("agent.fork_agent")), Some(Withheld::PolicyRestricted));
    let reasons = |withheld: Withheld| withheld.unavailable().map(agent_protocol::UnavailableReason::as_str);
    assert_eq!(reasons(Withheld::ModeRestricted), Some("mode_restricted"));
    assert_eq!(reasons(Withheld::NotRequested), None);
}
