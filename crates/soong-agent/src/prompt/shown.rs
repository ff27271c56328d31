//! What a person sees of a question.
//!
//! What the call would do comes first, however long it is; then, next to the options, what it is about. All of it may be
//! written by a model, so no row begins with words of others: `  | ` stands before each line of what the call would do, a
//! label before each fact, and a row with `:` in place of either goes on with the one above.

use agent_core::PermissionRequest;
use agent_core::id::AgentId;
use agent_core::permission::path_from_text;
use agent_core::session::AgentRole;
use agent_core::text::{escape_for_terminal, quote_name, shown_path};
use unicode_segmentation::UnicodeSegmentation;

use crate::output::{Width, wrapped};

/// Begins the first row of what the call is about.
pub(super) const TITLE: &str = "allow?";
/// Asks for the answer, on its line.
pub(super) const ASKING: &str = "  1, 2 or 3? ";
/// What the last option is.
const DENY: &str = "deny; what follows the 3 tells the model why";
/// How many targets are shown one by one.
const MAX_TARGETS: usize = 8;
/// More reasons than these would push the target off the screen; the gravest come first.
const MAX_REASONS: usize = 8;
/// How many characters of each end of a fact are shown. Facts are next to the options, and must leave room for them.
const MAX_END: usize = 120;
/// The longest form of an escaped character: `\u{10ffff}`.
const ESCAPE: usize = 10;
/// Core's note that something is not shown begins with this; nothing else in a summary does.
const NOTE: &str = "[… ";

/// The rows of a question, in order. None is wider than the terminal, and all are escaped.
#[derive(Debug)]
pub(super) struct Shown {
    /// What the call would do.
    pub(super) preview: Vec<String>,
    /// Who asks for what.
    pub(super) title: Vec<String>,
    /// What it is about, and the options.
    pub(super) facts: Vec<String>,
}

impl Shown {
    pub(super) fn of(request: &PermissionRequest, width: Width) -> Self {
        let summary = escape_for_terminal(&request.args_summary);
        let lines = summary.strip_suffix('\n').unwrap_or(&summary).split('\n');
        let is_command = request.env_summary.contains_key("names");
        let parts =
            lines.flat_map(|line| if is_command { script_lines(line) } else { vec![line] }.into_iter().enumerate());
        let border = |at| if at == 0 { "  | " } else { "  : " };
        let preview = parts.flat_map(|(at, part)| wrapped(border(at), "  : ", part, width)).collect();
        let danger = if request.dangerous { " (dangerous)" } else { "" };
        let title = format!("{}{danger}", short(&request.tool_name));
        let title = wrapped(&format!("{TITLE} "), "     : ", &title, width);
        let facts = facts(request).into_iter().map(|(label, text)| (format!("  {label:7} "), "        : ", text));
        let options = options(request).map(|(number, text)| (format!("  {number}  "), "   : ", text));
        let rows = facts.chain(options);
        let facts = rows.flat_map(|(label, rest, text)| wrapped(&label, rest, &text, width)).collect();
        Self { preview, title, facts }
    }
}

/// What there is to know about the call: labels of at most seven letters, and one line each.
fn facts(request: &PermissionRequest) -> Vec<(&'static str, String)> {
    let targets = request.target_scope.iter().flat_map(|targets| targets.split('\n'));
    let mut facts: Vec<_> = some("target", MAX_TARGETS, targets.map(path).collect());
    facts.extend(request.network_host.as_deref().map(|host| ("host", short(host))));
    facts.push(("in", path(&request.cwd)));
    if let Some(parent) = &request.parent_agent_id {
        facts.push(("asks", who_asks(request, parent)));
    }
    for (name, said) in request.hook_summary.iter().flatten() {
        let said = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
        facts.push(("hook", short(&format!("{name}: {said}"))));
    }
    facts.extend(some("because", MAX_REASONS, reasons(request)));
    if let Some((_, after)) = request.args_summary.split_once(NOTE) {
        let missing = after.split(" not shown").next().filter(|missing| is_count(missing)).unwrap_or("a part");
        facts.push(("!", format!("not shown whole; left out above: {missing}")));
    }
    facts
}

/// Which child agent asks, and whose child it is.
fn who_asks(request: &PermissionRequest, parent: &AgentId) -> String {
    let told = |key| request.metadata.get(key).and_then(|told| told.as_str());
    let role = match request.agent_role {
        AgentRole::Worker => "the worker",
        AgentRole::Fork => "the fork",
        AgentRole::Sub | AgentRole::Main | AgentRole::Orchestrator => "the sub-agent",
    };
    let name = told(PermissionRequest::AGENT_NAME).map_or_else(String::new, |name| format!(" {}", short(name)));
    let parent_role = told(PermissionRequest::PARENT_ROLE).map_or_else(String::new, |role| format!("{role} agent "));
    format!("{role}{name} ({}), a child of the {}{parent}", request.agent_id, short(&parent_role))
}

/// At most so many; the others are counted.
fn some(label: &'static str, most: usize, mut all: Vec<String>) -> Vec<(&'static str, String)> {
    if let more @ 1.. = all.len().saturating_sub(most) {
        all.truncate(most);
        all.push(format!("and {more} more"));
    }
    all.into_iter().map(|text| (label, text)).collect()
}

fn reasons(request: &PermissionRequest) -> Vec<String> {
    let reasons = request.metadata.get("reasons").and_then(|reasons| reasons.as_array());
    reasons.into_iter().flatten().filter_map(|reason| reason.as_str().map(short)).collect()
}

/// The answers and what each means.
fn options(request: &PermissionRequest) -> impl Iterator<Item = (u8, String)> {
    let scope = request.metadata.get("session_scope").and_then(|scope| scope.as_str());
    let session = match scope {
        Some(scope) => format!("allow for this session: do not ask again about {}", short(scope)),
        None => "allow for this session: not possible for this call, so it counts once".to_owned(),
    };
    [(1, "allow once".to_owned()), (2, session), (3, DENY.to_owned())].into_iter()
}

/// A command line in parts that end where the lines of a script in it do: behind each `\n` of a word in `$'…'`. Together they are
/// the line as it was, so that no script can be made to look like something else.
fn script_lines(command: &str) -> Vec<&str> {
    let (mut parts, mut from, mut at) = (Vec::new(), 0, 0);
    let bytes = command.as_bytes();
    // Whether a word in quotes is being read, and whether escapes count in it.
    let (mut quoted, mut escapes) = (false, false);
    while at < bytes.len() {
        match (bytes[at], quoted) {
            (b'\'', false) => (quoted, escapes) = (true, at > 0 && bytes[at - 1] == b'$'),
            (b'\'', true) => quoted = false,
            (b'\\', true) if escapes => {
                at += 1;
                let ends = bytes.get(at) == Some(&b'n') && !command[at + 1..].starts_with('\'');
                if ends {
                    parts.push(&command[from..=at]);
                    from = at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    parts.push(&command[from..]);
    parts
}

/// Whether these are the numbers of a note, and not something that was made to look like one.
fn is_count(missing: &str) -> bool {
    let known = |word: &str| matches!(word, "characters" | "in" | "lines" | "words");
    missing.len() < 80 && missing.split(' ').all(|word| known(word) || word.parse::<u64>().is_ok())
}

/// A path of a request, which is raw: quoted and escaped, so that it is seen for what it is and where it ends. Bytes
/// that are no text are written as results and tools write them (`shown_path`).
fn path(raw: &str) -> String {
    let path = path_from_text(raw);
    short(&quote_name(&shown_path(&path)))
}

/// A fact for one line: escaped, and both ends of one that is long.
fn short(text: &str) -> String {
    let text = escape_for_terminal(text).replace('\n', "\\n").replace('\t', "\\t");
    let borders: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).collect();
    if borders.len() <= 2 * MAX_END {
        return text;
    }
    let head = before_escape(&text, borders[MAX_END]);
    let tail = before_escape(&text, borders[borders.len() - MAX_END]);
    let missing = text[head..tail].chars().count();
    format!("{}{NOTE}{missing} characters not shown …]{}", &text[..head], &text[tail..])
}

/// Where to cut so as not to cut an escape: before the backslash that is near.
fn before_escape(text: &str, cut: usize) -> usize {
    let near = text[..cut].char_indices().rev().take(ESCAPE).find(|(_, c)| *c == '\\');
    near.map_or(cut, |(at, _)| text[..at].trim_end_matches('\\').len())
}

#[cfg(test)]
mod tests;
