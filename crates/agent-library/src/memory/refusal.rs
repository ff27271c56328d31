//! What is never remembered, whatever a model says (MEM-4).

use std::fmt;

use super::{
    Decision, MemoryId, Shape, Sources, shapes,
    text::{is_line_end, is_treacherous, seen},
};

/// Why one decision is not carried out. The others are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// None of its sources was scanned.
    #[error("it names no message of those that were read")]
    NoSource,
    /// The user did not say it.
    #[error("it is about the user, but none of its sources is a message of theirs")]
    NotFromUser,
    /// Nothing is said.
    #[error("its {0} is empty")]
    Empty(Field),
    /// A summary of a page is none.
    #[error("its {field} has more than {most} {}", .field.unit())]
    TooLong {
        /// Where.
        field: Field,
        /// Most characters, or tags.
        most: usize,
    },
    /// What stands in a catalog takes one line.
    #[error("its {0} has more than one line")]
    NotOneLine(Field),
    /// Control characters, or such that hide or turn around what they stand in.
    #[error("its {0} holds characters that are not seen")]
    Unprintable(Field),
    /// The value is named nowhere.
    #[error("its {0} looks like it holds a secret")]
    Secret(Field),
    /// It is something that was only passing.
    #[error("its {field} looks like {shape}")]
    Shape {
        /// Where.
        field: Field,
        /// What it looks like.
        shape: Shape,
    },
    /// Update and conflict need a memory that was shown: of another project, or nobody's.
    #[error("it names no memory that was shown")]
    UnknownMemory,
    /// It would be lost, what the first one wrote.
    #[error("an earlier decision changes {0} already")]
    Twice(MemoryId),
    /// MEM-12.
    #[error("{0} holds everywhere; what holds in one project only must not be put into it")]
    Wider(MemoryId),
    /// What a person added could get lost.
    #[error("the frontmatter of {0} is written in a way that cannot be changed safely; edit its file")]
    Unwritable(MemoryId),
    /// So many are never read.
    #[error("there are {0} memories or more; forget some")]
    Full(usize),
}

/// A part of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Of the file.
    Name,
    /// The one line.
    Summary,
    /// The words to find it by.
    Tags,
    /// The text.
    Content,
}

impl Field {
    fn unit(self) -> &'static str {
        match self {
            Self::Tags => "entries, or one with too many characters",
            Self::Name | Self::Summary | Self::Content => "characters",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "name",
            Self::Summary => "summary",
            Self::Tags => "list of tags",
            Self::Content => "content",
        })
    }
}

/// Characters of a content.
pub(super) const MOST_CONTENT: usize = 2_000;

/// Characters of a summary.
pub(super) const MOST_SUMMARY: usize = 200;

/// Tags, and characters of each.
pub(super) const MOST_TAGS: usize = 10;
pub(super) const MOST_TAG: usize = 40;

/// Whether what a decision would write may be written. Whether it may stand where it is to be written is another
/// matter.
pub(super) fn check(decision: &Decision, sources: &Sources, is_secret: &dyn Fn(&str) -> bool) -> Result<(), Refusal> {
    if !decision.source_node_ids.iter().any(|id| sources.nodes.contains_key(id)) {
        return Err(Refusal::NoSource);
    }
    secrets(decision, is_secret)?;
    text(Field::Summary, &decision.summary, MOST_SUMMARY)?;
    text(Field::Content, &decision.content, MOST_CONTENT)?;
    let most = MOST_TAGS;
    if decision.tags.len() > most {
        return Err(Refusal::TooLong { field: Field::Tags, most });
    }
    decision.tags.iter().try_for_each(|tag| text(Field::Tags, tag, MOST_TAG))
}

fn secrets(decision: &Decision, is_secret: &dyn Fn(&str) -> bool) -> Result<(), Refusal> {
    let tags = decision.tags.iter().map(|tag| (Field::Tags, tag));
    let parts = [(Field::Summary, &decision.summary), (Field::Content, &decision.content)];
    for (field, text) in decision.name.iter().map(|name| (Field::Name, name)).chain(parts).chain(tags) {
        // Also what is left when nothing hides between the letters.
        let plain = seen(text);
        if is_secret(text) || (plain != *text && is_secret(&plain)) {
            return Err(Refusal::Secret(field));
        }
    }
    Ok(())
}

fn text(field: Field, text: &str, most: usize) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::Empty(field));
    }
    if text.trim().chars().count() > most {
        return Err(Refusal::TooLong { field, most });
    }
    let is_block = field == Field::Content;
    if !is_block && text.trim().contains(is_line_end) {
        return Err(Refusal::NotOneLine(field));
    }
    let may_stand = |c: char| is_block && matches!(c, '\n' | '\t' | '\r');
    if text.trim().chars().any(|c| is_treacherous(c) || (c.is_control() && !may_stand(c))) {
        return Err(Refusal::Unprintable(field));
    }
    shapes::find(&seen(text)).map_or(Ok(()), |shape| Err(Refusal::Shape { field, shape }))
}
