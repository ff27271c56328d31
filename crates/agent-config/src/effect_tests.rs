use super::{NOT_BUILT, NotBuilt, Notice, notices};
use crate::config::{Config, rows};

/// So that a row cannot outlive the key it is about.
#[test]
fn every_row_names_keys_that_exist() {
    let rows = rows(&Config::default());
    for part in NOT_BUILT {
        assert!(rows.iter().any(|row| row.key == part.key), "{}", part.key);
        if let Some(switch) = part.switch {
            assert!(rows.iter().any(|row| row.key == switch && row.kind == "true or false"), "{switch}");
        }
    }
}

const ROWS: &[NotBuilt] = &[
    NotBuilt { key: "hooks", feature: "hooks", switch: Some("hooks.enabled") },
    NotBuilt { key: "agents", feature: "agents", switch: None },
    NotBuilt { key: "compact", feature: "compaction", switch: Some("compact.enabled") },
    NotBuilt { key: "tools.network", feature: "network", switch: None },
];

#[test]
fn the_packaged_file_and_a_silent_one_get_one_line() {
    let line = vec![Notice::NotBuiltYet { features: vec!["hooks", "compaction"] }];
    assert_eq!(notices(&Config::default(), ROWS), line);
    assert_eq!(notices(&Config::implied(), ROWS), line);
    assert_eq!(line[0].to_string(), "switched on, but not in this version yet: hooks, compaction");
}

#[test]
fn values_of_ones_own_are_named_by_feature() {
    let mut config = Config::default();
    config.hooks.default_timeout_ms = 7;
    config.hooks.enabled = false;
    config.agents.worker_pools[0].pool_id = "mine".to_owned();
    config.tools.network.allowed_hosts = vec!["a.example".to_owned()];
    config.tools.network.allowed_domains = vec!["b.example".to_owned()];
    config.tools.disabled = vec!["code.run_command".to_owned()];
    let found: Vec<_> = notices(&config, ROWS).iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "agents.worker_pools has no effect: this version does not have agents yet",
            "hooks.default_timeout_ms has no effect: this version does not have hooks yet",
            "tools.network.allowed_domains, tools.network.allowed_hosts have no effect: this version does not have network yet",
            "switched on, but not in this version yet: compaction",
        ]
    );
}

/// What is built has no row: its values count, and nothing is said of them.
#[test]
fn built_features_are_not_reported() {
    let mut config = Config::default();
    config.compact.keep_recent_tokens = 7;
    config.memory.recall_top_k = 7;
    config.plan.template_name = "another".to_owned();
    config.agents.worker_pools[0].pool_id = "mine".to_owned();
    config.task.step_lease_timeout_ms = 7;
    let said: String = config.not_in_effect().iter().map(ToString::to_string).collect();
    for part in ["compact", "memory", "plan", "worker_pools", "task."] {
        assert!(!said.contains(part), "{said}");
    }
}

#[test]
fn without_rows_nothing_is_said() {
    let mut config = Config::default();
    config.hooks.default_timeout_ms = 7;
    assert_eq!(notices(&config, &[]), []);
}
