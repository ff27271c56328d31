//! YAML with bounds, and errors a writer of Markdown understands.

use serde::Deserialize;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, MessageFormatter, Options, UserMessageFormatter, alias_limits, budget, options};

use super::error::FrontmatterError;
use crate::shown;

/// A longer block is an error. Bytes.
pub const MAX_BLOCK: usize = 64 * 1024;

/// The line of a file in which its block begins: behind the opening fence.
pub(super) const FIRST_LINE: usize = 2;

/// Collections in collections.
const MAX_DEPTH: usize = 32;
/// Keys, values and list entries.
const MAX_NODES: usize = 4096;
/// Anchors and references to them; each may stand for much.
const MAX_ALIASES: usize = 64;
/// What references may stand for, together.
const MAX_REPLAYED: usize = 1024;

/// Reads the text of a block.
pub(super) fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, FrontmatterError> {
    serde_saphyr::from_str_with_options(text, bounds()).map_err(|error| explain(&error, text))
}

fn bounds() -> Options {
    options! {
        budget: budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_nodes: MAX_NODES,
            max_events: 4 * MAX_NODES,
            max_documents: 1,
            max_anchors: MAX_ALIASES,
            max_aliases: MAX_ALIASES,
            max_recorded_anchor_events: 4 * MAX_REPLAYED,
            max_recorded_anchor_bytes: MAX_BLOCK,
            max_total_scalar_bytes: 2 * MAX_BLOCK,
        },
        alias_limits: alias_limits! {
            max_total_replayed_events: MAX_REPLAYED,
            max_replay_stack_depth: 8,
            max_alias_expansions_per_anchor: MAX_ALIASES,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        // JSON has no such numbers, and nobody means them here.
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        strict_booleans: true,
        with_snippet: false,
    }
}

/// The place in the file, and in words.
fn explain(error: &Error, text: &str) -> FrontmatterError {
    let (line, column) = place(error, text);
    let said = match error {
        Error::Budget { breach: BudgetBreach::Documents { .. }, .. } => {
            "a second YAML document begins here; only a line `---` ends the frontmatter".into()
        }
        other => UserMessageFormatter.format_message(other),
    };
    let hint = match error {
        Error::Unexpected { .. } if column == 1 => "; frontmatter is lines of `key: value`",
        Error::ExternalMessage { .. } | Error::Unexpected { .. } | Error::UnknownAnchor { .. } => {
            text.lines().nth(line - 1).and_then(hint).unwrap_or_default()
        }
        _ => "",
    };
    let said = shown::line(&said, shown::FIELD - hint.len());
    FrontmatterError { line: line + FIRST_LINE - 1, column, message: format!("{said}{hint}") }
}

/// Line and column in the block. YAML ends lines at a lone CR too, editors do not, so they are counted anew.
fn place(error: &Error, text: &str) -> (usize, usize) {
    // What concerns the whole block has no place of its own.
    let characters = error.location().map_or(0, |place| place.span().offset());
    let characters = usize::try_from(characters).unwrap_or(usize::MAX);
    let before = text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end]);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

/// What mostly is wrong with a line: a value that YAML takes for more than words.
fn hint(line: &str) -> Option<&'static str> {
    let (_, value) = line.split_once(": ")?;
    let value = value.trim();
    let special = value.starts_with(['*', '&', '!', '%', '@', '`', '{', '-', '?']);
    let quoted = value.starts_with(['"', '\'', '[']);
    (special || (!quoted && value.contains(": "))).then_some("; put the value in quotes")
}
