//! Diffs that somebody else made, applied by us.

use proptest::{prelude::*, sample::select};
use similar::TextDiff;

use super::*;

/// Which line ends a text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lf,
    Crlf,
    Mixed,
}

/// A text of few different lines, so that many are the same; its last line may have no end.
fn text(kind: Kind, most: usize) -> impl Strategy<Value = String> {
    let ends: &[&'static str] = match kind {
        Kind::Lf => &["\n"],
        Kind::Crlf => &["\r\n"],
        Kind::Mixed => &["\n", "\r\n", "\r"],
    };
    let line = ("[ab-]{0,2}", select(ends.to_vec())).prop_map(|(line, end)| line + end);
    (proptest::collection::vec(line, 0..most), "[ab]?").prop_map(|(lines, end)| {
        let text = lines.concat() + &end;
        // To the other side a lone CR is a line end: it sets no marker behind one.
        if text.ends_with('\r') { text + "a" } else { text }
    })
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The `similar` crate's diff.
fn diff_of(a: &str, b: &str, radius: usize) -> String {
    let (a, b) = (lines(a), lines(b));
    let diff = TextDiff::configure().newline_terminated(true).diff_slices(&a, &b);
    diff.unified_diff().context_radius(radius).header("a/f", "b/f").to_string()
}

fn apply(text: &str, diff: &str) -> Result<String, DiffError> {
    let patched =
        patch(Some(text.as_bytes()), &Names::new([b"f".as_slice()]), diff, Numbers::Count, &KnownSecrets::none())?;
    Ok(String::from_utf8(patched.text).unwrap())
}

/// A text, one that it could become, and how much context a diff of them has. Without context a diff does not tell of what
/// kind the lines around an insertion are, so there is some where there are many kinds.
fn pair() -> impl Strategy<Value = (String, String, usize)> {
    select(vec![Kind::Lf, Kind::Crlf, Kind::Mixed]).prop_flat_map(|kind| {
        let least = usize::from(kind == Kind::Mixed);
        let texts = (text(kind, 24), text(kind, 24), text(kind, 6), 0..24usize);
        (texts, least..4, any::<bool>()).prop_map(move |((a, b, part, at), radius, is_other)| {
            let b = if is_other { b } else { spliced(&a, &part, at, kind) };
            (a, b, radius)
        })
    })
}

/// The text with some of its lines replaced by other ones.
fn spliced(text: &str, part: &str, at: usize, kind: Kind) -> String {
    let lines = lines(text);
    let at = at.min(lines.len());
    let end = (at + 1).min(lines.len());
    let newline = if kind == Kind::Crlf { "\r\n" } else { "\n" };
    let middle = if end < lines.len() && !part.is_empty() { format!("{part}{newline}") } else { part.to_owned() };
    lines[..at].concat() + &middle + &lines[end..].concat()
}

/// The old and new lines of the hunks of a diff, read in the plainest way: it is right, and no line lacks its end.
fn blocks(diff: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let mut blocks: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for line in diff.lines().skip(2) {
        if line.starts_with("@@") {
            blocks.push(Default::default());
            continue;
        }
        let (old, new) = blocks.last_mut().unwrap();
        let text = format!("{}\n", &line[1..]);
        if !line.starts_with('+') {
            old.push(text.clone());
        }
        if !line.starts_with('-') {
            new.push(text);
        }
    }
    blocks
}

fn places(lines: &[&str], old: &[String]) -> Vec<usize> {
    (0..=lines.len())
        .filter(|at| lines[*at..].len() >= old.len() && lines[*at..].iter().zip(old).all(|(a, b)| a == b))
        .collect()
}

/// Every text that hunks can lead to when each goes to some place where its old lines are, in order.
fn outcomes(lines: &[&str], hunks: &[(Vec<String>, Vec<String>)]) -> Vec<String> {
    let Some(((old, new), rest)) = hunks.split_first() else { return vec![lines.concat()] };
    let all = places(lines, old).into_iter().flat_map(|at| {
        let head = lines[..at].concat() + &new.concat();
        outcomes(&lines[at + old.len()..], rest).into_iter().map(move |tail| head.clone() + &tail)
    });
    all.collect()
}

proptest! {
    #![proptest_config(crate::testing::cases(1024))]

    /// COD-6: what a diff of two texts makes of the one is the other, whatever line ends they have and whether or not
    /// there is one at the end; a code fence around it or CRLF between its lines changes nothing of that.
    #[test]
    fn a_diff_of_two_texts_makes_one_of_the_other((a, b, radius) in pair()) {
        let diff = diff_of(&a, &b, radius);
        if a == b {
            prop_assert_eq!(apply(&a, &diff), Err(DiffError::NoHunk));
        } else {
            prop_assert_eq!(apply(&a, &diff), Ok(b.clone()), "{}", diff);
            prop_assert_eq!(apply(&a, &format!("```diff\n{diff}```")), Ok(b.clone()));
            if !diff.contains('\r') {
                prop_assert_eq!(apply(&a, &diff.replace('\n', "\r\n")), Ok(b));
            }
        }
    }

    /// DEC-12: what an LF diff makes of the CRLF twin of a text is the CRLF twin of what it makes of the text.
    #[test]
    fn twins_stay_twins(a in text(Kind::Lf, 24), b in text(Kind::Lf, 24), radius in 0..4usize) {
        // A text without any line end is its own twin.
        if a == b || !a.contains('\n') {
            return Ok(());
        }
        let twin = |text: &str| text.replace('\n', "\r\n");
        prop_assert_eq!(apply(&twin(&a), &diff_of(&a, &b, radius)), Ok(twin(&b)));
    }

    /// Lines that came in above: where every line is there once, the diff still makes its change and no other.
    #[test]
    fn unique_lines_are_found_again(
        keep in proptest::collection::vec(0..4u8, 1..40), above in 1..9usize, radius in 1..4usize,
    ) {
        let a: String = (0..keep.len()).map(|line| format!("line {line}\n")).collect();
        let b: String = keep.iter().enumerate().map(|(line, keep)| match keep {
            0 => String::new(),
            1 => format!("new {line}\nline {line}\n"),
            _ => format!("line {line}\n"),
        }).collect();
        if a == b {
            return Ok(());
        }
        let above: String = (0..above).map(|line| format!("above {line}\n")).collect();
        prop_assert_eq!(apply(&(above.clone() + &a), &diff_of(&a, &b, radius)), Ok(above + &b));
    }

    /// Where lines repeat, a diff of another text changes places where its old lines are, or none; and if there is but one
    /// way to do that, it is that one.
    #[test]
    fn other_texts_are_changed_as_said_or_not_at_all(
        a in text(Kind::Lf, 10), b in text(Kind::Lf, 10), other in text(Kind::Lf, 6), at in 0..10usize, radius in 1..3usize,
    ) {
        let closed = |text: String| if text.ends_with('\n') { text } else { text + "\n" };
        let (a, b) = (closed(a), closed(b));
        let shifted = closed(spliced(&a, &other, at, Kind::Lf));
        if a == b {
            return Ok(());
        }
        let diff = diff_of(&a, &b, radius);
        let outcomes = outcomes(&lines(&shifted), &blocks(&diff));
        match apply(&shifted, &diff) {
            Ok(after) => prop_assert!(outcomes.contains(&after), "{:?}", after),
            Err(DiffError::Pointless) => prop_assert!(outcomes.contains(&shifted)),
            Err(error) => {
                let is_order = matches!(error, DiffError::Hunk { problem: HunkError::Order { .. }, .. });
                prop_assert!(outcomes.len() != 1 || is_order || !alone(&shifted, &diff), "{}", error);
            }
        }
    }

    /// A diff of which any line of a hunk got lost is not applied as if it were whole.
    #[test]
    fn lost_lines_are_noticed((a, b, radius) in pair(), lost: prop::sample::Index) {
        if a == b {
            return Ok(());
        }
        let diff = diff_of(&a, &b, radius);
        let mut lines = lines(&diff);
        let of_hunks: Vec<usize> = (2..lines.len()).filter(|at| !lines[*at].starts_with(['@', '\\'])).collect();
        lines.remove(of_hunks[lost.index(of_hunks.len())]);
        let outcome = apply(&a, &lines.concat());
        prop_assert!(outcome.is_err(), "{:?}", outcome);
    }

    /// EDIT-24: a text that does not end with a newline keeps to that where the diff has no markers.
    #[test]
    fn open_ends_stay_open_without_markers(a in text(Kind::Lf, 12), b in text(Kind::Lf, 12), radius in 1..4usize) {
        let (a, b) = (format!("{a}-end"), format!("{b}-END"));
        let diff = diff_of(&a, &b, radius).replace("\\ No newline at end of file\n", "");
        prop_assert_eq!(apply(&a, &diff), Ok(b));
    }

    /// Whatever is called a diff: no panic, no success without a change.
    #[test]
    fn anything_may_be_called_a_diff(
        original in text(Kind::Mixed, 8),
        diff in proptest::collection::vec(prop_oneof![
            select(vec![
                "@@", "@@ -1 +1 @@", "@@ -1,2 +1,2 @@", "@@ -0,0 +1 @@", "@@ -2,0 +3 @@", "@@ -18446744073709551615,0 +1 @@",
                "@@ -18446744073709551615,18446744073709551615 +0,0 @@", "--- a/f", "+++ b/f", "--- /dev/null", "```",
                "diff --git a/f b/f", "\\ No newline at end of file", "", " ", "\r",
            ]).prop_map(str::to_owned),
            "[ +-][ab]{0,2}\r?",
            ".{0,4}",
        ], 0..12),
    ) {
        crate::fuzzing::apply_diff(original.as_bytes(), "f", &diff.join("\n"));
    }

    /// The same with bytes that are no text, and with a right diff of which a byte changed.
    #[test]
    fn any_bytes_may_be_the_file(
        bytes: Vec<u8>, (a, b, radius) in pair(), at: prop::sample::Index, byte in select(b" +-@\\,0129\r\na".to_vec()),
    ) {
        let mut diff = diff_of(&a, &b, radius).into_bytes();
        if !diff.is_empty() {
            let at = at.index(diff.len());
            diff[at] = byte;
        }
        let diff = String::from_utf8(diff).unwrap();
        crate::fuzzing::apply_diff(a.as_bytes(), "f", &diff);
        crate::fuzzing::apply_diff(&[a.as_bytes(), &bytes].concat(), "f", &diff);
    }
}

/// Whether the old lines of every hunk are in the text once.
fn alone(text: &str, diff: &str) -> bool {
    blocks(diff).iter().all(|(old, _)| places(&lines(text), old).len() == 1)
}
