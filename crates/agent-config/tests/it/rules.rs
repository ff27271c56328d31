//! Rules of single sections, and of values that do not go together.

use agent_config::{Config, Verdict, WorkerPool, derived_worker_id};

use crate::{right, wrong};

/// CFG-10
#[test]
fn settings_with_a_single_right_value_refuse_others() {
    wrong(
        "[context]\nactive_path_only = false\n",
        &["2:20 context.active_path_only: expected true (side branches are never sent), found false"],
    );
    wrong(
        "[permissions]\nremember_scope = \"forever\"\n",
        &[
            "2:18 permissions.remember_scope: expected the string \"session\", the only one allowed, found the string \"forever\"",
        ],
    );
    wrong(
        "[memory]\ncategories = [\"user\", \"project\"]\n",
        &["2:23 memory.categories[1]: expected \"user\", \"feedback\" or \"reference\", found the string \"project\""],
    );
    right(
        "[context]\nactive_path_only = true\n[permissions]\nremember_scope = \"session\"\n[memory]\ncategories = []\n",
    );
}

/// CFG-10
#[test]
fn memory_dir_is_inside_home() {
    for dir in
        ["/elsewhere", "<project>/memory", "${SOONG_AGENT_HOME}", "${SOONG_AGENT_HOME}/../x", "/h2/m", "/h/a/../../x"]
    {
        wrong(
            &format!("[memory]\nmemory_dir = \"{dir}\"\n"),
            &[&format!("2:14 memory.memory_dir: it is {dir:?}; expected a folder inside /h, without `..`")],
        );
    }
    right("[memory]\nmemory_dir = \"/h/other\"\n");
}

/// PLN-4: a plan template is a packaged one.
#[test]
fn plan_templates_are_packaged_ones() {
    assert_eq!(right("[plan]\ntemplate_name = \"default\"\n").plan.template_name, "default");
    for name in ["", "defualt", "Default", "my-own", "../default"] {
        wrong(
            &format!("[plan]\ntemplate_name = \"{name}\"\n"),
            &[&format!(
                "2:17 plan.template_name: expected the name of a packaged plan template; there is \"default\", found the string {name:?}"
            )],
        );
    }
}

/// CFG-2
#[test]
fn other_variables_in_paths_are_errors() {
    wrong(
        "[context]\nsession_db_path = \"${HOME}/s.sqlite\"\n[tools]\nallowed_write_roots = [\"~/src\"]\n[plan]\ndefault_dir = \"plans\"\n",
        &[
            "2:19 context.session_db_path: expected a path that begins with `/`, `${SOONG_AGENT_HOME}` or `<project>`, found a variable that is not expanded here: \"${HOME}/s.sqlite\"",
            "4:24 tools.allowed_write_roots[0]: expected a path that begins with `/`, `${SOONG_AGENT_HOME}` or `<project>`, found a variable that is not expanded here: \"~/src\"",
            "6:15 plan.default_dir: expected a path that begins with `/`, `${SOONG_AGENT_HOME}` or `<project>`, found a path that is relative to nothing: \"plans\"",
        ],
    );
}

/// CFG-2: only in paths. Elsewhere the characters are just characters.
#[test]
fn placeholders_mean_nothing_elsewhere() {
    let config = right("[model]\nname = \"${SOONG_AGENT_HOME}<project>\"\n[tools]\nsensitive_paths = [\"${X}/*\"]\n");
    assert_eq!(config.model.name, "${SOONG_AGENT_HOME}<project>");
    assert_eq!(config.tools.sensitive_paths, ["${X}/*"]);
}

/// PRV-17
#[test]
fn a_key_never_travels_unencrypted_to_another_machine() {
    let model =
        |url: &str, key: &str, rest: &str| format!("[model]\nbase_url = \"{url}\"\napi_key_env = \"{key}\"\n{rest}\n");
    for (url, key, rest) in [
        ("http://10.0.0.5:11434", "", ""),
        ("http://127.0.0.1:11434", "KEY", ""),
        ("http://[::1]:1", "KEY", ""),
        ("https://api.example.com", "KEY", ""),
        ("http://10.0.0.5", "KEY", "allow_insecure = true"),
    ] {
        right(&model(url, key, rest));
    }
    wrong(
        &model("http://api.example.com/v1", "KEY", ""),
        &[
            "2:12 model.base_url: the key in KEY would travel unencrypted to http://api.example.com; expected https, a server on this machine, or allow_insecure = true",
        ],
    );
}

#[test]
fn the_provider_is_only_asked_to_have_a_name() {
    wrong(
        "[model]\nprovider = \"\"\n",
        &[
            "2:12 model.provider: expected a string that is not empty and has no control characters, found the string \"\"",
        ],
    );
    right("[model]\nprovider = \"one-of-my-own\"\n");
}

#[test]
fn bounds_hold() {
    for (section, key, values) in [
        ("model", "context_window", [("1023", false), ("1024", true), ("10000000", true), ("10000001", false)]),
        ("model", "timeout_ms", [("0", false), ("-1", false), ("1", true), ("86400001", false)]),
        ("model", "temperature", [("-0.1", false), ("0", true), ("2.0", true), ("2.1", false)]),
        ("model.retry", "max_attempts", [("0", false), ("1", true), ("20", true), ("21", false)]),
        ("runtime", "cancel_timeout_ms", [("0", false), ("1", true), ("1.0", false), ("true", false)]),
        ("runtime", "max_turns", [("0", false), ("1", true), ("4294967296", false), ("9223372036854775808", false)]),
        ("tools", "stdout_limit_bytes", [("0", false), ("1", true), ("16777216", true), ("16777217", false)]),
        ("memory", "recall_top_k", [("0", false), ("1", true), ("1000", true), ("1001", false)]),
    ] {
        for (value, allowed) in values {
            let text = format!("[{section}]\n{key} = {value}\n");
            assert_eq!(crate::read(&text).is_ok(), allowed, "{text}");
        }
    }
}

#[test]
fn limits_that_contradict_each_other_are_errors() {
    wrong(
        "[tools]\ndefault_timeout_ms = 700000\n",
        &["1:1 tools.max_timeout_ms: it is 600000; expected at least tools.default_timeout_ms (700000)"],
    );
    wrong(
        "[tools]\nartifact_max_bytes = 10\n",
        &["2:22 tools.artifact_max_bytes: it is 10; expected at least tools.artifact_threshold_bytes (65536)"],
    );
    wrong(
        "[model.retry]\nmax_backoff_ms = 499\n",
        &["2:18 model.retry.max_backoff_ms: it is 499; expected at least initial_backoff_ms (500)"],
    );
    wrong(
        "[runtime]\nmax_cost = 2.5\n",
        &["2:12 runtime.max_cost: without a price nothing is counted; expected model.price beside it"],
    );
    right("[runtime]\nmax_cost = 2.5\n[model.price]\ninput_per_million = 0\noutput_per_million = 0\n");
    right("[tools]\ndefault_timeout_ms = 5\nmax_timeout_ms = 5\n");
}

/// A rule says nothing about a value that could not be read: it is not the user's.
#[test]
fn rules_are_silent_about_values_that_are_wrong_already() {
    wrong(
        "[tools]\nmax_timeout_ms = \"1\"\ndefault_timeout_ms = 700000\n",
        &["2:18 tools.max_timeout_ms: expected a whole number of milliseconds such as 600000, found the string \"1\""],
    );
    wrong(
        "[model]\nbase_url = \"example.com\"\napi_key_env = \"KEY\"\n[model_overrides.x]\nbase_url = \"https://b.example\"\n",
        &[
            "2:12 model.base_url: expected an http:// or https:// address without user name, query or fragment, found the string \"example.com\"",
        ],
    );
}

/// The words of the permission rules are closed sets; hosts are bare.
#[test]
fn permission_words_are_closed_sets() {
    let config = right(
        "[permissions]\nreadonly_default = \"confirm\"\nwrite_without_callback = \"allow\"\nnetwork_policy.default = \"deny\"\n",
    );
    assert_eq!(config.permissions.readonly_default, Verdict::Confirm);
    assert_eq!(config.permissions.write_without_callback.as_str(), "allow");
    assert_eq!(config.permissions.network_policy.default, Verdict::Deny);
    wrong(
        "[permissions]\nreadonly_default = \"ask\"\nwrite_without_callback = \"confirm\"\n",
        &[
            "2:20 permissions.readonly_default: expected \"allow\", \"confirm\" or \"deny\", found the string \"ask\"",
            "3:26 permissions.write_without_callback: expected \"deny\" or \"allow\", found the string \"confirm\"",
        ],
    );
    wrong(
        "[tools.network]\nallowed_hosts = [\"https://x.example\"]\n",
        &[
            "2:18 tools.network.allowed_hosts[0]: expected a bare host name or address such as \"api.example.com\", without scheme, port, path or `*`, found the string \"https://x.example\"",
        ],
    );
}

/// TOL-8: names of MCP tools are not checked against servers here. Their overrides may loosen; others may only tighten.
#[test]
fn tool_overrides_stay_on_their_side() {
    right(
        "[tools]\ndisabled = [\"mcp.srv.tool\"]\n[tools.mcp.tool_overrides.\"mcp.srv.tool\"]\npermission = \"readonly\"\n",
    );
    wrong(
        "[tools.overrides.\"code.run_command\"]\npermission = \"readonly\"\ntimeout_ms = 700000\n",
        &[
            "2:14 tools.overrides.\"code.run_command\".permission: found \"readonly\", which would let a tool of ours run unasked; expected \"write\", or no permission",
            "3:14 tools.overrides.\"code.run_command\".timeout_ms: it is more; expected at most tools.max_timeout_ms (600000)",
        ],
    );
    wrong(
        "[tools.overrides.\"mcp.srv.tool\"]\n",
        &[
            "1:18 tools.overrides.\"mcp.srv.tool\": expected a tool's full name such as \"code.read_file\" (for MCP tools use tools.mcp.tool_overrides), found the name \"mcp.srv.tool\"",
        ],
    );
}

fn pool(text: &str) -> String {
    format!("[[agents.worker_pools]]\npool_id = \"p\"\nworkers = [{text}]\n")
}

/// CFG-6
#[test]
fn worker_ids_are_unique_in_their_pool() {
    wrong(
        &pool("{worker_id = 'a', agent_definition_id = 'd'}, {worker_id = 'a', agent_definition_id = 'e'}"),
        &[
            "3:71 agents.worker_pools[0].workers[1].worker_id: an earlier worker of this pool is called \"a\" too; expected a worker_id of its own for each worker of a pool",
        ],
    );
    // One that collides with a derived id is no better.
    let derived = derived_worker_id("p", 0, "d");
    wrong(
        &pool(&format!("{{agent_definition_id = 'd'}}, {{worker_id = '{derived}', agent_definition_id = 'd'}}")),
        &[&format!(
            "3:54 agents.worker_pools[0].workers[1].worker_id: an earlier worker of this pool is called {derived:?} too; expected a worker_id of its own for each worker of a pool"
        )],
    );
    let two_pools = pool("{worker_id = 'a', agent_definition_id = 'd'}")
        + &pool("{worker_id = 'a', agent_definition_id = 'd'}").replace("\"p\"", "\"q\"");
    right(&two_pools);
    wrong(
        &(pool("{agent_definition_id = 'd'}") + &pool("{agent_definition_id = 'd'}")),
        &[
            "5:11 agents.worker_pools[1].pool_id: an earlier pool is called \"p\" too; expected a pool_id of its own for each pool",
        ],
    );
    wrong(&pool(""), &["3:11 agents.worker_pools[0].workers: the pool has none; expected at least one worker"]);
}

/// CFG-6, CFG-7: another fault of a pool does not hide its doubles.
#[test]
fn doubles_are_found_beside_other_faults() {
    let text = pool("{worker_id = 'a', agent_definition_id = 'd', x = 1}, {worker_id = 'a'}, {}, {}");
    let found = crate::problems(&text).join("\n");
    assert_eq!(found.matches("an earlier worker").count(), 1, "{found}");
    assert_eq!(found.matches("missing key").count(), 3, "{found}");
    assert_eq!(found.matches("unknown key").count(), 1, "{found}");
}

/// CFG-6: the same after every restart, and nobody else's.
#[test]
fn derived_worker_ids_depend_on_pool_position_and_definition_only() {
    let text = pool(
        "{agent_definition_id = 'd'}, {agent_definition_id = 'd'}, {worker_id = 'mine', agent_definition_id = 'd'}",
    );
    let ids = |config: &Config| config.agents.worker_pools[0].worker_ids();
    assert_eq!(ids(&right(&text)), ["worker_p_1_d", "worker_p_2_d", "mine"]);
    assert_eq!(ids(&right(&text)), ids(&right(&format!("[model]\nname = \"other\"\n{text}"))));
    assert_eq!(WorkerPool { pool_id: "p".to_owned(), workers: Vec::new() }.worker_ids(), Vec::<String>::new());
}
