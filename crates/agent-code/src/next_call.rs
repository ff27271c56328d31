//! What a failed call needs to be told, so that the next one can be right (FND-32): lines of the file, and the call as it could be.
//! Together with the reason it fits in 400 tokens. Nothing here is told of a file whose reading would ask.

use agent_redact::KnownSecrets;
use memchr::{memchr, memchr_iter};
use serde_json::json;

/// Room for lines of a file. Bytes.
const ROOM: usize = 900;
/// Longer lines are cut. Bytes.
const MAX_LINE: usize = 200;
/// Room for a call as an example. Bytes.
const MAX_EXAMPLE: usize = 900;
/// How many unchanged lines an example takes along to be about one place only.
const MAX_CONTEXT: usize = 6;

/// The lines of a text with their numbers: all of a short one, else those around a line (from 0), else none.
pub(crate) fn lines(text: &[u8], around: Option<usize>) -> String {
    if memchr(0, text).is_some() {
        return String::new();
    }
    let count = memchr_iter(b'\n', text).count() + usize::from(!text.is_empty() && !text.ends_with(b"\n"));
    if count == 0 {
        return "\nThe file is empty.".to_owned();
    }
    if text.len() + 8 * count <= ROOM {
        let all = numbered(text, 0, count);
        return format!("\nThe file is, as number| line:{all}");
    }
    let Some(around) = around.filter(|line| *line < count) else { return String::new() };
    // Half above, half below, as far as there is room.
    let (mut first, mut last) = (around, around);
    let mut shown = numbered(text, first, last + 1);
    for step in 0..64 {
        let (above, below) = (first.checked_sub(1), Some(last + 1).filter(|next| *next < count));
        (first, last) = match (step % 2 == 0, above, below) {
            (true, Some(above), _) | (_, Some(above), None) => (above, last),
            (_, _, Some(below)) => (first, below),
            (_, None, None) => break,
        };
        let more = numbered(text, first, last + 1);
        if more.len() > ROOM {
            break;
        }
        shown = more;
    }
    format!("\nThe file has {count} lines; those around there are, as number| line:{shown}")
}

fn numbered(text: &[u8], first: usize, end: usize) -> String {
    let lines = text.split_inclusive(|byte| *byte == b'\n').enumerate().skip(first).take(end - first);
    let lines = lines.map(|(index, line)| {
        let text = String::from_utf8_lossy(line);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let cut = text.floor_char_boundary(MAX_LINE);
        let more = if cut < text.len() { " …" } else { "" };
        format!("\n{}| {}{more}", index + 1, text[..cut].replace('\r', "<U+000D>"))
    });
    lines.collect()
}

/// The edit that would make a file of `before` what a call wants it to be, as the arguments of that call.
pub(crate) fn edit(path: &str, before: &[u8], after: &str) -> Option<String> {
    let before = std::str::from_utf8(before).ok()?.replace("\r\n", "\n");
    let (old, new): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let above = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let rest = old.len().min(new.len()) - above;
    let below = (1..=rest).take_while(|end| old[old.len() - end] == new[new.len() - end]).count();
    let (mut first, mut end) = (above, old.len() - below);
    let shift = new.len().cast_signed() - old.len().cast_signed();
    // A place that occurs once, with as few lines around it as that takes.
    for _ in 0..MAX_CONTEXT {
        let wanted = old[first..end].concat();
        if is_once(&before, &wanted) {
            let with = new[first..end.saturating_add_signed(shift)].concat();
            let example = json!({"path": path, "edits": [{"old": wanted, "new": with}]}).to_string();
            return (example.len() <= MAX_EXAMPLE).then_some(example);
        }
        first = first.saturating_sub(1);
        end = (end + 1).min(old.len());
    }
    None
}

/// Whether a text occurs in another one, and only once, counting places that overlap.
pub(crate) fn is_once(text: &str, wanted: &str) -> bool {
    !wanted.is_empty() && text.find(wanted).is_some_and(|first| text.rfind(wanted) == Some(first))
}

/// Whether what a model is shown of a text can be given in a call: a call with words that stand for a secret is refused.
pub(crate) fn can_be_given(text: &str, secrets: &KnownSecrets) -> bool {
    secrets.placeholder_in(text).is_none() && !secrets.redact(text).hit
}

/// A text for an example: a long one is not cut, since somebody might copy it.
pub(crate) fn text(text: &str) -> &str {
    if text.len() <= MAX_LINE { text } else { "(the text)" }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// FND-32: a short text is told whole, of a long one what is around the place.
    #[test]
    fn lines_have_numbers() {
        assert_eq!(lines(b"a\r\nb", None), "\nThe file is, as number| line:\n1| a<U+000D>\n2| b");
        assert_eq!(lines(b"", None), "\nThe file is empty.");
        assert_eq!(lines(b"\0", None), "");
        let long: String = (1..=500).map(|n| format!("line number {n}\n")).collect();
        assert_eq!(lines(long.as_bytes(), None), "");
        for around in [0, 250, 499] {
            let told = lines(long.as_bytes(), Some(around));
            assert!(told.contains(&format!("\n{}| line number {}", around + 1, around + 1)), "{told}");
            assert!(told.len() < ROOM + 100 && told.lines().count() > 20, "{told}");
        }
        let wide = "x".repeat(100_000);
        assert!(lines(wide.as_bytes(), Some(0)).len() < 400);
    }

    proptest! {
        #![proptest_config(crate::testing::cases(256))]

        /// FND-32: the example, where there is one, is a call that does what was wanted.
        #[test]
        fn an_example_does_what_was_wanted(before in "([ab]{0,2}\n){0,12}[ab]?", after in "([abc]{0,2}\n){0,12}[ab]?") {
            if let Some(example) = edit("f", before.as_bytes(), &after) {
                let call: Value = serde_json::from_str(&example).unwrap();
                let part = |key: &str| call["edits"][0][key].as_str().unwrap().to_owned();
                prop_assert!(is_once(&before, &part("old")));
                prop_assert_eq!(before.replacen(&part("old"), &part("new"), 1), after);
            }
        }

        /// FND-32: whatever the file, what is told of it is short.
        #[test]
        fn little_is_told(text in "[a-zé\n]{0,3000}", around in 0usize..200) {
            prop_assert!(lines(text.as_bytes(), Some(around)).len() <= ROOM + 100);
        }
    }
}
