//! The forms a value takes inside other formats.

use std::fmt::Write;

/// The value and its forms in JSON (plain, with `\/`, in ASCII, and in a JSON text inside a JSON string), in URLs and in
/// HTML forms; each once, the value itself first.
pub(super) fn forms(value: &str) -> Vec<String> {
    let json = json(value);
    let upper = percent(value, |byte| format!("%{byte:02X}"));
    let mut forms = vec![
        self::json(&json),
        json.replace('/', r"\/"),
        ascii(&json),
        percent(value, |byte| format!("%{byte:02x}")),
        percent(value, |byte| if byte == b' ' { "+".to_owned() } else { format!("%{byte:02X}") }),
        upper,
        json,
        value.to_owned(),
    ];
    forms.sort();
    forms.dedup();
    forms.sort_by_key(|form| form != value);
    forms
}

/// The inside of a JSON string.
fn json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Other characters than ASCII as `\u0000`, in UTF-16 units, as many JSON writers do.
fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

/// Everything but RFC 3986's unreserved characters by number.
fn percent(text: &str, number: impl Fn(u8) -> String) -> String {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if unreserved(byte) { char::from(byte).to_string() } else { number(byte) }).collect()
}
