//! JSON columns. What is written can be read back: the parser's limit on nesting is held when writing, too.

use std::io::{self, Write};

use serde::Serialize;

use super::fault::{Fault, Outcome};

/// The deepest nesting of arrays and objects that the parser takes.
const MAX_DEPTH: usize = 127;

#[derive(Debug, thiserror::Error)]
#[error("{column} is nested deeper than {MAX_DEPTH} levels")]
struct TooDeep {
    column: &'static str,
}

/// The text of a JSON column.
pub(super) fn encode<T: Serialize + ?Sized>(column: &'static str, value: &T) -> Outcome<String> {
    match encode_within(column, value, usize::MAX)? {
        Encoded::Whole(text) => Ok(text),
        Encoded::Longer(_) => Err(Fault::rejected("write JSON", TooLong { column })),
    }
}

/// A JSON text, or how long it would be.
pub(super) enum Encoded {
    Whole(String),
    /// In bytes.
    Longer(usize),
}

/// The text of a JSON column if it has no more bytes than that: of a longer one no more is made.
pub(super) fn encode_within<T>(column: &'static str, value: &T, most: usize) -> Outcome<Encoded>
where
    T: Serialize + ?Sized,
{
    let mut text = Text { kept: Vec::new(), most, bytes: 0, depth: Depth::default() };
    serde_json::to_writer(&mut text, value).map_err(|e| Fault::rejected("write JSON", e))?;
    if text.depth.deepest > MAX_DEPTH {
        return Err(Fault::rejected("write JSON", TooDeep { column }));
    }
    if text.bytes > most {
        return Ok(Encoded::Longer(text.bytes));
    }
    Ok(Encoded::Whole(String::from_utf8(text.kept).map_err(|e| Fault::rejected("write JSON", e))?))
}

#[derive(Debug, thiserror::Error)]
#[error("{column} is too long")]
struct TooLong {
    column: &'static str,
}

/// What is written, as long as it is short enough.
struct Text {
    kept: Vec<u8>,
    most: usize,
    bytes: usize,
    depth: Depth,
}

impl Write for Text {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.bytes = self.bytes.saturating_add(piece.len());
        self.depth.feed(piece);
        if self.bytes <= self.most {
            self.kept.extend_from_slice(piece);
        } else {
            self.kept = Vec::new();
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How deep arrays and objects are nested in valid JSON.
#[derive(Default)]
struct Depth {
    now: usize,
    deepest: usize,
    in_string: bool,
    escaped: bool,
}

impl Depth {
    fn feed(&mut self, json: &[u8]) {
        for byte in json {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'[' | b'{' if !self.in_string => {
                    self.now += 1;
                    self.deepest = self.deepest.max(self.now);
                }
                b']' | b'}' if !self.in_string => self.now = self.now.saturating_sub(1),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn depth_counts_brackets_outside_of_strings() {
        for (value, expected) in [
            (json!(1), 0),
            (json!("[[{"), 0),
            (json!("\"[\\"), 0),
            (json!([]), 1),
            (json!({"a\"[": [1, {"b": "]"}], "c": [[]]}), 3),
        ] {
            // However it is cut.
            let text = value.to_string();
            for cut in 0..=text.len() {
                let mut depth = Depth::default();
                depth.feed(&text.as_bytes()[..cut]);
                depth.feed(&text.as_bytes()[cut..]);
                assert_eq!(depth.deepest, expected, "{value}");
            }
        }
    }

    /// FND-13: a text that is too long is measured and not made, and nested too deep it is refused all the same.
    #[test]
    fn long_texts_are_measured() {
        let value = json!(["aé\n", {"b": 1}]);
        let text = value.to_string();
        for most in 0..text.len() + 2 {
            match encode_within("content_json", &value, most).unwrap() {
                Encoded::Whole(whole) => assert!(whole == text && most >= text.len()),
                Encoded::Longer(bytes) => assert!(bytes == text.len() && most < bytes),
            }
        }
        let deep = (0..=MAX_DEPTH).fold(json!(1), |inner, _| json!([inner]));
        assert!(encode_within("content_json", &deep, 10).is_err());
    }

    /// What is stored can be read back: exactly what the parser takes is let through.
    #[test]
    fn the_limit_is_the_parsers() {
        let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        let text = encode("payload_json", &nested(MAX_DEPTH)).unwrap();
        assert!(serde_json::from_str::<Value>(&text).is_ok());
        assert!(encode("payload_json", &nested(MAX_DEPTH + 1)).is_err());
        assert!(serde_json::from_str::<Value>(&format!("[{text}]")).is_err());
    }
}
