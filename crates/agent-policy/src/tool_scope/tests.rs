use super::*;
use crate::{
    decision::{HostList, NetworkPolicy},
    testing::tool,
};

const AGENT_TOOLS: &[&str] = &[
    "agent.list_agent_definitions",
    "agent.create_sub_agent",
    "agent.fork_agent",
    "agent.list_workers",
    "agent.dispatch_worker",
    "agent.plan_template",
    "agent.task_template",
    "agent.task_create",
    "agent.task_get",
    "agent.task_list",
    "agent.task_update",
    "agent.task_query_steps",
    "agent.task_claim_step",
    "agent.task_update_step",
    "agent.task_complete",
    "agent.task_fail",
    "agent.task_cancel",
    "internal.recall_memory",
    "internal.load_skill",
    "code.read_file",
];

fn withheld(
    role: AgentRole,
    disabled: &[&str],
    policy: &PolicySettings,
    requested: Option<&[&str]>,
    tool: &ToolDefinition,
) -> Option<Withheld> {
    let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<HashSet<_>>();
    let (disabled, requested) = (set(disabled), requested.map(set));
    ToolScope { role, disabled: &disabled, policy, requested: requested.as_ref() }.withholds(tool)
}

fn reads(name: &str, tags: &[&str]) -> ToolDefinition {
    tool(name, Permission::Readonly, tags)
}

/// TOL-4: each role gets what the table of roles says; children get nothing that plans, lists, or makes tasks or children.
#[test]
fn roles() {
    let default = PolicySettings::default();
    let of = |role| -> Vec<&str> {
        let has = |name: &&&str| withheld(role, &[], &default, None, &reads(name, &[])).is_none();
        AGENT_TOOLS.iter().filter(has).map(|name| name.trim_start_matches("agent.")).collect()
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
    let asked = |role| withheld(role, &[], &default, None, &reads("agent.task_create", &[]));
    assert_eq!(asked(AgentRole::Main), Some(Withheld::ModeRestricted));
    assert_eq!(asked(AgentRole::Sub), Some(Withheld::PolicyRestricted));
}

/// TOL-4: configuration, permissions and what was asked for only take away, and each says so.
#[test]
fn everything_only_narrows() {
    let default = PolicySettings::default();
    let main = |disabled, policy, requested, tool: &ToolDefinition| {
        withheld(AgentRole::Main, disabled, policy, requested, tool)
    };
    let read = reads("code.read_file", &[]);
    assert_eq!(main(&[], &default, None, &read), None);
    assert_eq!(main(&["code.read_file"], &default, None, &read), Some(Withheld::DisabledByConfig));
    assert_eq!(main(&[], &default, Some(&["code.search"]), &read), Some(Withheld::NotRequested));
    assert_eq!(main(&[], &default, Some(&["code.read_file"]), &read), None);
    // Asking for it does not bring back what is disabled, or what a role does not get.
    assert_eq!(main(&["code.read_file"], &default, Some(&["code.read_file"]), &read), Some(Withheld::DisabledByConfig));
    let claim = reads("agent.task_claim_step", &[]);
    assert_eq!(main(&[], &default, Some(&["agent.task_claim_step"]), &claim), Some(Withheld::ModeRestricted));

    let no_reads = PolicySettings { readonly: Stance::Deny, ..PolicySettings::default() };
    assert_eq!(main(&[], &no_reads, None, &read), Some(Withheld::PermissionDenied));
    assert_eq!(main(&[], &no_reads, None, &reads("internal.load_skill", &[])), None);
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
