//! Writes JSON text piece by piece. Requests are put together from pieces that were written long ago, so there is no
//! value tree of a whole request to hand to a serialiser; and a `String` takes every piece, so nothing here can fail.

use std::fmt::Write;

use agent_protocol::Object;
use serde_json::Value;

/// Appends a string literal, escaped as `serde_json` escapes it.
pub(crate) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0x00..0x20 => "",
            _ => continue,
        };
        out.push_str(&text[plain..at]);
        out.push_str(escape);
        if escape.is_empty() {
            let _ = write!(out, "\\u{byte:04x}");
        }
        plain = at + 1;
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

/// Appends any value.
pub(crate) fn push_value(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => push_string(out, text),
        Value::Object(object) => push_object(out, object),
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

/// Appends an object.
pub(crate) fn push_object(out: &mut String, object: &Object) {
    let mut writer = ObjectWriter::open(out);
    for (key, value) in object {
        writer.value(key, value);
    }
    writer.close();
}

/// An object under construction.
pub(crate) struct ObjectWriter<'a> {
    out: &'a mut String,
    empty: bool,
}

impl<'a> ObjectWriter<'a> {
    pub(crate) fn open(out: &'a mut String) -> Self {
        out.push('{');
        Self { out, empty: true }
    }

    /// Begins a field; the caller appends its value to what is returned.
    pub(crate) fn field(&mut self, key: &str) -> &mut String {
        if !std::mem::take(&mut self.empty) {
            self.out.push(',');
        }
        push_string(self.out, key);
        self.out.push(':');
        self.out
    }

    pub(crate) fn string(&mut self, key: &str, text: &str) {
        push_string(self.field(key), text);
    }

    pub(crate) fn value(&mut self, key: &str, value: &Value) {
        push_value(self.field(key), value);
    }

    pub(crate) fn object(&mut self, key: &str, object: &Object) {
        push_object(self.field(key), object);
    }

    pub(crate) fn number(&mut self, key: &str, number: u64) {
        let _ = write!(self.field(key), "{number}");
    }

    pub(crate) fn boolean(&mut self, key: &str, value: bool) {
        self.field(key).push_str(if value { "true" } else { "false" });
    }

    /// Text that already is JSON.
    pub(crate) fn raw(&mut self, key: &str, json: &str) {
        self.field(key).push_str(json);
    }

    pub(crate) fn close(self) {
        self.out.push('}');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::properties;

    proptest! {
        #![proptest_config(properties())]

        /// Bytes are those of `serde_json`, for any text.
        #[test]
        fn strings_are_written_as_serde_json_does(text in any::<String>(), control in 0u8..0x80) {
            let text = format!("{text}{}{text}", char::from(control));
            let mut out = String::new();
            push_string(&mut out, &text);
            prop_assert_eq!(out, serde_json::to_string(&text).unwrap());
        }
    }

    #[test]
    fn objects_are_written_as_serde_json_does() {
        for text in [r#"{}"#, r#"{"a":1,"b":[null,true,{"c":"\n"}],"d":{"e":1.5},"f\"":"x"}"#] {
            let object: Object = serde_json::from_str(text).unwrap();
            let mut out = String::new();
            push_object(&mut out, &object);
            assert_eq!(out, text);
        }
    }
}
