//! What several test modules share.

use proptest::test_runner::Config;

pub(crate) fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

/// Property tests keep no file of failures: tests write nowhere but in their own folder.
pub(crate) fn properties() -> Config {
    Config { failure_persistence: None, ..Config::default() }
}
