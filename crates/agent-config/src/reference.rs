//! The reference of all keys, made from their declarations.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::config::{Config, rows};
use crate::schema::Row;
use crate::tree::Value;

const HEAD: &str = "\
# config.toml

<!-- Generated from the declarations in crates/agent-config/src/sections. Do not edit:
     UPDATE_DOCS=1 cargo test -p agent-config reference -->

One file, `config.toml` in the agent's home (`$SOONG_AGENT_HOME`, else `~/.soong-agent`). It must exist, and is never made
for you; `soong-agent config template` prints a complete one, `soong-agent config check` says what is wrong with yours. A
key that is left out means its default here. An unknown key is an error. Lists replace the default; they do not add to it.

Paths know two placeholders, `${SOONG_AGENT_HOME}` for home and `<project>` for the project folder, each as the first part.
Secrets are never written here: `api_key_env` names the environment variable that holds the key.

The file must be yours or root's and writable by nobody else (`chmod go-w`), since it decides what runs in your name.

`NAME` stands for a name you choose, `[]` for each entry of a list.
";

/// What each key means when the file does not hold it.
type Implied<'r> = BTreeMap<&'r str, &'r Value>;

/// The reference as Markdown: every key with its type, default and meaning, in the order of the declarations.
#[must_use]
pub fn reference_markdown() -> String {
    let packaged = rows(&Config::default());
    let implied = rows(&Config::implied());
    let implied = implied.iter().filter_map(|row| Some((row.key.as_str(), row.default.as_ref()?))).collect();
    let mut text = HEAD.to_owned();
    for (at, row) in packaged.iter().enumerate().filter(|(_, row)| !row.key.is_empty()) {
        let members: Vec<&Row> = members(&packaged[at + 1..], &row.key).collect();
        if row.table && !members.is_empty() {
            section(&mut text, row, &members, &implied);
        } else if !row.table && !row.key.contains('.') {
            named_tables(&mut text, row, &implied);
        }
    }
    text
}

/// The rows directly below a table that are no tables themselves.
fn members<'r>(rows: &'r [Row], table: &'r str) -> impl Iterator<Item = &'r Row> {
    rows.iter().filter(move |row| !row.table && last_of(&row.key, table).is_some())
}

fn last_of<'k>(key: &'k str, table: &str) -> Option<&'k str> {
    let last = key.strip_prefix(table)?.strip_prefix('.')?;
    (!last.contains('.')).then_some(last)
}

fn section(text: &mut String, table: &Row, members: &[&Row], implied: &Implied<'_>) {
    let _ = write!(text, "\n## {}\n\n", header(&table.key));
    let meaning = one_line(table.doc.meaning);
    if !meaning.is_empty() {
        let _ = write!(text, "{meaning}\n\n");
    }
    text.push_str("| key | value | default | meaning |\n| --- | --- | --- | --- |\n");
    for row in members {
        let name = last_of(&row.key, &table.key).unwrap_or(&row.key);
        let _ = writeln!(
            text,
            "| `{name}` | {} | {} | {} |",
            cell(&row.kind),
            cell(&default(row, implied)),
            cell(&one_line(row.doc.meaning)),
        );
    }
}

/// A section that holds nothing but tables with names of the user's own.
fn named_tables(text: &mut String, row: &Row, implied: &Implied<'_>) {
    let meaning = one_line(row.doc.meaning);
    let _ = write!(text, "\n## [{}.NAME]\n\n{meaning}\n\n", row.key);
    let _ = writeln!(text, "Value: {}. Default: {}.", row.kind, default(row, implied));
}

/// A table's name as it stands in the file.
fn header(key: &str) -> String {
    match key.strip_suffix("[]") {
        Some(list) => format!("[[{}]]", list.replace("[]", "")),
        None => format!("[{}]", key.replace("[]", "")),
    }
}

fn default(row: &Row, implied: &Implied<'_>) -> String {
    match (&row.default, implied.get(row.key.as_str()).copied()) {
        _ if row.doc.required => "required".to_owned(),
        (None, _) => "not set".to_owned(),
        (Some(packaged), Some(implied)) if packaged == implied => shown(packaged),
        (Some(Value::List(_) | Value::Table(_)), _) => "none; the packaged file has one".to_owned(),
        (Some(packaged), _) => format!("not set; the packaged file has {}", shown(packaged)),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Table(entries) if entries.is_empty() => "none".to_owned(),
        other => format!("`{other}`"),
    }
}

fn one_line(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
#[path = "reference_tests.rs"]
mod tests;
