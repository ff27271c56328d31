//! Lines in order, as long as there is room; the others are counted.

use agent_protocol::task::StepStatus;

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Task,
    Step(StepStatus),
    Change,
}

impl Kind {
    fn counted(self, count: usize) -> String {
        let s = if count == 1 { "" } else { "s" };
        match self {
            Self::Task => format!("{count} task{s}"),
            Self::Step(status) => format!("{count} {status} step{s}"),
            Self::Change => format!("{count} change{s}"),
        }
    }
}

/// All kinds that a board has, for the longest note.
const KINDS: [Kind; 6] = [
    Kind::Task,
    Kind::Step(StepStatus::Blocked),
    Kind::Step(StepStatus::Running),
    Kind::Step(StepStatus::Claimed),
    Kind::Step(StepStatus::Ready),
    Kind::Change,
];
/// No note counts to more digits: 10,000 steps a Task, and what is beyond is too many all the same.
const MANY: usize = 9_999_999;

pub(super) struct Page<'a> {
    text: String,
    count: &'a dyn Fn(&str) -> u64,
    room: u64,
    used: u64,
    /// Where the current section's room ends.
    section_end: u64,
    /// The title of a section that has no line yet.
    title: Option<&'static str>,
    /// Nothing more has a place: what follows is less important.
    full: bool,
    /// What was left out, in the order in which it would have come.
    left_out: Vec<(Kind, usize)>,
}

impl<'a> Page<'a> {
    pub(super) fn new(room: u64, count: &'a dyn Fn(&str) -> u64) -> Self {
        Self {
            text: String::new(),
            count,
            room,
            used: 0,
            section_end: 0,
            title: None,
            full: false,
            left_out: Vec::new(),
        }
    }

    /// Begins a section that takes at most so much.
    pub(super) fn section(&mut self, title: &'static str, room: u64) {
        self.title = Some(title);
        self.section_end = self.room.min(self.used.saturating_add(room));
    }

    /// Adds a line of the section; one that has no place is not made.
    pub(super) fn line(&mut self, kind: Kind, line: impl FnOnce() -> String) {
        let is_cut = kind == Kind::Task && self.is_cut();
        if !self.full && !is_cut {
            let title = self.title.map(|title| format!("{title}:\n")).unwrap_or_default();
            let line = format!("{title}- {}\n", line());
            let tokens = line.split_inclusive('\n').map(|line| (self.count)(line)).sum::<u64>();
            if self.used + tokens <= self.section_end {
                self.text.push_str(&line);
                self.used += tokens;
                self.title = None;
                return;
            }
            // The list of Tasks has a share of its own; a cut there leaves room for what follows.
            self.full = kind != Kind::Task;
        }
        match self.left_out.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => self.left_out.push((kind, 1)),
        }
    }

    pub(super) fn is_cut(&self) -> bool {
        !self.left_out.is_empty()
    }

    /// The room that is left where there is a note of what was left out.
    pub(super) fn room_beside_note(&self) -> u64 {
        self.room.saturating_sub((self.count)(&note(&KINDS.map(|kind| (kind, MANY)))))
    }

    /// The text; none where it is empty or takes more than `room`.
    pub(super) fn text(mut self, room: u64) -> Option<String> {
        if self.is_cut() {
            self.text.push_str(&note(&self.left_out));
        }
        let text = self.text.trim_end();
        (!text.is_empty() && (self.count)(text) <= room).then(|| text.to_owned())
    }
}

fn note(left_out: &[(Kind, usize)]) -> String {
    let counted: Vec<String> = left_out.iter().map(|(kind, count)| kind.counted(*count.min(&MANY))).collect();
    format!("Not shown, for lack of room: {}\n", counted.join(", "))
}
