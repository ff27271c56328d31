//! What several test modules share.

use proptest::test_runner::Config;

pub(crate) fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

/// Property tests keep no file of failures: tests write nowhere but in their own folder.
pub(crate) fn properties() -> Config {
    Config { failure_persistence: None, ..Config::default() }
}

/// TST-2: a property test that fails writes no file of seeds beside the sources, whichever configuration it has: cargo says so to all
/// of them (.cargo/config.toml).
#[test]
fn failures_are_not_written() {
    for config in [Config::default(), Config::with_cases(3)] {
        assert!(config.failure_persistence.is_none(), "is PROPTEST_DISABLE_FAILURE_PERSISTENCE set?");
    }
}
