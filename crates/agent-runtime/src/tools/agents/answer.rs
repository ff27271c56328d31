//! What a child said, as parts of its result (AGT-5).

use agent_protocol::Object;
use agent_tool::ChildReport;
use serde::Deserialize;
use serde_json::Value;

use crate::tools::room::{Room, json_len};

/// What a child said.
pub(super) enum Answer {
    /// In words, or in the form of a report.
    Report(Report),
    /// In the form that was asked for.
    Output(Value),
    /// Before it came to its answer, or off the form that was asked for.
    Partial(String),
    /// Nothing.
    Nothing,
}

/// A report as a child may write it, alone or in a fence. Any other text is its summary.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Report {
    summary: String,
    #[serde(default)]
    findings: Vec<Value>,
    #[serde(default)]
    proposed_actions: Vec<Value>,
}

impl Report {
    fn of(text: &str) -> Self {
        let is_object = |text: &&str| text.starts_with('{');
        let written = unfenced(text.trim()).trim();
        let read = Some(written).filter(is_object).and_then(|text| serde_json::from_str(text).ok());
        read.unwrap_or_else(|| Self { summary: text.to_owned(), ..Self::default() })
    }

    fn has_lists(&self) -> bool {
        !self.findings.is_empty() || !self.proposed_actions.is_empty()
    }
}

/// What stands in a fence, where that is all there is.
fn unfenced(text: &str) -> &str {
    let inside = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inside
        .and_then(|inside| inside.strip_prefix("json").or(inside.strip_prefix("JSON")).or(Some(inside)))
        .unwrap_or(text)
}

impl Answer {
    pub(super) fn of(report: &ChildReport) -> Self {
        let said = report.answer.as_deref().filter(|text| !text.trim().is_empty());
        match (report.is_success(), &report.output, said) {
            (true, Some(value), _) => Self::Output(value.clone()),
            (true, None, Some(text)) => Self::Report(Report::of(text)),
            (false, _, Some(text)) => Self::Partial(text.to_owned()),
            (_, _, None) => Self::Nothing,
        }
    }

    /// The text that it is, where it is nothing else.
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Report(report) => (!report.has_lists()).then_some(&report.summary),
            Self::Partial(text) => Some(text),
            Self::Output(_) | Self::Nothing => None,
        }
    }

    /// All of it.
    pub(super) fn whole(&self) -> Object {
        self.parts(&Room::unlimited())
    }

    /// As much of it as there is room for: the beginnings of texts, the first entries of lists, JSON of a wanted form whole or not
    /// at all.
    pub(super) fn within(&self, room: &Room) -> Object {
        self.parts(room)
    }

    fn parts(&self, room: &Room) -> Object {
        match self {
            Self::Report(report) => of_report(report, room),
            Self::Partial(text) => Object::from_iter([("partial".to_owned(), room.text(text).text.into())]),
            Self::Output(value) => match json_len(value) <= room.bytes() {
                true => Object::from_iter([("output".to_owned(), value.clone())]),
                false => Object::new(),
            },
            Self::Nothing => Object::new(),
        }
    }
}

fn of_report(report: &Report, room: &Room) -> Object {
    let for_summary = if report.has_lists() { room.share(2) } else { room.clone() };
    let summary = Value::from(for_summary.text(&report.summary).text);
    let mut left = room.beside(json_len(&summary));
    let mut parts = Object::from_iter([("summary".to_owned(), summary)]);
    for (key, entries) in [("findings", &report.findings), ("proposed_actions", &report.proposed_actions)] {
        if entries.is_empty() {
            continue;
        }
        let mut used = 0;
        let fits = |entry: &&Value| {
            used += json_len(entry) + 1;
            used <= left.bytes()
        };
        let kept: Vec<Value> = entries.iter().take_while(fits).cloned().collect();
        let left_out = entries.len() - kept.len();
        let kept = Value::from(kept);
        left = left.beside(json_len(&kept));
        parts.insert(key.to_owned(), kept);
        if left_out > 0 {
            parts.insert(format!("{key}_left_out"), left_out.into());
        }
    }
    parts
}
