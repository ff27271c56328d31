//! Agent definitions that the user wrote down, and those of a program beside them (AGD-1 … AGD-7).

use agent_core::config::{Location, inspect};
use agent_core::error::{BuildError, ErrorCode};
use agent_core::message::Object;
use agent_core::session::{AgentDefinitionInfo, DefinitionSource};
use agent_core::{AgentDefinition, AgentRuntime};
use agent_testkit::{Protocol, Reply};

use crate::support::{World, run};

fn write(world: &World, name: &str, more: &str, body: &str) {
    let id = name.trim_end_matches(".md");
    let text = format!("---\nid: {id}\nname: The {id}\ndescription: For a test.\n{more}---\n{body}\n");
    world.home.write(world.home.home.join("agents").join(name), text);
}

fn of_code(id: &str, overrides: Option<&str>) -> AgentDefinition {
    AgentDefinition {
        agent_definition_id: id.to_owned(),
        name: "Of the program".to_owned(),
        description: "For a test.".to_owned(),
        body: String::new(),
        model_profile: None,
        suggested_tools: Vec::new(),
        tags: Vec::new(),
        overrides: overrides.map(str::to_owned),
        source: DefinitionSource::Code,
        metadata: Object::new(),
    }
}

fn listed(runtime: &AgentRuntime) -> Vec<(String, DefinitionSource)> {
    let all = runtime.agent_definitions().into_iter();
    all.map(|one| (one.agent_definition_id, one.source)).collect()
}

fn location(world: &World) -> Location {
    Location::default().home_dir(&world.home.home).project_dir(&world.home.project)
}

/// AGD-1, AGD-2, AGD-6: packaged definitions, the user's files and those of the program are in one registry, under the ids that they
/// give themselves; files replace packaged ones and the program both, by name only. Nothing of a project is read.
#[tokio::test]
async fn three_sources_in_one_registry() {
    use DefinitionSource::{Builtin, Code, User};
    let world = World::new("three_sources", Protocol::OpenAi).await;
    write(&world, "reviewer.md", "suggested_tools: [code.read_file]\ntags: [review]\n", "Review.");
    write(&world, "default_worker_agent.md", "overrides: builtin:default_worker_agent\n", "Work.");
    write(&world, "other.md", "", "Other.");
    let project = world.home.project.join(".soong-agent/agents/smuggled.md");
    world.home.write(project, "---\nid: smuggled\nname: S\ndescription: D\n---\n");
    let runtime = world.runtime().await;
    let of = |expected: &[(&str, DefinitionSource)]| -> Vec<_> {
        expected.iter().map(|(id, source)| ((*id).to_owned(), *source)).collect()
    };
    let files = [("default_fork_agent", Builtin), ("default_sub_agent", Builtin), ("default_worker_agent", User)];
    assert_eq!(listed(&runtime), of(&[&files[..], &[("other", User), ("reviewer", User)]].concat()));

    for (definition, code) in [
        (of_code("reviewer", None), ErrorCode::DuplicateAgentDefinition),
        (of_code("reviewer", Some("builtin:reviewer")), ErrorCode::InvalidAgentOverride),
        (of_code("default_worker_agent", Some("builtin:default_worker_agent")), ErrorCode::InvalidAgentOverride),
        (of_code("default_compact_agent", None), ErrorCode::DuplicateAgentDefinition),
        (of_code("default_compact_agent", Some("builtin:default_compact_agent")), ErrorCode::InvalidAgentOverride),
    ] {
        assert_eq!(runtime.register_agent_definition(definition).unwrap_err().code(), code);
    }
    runtime.register_agent_definition(of_code("reviewer", Some("user:reviewer"))).unwrap();
    assert_eq!(listed(&runtime), of(&[&files[..], &[("other", User), ("reviewer", Code)]].concat()));
    let shown = runtime.agent_definitions().pop().unwrap();
    assert_eq!(
        (shown.name.as_str(), shown.suggested_tools.len(), shown.tags.len()),
        ("Of the program", 0, 0),
        "replaced whole"
    );
    runtime.close().await;
}

/// AGD-3, AGD-6, AGD-7: tools that are known and cannot be had are listed with the reason; what the contract names and this configuration
/// does not have is known. Tags are any words.
#[tokio::test]
async fn suggested_tools_are_listed_with_reasons() {
    let extra =
        "tools.disabled = [\"code.run_command\"]\nmemory.enabled = false\npermissions.readonly_default = \"deny\"";
    let world = World::with("suggested", Protocol::OpenAi, extra).await;
    let tools = "suggested_tools: [code.edit_file, code.run_command, code.read_file, agent.plan_template, internal.recall_memory, \
                 agent.create_sub_agent, mcp.later.tool]\ntags: ['any words', \"ünïcode\"]\n";
    write(&world, "one.md", tools, "One.");
    let reasons = |shown: &AgentDefinitionInfo| -> Vec<_> {
        let tools = shown.suggested_tools.iter();
        tools.map(|tool| (tool.available, tool.unavailable_reason.map(|why| why.as_str()))).collect()
    };
    let expected = [
        (true, None),
        (false, Some("disabled_by_config")),
        (false, Some("permission_denied")),
        (false, Some("policy_restricted")),
        (false, Some("policy_restricted")),
        (false, Some("policy_restricted")),
        (false, Some("policy_restricted")),
    ];
    let runtime = world.runtime().await;
    let shown = runtime.agent_definitions().pop().unwrap();
    assert_eq!((reasons(&shown), shown.tags.join("|")), (expected.to_vec(), "any words|ünïcode".to_owned()));
    let report = inspect(&location(&world)).unwrap();
    assert_eq!(report.agent_definitions.last(), Some(&shown));
    runtime.close().await;
}

/// AGD-2, AGD-3, AGD-5, CFG-4: one file that cannot be used stops the start, with its path, the reason and the contract's code; so it does the
/// check. Nothing is created.
#[tokio::test]
async fn one_bad_file_stops_the_start() {
    use ErrorCode::{DuplicateAgentDefinition, InvalidAgentDefinition, InvalidAgentOverride};
    let long = format!("tags: [{}]\n", "x".repeat(65));
    for (name, more, code, says) in [
        ("a b.md", "", InvalidAgentDefinition, "letters, digits"),
        ("bad.md", "suggested_tools: [code.read_fil]\n", InvalidAgentDefinition, "`code.read_fil`, which is no tool"),
        ("bad.md", "suggested_tools: [agent.no_such]\n", InvalidAgentDefinition, "`agent.no_such`, which is no tool"),
        (
            "bad.md",
            "model_profile: fasst\n",
            InvalidAgentDefinition,
            "[model_overrides.fasst]; the nearest known name is `fast`",
        ),
        ("bad.md", "model_profile: {nam: x}\n", InvalidAgentDefinition, "`model_profile.name`"),
        ("bad.md", "model_profile: {temperature: hot}\n", InvalidAgentDefinition, "temperature"),
        ("bad.md", "model_profile: 7\n", InvalidAgentDefinition, "must be the name"),
        ("bad.md", "colour: red\n", InvalidAgentDefinition, "line 5, column 1: `colour`"),
        ("bad.md", &long, InvalidAgentDefinition, "tags must have 1 to 64 characters"),
        ("default_sub_agent.md", "", DuplicateAgentDefinition, "set overrides to \"builtin:default_sub_agent\""),
        ("default_compact_agent.md", "", DuplicateAgentDefinition, "core uses itself"),
        (
            "default_compact_agent.md",
            "overrides: builtin:default_compact_agent\n",
            InvalidAgentOverride,
            "core uses it itself",
        ),
        ("bad.md", "overrides: builtin:bad\n", InvalidAgentOverride, "no such definition"),
        ("bad.md", "overrides: user:good\n", InvalidAgentOverride, "keeps the id of the one it replaces"),
        ("bad.md", "overrides: code:bad\n", InvalidAgentOverride, "no such definition"),
    ] {
        let world = World::with("bad_file", Protocol::OpenAi, "model_overrides.fast.temperature = 0.5").await;
        write(&world, "good.md", "model_profile: fast\n", "Good.");
        write(&world, name, more, "Bad.");
        let error = world.builder().build().await.err().unwrap_or_else(|| panic!("{name} {more} was taken"));
        assert!(matches!(error, BuildError::AgentFiles(_)), "{error}");
        assert_eq!(error.code(), code, "{error}");
        let said = error.payload().message;
        let path = world.home.home.canonicalize().unwrap().join("agents").join(name);
        assert!(said.contains(&path.display().to_string()) && said.contains(says), "{says:?}: {said}");
        assert!(!said.contains("good.md"), "{said}");
        assert_eq!(inspect(&location(&world)).unwrap_err().payload().message, said);
        assert!(!world.home.home.join("sessions.sqlite").exists());
    }
}

/// AGT-6: a definition that children are to have by default has to exist: a start and `config check` say which key is wrong and what was
/// probably meant. One of the user's is as good as a packaged one.
#[tokio::test]
async fn the_default_definitions_exist() {
    for key in ["agents.default_sub_agent_definition", "agents.default_fork_agent_definition"] {
        let world = World::with("default_definition", Protocol::OpenAi, &format!("{key} = \"reviewr\"")).await;
        write(&world, "reviewer.md", "", "Review.");
        let error = world.builder().build().await.err().unwrap();
        assert_eq!(error.code(), ErrorCode::ConfigError);
        let said = error.payload().message;
        assert!(said.starts_with(key) && said.contains("did you mean reviewer?"), "{said}");
        assert_eq!(inspect(&location(&world)).unwrap_err().payload().message, said);
        world.configure(&format!("{key} = \"reviewer\""));
        world.runtime().await.close().await;
    }
}

/// AGD-2, AGD-5: two files with one id are told with both names; several bad files are told at once.
#[tokio::test]
async fn all_bad_files_are_told_at_once() {
    let world = World::new("bad_files", Protocol::OpenAi).await;
    write(&world, "one.md", "", "One.");
    let text = "---\nid: one\nname: Again\ndescription: D\n---\n";
    world.home.write(world.home.home.join("agents/two.md"), text);
    world.home.write(world.home.home.join("agents/three.MD"), text);
    world.home.write(world.home.home.join("agents/four.md"), "No frontmatter.\n");
    let BuildError::AgentFiles(error) = world.builder().build().await.err().unwrap() else { panic!("another error") };
    let told: Vec<_> = error
        .refused()
        .iter()
        .map(|refused| (refused.problem.path.file_name().unwrap().to_str().unwrap(), refused.code))
        .collect();
    let (invalid, duplicate) = (ErrorCode::InvalidAgentDefinition, ErrorCode::DuplicateAgentDefinition);
    assert_eq!(told, [("four.md", invalid), ("three.MD", invalid), ("two.md", duplicate)]);
    assert!(error.refused()[2].problem.message.contains("agents/one.md"), "{error}");
    for index in 0..40 {
        world.home.write(world.home.home.join(format!("agents/x{index}.md")), "x");
    }
    let BuildError::AgentFiles(error) = world.builder().build().await.err().unwrap() else { panic!("another error") };
    assert!(error.refused().len() == 43 && error.to_string().ends_with("and 23 more"), "{error}");
    assert_eq!(error.to_string().lines().count(), 22);
}

/// AGD-5: definitions are read when the runtime is built, and stay what they are while it is open; a run reads none.
#[tokio::test]
async fn files_are_read_at_the_start() {
    let world = World::new("read_at_start", Protocol::OpenAi).await;
    write(&world, "one.md", "", "One.");
    world.server.script([Reply::text("Hi."), Reply::text("Hi.")]);
    let runtime = world.runtime().await;
    world.home.write(world.home.home.join("agents/two.md"), "broken by now");
    run(&runtime, "Hi?").await.assert_completed();
    assert_eq!(listed(&runtime).len(), 4);
    runtime.close().await;
    assert!(world.builder().build().await.is_err());
    std::fs::remove_dir_all(world.home.home.join("agents")).unwrap();
    let runtime = world.runtime().await;
    assert_eq!(listed(&runtime).len(), 3);
    run(&runtime, "Hi?").await.assert_completed();
    runtime.close().await;
}
