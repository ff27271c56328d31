//! Reading `config.toml` from text, or the same from a value.

use serde_json::Value as Json;

use crate::config::{Config, rows};
use crate::path_value::Places;
use crate::problem::ConfigProblems;
use crate::rules;
use crate::schema::{Field, Report};
use crate::tree;

/// Reads a configuration. `file_name` is only for messages.
///
/// A byte order mark is skipped. Nothing is read from disk; that `memory_dir` stays inside home is checked by its words
/// here and by its links in [`load`](fn@crate::load).
///
/// # Errors
/// Every problem of the text at once. After syntax errors what can be made out around them is checked too, but not the
/// rules that need the whole.
pub fn parse(text: &str, file_name: &str, places: &Places) -> Result<Config, ConfigProblems> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut report = Report::new(text);
    let (root, syntax_errors) = tree::parse(text);
    let whole = syntax_errors.is_empty();
    report.syntax(syntax_errors);

    let mut config = Config::implied();
    config.absorb(&root, "", (), &mut report);
    if !whole {
        report.trust_syntax_over_walk();
    } else if matches!(&root.value, tree::Value::Table(entries) if entries.is_empty()) {
        report.empty();
    } else {
        rules::config(&config, places, &mut report);
    }
    finish(report, file_name)?;
    Ok(config)
}

/// The same for a configuration that was built in code, with the same keys and rules. An empty one cannot be the rest of a
/// failed write, so it means the defaults.
pub(crate) fn read_value(value: &Json, origin: &str, places: &Places) -> Result<Config, ConfigProblems> {
    let mut report = Report::new("");
    let mut config = Config::implied();
    config.absorb(&tree::from_json(value), "", (), &mut report);
    rules::config(&config, places, &mut report);
    finish(report, origin)?;
    Ok(config)
}

/// The outcome of a report, with a last look for keys that belong elsewhere.
pub(crate) fn finish(mut report: Report, origin: &str) -> Result<(), ConfigProblems> {
    if !report.is_empty() {
        let rows = rows(&Config::default());
        report.look_elsewhere(rows.iter().map(|row| row.key.as_str()));
    }
    report.into_problems(origin)
}
