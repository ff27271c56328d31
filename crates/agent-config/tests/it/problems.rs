//! What is said about a file that is wrong.

use agent_config::ProblemKind;

use crate::{problems, read, right, wrong};

/// CLI-04, the part of config.toml: nothing at all is not the defaults.
#[test]
fn an_empty_file_is_a_problem() {
    for text in ["", " \n\t\r\n", "# only\n# comments\n", "\u{feff}"] {
        let found = read(text).expect_err("must be refused");
        assert_eq!(found.problems()[0].kind, ProblemKind::Empty, "{text:?}");
    }
    right("[model]\n");
}

/// CLI-07: each of its broken files, word for word.
#[test]
fn broken_files_name_place_key_nearest_key_and_expectation() {
    wrong("[model", &["1:7 this is not TOML: unclosed table; expected `]`"]);
    wrong("[model]\nnam=\"x\"\n", &["2:1 model.nam: unknown key; the nearest known key is `model.name`"]);
    wrong(
        "[model]\ncontext_window = \"8k\"\n",
        &["2:18 model.context_window: expected a whole number of tokens such as 8192, found the string \"8k\""],
    );
    right("[model]\napi_key_env = \"NOPE\"\n");
}

/// CLI-07, CFG-7: the whole message for two errors at once.
#[test]
fn the_message_lists_all_problems() {
    let message = read("[model]\nnam = \"x\"\ncontext_window = \"8k\"\n").expect_err("two problems").to_string();
    let expected = "\
/h/config.toml has 2 problems:
  /h/config.toml:2:1: model.nam: unknown key; the nearest known key is `model.name`
  /h/config.toml:3:18: model.context_window: expected a whole number of tokens such as 8192, found the string \"8k\"";
    assert_eq!(message, expected);
}

/// CFG-7: unknown keys, wrong types, values out of range, missing keys and conflicts in one pass, in the file's order.
#[test]
fn every_problem_is_found_in_one_pass() {
    wrong(
        r#"
[tools]
max_timeout_ms = 5
env_allowlist = ["PATH", 3, "A=B"]
[modle]
name = "x"
[model]
temperature = 3
retry = { max_attempts = 0, initial_backoff_ms = 10, max_backoff_ms = 5 }
[compact]
model_profile = "copmact"
[model_overrides.compact]
temperture = 1
[[agents.worker_pools]]
pool_id = "a b"
"#,
        &[
            "3:18 tools.max_timeout_ms: it is 5; expected at least tools.default_timeout_ms (120000)",
            "4:26 tools.env_allowlist[1]: expected the name of an environment variable (letters, digits, `_`), found the number 3",
            "4:29 tools.env_allowlist[2]: expected the name of an environment variable (letters, digits, `_`), found something else (not shown: it may be the secret itself)",
            "5:2 modle: unknown key; the nearest known key is `model`",
            "8:15 model.temperature: expected a number from 0 to 2, found the number 3",
            "9:26 model.retry.max_attempts: expected a whole number from 1 to 20, found the number 0",
            "11:17 compact.model_profile: there is no [model_overrides.copmact]; expected the name of a [model_overrides.NAME] such as \"compact\"",
            "13:1 model_overrides.compact.temperture: unknown key; the nearest known key is `model_overrides.compact.temperature`",
            "14:1 agents.worker_pools[0].workers: missing key; it must be there and hold a list, each a table",
            "15:11 agents.worker_pools[0].pool_id: expected a name of letters, digits, `-` and `_`, at most 128 of them, found the string \"a b\"",
        ],
    );
}

/// CFG-7: a syntax error does not hide what else is wrong, and makes up nothing.
#[test]
fn syntax_errors_do_not_hide_other_problems() {
    wrong(
        "[model]\nname = gemma4\nnam = 1\n[runtime\nmax_turns = 0\n[hooks]\nenabled = 1\n",
        &[
            "2:8 this is not TOML: string values must be quoted; expected literal string",
            "3:1 model.nam: unknown key; the nearest known key is `model.name`",
            "4:9 this is not TOML: unclosed table; expected `]`",
            "7:11 hooks.enabled: expected true or false, found the number 1",
        ],
    );
    wrong(
        "[model]\ncontext_window = \nname = \"x\"\n",
        &["2:18 this is not TOML: string values must be quoted; expected literal string"],
    );
    wrong("[model]\nname = \"a\"\nname = \"b\"\n", &["3:1 this is not TOML: duplicate key"]);
    // The pool may well have its workers, beyond the torn line.
    wrong(
        "[[agents.worker_pools]]\npool_id = \"a\nworkers = []\n",
        &["2:13 this is not TOML: invalid basic string; expected `\"`"],
    );
}

/// CFG-1: unknown at every level, and a key of another section is found there.
#[test]
fn unknown_keys_are_errors_everywhere() {
    wrong("x = 1\nenabled = true\n", &["1:1 x: unknown key", "2:1 enabled: unknown key"]);
    wrong(
        "cancel_timeout_ms = 1\n",
        &["1:1 cancel_timeout_ms: unknown key; the nearest known key is `runtime.cancel_timeout_ms`"],
    );
    wrong(
        "[runtime]\nbase_url = \"x\"\n",
        &["2:1 runtime.base_url: unknown key; the nearest known key is `model.base_url`"],
    );
    wrong(
        "[model.retry]\nattempts = 1\n[permissions.network_policy]\nhosts = []\n[tools.mcp]\nservers = []\n",
        &[
            "2:1 model.retry.attempts: unknown key; the nearest known key is `model.retry.max_attempts`",
            "4:1 permissions.network_policy.hosts: unknown key; the nearest known key is `permissions.network_policy.allowed_hosts`",
            "6:1 tools.mcp.servers: unknown key; the nearest known key is `tools.mcp.disabled_servers`",
        ],
    );
    wrong(
        "[[agents.worker_pools]]\npool_id = \"a\"\ncount = 3\n[[agents.worker_pools.workers]]\nagent_definition_id = \"d\"\nname = \"x\"\n",
        &[
            "3:1 agents.worker_pools[0].count: unknown key; pools are explicit lists: write one [[agents.worker_pools.workers]] for each worker",
            "6:1 agents.worker_pools[0].workers[0].name: unknown key",
        ],
    );
    wrong(
        "[tools.overrides.\"code.search\"]\ntimeout = 3\n",
        &[
            "2:1 tools.overrides.\"code.search\".timeout: unknown key; the nearest known key is `tools.overrides.\"code.search\".timeout_ms`",
        ],
    );
}

/// CFG-3: what may be a secret is never repeated, wherever it was put.
#[test]
fn secrets_are_not_repeated() {
    const SECRET: &str = "sk-0123456789abcdef";
    for text in [
        format!("[model]\napi_key_env = \"{SECRET}\"\n"),
        format!("[model]\napi_key = \"{SECRET}\"\n"),
        format!("[model]\nbase_url = \"https://user:{SECRET}@api.example.com\"\n"),
        format!("[model_overrides.x]\napi_key_env = \"{SECRET}\"\n"),
        format!("[model]\napi_key_env = {SECRET}\n"),
        format!("[model]\napi_key_env = [\"{SECRET}\"]\n"),
        format!("[tools]\nenv_allowlist = [\"KEY={SECRET}\"]\n"),
    ] {
        let message = read(&text).expect_err(&text).to_string();
        assert!(!message.contains("0123456789"), "{message}");
    }
    let advice = problems(&format!("[model]\napi_key = \"{SECRET}\"\n")).remove(0);
    assert!(advice.contains("api_key_env = \"NAME\"") && advice.contains("`model.api_key_env`"), "{advice}");
}

/// Nothing a file holds gets into a message unescaped or at length.
#[test]
fn values_are_escaped_and_cut() {
    let found = problems("[model]\ncontext_window = \"\\u001b[2J\\u202e\\u009b\"\n").remove(0);
    assert!(found.ends_with(r#"found the string "\u{1b}[2J\u{202e}\u{9b}""#), "{found}");
    let found = problems(&format!("[model]\ncontext_window = \"{}\"\n", "€".repeat(1000))).remove(0);
    assert!(found.ends_with("\"…") && found.chars().count() < 200, "{found}");
    let found = problems("[model]\n\"\\u001b]0;x\\u0007\" = 1\n").remove(0);
    assert!(!found.contains('\u{1b}') && !found.contains('\u{7}'), "{found}");
}

#[test]
fn columns_count_characters_after_a_byte_order_mark_and_in_crlf() {
    wrong("\u{feff}[model]\r\n\"é\" = 1\r\n", &["2:1 model.\"é\": unknown key"]);
    wrong(
        "[model]\r\nname = \"é\" # é\r\ntemperature = \"é\"\r\n",
        &["3:15 model.temperature: expected a number from 0 to 2, found the string \"é\""],
    );
    wrong(
        "model = { name = \"é\", temperature = 3 }\n",
        &["1:37 model.temperature: expected a number from 0 to 2, found the number 3"],
    );
}
