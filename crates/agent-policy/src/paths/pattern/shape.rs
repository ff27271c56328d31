//! Patterns of whole components with at most one `*` each, matched without a regular expression.
//!
//! Nearly every pattern is one of these, and compiling regular expressions for them would cost more than all the rest
//! of a start. They mean what `globset` makes of them, which a property holds them to.

use std::str::Split;

use crate::paths::fold::name_of;

/// A pattern as its components; an absolute one, as an absolute path, begins with an empty one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// `**`: any number of components.
    Any,
    Name(Name),
}

/// One component.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Literal(String),
    /// What is before the star, and what after it.
    Star(String, String),
}

impl Shape {
    /// The pattern, unless it needs more than this.
    pub(super) fn parse(pattern: &str) -> Option<Self> {
        if pattern.contains(['?', '[', ']', '{', '}', '\\']) {
            return None;
        }
        let whole = pattern.contains('/');
        let parts: Vec<Part> = pattern.split('/').map(|name| Part::parse(name, whole)).collect::<Option<_>>()?;
        // `globset` wants something below a final `**`.
        (parts.last() != Some(&Part::Any)).then_some(Self(parts))
    }

    /// Whether the pattern stands for its own text alone.
    pub(super) fn is_literal(&self) -> bool {
        self.0.iter().all(|part| matches!(part, Part::Name(Name::Literal(_))))
    }

    /// Whether a name, or an absolute and clean path, is one of those meant.
    pub(super) fn matches(&self, text: &str) -> bool {
        // Most paths differ in the last name.
        match self.0.last() {
            Some(Part::Name(name)) if name.matches(name_of(text)) => self.walk(text.split('/')),
            _ => false,
        }
    }

    /// Goes along the names; where they part from the pattern, the last `**` takes one more of them.
    fn walk<'t>(&self, mut names: Split<'t, char>) -> bool {
        let mut at = 0;
        let mut retry: Option<(usize, Split<'t, char>)> = None;
        loop {
            let mut ahead = names.clone();
            match (self.0.get(at), ahead.next()) {
                (None, None) => return true,
                (Some(Part::Any), _) => {
                    at += 1;
                    retry = Some((at, names.clone()));
                    continue;
                }
                (Some(Part::Name(part)), Some(name)) if part.matches(name) => {
                    at += 1;
                    names = ahead;
                    continue;
                }
                _ => {}
            }
            let Some((part, from)) = &mut retry else { return false };
            if from.next().is_none() {
                return false;
            }
            (at, names) = (*part, from.clone());
        }
    }
}

impl Part {
    fn parse(name: &str, whole: bool) -> Option<Self> {
        if whole && name == "**" {
            return Some(Self::Any);
        }
        let name = match name.split_once('*') {
            None => Name::Literal(name.to_owned()),
            Some((before, after)) if !after.contains('*') => Name::Star(before.to_owned(), after.to_owned()),
            Some(_) => return None,
        };
        Some(Self::Name(name))
    }
}

impl Name {
    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Literal(literal) => literal == name,
            Self::Star(before, after) => {
                name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
            }
        }
    }
}
