//! Wire types that take what servers send where the protocol promises something narrower. Strings are borrowed from the
//! line they stand in wherever they hold no escapes.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::halves;

/// A string, borrowed if possible. (`Option<Cow<str>>` in a derive never borrows.)
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl Text<'_> {
    /// The text of an optional field, where an empty one is as good as none.
    pub(crate) fn filled<'t>(text: &'t Option<Text<'_>>) -> Option<&'t str> {
        text.as_ref().map(|text| &*text.0).filter(|text| !text.is_empty())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrow;
        impl<'de> Visitor<'de> for Borrow {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(Borrow)
    }
}

/// Content as a string, or as a list of typed parts.
#[derive(Debug, PartialEq)]
pub(crate) enum TextOrParts<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

/// One part of content: text, or thinking that holds parts of its own.
#[derive(Debug, PartialEq, serde::Deserialize)]
pub(crate) struct Part<'a> {
    #[serde(borrow, default)]
    pub(crate) text: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) thinking: Option<TextOrParts<'a>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for TextOrParts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = TextOrParts<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of parts")
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(TextOrParts::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(TextOrParts::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = seq.next_element()? {
                    parts.push(part);
                }
                Ok(TextOrParts::Parts(parts))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// Argument text out of a field that should be a string but may be the object itself. `null` is no text.
pub(crate) fn argument_text(raw: &RawValue) -> Cow<'_, str> {
    let json = raw.get();
    match json.as_bytes().first() {
        Some(b'"') => match serde_json::from_str::<Text<'_>>(json) {
            Ok(text) => text.0,
            // The piece ends in the middle of a character.
            Err(_) => {
                let halves = halves::escape_once_more(json).and_then(|json| serde_json::from_str::<String>(&json).ok());
                halves.map_or(Cow::Borrowed(json), Cow::Owned)
            }
        },
        _ => Cow::Borrowed(json),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_borrowed_where_it_can_be() {
        let plain: Option<Text<'_>> = serde_json::from_str(r#""plain""#).unwrap();
        assert!(matches!(plain, Some(Text(Cow::Borrowed("plain")))));
        let escaped: Text<'_> = serde_json::from_str(r#""a\nb""#).unwrap();
        assert_eq!(escaped.0, "a\nb");
        assert!(serde_json::from_str::<Text<'_>>("1").is_err());
    }

    #[test]
    fn content_may_be_parts() {
        let parts: TextOrParts<'_> = serde_json::from_str(
            r#"[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"yes"},{"type":"new"}]"#,
        )
        .unwrap();
        let TextOrParts::Parts(parts) = parts else { panic!("{parts:?}") };
        assert_eq!(parts.len(), 3);
        assert_eq!(Text::filled(&parts[1].text), Some("yes"));
        assert!(parts[0].thinking.is_some());
    }

    #[test]
    fn arguments_may_be_text_or_the_thing_itself() {
        for (json, expected) in [
            (r#""{\"a\":1}""#, r#"{"a":1}"#),
            (r#"{"a":1}"#, r#"{"a":1}"#),
            ("3", "3"),
            (r#""{\"a\":\"\ud83d""#, r#"{"a":"\ud83d"#),
        ] {
            let raw: &RawValue = serde_json::from_str(json).unwrap();
            assert_eq!(argument_text(raw), expected);
        }
    }
}
