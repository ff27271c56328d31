use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_engine::{ContextMark, TokenCounter, fixed_parts};
use agent_protocol::{
    AgentId, AgentRole, ContentBlock, ErrorCode, ErrorPayload, NodeType, Permission, RoleAccess, RunId, SessionId,
    SystemPrompt, ToolCallId, ToolClass, ToolDefinition, ToolList, ToolOrigin, ToolRequirement,
};
use agent_redact::KnownSecrets;
use agent_testkit::scratch;
use agent_tool::{
    ArtifactFile, ArtifactSink, CallContext, CallGroup, Fence, FileVersion, FileVersions, NoChildren, NoTasks,
    NoWorkers, NothingLoaded, ProgressSink, Registry, Tool, ToolOutput, WriteGuard,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{CoreToolSettings, core_tools};

/// Keeps nothing and knows nothing.
struct Nothing;

impl ArtifactSink for Nothing {
    fn begin(&self, _: &str, _: &str) -> io::Result<Box<dyn ArtifactFile>> {
        Err(io::Error::other("nothing is kept here"))
    }
}

impl FileVersions for Nothing {
    fn seen(&self, _: &Path) -> Option<FileVersion> {
        None
    }

    fn read(&self, _: &Path, _: FileVersion) {}

    fn wrote(&self, _: &Path, _: FileVersion) {}

    fn writer(&self, _: &Path, _: FileVersion) -> Option<String> {
        None
    }

    fn exclusive(&self, _: &Path) -> WriteGuard {
        WriteGuard::free()
    }
}

fn context(secrets: KnownSecrets) -> CallContext {
    CallContext {
        session_id: SessionId::parse("sess_1").unwrap(),
        agent_id: AgentId::parse("agent_1").unwrap(),
        run_id: RunId::parse("run_1").unwrap(),
        tool_call_id: ToolCallId::parse("call_1").unwrap(),
        cancel: CancellationToken::new(),
        fence: Fence::new(),
        progress: ProgressSink::ignored(),
        artifacts: Arc::new(Nothing),
        versions: Arc::new(Nothing),
        children: Arc::new(NoChildren),
        workers: Arc::new(NoWorkers),
        tasks: Arc::new(NoTasks),
        loaded: Arc::new(NothingLoaded),
        result_bytes: 64 * 1024,
        group: CallGroup::default(),
        secrets,
    }
}

fn no_secrets() -> KnownSecrets {
    KnownSecrets::new([("", ""); 0]).unwrap()
}

/// A home with a folder of skills.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let home = scratch(&format!("core-tools-{name}")).canonicalize().unwrap();
        std::fs::create_dir_all(home.join("skills")).unwrap();
        Self(home)
    }

    fn skill(&self, name: &str, body: &str) {
        let text = format!("---\nname: {name}\ndescription: For a test.\n---\n{body}");
        std::fs::write(self.skills().join(format!("{name}.md")), text).unwrap();
    }

    fn skills(&self) -> PathBuf {
        self.0.join("skills")
    }

    fn settings(&self, skill_tokens: u64) -> CoreToolSettings {
        CoreToolSettings {
            project: self.0.join("project"),
            skills_dir: self.skills(),
            skill_tokens,
            plan_template: "default".to_owned(),
            plans_dir: self.0.join("project/.soong-agent/plans"),
        }
    }
}

fn registry(settings: &CoreToolSettings) -> Registry<Arc<dyn Tool>> {
    let mut registry = Registry::new();
    for tool in core_tools(settings) {
        registry.add(ToolOrigin::Core, tool).unwrap();
    }
    registry
}

/// Both phases of a call, arguments checked before.
async fn call_with(
    settings: &CoreToolSettings,
    name: &str,
    arguments: Value,
    context: CallContext,
) -> Result<ToolOutput, ErrorPayload> {
    let registry = registry(settings);
    let tool = registry.get(name).unwrap();
    let arguments = tool.check_arguments(arguments.as_object().unwrap().clone(), &context.secrets)?;
    let prepared = tool.binding().prepare(arguments, context).await?;
    let mut output = prepared.call.run().await;
    match output.error.take() {
        Some(error) => Err(error),
        None => Ok(output),
    }
}

async fn call(settings: &CoreToolSettings, name: &str, arguments: Value) -> Result<ToolOutput, ErrorPayload> {
    call_with(settings, name, arguments, context(no_secrets())).await
}

fn text(content: &[ContentBlock]) -> String {
    content.iter().filter_map(ContentBlock::to_model_text).collect()
}

/// TOL-6, RUN-11, PRM-13: names and parameters are the contract's, all optional ones are; the calls keep their order and
/// nobody is asked.
#[test]
fn definitions_are_the_contracts() {
    let registry = registry(&Home::new("definitions").settings(100));
    let mut shapes = Vec::new();
    for tool in registry.iter().filter(|tool| has_no_tests_elsewhere(tool.definition())) {
        let definition = tool.definition();
        assert!(tool.descriptor().is_of_core() && definition.permission == Permission::Readonly);
        assert_eq!(tool.class(), ToolClass::Ordered);
        let schema = &definition.input_schema;
        let parameters: Vec<_> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let required = schema.get("required").map_or(0, |required| required.as_array().unwrap().len());
        shapes.push(format!("{}({}) {required}", definition.name, parameters.join(", ")));
    }
    assert_eq!(
        shapes,
        ["agent.plan_template(goal, suggested_dir) 0", "agent.task_template(goal) 0", "internal.load_skill(name) 1"]
    );
}

/// TOL-4: the rows of the table of roles that there are tools for, and what a tool needs to be offered.
#[test]
fn roles_are_the_tables() {
    let registry = registry(&Home::new("roles").settings(100));
    let everybody = ["main", "orchestrator", "sub", "fork", "worker"];
    for (name, roles, requires) in [
        ("agent.plan_template", &everybody[..2], None),
        ("agent.task_template", &everybody[1..2], None),
        ("internal.load_skill", &everybody[..], Some(ToolRequirement::Skills)),
    ] {
        let tool = registry.get(name).unwrap().descriptor();
        let has = |role: &&AgentRole| tool.roles.access(**role) == RoleAccess::ByDefault;
        let found: Vec<_> = AgentRole::ALL.iter().filter(has).map(|role| role.as_str()).collect();
        assert_eq!((found, tool.requires), (roles.to_vec(), requires), "{name}");
    }
    let others = registry.iter().filter(|tool| has_no_tests_elsewhere(tool.definition()));
    assert_eq!(others.count(), 3, "every tool is in the table above");
}

/// Not so the tools of agents and of Tasks.
fn has_no_tests_elsewhere(definition: &ToolDefinition) -> bool {
    !definition.name.starts_with("agent.") || definition.name.ends_with("_template")
}

/// AST-4: what a run pays for them in every request.
#[test]
fn definitions_are_short() {
    let registry = registry(&Home::new("short").settings(100));
    let most = [
        ("internal.load_skill", 60),
        ("agent.plan_template", 70),
        ("agent.task_template", 70),
        ("agent.list_agent_definitions", 50),
        ("agent.create_sub_agent", 190),
        ("agent.fork_agent", 150),
        ("agent.list_workers", 60),
        ("agent.dispatch_worker", 240),
        ("agent.task_create", 300),
        ("agent.task_get", 90),
        ("agent.task_list", 150),
        ("agent.task_update", 520),
        ("agent.task_query_steps", 240),
        ("agent.task_claim_step", 100),
        ("agent.task_update_step", 200),
        ("agent.task_complete", 90),
        ("agent.task_fail", 90),
        ("agent.task_cancel", 90),
    ];
    let tokens = |name: &str| -> u64 {
        let tools = ToolList::from(vec![registry.get(name).unwrap().definition().clone()]);
        fixed_parts(&SystemPrompt::default(), &tools).iter().map(|(_, tokens)| tokens).sum()
    };
    let longer = most.iter().filter(|(name, most)| tokens(name) > *most);
    let longer: Vec<_> = longer.map(|(name, _)| (name, tokens(name))).collect();
    assert!(longer.is_empty(), "{longer:?}");
}

/// SKL-2, TYP-3: the result says what was done; the node says where the text comes from, and is marked for SKL-3.
#[tokio::test]
async fn a_skill_becomes_a_node() {
    let home = Home::new("node");
    home.skill("review", "\n# Review\nLook twice.\n\n");
    let output = call(&home.settings(1000), "internal.load_skill", json!({"name": " review"})).await.unwrap();
    let path = home.skills().join("review.md");
    let path = path.to_str().unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&text(&output.content)).unwrap(),
        json!({"name": "review", "path": path, "already_loaded": false, "truncated": false})
    );
    let [entry] = output.context.as_slice() else { panic!("{output:?}") };
    assert_eq!((entry.node_type, text(&entry.content).as_str()), (NodeType::SkillContext, "# Review\nLook twice."));
    let hash = entry.metadata["hash"].as_str().unwrap();
    let mark = ContextMark {
        items: vec![("review".to_owned(), hash.to_owned())],
        call: Some(ToolCallId::parse("call_1").unwrap()),
    };
    assert_eq!(ContextMark::read(&entry.metadata), Some(mark));
    assert_eq!((entry.metadata["path"].as_str(), entry.metadata["name"].as_str()), (Some(path), Some("review")));
}

/// CTX-4: whatever its text is, a skill takes at most its room with its frame, so that it can stay; and nothing between what
/// it shows and the line it names is missing.
#[tokio::test]
async fn a_long_skill_keeps_to_its_room() {
    let home = Home::new("room");
    let bodies = [
        (0..400).map(|line| format!("{line}. Do this and that.\n")).collect::<String>(),
        "\n\n你好，世界。\r\n".repeat(300),
        "no line end at all ".repeat(300),
        format!("first\n{}", "x".repeat(9000)),
        // More than is ever read of a file.
        "a line of thirty-two characters\n".repeat(20_000),
    ];
    for (at, body) in bodies.iter().enumerate() {
        home.skill("long", body);
        let file = std::fs::read_to_string(home.skills().join("long.md")).unwrap();
        for room in [150, 400, 1000, 100_000] {
            let output = call(&home.settings(room), "internal.load_skill", json!({"name": "long"})).await.unwrap();
            let truncated = text(&output.content).contains("\"truncated\":true");
            let shown = text(&output.context[0].content);
            let framed = ContentBlock::text(format!("<skill name=\"long\">\n{shown}\n</skill>"));
            let tokens = TokenCounter.message(&[framed]);
            assert!(tokens <= room, "body {at}: {tokens} of {room}");
            if !truncated {
                assert_eq!(shown, body.trim(), "body {at}, {room}");
                continue;
            }
            let (kept, note) = shown.rsplit_once("\n\n[").unwrap_or_else(|| panic!("body {at}: {shown}"));
            let line = note.split("start_line ").nth(1).and_then(|rest| rest.strip_suffix(".]")).unwrap();
            let line: usize = line.parse().unwrap();
            let rest: Vec<_> = file.lines().skip(line - 1).collect();
            let before: Vec<_> = file.lines().take(line - 1).skip(4).collect();
            assert!(!rest.is_empty(), "body {at}, {room}");
            let kept_lines: Vec<_> = kept.lines().collect();
            if before.iter().any(|line| !line.trim().is_empty()) {
                let joined = before.join("\n");
                assert_eq!(kept_lines.join("\n"), joined.trim(), "body {at}, {room}");
            } else {
                assert!(rest[0].starts_with(kept), "body {at}, {room}: the first line alone is too long");
            }
        }
    }
}

/// SKL-2: what cannot be loaded is an error that says what there is, or where the fault lies, and what to do.
#[tokio::test]
async fn what_cannot_be_loaded() {
    let home = Home::new("errors");
    let load = async |name: &str| {
        call(&home.settings(1000), "internal.load_skill", json!({ "name": name })).await.unwrap_err()
    };
    let error = load("review").await;
    assert_eq!(error.code, ErrorCode::SkillNotFound);
    assert!(error.message.contains("there are no skills in"), "{error}");
    home.skill("release-notes", "Write them.");
    home.skill("empty", " \n\n");
    std::fs::write(home.skills().join("broken.md"), "---\nname: x\ndescription: [1, 2\n---\nText\n").unwrap();
    let error = load("release_note").await;
    assert_eq!((error.code, &error.details["near"]), (ErrorCode::SkillNotFound, &json!(["release-notes"])));
    assert!(error.message.contains("`release-notes`"), "{error}");
    let error = load("something else").await;
    assert!(error.message.contains("there is only") && error.message.contains("`release-notes`"), "{error}");
    for (name, line, said) in [("broken", true, "line "), ("empty", false, "behind its frontmatter")] {
        let error = load(name).await;
        assert_eq!(error.code, ErrorCode::SkillLoadFailed, "{error}");
        assert!(error.details["path"].as_str().unwrap().ends_with(&format!("{name}.md")), "{error:?}");
        assert_eq!(error.details.contains_key("line") && error.details.contains_key("column"), line, "{error:?}");
        for part in [said, &format!("{name}.md"), "tell the user"] {
            assert!(error.message.contains(part), "{part}: {error}");
        }
    }
}

/// STO-10: a known secret in a skill's file, or in a goal, does not get into a node.
#[tokio::test]
async fn known_secrets_stay_out_of_nodes() {
    let home = Home::new("secrets");
    home.skill("deploy", "Use the key hunter2-hunter2-hunter2.");
    for (name, arguments) in [
        ("internal.load_skill", json!({"name": "deploy"})),
        ("agent.plan_template", json!({"goal": "rotate hunter2-hunter2-hunter2"})),
    ] {
        let secrets = KnownSecrets::new([("KEY", "hunter2-hunter2-hunter2")]).unwrap();
        let output = call_with(&home.settings(1000), name, arguments, context(secrets)).await.unwrap();
        let entry = &output.context[0];
        let stored = format!("{} {}", text(&entry.content), Value::Object(entry.metadata.clone()));
        assert!(stored.contains("KEY") && !stored.contains("hunter2"), "{name}: {stored}");
    }
}

/// RUN-17: a call that is cancelled before it begins does nothing.
#[tokio::test]
async fn a_cancelled_call_loads_nothing() {
    let home = Home::new("cancelled");
    home.skill("review", "Look.");
    let context = context(no_secrets());
    context.cancel.cancel();
    let error = call_with(&home.settings(1000), "internal.load_skill", json!({"name": "review"}), context).await;
    assert_eq!(error.unwrap_err().code, ErrorCode::Cancelled);
}

/// PLN-1, PLN-2, PLN-4, AST-1: the packaged text, filled in, as a node of its type that names template and version.
#[tokio::test]
async fn templates_become_nodes() {
    let settings = Home::new("templates").settings(0);
    for (name, arguments, node_type, id, parts) in [
        (
            "agent.plan_template",
            json!({"goal": "add\n\ta login\u{7}", "suggested_dir": "docs"}),
            NodeType::PlanInstruction,
            "template.plan.default",
            ["Goal of the plan: add a login\n", "Folder for it: docs\n"],
        ),
        (
            "agent.plan_template",
            json!({"goal": null, "suggested_dir": ""}),
            NodeType::PlanInstruction,
            "template.plan.default",
            ["the user asks for in their current message", "Folder for it: .soong-agent/plans\n"],
        ),
        (
            "agent.task_template",
            json!({"goal": "{target} {goal}"}),
            NodeType::TaskInstruction,
            "template.task_dag.default",
            ["Goal of the task: {target} {goal}\n", "agent.task_create"],
        ),
    ] {
        let output = call(&settings, name, arguments).await.unwrap();
        let [entry] = output.context.as_slice() else { panic!("{output:?}") };
        assert_eq!(entry.node_type, node_type);
        let body = text(&entry.content);
        assert!(parts.iter().all(|part| body.contains(part)), "{body}");
        let version = agent_library::AssetId::find(id).unwrap().load().version;
        for metadata in [&entry.metadata, &output.metadata] {
            assert_eq!((&metadata["template_id"], &metadata["template_version"]), (&json!(id), &json!(version)));
        }
        assert!(text(&output.content).contains(&format!("{id}@{version}")), "{output:?}");
        assert!(!settings.project.exists(), "nothing is created");
    }
}

/// PLN-4: a template that is not packaged is `config_error`; a folder of several lines is `validation_error`.
#[tokio::test]
async fn what_is_no_plan() {
    let home = Home::new("no-plan");
    let unknown = CoreToolSettings { plan_template: "mine".to_owned(), ..home.settings(0) };
    let error = call(&unknown, "agent.plan_template", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ConfigError);
    assert!(error.message.contains("template.plan.mine") && error.message.contains("plan.template_name"), "{error}");
    let error = call(&home.settings(0), "agent.plan_template", json!({"suggested_dir": "a\nb"})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ValidationError);
}
