//! What a shell, or a program in its place, may make of a word.

/// Stands for something unknown; no word holds it.
const UNKNOWN: char = '\0';

/// What one part of a word may come to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The names that fit, with `*` and `?`; perhaps none of both.
    Pattern(String),
    /// A name that is put together of what is not known before.
    Anything,
}

/// The parts of a word that do not simply name something. Quotes go, an escaped character may be any; of a variable the
/// folder is unknown in `$X/name`. Alone, a variable holds a name that stands somewhere else.
pub(super) fn parts(word: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    // A pattern may hold what separates others: `a=*.sh`.
    for separators in ["", "=:@"] {
        let mut tokens = Tokens { separators, ..Tokens::default() };
        tokens.read(word);
        parts.extend(tokens.parts.into_iter().filter(|part| separators == "=:@" || *part != Part::Anything));
    }
    parts.dedup();
    parts
}

#[derive(Default)]
struct Tokens {
    separators: &'static str,
    token: String,
    /// The token is not what stands there.
    changed: bool,
    parts: Vec<Part>,
}

impl Tokens {
    fn read(&mut self, word: &str) {
        let mut rest = word;
        while let Some(sign) = rest.chars().next() {
            let after = &rest[sign.len_utf8()..];
            rest = match sign {
                '\\' => self.escaped(after),
                '\'' | '"' => self.put(None, after),
                '*' | '?' => self.put(Some(sign), after),
                '[' => match class(after) {
                    // A class may hold others, so this may be but a part of it.
                    Some(after) => self.put(Some('*'), after),
                    None => self.end(after),
                },
                '{' => match braces(after) {
                    Some(after) => self.put(Some('*'), after),
                    None => self.end(after),
                },
                '$' => self.variable(after),
                '`' => self.anything(after),
                // The folder that a shell is in, or was in before.
                '~' if self.token.is_empty() && after.starts_with(['+', '-']) => self.put(Some(UNKNOWN), &after[1..]),
                _ if sign.is_whitespace() || ";|&<>(){}],".contains(sign) || self.separators.contains(sign) => {
                    self.end(after)
                }
                _ => {
                    self.token.push(sign);
                    after
                }
            };
        }
        self.end("");
    }

    fn put<'r>(&mut self, sign: Option<char>, after: &'r str) -> &'r str {
        self.token.extend(sign);
        self.changed = true;
        after
    }

    fn escaped<'r>(&mut self, after: &'r str) -> &'r str {
        let escaped = after.chars().next();
        // A line that goes on is nothing at all.
        self.put(escaped.filter(|sign| *sign != '\n').map(|_| '?'), &after[escaped.map_or(0, char::len_utf8)..])
    }

    fn anything<'r>(&mut self, after: &'r str) -> &'r str {
        self.parts.push(Part::Anything);
        self.end(after)
    }

    /// `$x`, `${x…}`, `$1`; what a command prints, and `$'…'`, can be anything. A `$` before nothing of these is itself.
    fn variable<'r>(&mut self, after: &'r str) -> &'r str {
        let name = after.find(|sign: char| !(sign.is_alphanumeric() || sign == '_')).unwrap_or(after.len());
        match after.chars().next() {
            Some('(' | '\'') => self.anything(&after[1..]),
            Some('{') => match after.find('}') {
                // `${x#a}`, `${x:1}` and their like put something together.
                Some(end) if after[1..end].chars().all(|sign| sign.is_alphanumeric() || sign == '_') => {
                    self.put(Some(UNKNOWN), &after[end + 1..])
                }
                _ => self.anything(&after[1..]),
            },
            Some('@' | '*' | '#' | '?' | '!' | '$') => self.put(Some(UNKNOWN), &after[1..]),
            Some(_) if name > 0 => self.put(Some(UNKNOWN), &after[name..]),
            _ => after,
        }
    }

    fn end<'r>(&mut self, after: &'r str) -> &'r str {
        let token = std::mem::take(&mut self.token);
        if std::mem::take(&mut self.changed) && !token.is_empty() {
            let unknown = token.strip_prefix(UNKNOWN);
            match unknown {
                Some("") => {}
                Some(rest) if rest.starts_with('/') && !rest.contains(UNKNOWN) => {
                    self.parts.push(Part::Pattern(rest.trim_start_matches('/').to_owned()));
                }
                _ if token.contains(UNKNOWN) => self.parts.push(Part::Anything),
                _ => self.parts.push(Part::Pattern(token)),
            }
        }
        after
    }
}

/// What follows a class of characters that begins here: `a-z]`.
fn class(after: &str) -> Option<&str> {
    let end = after.char_indices().skip(1).find(|(_, sign)| *sign == ']' || sign.is_whitespace())?;
    let closed = after[end.0..].strip_prefix(']')?;
    Some(closed.trim_start_matches(']'))
}

/// What follows alternatives that begin here: `a,b}` or `1..9}`.
fn braces(after: &str) -> Option<&str> {
    let end = after.find(|sign: char| sign == '}' || sign.is_whitespace())?;
    let inside = &after[..end];
    if inside.contains(',') || inside.contains("..") { after[end..].strip_prefix('}') } else { None }
}

/// Whether a name fits a pattern.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut in_name) = (0, 0);
    // The last star, and up to where it reaches.
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(sign) if *sign == '?' || *sign == name[in_name] => {
                at += 1;
                in_name += 1;
            }
            _ => match star {
                Some((begun, reach)) => {
                    star = Some((begun, reach + 1));
                    at = begun + 1;
                    in_name = reach + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|sign| *sign == '*')
}

#[cfg(test)]
mod tests;
