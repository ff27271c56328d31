//! Takes secrets out of what a server sends back before anything of it leaves the adapter (PRV-18).

use crate::secret::Secret;

/// What stands where a secret stood.
const MARK: &str = "[redacted]";

/// Knows the secrets a request carried.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redactor {
    secrets: Vec<Secret>,
}

impl Redactor {
    pub(crate) fn new(key: Option<&Secret>) -> Self {
        Self { secrets: key.into_iter().cloned().collect() }
    }

    /// The text without our secrets, and without any other bearer token; and whether there were any.
    pub(crate) fn clean(&self, text: &str) -> (String, bool) {
        let mut clean = text.to_owned();
        for secret in &self.secrets {
            let plain = secret.expose();
            let escaped = escape(plain);
            for form in [plain, escaped.as_str(), &percent_encode(plain)] {
                if clean.contains(form) {
                    clean = clean.replace(form, MARK);
                }
            }
        }
        let clean = hide_bearer_tokens(&clean);
        let redacted = clean != text;
        (clean, redacted)
    }
}

/// The inside of the key as a JSON string.
fn escape(text: &str) -> String {
    let mut quoted = String::new();
    crate::json::push_string(&mut quoted, text);
    quoted.trim_matches('"').to_owned()
}

fn percent_encode(text: &str) -> String {
    let unreserved = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    text.bytes().map(|b| if unreserved(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

/// Hides what follows the word `Bearer`: a proxy may echo a token that is not ours.
fn hide_bearer_tokens(text: &str) -> String {
    const WORD: &str = "bearer ";
    // Not `to_lowercase`: it may change the length, and offsets must hold.
    let lower = text.to_ascii_lowercase();
    let mut clean = String::with_capacity(text.len());
    let mut copied = 0;
    for (at, _) in lower.match_indices(WORD) {
        let start = at + WORD.len();
        let token = text[start..].bytes().take_while(|b| b.is_ascii_alphanumeric() || b"-._~+/=".contains(b)).count();
        // Short words are prose: "a bearer token is missing".
        if start >= copied && token >= 8 {
            clean.push_str(&text[copied..start]);
            clean.push_str(MARK);
            copied = start + token;
        }
    }
    clean.push_str(&text[copied..]);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeySource;

    #[track_caller]
    fn check(key: &'static str, text: &str, expected: &str) {
        let secret = KeySource::new("V", "w", "n", move || Some(key.to_owned())).resolve("openai").unwrap();
        let (clean, redacted) = Redactor::new(Some(&secret)).clean(text);
        assert_eq!(clean, expected);
        assert_eq!(redacted, text != expected);
    }

    /// PRV-18: the key goes in every form it may be echoed in.
    #[test]
    fn keys_are_taken_out() {
        check("sk-1", "bad key sk-1, sk-1!", "bad key [redacted], [redacted]!");
        check("a\"b/c", r#"{"key":"a\"b/c","url":"?k=a%22b%2Fc"}"#, r#"{"key":"[redacted]","url":"?k=[redacted]"}"#);
        check("k", "nothing secret", "nothing secret");
        check("ours", "Authorization: Bearer abcdefgh1234 x", "Authorization: Bearer [redacted] x");
        check("ours", "İ a bearer token is missing", "İ a bearer token is missing");
    }
}
