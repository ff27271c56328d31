//! What the index sees of a node.

use agent_protocol::ContentBlock;
use serde_json::Value;

/// Bytes of a node's text that are indexed.
const MAX_TEXT: usize = 64 * 1024;

/// What can be found of a message: its text, the names of tools it calls, and what stands in their arguments. No tool
/// results. Control characters are blanks.
pub(super) fn of_message(content: &[ContentBlock]) -> String {
    let mut text = Text(String::new());
    for block in content {
        match block {
            ContentBlock::Text(block) => text.add(&block.text),
            ContentBlock::ToolCall(call) => {
                text.add(&call.name);
                call.arguments.values().for_each(|value| text.add_strings(value));
            }
            ContentBlock::Json(_) | ContentBlock::ToolResult(_) | ContentBlock::ArtifactRef(_) => {}
        }
    }
    text.0
}

struct Text(String);

impl Text {
    fn add(&mut self, part: &str) {
        if !self.0.is_empty() {
            self.0.push(' ');
        }
        let room = MAX_TEXT.saturating_sub(self.0.len());
        let part = &part[..part.floor_char_boundary(room)];
        self.0.extend(part.chars().map(|c| if c.is_control() { ' ' } else { c }));
    }

    fn add_strings(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.add(text),
            Value::Array(values) => values.iter().for_each(|value| self.add_strings(value)),
            Value::Object(values) => values.values().for_each(|value| self.add_strings(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// The text as it is split into words: characters of scripts that write no blanks between words stand alone.
pub(super) fn spaced(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len());
    for c in text.chars() {
        let alone = stands_alone(c);
        if alone {
            spaced.push(' ');
        }
        spaced.push(c);
        if alone {
            spaced.push(' ');
        }
    }
    spaced
}

/// The place in the text of a place in [`spaced`] of it, both in bytes.
pub(super) fn unspaced(text: &str, place: usize) -> usize {
    let mut at = 0;
    for (start, c) in text.char_indices() {
        let blanks = usize::from(stands_alone(c));
        if at + blanks + c.len_utf8() > place {
            return start;
        }
        at += 2 * blanks + c.len_utf8();
    }
    text.len()
}

/// Characters of Chinese, Japanese and Korean.
fn stands_alone(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11FF}' // jamo
        | '\u{2E80}'..='\u{2FDF}' // radicals
        | '\u{3005}'..='\u{3007}' // 々〆〇
        | '\u{3041}'..='\u{3096}' | '\u{309D}'..='\u{309F}' // hiragana
        | '\u{30A1}'..='\u{30FA}' | '\u{30FC}'..='\u{30FF}' // katakana
        | '\u{3105}'..='\u{318E}' // bopomofo, jamo
        | '\u{31A0}'..='\u{31BF}' | '\u{31F0}'..='\u{31FF}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' // ideographs
        | '\u{A960}'..='\u{A97F}' | '\u{AC00}'..='\u{D7FF}' // hangul
        | '\u{F900}'..='\u{FAFF}'
        | '\u{FF66}'..='\u{FFDC}' // half-width forms
        | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// DEC-77: what is said and what is asked of tools can be found; keys, numbers and results cannot.
    #[test]
    fn the_text_of_a_message() {
        let content: Vec<ContentBlock> = serde_json::from_value(json!([
            {"type": "text", "text": "first\nline\u{0}"},
            {"type": "tool_call", "tool_call_id": "c1", "name": "code.edit", "arguments":
                {"path": "a.rs", "n": 7, "deep": [{"key": "inner"}, null, true]}},
            {"type": "tool_result", "tool_call_id": "c1", "content": [{"type": "text", "text": "result"}]},
            {"type": "json", "data": {"x": "data"}},
            {"type": "text", "text": "last"},
        ]))
        .unwrap();
        assert_eq!(of_message(&content), "first line  code.edit a.rs inner last");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let content = [ContentBlock::text("é".repeat(MAX_TEXT)), ContentBlock::text("more")];
        let text = of_message(&content);
        assert!(text.len() <= MAX_TEXT + 1 && text.len() > MAX_TEXT - 2, "{}", text.len());
        assert!(!text.contains("more"));
    }

    #[test]
    fn characters_without_blanks_stand_alone() {
        for (text, expected) in [
            ("plain text", "plain text"),
            ("a日本b", "a 日  本 b"),
            ("한글", " 한  글 "),
            ("カナ、かな", " カ  ナ 、 か  な "),
            ("ｶﾅ", " ｶ  ﾅ "),
            ("Ünï", "Ünï"),
        ] {
            assert_eq!(spaced(text), expected);
        }
    }

    proptest! {
        /// Every character is found again behind the blanks.
        #[test]
        fn places_lead_back(text in "[a-zé 日本한か、\u{20000}]{0,12}") {
            let spaced = spaced(&text);
            let mut places = spaced.char_indices();
            for (start, c) in text.char_indices() {
                let (place, _) = places.find(|(_, found)| *found == c).unwrap();
                // A blank of ours may stand for one of the text.
                if c != ' ' {
                    prop_assert_eq!(unspaced(&text, place), start);
                }
            }
        }
    }
}
