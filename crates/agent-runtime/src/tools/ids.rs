//! Ids in arguments: checked here, so that an error names the argument and an id that would do.

use std::fmt::Display;

use agent_protocol::{AgentId, ArtifactId};
use agent_tasks::{PoolId, StepId, TaskId, WalName};

/// What is wrong with an argument, and where it is.
pub(super) type Wrong = String;

pub(super) fn task_id(text: &str) -> Result<TaskId, Wrong> {
    named("task_id", text, TaskId::parse)
}

pub(super) fn wal_name(text: &str) -> Result<WalName, Wrong> {
    named("wal_name", text, WalName::parse)
}

pub(super) fn step_id(field: &str, text: &str) -> Result<StepId, Wrong> {
    named(field, text, StepId::parse)
}

pub(super) fn step_ids(field: &str, texts: &[String]) -> Result<Vec<StepId>, Wrong> {
    texts.iter().enumerate().map(|(at, text)| step_id(&format!("{field}[{at}]"), text)).collect()
}

/// No text is no pool: models write an argument that they do not need as "".
pub(super) fn pool_id(field: &str, text: Option<&str>) -> Result<Option<PoolId>, Wrong> {
    text.filter(|text| !text.is_empty()).map(|text| named(field, text, PoolId::parse)).transpose()
}

pub(super) fn agent_id(field: &str, text: &str) -> Result<AgentId, Wrong> {
    AgentId::parse(text).map_err(|error| format!("`{field}`: {error}"))
}

pub(super) fn artifact_ids(texts: &[String]) -> Result<Vec<ArtifactId>, Wrong> {
    let artifact = |(at, text): (usize, &String)| {
        ArtifactId::parse(text).map_err(|error| {
            format!("`artifact_ids[{at}]`: {error}; name files in result_summary instead, only artifacts have ids")
        })
    };
    texts.iter().enumerate().map(artifact).collect()
}

fn named<T, E: Display>(field: &str, text: &str, parse: fn(&str) -> Result<T, E>) -> Result<T, Wrong> {
    parse(text).map_err(|error| {
        let near = near(text);
        let near = if parse(&near).is_ok() { format!("; \"{near}\" would do") } else { String::new() };
        format!("`{field}`: {error}{near}")
    })
}

/// The text with the characters that names have.
fn near(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let mut near = words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-");
    near.truncate(agent_tasks::MAX_NAME_LEN);
    near
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ERR-5: an id that does not hold up is told with its argument, what is wrong with it, and one that would do.
    #[test]
    fn a_wrong_id_names_one_that_would_do() {
        for (text, near) in [
            ("Write Tests!", Some("write-tests")),
            ("../../etc/passwd", Some("etc-passwd")),
            ("a.b", Some("a-b")),
            ("Größe", Some("gr-e")),
            ("你好", None),
            ("", None),
        ] {
            let wrong = step_id("steps[1].step_id", text).unwrap_err();
            assert!(wrong.starts_with("`steps[1].step_id`: ") && wrong.contains("is not a valid step_id"), "{wrong}");
            match near {
                Some(near) => assert!(wrong.ends_with(&format!("; \"{near}\" would do")), "{wrong}"),
                None => assert!(!wrong.contains("would do"), "{wrong}"),
            }
        }
        assert!(step_id("step_id", &"X".repeat(90)).unwrap_err().contains(&"x".repeat(64)));
        assert_eq!(step_id("step_id", "a-1_b").unwrap().as_str(), "a-1_b");
        assert_eq!(pool_id("worker_pool_id", Some("")).unwrap(), None);
        assert!(artifact_ids(&["report.md".to_owned()]).unwrap_err().contains("artifact_ids[0]"));
    }
}
