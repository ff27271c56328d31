//! A tool's page, made from its definition: for `docs/tools.md` and for terminals.

use std::fmt::Write;

use agent_protocol::{Permission, ToolDefinition};
use serde_json::Value;

/// Deeper lists help nobody, and a schema of other people may be of any depth.
const MAX_DEPTH: usize = 4;

/// The tool's page in Markdown that is as readable without being rendered: what it does, and every parameter with its type,
/// bounds, default and meaning. Texts are as the tool has them; whoever shows them escapes them.
#[must_use]
pub fn reference(definition: &ToolDefinition) -> String {
    let kind = match definition.permission {
        Permission::Readonly => "reads",
        Permission::Write => "writes",
    };
    let mut page = format!("## {}\n\n{kind}", definition.name);
    if !definition.tags.is_empty() {
        let _ = write!(page, "; tags: {}", definition.tags.join(", "));
    }
    let _ = write!(page, "\n\n{}\n\n", definition.description.trim());
    parameters(&mut page, &definition.input_schema, 0);
    page
}

fn parameters(page: &mut String, schema: &Value, depth: usize) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    let required = |name: &String| {
        schema.get("required").and_then(Value::as_array).is_some_and(|list| list.iter().any(|one| one == name))
    };
    for (name, property) in properties {
        let mut about = vec![type_of(property)];
        about.extend(bounds(property));
        about.extend(match property.get("default") {
            Some(default) => Some(format!("default {default}")),
            None if required(name) => Some("required".to_owned()),
            None => Some("optional".to_owned()),
        });
        let indent = "  ".repeat(depth);
        let _ = write!(page, "{indent}- `{name}` ({})", about.join(", "));
        if let Some(meaning) = property.get("description").and_then(Value::as_str) {
            let _ = write!(page, ": {meaning}");
        }
        page.push('\n');
        if depth < MAX_DEPTH {
            parameters(page, property, depth + 1);
            if let Some(items) = property.get("items") {
                parameters(page, items, depth + 1);
            }
        }
    }
}

fn type_of(property: &Value) -> String {
    let name = |schema: &Value| schema.get("type").and_then(Value::as_str).unwrap_or("any").to_owned();
    match property.get("items") {
        Some(items) => format!("list of {}s", name(items)),
        None => match property.get("enum").and_then(Value::as_array) {
            Some(words) => words.iter().map(Value::to_string).collect::<Vec<_>>().join(" or "),
            None => name(property),
        },
    }
}

fn bounds(property: &Value) -> Option<String> {
    let bound = |key| property.get(key).map(Value::to_string);
    match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) => Some(format!("{least} to {most}")),
        (Some(least), None) => Some(format!("at least {least}")),
        (None, Some(most)) => Some(format!("at most {most}")),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests;
