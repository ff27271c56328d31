//! Defaults, the packaged file, and the contract they come from.

use agent_config::{Config, MemoryCategory, PathValue};

use crate::{PACKAGED, SEED, right};

/// The packaged file holds the contract's keys and values, no more and no less.
#[test]
fn the_packaged_file_says_what_the_contract_says() {
    let packaged: toml::Table = PACKAGED.parse().expect("packaged file");
    let seed: toml::Table = SEED.parse().expect("contract");
    assert_eq!(packaged, seed);
}

#[test]
fn the_packaged_file_is_the_default() {
    assert_eq!(right(PACKAGED), Config::default());
}

/// A key that is left out means its default, whichever it is. Three things are never implicit; see below.
#[test]
fn leaving_out_any_key_means_its_default() {
    let lines: Vec<_> = SEED.lines().collect();
    let mut left_out = 0;
    for (at, line) in lines.iter().enumerate() {
        let explicit = ["pool_id", "agent_definition_id", "worker_id", "allowed_tools", "model_profile"];
        let key = line.split(" = ").next().unwrap_or_default();
        let in_overrides =
            lines[..at].iter().rev().find(|line| line.starts_with('[')) == Some(&"[model_overrides.compact]");
        if !line.contains(" = ") || explicit.contains(&key) || in_overrides {
            continue;
        }
        let rest = [&lines[..at], &lines[at + 1..]].concat().join("\n");
        assert_eq!(right(&rest), Config::default(), "without {line}");
        left_out += 1;
    }
    assert!(left_out > 60, "{left_out}");
}

/// CFG-9: what a file does not name it does not have. Nor does it have worker pools.
#[test]
fn profiles_and_pools_are_never_implicit() {
    let config = right("[model]\nname = \"m\"\n");
    assert!(config.model_overrides.is_empty());
    assert_eq!(config.compact.model_profile, None);
    assert_eq!(config.memory.extract_model_profile, None);
    assert_eq!(config.memory.recall_model_profile, None);
    assert_eq!(config.agents.worker_pools, []);
    let mut implied = Config::implied();
    implied.model.name = "m".to_owned();
    assert_eq!(config, implied);
}

/// CFG-5: the keys beyond the contract's block, with their defaults.
#[test]
fn further_keys_have_defaults() {
    let config = Config::default();
    assert_eq!(config.runtime.max_turns, 100);
    assert_eq!(config.runtime.max_cost, None);
    assert_eq!(config.runtime.max_tokens, None);
    assert_eq!(config.model.price, None);
    assert!(!config.model.allow_insecure);
    assert_eq!(config.tools.artifact_max_bytes, 64 * 1024 * 1024);
    assert_eq!(config.artifact_threshold_tokens(), 2048);
    assert!(config.tools.overrides.is_empty() && config.tools.mcp.tool_overrides.is_empty());
}

/// CFG-5: one request at a time on this machine, four elsewhere, unless the file says.
#[test]
fn parallel_requests_follow_the_server() {
    for (text, expected) in [
        ("base_url = \"http://localhost:11434\"", 1),
        ("base_url = \"https://api.example.com\"", 4),
        ("base_url = \"https://api.example.com\"\nparallel_requests = 2", 2),
        ("parallel_requests = 8", 8),
    ] {
        let config = right(&format!("[model]\n{text}\n"));
        assert_eq!(config.model.effective_parallel_requests(), expected, "{text}");
    }
}

/// CFG-5: all of them can be written.
#[test]
fn further_keys_can_be_written() {
    let config = right(
        r#"
[runtime]
max_turns = 5
max_cost = 1
max_tokens = 1_000_000

[model]
price = { input_per_million = 3, output_per_million = 15.5, cache_read_per_million = 0.3 }
provider_options.ollama = { keep_alive = "30m", think = false, stop = ["a", "b"], options = { seed = 7 } }

[memory]
extract_model_profile = { temperature = 0 }
recall_model_profile = "small"

[model_overrides.small]
name = "small"

[tools]
artifact_threshold_bytes = 1000
artifact_threshold_tokens = 300
artifact_max_bytes = 1000

[tools.overrides."code.run_command"]
permission = "write"
tags = ["dangerous"]
timeout_ms = 1000

[tools.mcp]
disabled_servers = ["old server"]
disabled_tools = ["mcp.srv.rm"]
discovery_cache_ttl_ms = 0

[tools.mcp.tool_overrides."mcp.srv.read"]
permission = "readonly"
"#,
    );
    let price = config.model.price.expect("price");
    assert_eq!((price.input_per_million, price.output_per_million), (3.0, 15.5));
    assert_eq!((price.cache_read_per_million, price.cache_write_per_million), (Some(0.3), None));
    let ollama = serde_json::Value::Object(config.model.provider_options.of("ollama").expect("ollama").clone());
    let expected = serde_json::json!({"keep_alive": "30m", "think": false, "stop": ["a", "b"], "options": {"seed": 7}});
    assert_eq!(ollama, expected);
    assert_eq!(config.model.provider_options.of("openai"), None);
    assert_eq!(config.runtime.max_cost, Some(1.0));
    assert_eq!(config.tools.overrides["code.run_command"].timeout_ms, Some(1000));
    assert_eq!(config.tools.mcp.disabled_servers, ["old server"]);
}

/// CFG-1: lists replace the default.
#[test]
fn lists_replace() {
    let config =
        right("[tools]\nsensitive_paths = [\"*.secret\"]\nenv_allowlist = []\n[memory]\ncategories = [\"user\"]\n");
    assert_eq!(config.tools.sensitive_paths, ["*.secret"]);
    assert!(config.tools.env_allowlist.is_empty());
    assert_eq!(config.memory.categories, [MemoryCategory::User]);
}

#[test]
fn paths_resolve_to_the_places_given() {
    let config = right("[tools]\nallowed_write_roots = [\"<project>/../sibling\", \"/srv\"]\n");
    let resolved = |path: &PathValue| path.resolve(&crate::places()).display().to_string();
    assert_eq!(resolved(&config.context.session_db_path), "/h/sessions.sqlite");
    assert_eq!(resolved(&config.task.wal_dir), "/p/.soong-agent/tasks");
    let roots: Vec<_> = config.tools.allowed_write_roots.iter().map(resolved).collect();
    assert_eq!(roots, ["/p/../sibling", "/srv"]);
}

/// The commented examples of the packaged file work when the comment marks are taken away.
#[test]
fn commented_examples_are_right() {
    let mut examples = 0;
    for paragraph in PACKAGED.split("\n\n").flat_map(|part| part.split("\n#\n")) {
        let uncommented: Vec<_> = paragraph.lines().filter_map(|line| line.strip_prefix("# ")).collect();
        if uncommented.first().is_some_and(|line| line.starts_with('[')) {
            let text = uncommented.join("\n").replace("\nor Anthropic:", "");
            right(&text);
            examples += 1;
        }
    }
    assert_eq!(examples, 4, "OpenAI, Anthropic, provider options, price");
}
