//! `NAME=secret` in the ways shells, configurations, programs and logs have it.

use super::cut::Cut;
use super::extent::Value;
use super::link::{Link, Sign};
use super::name::{Kind, Name};
use super::place::Place;
use super::window::{SAMPLE, Window};
use super::{marker, value};

/// What is refused may be accepted where it is shorter, so no value may end at a marker.
pub(super) fn look(window: &Window<'_>, cuts: &mut Vec<Cut>) {
    let Some(name) = Name::around(window) else { return };
    // In this order: most names are followed by nothing of interest.
    let Some(link) = Link::after(window, &name) else { return };
    let Some(kind) = name.kind() else { return };
    let place = place(window, &name, &link);
    let Some(value) = Value::after(window, &name, &link, place) else { return };
    if allowed(window, kind, place, &name, &link, &value) && value::is_secret(kind, place, &value) {
        let end = value.end(window);
        if !window.touches_marker(end) {
            cuts.push(Cut { range: value.start..end, marker: marker::PLAIN });
        }
    }
}

fn place(window: &Window<'_>, name: &Name<'_>, link: &Link) -> Place {
    let before = name.start.checked_sub(1).and_then(|at| window.get(at));
    match link.sign {
        Sign::Encoded => Place::Query,
        Sign::Equals | Sign::Blank if name.option => Place::Option,
        Sign::Equals if link.tight && matches!(before, Some(b'?' | b'&' | b';')) => Place::Query,
        // Some write `&` in JSON as `\u0026`.
        Sign::Equals if link.tight && name.text.starts_with(b"u0026") => Place::Query,
        Sign::Equals if name.shouts() && link.tight && !link.quoted => Place::Environment,
        Sign::Value if name.shouts() => Place::Environment,
        Sign::Blank if name.shouts() && follows_setter(window, name) => Place::Environment,
        _ => Place::Plain,
    }
}

/// `ENV NAME value` in container files, `setx NAME value` and `set -gx NAME value` in shells.
fn follows_setter(window: &Window<'_>, name: &Name<'_>) -> bool {
    [&b"ENV "[..], b"setx ", b"-gx "].iter().any(|setter| window.has_before(name.start, setter))
}

/// Combinations that mean something else.
fn allowed(window: &Window<'_>, kind: Kind, place: Place, name: &Name<'_>, link: &Link, value: &Value<'_>) -> bool {
    match link.sign {
        Sign::Compare => value.is_quoted(),
        // Not a list of words, and not `'/etc/passwd', 'utf8'`.
        Sign::Comma => {
            value.is_quoted() && value.sample.iter().any(u8::is_ascii_digit) && !window.has_before(name.start, b"/")
        }
        Sign::Tag => window.has(value.start + value.sample.len(), b"</"),
        // `PASSWORD 'x'` in SQL; `login u password x` in a netrc.
        Sign::Blank if place == Place::Plain => {
            (kind == Kind::Password && window.has_before(value.start, b"'")) || follows_login(window, name)
        }
        // Numbers of JSON stay, so that it can be read.
        Sign::Colon if link.quoted && !value.is_quoted() => !value.sample.iter().all(|&byte| is_number(byte)),
        _ => true,
    }
}

fn is_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E')
}

/// `login`, a user's name, and the name of the value: as a netrc has it, on one line or several.
fn follows_login(window: &Window<'_>, name: &Name<'_>) -> bool {
    let before = &window.text[name.start.saturating_sub(SAMPLE)..name.start];
    let mut words = before.rsplit(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.next().is_some() && words.next() == Some(b"login")
}
