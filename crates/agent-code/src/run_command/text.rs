//! From the bytes a command printed to text that is worth showing: what was overwritten on a terminal is left out, control
//! characters are symbols, and what is no text is flagged.

use std::borrow::Cow;

use agent_exec::{incomplete_end, incomplete_start};

/// From so many equal symbols on they are counted instead of repeated.
const COUNTED: usize = 8;
/// So many letters of two frames are compared.
const MOST_COMPARED: usize = 200;
/// Wipes what is right of the cursor.
const ERASE_REST: &str = "\u{1b}[K";
/// Wipes the line.
const ERASE_LINE: &str = "\u{1b}[2K";

/// Bytes as a result shows them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Readable {
    pub(super) text: String,
    /// How many frames of progress, or characters taken back, are left out because something was printed over them.
    pub(super) overwritten: usize,
    /// Control characters are shown as symbols.
    pub(super) symbols: bool,
    /// Bytes that are no text are shown as U+FFFD.
    pub(super) lossy: bool,
}

/// What a terminal would show at the end, in plain characters.
pub(super) fn readable(bytes: &[u8]) -> Readable {
    let decoded = String::from_utf8_lossy(bytes);
    let lossy = matches!(decoded, Cow::Owned(_));
    if !lossy && !bytes.iter().any(|byte| is_special(char::from(*byte))) {
        return Readable { text: decoded.into_owned(), ..Readable::default() };
    }
    let mut shown = Readable { lossy, ..Readable::default() };
    for line in decoded.split_inclusive('\n') {
        let (body, end) = ended(line);
        let (visible, overwritten) = last_frame(body);
        shown.overwritten += overwritten;
        shown.push(&visible, lossy);
        shown.text.push_str(end);
    }
    shown
}

impl Readable {
    fn push(&mut self, visible: &str, lossy: bool) {
        let mut rest = visible.chars().peekable();
        while let Some(c) = rest.next() {
            let symbol = symbol(c);
            self.symbols |= symbol.is_some();
            if symbol.is_none() && !(lossy && c == char::REPLACEMENT_CHARACTER) {
                self.text.push(c);
                continue;
            }
            let mut times = 1;
            while rest.next_if_eq(&c).is_some() {
                times += 1;
            }
            let shown = symbol.unwrap_or(c);
            if times < COUNTED {
                self.text.extend(std::iter::repeat_n(shown, times));
            } else {
                self.text.push_str(&format!("[{shown} × {times}]"));
            }
        }
    }
}

/// Whether a character needs more than to be copied.
fn is_special(c: char) -> bool {
    c.is_ascii_control() && !matches!(c, '\n' | '\t')
}

/// The picture of a control character.
fn symbol(c: char) -> Option<char> {
    match c {
        '\u{7f}' => Some('\u{2421}'),
        c if is_special(c) => char::from_u32(0x2400 + u32::from(c)),
        _ => None,
    }
}

/// A line and its end. Carriage returns right before a line end overwrite nothing.
fn ended(line: &str) -> (&str, &str) {
    let (body, newline) = match line.strip_suffix('\n') {
        Some(body) => (body, "\n"),
        None => (line, ""),
    };
    match body.strip_suffix('\r') {
        Some(text) if !newline.is_empty() => (text.trim_end_matches('\r'), "\r\n"),
        _ => (body, newline),
    }
}

/// What is left of a line after all that was printed over, and how much was. A frame that wipes the line without writing
/// anything leaves the one before it: it says more than nothing. Frames that are no progress, such as the lines of a file
/// that ends them by carriage returns alone, all stay.
fn last_frame(body: &str) -> (Cow<'_, str>, usize) {
    if !body.contains(['\r', '\u{8}']) {
        return (Cow::Borrowed(body), 0);
    }
    let mut frames: Vec<&str> = body.split('\r').filter(|frame| !frame.is_empty()).collect();
    let mut overwritten = frames.len().saturating_sub(1);
    if are_lines(&frames) {
        return (Cow::Borrowed(body), 0);
    }
    let seen = frames.iter().rposition(|frame| !is_blank(frame)).map_or(frames.len(), |last| last + 1);
    frames.truncate(seen);
    let mut screen = ScreenLine::default();
    for frame in frames {
        overwritten += screen.print(frame);
    }
    (Cow::Owned(screen.text(overwritten > 0)), overwritten)
}

/// Whether frames are lines of their own rather than stages of one: at least three, most of them unlike the one before, and nothing
/// wipes one.
fn are_lines(frames: &[&str]) -> bool {
    let wipes = |frame: &&str| is_blank(frame) || frame.contains(ERASE_REST) || frame.contains(ERASE_LINE);
    let unlike = frames.windows(2).filter(|pair| !is_next_stage(pair[0], pair[1])).count();
    frames.len() >= 3 && 2 * unlike > frames.len() - 1 && !frames.iter().any(wipes)
}

/// Whether two frames say the same but for numbers and bars, or begin with the same word and both count something.
fn is_next_stage(before: &str, after: &str) -> bool {
    let letters = |frame: &str| frame.chars().filter(|c| c.is_alphabetic()).take(MOST_COMPARED).collect::<String>();
    let word = |frame: &str| {
        frame.split(|c: char| !c.is_alphabetic()).find(|word| !word.is_empty()).unwrap_or_default().to_owned()
    };
    let counts = |frame: &str| frame.contains(|c: char| c.is_ascii_digit());
    letters(before) == letters(after) || (word(before) == word(after) && counts(before) && counts(after))
}

/// A line of a terminal that is printed to.
#[derive(Default)]
struct ScreenLine {
    cells: Vec<Cell>,
    cursor: usize,
    /// Sequences behind the last character of the last frame.
    after: String,
}

/// A character, and the sequences before it that take no room.
struct Cell {
    before: String,
    shown: char,
}

impl ScreenLine {
    /// Prints a frame from the first column on. How many characters of its own it replaced.
    fn print(&mut self, frame: &str) -> usize {
        let (mut written, mut replaced) = (0, 0);
        let mut before = String::new();
        self.cursor = 0;
        let mut rest = frame;
        while let Some(c) = rest.chars().next() {
            let length = sequence(rest).unwrap_or(c.len_utf8());
            let (piece, after) = rest.split_at(length);
            rest = after;
            match piece {
                "\u{8}" => self.cursor = self.cursor.saturating_sub(1),
                ERASE_REST | "\u{1b}[0K" => self.cells.truncate(self.cursor),
                ERASE_LINE => self.cells.clear(),
                _ if c == '\u{1b}' && length > 1 => before.push_str(piece),
                _ => {
                    replaced += usize::from(self.cursor < written);
                    self.put(Cell { before: std::mem::take(&mut before), shown: c });
                    written = written.max(self.cursor);
                }
            }
        }
        self.after = before;
        replaced
    }

    fn put(&mut self, cell: Cell) {
        while self.cells.len() < self.cursor {
            self.cells.push(Cell { before: String::new(), shown: ' ' });
        }
        match self.cells.get_mut(self.cursor) {
            Some(place) => *place = cell,
            None => self.cells.push(cell),
        }
        self.cursor += 1;
    }

    fn text(self, without_final_blanks: bool) -> String {
        let mut text = String::with_capacity(self.cells.len());
        for cell in self.cells {
            text.push_str(&cell.before);
            text.push(cell.shown);
        }
        if without_final_blanks {
            text.truncate(text.trim_end_matches(' ').len());
        }
        text + &self.after
    }
}

/// The length of the control sequence (CSI) that a text begins with.
fn sequence(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !matches!(c, '\u{20}'..='\u{3f}'))?;
    matches!(parameters.as_bytes()[end], 0x40..=0x7e).then_some(end + 3)
}

/// Whether nothing of a frame would be seen: blanks, and the sequence that wipes a line.
fn is_blank(frame: &str) -> bool {
    frame.replace(ERASE_REST, "").replace(ERASE_LINE, "").trim().is_empty()
}

/// The longest beginning of `bytes` whose readable form has at most `room` bytes: by whole lines where that costs little, else
/// by whole characters. Its length.
pub(super) fn head_within(bytes: &[u8], room: usize) -> usize {
    let most = longest(bytes.len(), |length| readable(&bytes[..length]).text.len() <= room);
    let most = most - incomplete_end(&bytes[..most]);
    let line = memchr::memrchr(b'\n', &bytes[..most]).map_or(0, |end| end + 1);
    // Less of a line may show more of it: what was printed over it is gone.
    let fits = readable(&bytes[..most]).text.len() <= room;
    if !fits || costs_little(line, most) { line } else { most }
}

/// The same of the end: where it begins.
pub(super) fn tail_within(bytes: &[u8], room: usize) -> usize {
    let most = longest(bytes.len(), |length| readable(&bytes[bytes.len() - length..]).text.len() <= room);
    let start = bytes.len() - most;
    let start = start + incomplete_start(&bytes[start..]);
    let line = match memchr::memchr(b'\n', &bytes[start..]) {
        _ if start == 0 || bytes[start - 1] == b'\n' => start,
        Some(end) => start + end + 1,
        None => bytes.len(),
    };
    let fits = readable(&bytes[start..]).text.len() <= room;
    if !fits || costs_little(bytes.len() - line, bytes.len() - start) { line } else { start }
}

/// Whether `whole_lines` bytes show nearly as much as `all`.
fn costs_little(whole_lines: usize, all: usize) -> bool {
    whole_lines >= all - all / 4
}

/// The largest length up to `max` that fits, where a longer one never fits if a shorter one does not. Nothing always fits.
fn longest(max: usize, fits: impl Fn(usize) -> bool) -> usize {
    if fits(max) {
        return max;
    }
    let (mut fitting, mut too_long) = (0, max);
    while fitting + 1 < too_long {
        let middle = usize::midpoint(fitting, too_long);
        if fits(middle) { fitting = middle } else { too_long = middle }
    }
    fitting
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn shows(bytes: &[u8], text: &str, overwritten: usize) {
        let shown = readable(bytes);
        assert_eq!((shown.text.as_str(), shown.overwritten), (text, overwritten), "{bytes:?}");
    }

    /// FND-21: of a line that was printed over, what a terminal shows at the end is left.
    #[test]
    fn overwritten_frames_are_left_out() {
        shows(b"plain\n\ttext\n", "plain\n\ttext\n", 0);
        shows(b"  1%\r 50%\r100%\ndone\n", "100%\ndone\n", 2);
        shows(b"\r 1%\r 2%", " 2%", 1);
        shows(b"dos\r\nlines\r\r\n", "dos\r\nlines\r\n", 0);
        shows(b"1%\r2%\r\nnext", "2%\r\nnext", 1);
        shows(b"working\r       \r\n", "working\r\n", 1);
        shows(b"working\r\x1b[K", "working", 1);
        shows(b"spin |\x08/\x08-\n", "spin -\n", 2);
        shows("é\u{8}a\n".as_bytes(), "a\n", 1);
        let frames: String = (0..=1000).map(|n| format!("\r{n} of 1000")).collect();
        shows(frames.as_bytes(), "1000 of 1000", 1000);
        shows(b"Building 1/3: serde\rBuilding 2/3: hyper\rBuilding 3/3: x    \n", "Building 3/3: x\n", 2);
    }

    /// What a terminal still shows is shown: a return moves to the first column and wipes nothing.
    #[test]
    fn what_was_not_printed_over_stays() {
        shows(b"abcdef\rX\n", "Xbcdef\n", 1);
        shows(b"evil\x08\x08", "evil", 0);
        shows(b"evil\x08\x08en\n", "even\n", 2);
        shows(b"abc\x08 \x08\n", "ab\n", 1);
        shows(b"abcdef\rX\x1b[K\n", "X\n", 1);
        shows(b"abcdef\r\x1b[2KX\n", "X\n", 1);
        shows(b"\x1b[31mab\x1b[0m\rX\n", "Xb\n", 1);
        shows("\u{e9}t\u{e9}\rE\n".as_bytes(), "Et\u{e9}\n", 1);
        // Lines that end by returns alone are no stages of one line.
        shows(b"resolving\r         \rlinking\r       \rdone\n", "done\n", 4);
        shows(b"resolving\r\x1b[Klinking\r\x1b[Kdone\n", "done\n", 2);
        shows(b"one\rtwo\rthree\r", "one\u{240d}two\u{240d}three\u{240d}", 0);
        shows(
            b"fn main() {\r    run();\r}\r\r// end",
            "fn main() {\u{240d}    run();\u{240d}}\u{240d}\u{240d}// end",
            0,
        );
    }

    /// FND-29: control characters and bytes that are no text are shown compactly and flagged.
    #[test]
    fn what_is_no_text_is_flagged() {
        let shown = readable(&[0; 65_536]);
        assert_eq!((shown.text.as_str(), shown.symbols, shown.lossy), ("[␀ × 65536]", true, false));
        let shown = readable(b"\x1b[31mred\x1b[0m\x7f");
        assert_eq!((shown.text.as_str(), shown.symbols), ("␛[31mred␛[0m␡", true));
        let shown = readable(b"a\xffb");
        assert_eq!((shown.text.as_str(), shown.symbols, shown.lossy), ("a\u{FFFD}b", false, true));
        assert_eq!(readable(&[0xff; 100]).text, "[\u{FFFD} × 100]");
        // A character that is really there is no loss.
        let shown = readable("\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}".as_bytes());
        assert_eq!((shown.text.chars().count(), shown.lossy), (9, false));
    }

    /// Pieces that outputs are made of.
    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            4 => "[a-z é你]{0,9}\n".prop_map(String::into_bytes),
            2 => "[0-9]{1,3}%\r".prop_map(String::into_bytes),
            1 => Just(vec![0; 40]),
            1 => prop::collection::vec(any::<u8>(), 0..12),
            1 => "(a\u{8}|\u{1b}\\[[0-9]m|\r\n)".prop_map(String::into_bytes),
        ];
        prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(crate::testing::cases(512))]

        /// FND-29: whatever is printed, no control character is left but tabs and line ends, and the JSON of it is not much
        /// bigger than what was printed.
        #[test]
        fn nothing_is_left_that_cannot_be_shown(bytes in pieces()) {
            let shown = readable(&bytes);
            let left = shown.text.replace("\r\n", "\n");
            prop_assert!(!left.contains(|c: char| c.is_ascii_control() && c != '\n' && c != '\t'), "{:?}", shown);
            prop_assert!(serde_json::to_string(&shown.text).unwrap().len() <= 3 * bytes.len() + 32);
            prop_assert_eq!(shown.lossy, std::str::from_utf8(&bytes).is_err());
        }

        /// Whatever two texts are printed over each other, the last one is shown whole, and what it did not reach of the first.
        #[test]
        fn nothing_visible_is_dropped(first in "[a-z]{0,12}", second in "[a-z]{0,12}", back in 0usize..15) {
            let over = |start: usize| {
                let (kept, rest) = (&first[..start], first.get(start + second.len()..).unwrap_or(""));
                format!("{kept}{second}{rest}")
            };
            prop_assert_eq!(readable(format!("{first}\r{second}").as_bytes()).text, over(0));
            let moved = format!("{first}{}{second}", "\u{8}".repeat(back));
            prop_assert_eq!(readable(moved.as_bytes()).text, over(first.len().saturating_sub(back)));
        }

        /// FND-21: beginning and end fit their room, and cut no character of a text.
        #[test]
        fn ends_fit(bytes in pieces(), room in 0usize..200) {
            let (head, tail) = (head_within(&bytes, room), tail_within(&bytes, room));
            for part in [&bytes[..head], &bytes[tail..]] {
                let shown = readable(part);
                prop_assert!(shown.text.len() <= room, "{:?}", shown);
                prop_assert!(!shown.lossy || std::str::from_utf8(&bytes).is_err());
            }
        }
    }
}
