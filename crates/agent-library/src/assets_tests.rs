use super::*;

/// Without line breaks, so that a sentence is found wherever it is wrapped.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// AST-1, AST-3: every text is there, has a version and a title, and is finished.
#[test]
fn texts_are_finished() {
    for id in AssetId::ALL {
        let asset = id.load();
        assert!(asset.version >= 1, "{} has no version in its first line", id.as_str());
        let first = asset.text.lines().next().unwrap();
        assert!(first.starts_with("# "), "{}: the first line is its title: {first}", id.as_str());
        assert!(asset.text.len() > 80, "{} is too short to be of use", id.as_str());
        for unfinished in ["TODO", "FIXME", "to be written", "lorem ipsum"] {
            assert!(!asset.text.contains(unfinished), "{} holds {unfinished}", id.as_str());
        }
        assert!(!asset.text.contains("<!--"), "{}", id.as_str());
    }
}

/// AST-2: the ids of what exists so far, and that each is found by its id.
#[test]
fn ids() {
    let ids: Vec<_> = AssetId::ALL.iter().map(|id| id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "system.core",
            "system.tool_protocol",
            "system.todo",
            "system.permissions",
            "system.multi_agent",
            "system.memory",
            "system.compact",
            "template.config.default",
            "template.plan.default",
            "template.task_dag.default",
            "agent.default_sub_agent",
            "agent.default_fork_agent",
            "agent.default_worker_agent",
            "agent.default_compact_agent",
            "internal.compact_request",
            "internal.memory_extract",
            "internal.memory_recall",
        ]
    );
    for id in AssetId::ALL {
        assert_eq!(AssetId::find(id.as_str()), Some(*id));
    }
    assert_eq!(AssetId::find("template.plan.mine"), None);
    assert_eq!(AssetId::SystemCore.load().source(), "system.core@2");
}

/// CTX-8: the model is told what comes before what, all of it.
#[test]
fn precedence_is_said() {
    let text = unwrapped(AssetId::SystemCore.load().text);
    let (_, said) = text.split_once("instructions disagree, the earlier wins:").unwrap();
    let order = [
        "these rules",
        "on tools",
        "permissions",
        "current message",
        "the user's instruction files",
        "project instruction files and skills",
        "memory",
    ];
    let places: Vec<_> = order.iter().map(|words| said.find(words).unwrap()).collect();
    assert!(places.is_sorted(), "{said}");
    assert!(said[*places.last().unwrap()..].starts_with("memory. "), "memory comes last: {said}");
}

/// INS-3, CTX-8: which files bind, from when on, and where.
#[test]
fn what_binds_is_said() {
    let text = unwrapped(AssetId::SystemCore.load().text);
    for said in ["Only files named in the instruction catalog bind, once read", "in their folder and below"] {
        assert!(text.contains(said), "{said}");
    }
}

/// Every placeholder of a text is one that its users fill; all other braces are JSON.
#[test]
fn placeholders() {
    for id in AssetId::ALL {
        let expected: &[&str] = match id {
            AssetId::TemplatePlan => &["goal", "target"],
            AssetId::TemplateTaskDag => &["goal"],
            AssetId::CompactRequest => &["max_words"],
            AssetId::MemoryRecall => &["top_k"],
            // Its `${SOONG_AGENT_HOME}` is for whoever reads the configuration.
            AssetId::TemplateConfig => &["SOONG_AGENT_HOME"],
            _ => &[],
        };
        let text = id.load().text;
        let named = text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name);
        let mut found: Vec<_> = named
            .filter(|name| name.chars().all(|c| c.is_ascii_alphabetic() || c == '_') && !name.is_empty())
            .collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, expected, "{}", id.as_str());
    }
}

#[test]
fn only_named_placeholders_are_filled() {
    let values = [("a", "1"), ("goal", "{a} and {goal}"), ("go", "?"), ("", "empty")];
    for (text, expected) in [
        ("", ""),
        ("{a}{a} {a", "11 {a"),
        ("{goal}!", "{a} and {goal}!"),
        ("{b} {{a}} { a } {\"a\":[]}", "{b} {1} { a } {\"a\":[]}"),
        ("{go}{goa}", "?{goa}"),
        ("{", "{"),
        ("ö{a}ö}", "ö1ö}"),
    ] {
        assert_eq!(fill(text, &values), expected, "{text}");
    }
    assert_eq!(fill("{a} {goal}", &[]), "{a} {goal}");
    assert!(AssetId::CompactRequest.load().fill(&[("max_words", "400")]).contains("\n400 words in all"));
}

/// CMP-3: the sections a summary has, in their order.
const SECTIONS: [&str; 8] = [
    "Goal",
    "Constraints & Preferences",
    "Progress",
    "Key Decisions",
    "Next Steps",
    "Critical Context",
    "Files & Artifacts",
    "Tool & Runtime Notes",
];

/// CMP-3: the request and the agent ask for the same sections, in their order.
#[test]
fn summaries_have_their_sections() {
    let request = AssetId::CompactRequest.load().text;
    let asked: Vec<_> = request.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(asked, SECTIONS);
    let agent = AssetId::DefaultCompactAgent.load().text;
    let named: Vec<_> = agent.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("## ")).collect();
    assert_eq!(named, SECTIONS);
}

/// AST-2: a builtin agent is a definition like a user's: id, name, description, body. Its frontmatter is no part of the text.
#[test]
fn builtin_agents_are_definitions() {
    for id in AssetId::ALL {
        let asset = id.load();
        let Some(name) = id.as_str().strip_prefix("agent.") else {
            assert_eq!(asset.frontmatter, None, "{}", id.as_str());
            continue;
        };
        let block = asset.frontmatter.unwrap().text();
        let fields: Vec<_> = block.lines().filter_map(|line| line.split_once(": ")).collect();
        let keys: Vec<_> = fields.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, ["id", "name", "description"]);
        assert_eq!(fields[0].1, name);
        assert!(!asset.text.contains("description:"), "{name}");
    }
}

/// MEM-2, MEM-7: the answers that are asked for are JSON once their gaps are filled, with the fields the parsers know.
#[test]
fn answers_asked_for_are_json() {
    let lines = |id: AssetId| -> Vec<serde_json::Value> {
        let text = id.load().text;
        text.lines().filter_map(|line| line.find("{\"").map(|at| serde_json::from_str(&line[at..]).unwrap())).collect()
    };
    let extract = lines(AssetId::MemoryExtract);
    assert_eq!(extract[0], serde_json::json!({"decisions": []}));
    let mut fields: Vec<_> = extract[1]["decisions"][0].as_object().unwrap().keys().map(String::as_str).collect();
    fields.sort_unstable();
    let known = ["action", "category", "content", "memory_id", "name", "scope", "source_node_ids", "summary", "tags"];
    assert_eq!(fields, known);
    // A small model copies an example's words as if the user had said them: the shape holds none.
    assert_eq!(extract[1]["decisions"][0]["content"], "…");
    let recall = lines(AssetId::MemoryRecall);
    assert_eq!(recall, [serde_json::json!({"ids": ["mem_…"]}), serde_json::json!({"ids": []})]);
}

/// The example of a task is a graph in which every step comes after those it needs. Whether `agent.task_create` takes it is for the
/// tests of that tool, which is not there yet.
#[test]
fn the_example_of_a_task_is_a_graph() {
    let text = AssetId::TemplateTaskDag.load().text;
    let (_, json) = text.split_once("```json\n").unwrap();
    let call: serde_json::Value = serde_json::from_str(json.split_once("```").unwrap().0).unwrap();
    let mut fields: Vec<_> = call.as_object().unwrap().keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["steps", "summary", "task_id", "title", "wal_name"]);
    let mut known = Vec::new();
    for step in call["steps"].as_array().unwrap() {
        for needed in step["depends_on_step_ids"].as_array().unwrap() {
            assert!(known.contains(&needed), "{needed} comes before the step that needs it");
        }
        assert!(step["title"].is_string() && step["summary"].is_string());
        known.push(&step["step_id"]);
    }
}

/// AST-4: the longest each text may get, in bytes. A text that is part of every request costs seconds on a CPU.
#[test]
fn texts_stay_short() {
    for id in AssetId::ALL {
        let most = match id {
            AssetId::SystemCore => 1200,
            AssetId::SystemToolProtocol => 700,
            AssetId::SystemPermissions => 340,
            // In the requests of an Orchestrator alone.
            AssetId::SystemMultiAgent => 1650,
            AssetId::SystemTodo | AssetId::SystemMemory | AssetId::SystemCompact => 240,
            AssetId::TemplateConfig => continue,
            _ => 2800,
        };
        let bytes = id.load().text.len();
        assert!(bytes <= most, "{}: {bytes} bytes", id.as_str());
    }
}
