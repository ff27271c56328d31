//! What models answer, as they write it: JSON, often among other words.

use agent_library::memory::Decision;
use serde::Deserialize;
use serde_json::{Deserializer, Value};

/// How many places are tried to read an object at. An honest answer has a few.
const TRIES: usize = 200;

/// The JSON objects in a text, each whole, in their order. Fences and words around them do not matter.
fn objects(text: &str) -> impl Iterator<Item = Value> {
    let (mut at, mut tries) = (0, 0);
    std::iter::from_fn(move || {
        while tries < TRIES {
            tries += 1;
            at += text.get(at..)?.find('{')?;
            let mut values = Deserializer::from_str(&text[at..]).into_iter::<Value>();
            match values.next() {
                Some(Ok(value)) => {
                    at += values.byte_offset();
                    return Some(value);
                }
                // One that is broken may hold whole ones.
                _ => at += 1,
            }
        }
        None
    })
}

#[derive(Deserialize)]
struct Extraction {
    decisions: Vec<Decision>,
}

/// The decisions of an extraction: of the first object that has some and keeps to their form.
///
/// # Errors
/// When there is no such object, in words.
pub(super) fn decisions(text: &str) -> Result<Vec<Decision>, String> {
    let mut fault = None;
    for object in objects(text).filter(|object| object.get("decisions").is_some()) {
        match Extraction::deserialize(object) {
            Ok(answer) => return Ok(answer.decisions),
            Err(error) => fault = fault.or(Some(error)),
        }
    }
    Err(match fault {
        Some(error) => format!("the model's decisions cannot be read: {error}"),
        None => "the model answered without a JSON object of decisions".to_owned(),
    })
}

/// One thing that a selector chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// By its id.
    Id(String),
    /// By its number in the list, from 1.
    Number(usize),
}

/// What a selector chose: of the first object that has a list of ids. Anything in it that names nothing is left out.
///
/// # Errors
/// When there is no such object, in words.
pub(super) fn choices(text: &str) -> Result<Vec<Choice>, String> {
    let found = objects(text).find_map(|object| object.get("ids").and_then(Value::as_array).cloned());
    let ids = found.ok_or_else(|| "the model answered without a JSON object of ids".to_owned())?;
    let choice = |id: &Value| match id {
        Value::String(id) => Some(id.trim().parse().map_or_else(|_| Choice::Id(id.trim().to_owned()), Choice::Number)),
        Value::Number(number) => Some(Choice::Number(usize::try_from(number.as_u64()?).ok()?)),
        _ => None,
    };
    Ok(ids.iter().filter_map(choice).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_library::memory::Action;

    const NEW: &str = r#"{"action":"new","category":"user","name":"a-b","summary":"s","tags":null,"content":"c"}"#;

    /// MEM-2: fences, words and other objects around the answer do not matter.
    #[test]
    fn answers_among_words() {
        for text in [
            format!("{{\"decisions\":[{NEW}]}}"),
            format!("```json\n{{\"decisions\": [{NEW}]}}\n```\nDone."),
            format!("I looked at {{ everything }} and {{\"x\": 1}}.\n{{\"decisions\":[{NEW}]}} {{\"decisions\":[]}}"),
            format!("{{\"decisions\":[{{\"action\":\"…\"}}]}}\n{{\"decisions\":[{NEW}]}}"),
        ] {
            let found = decisions(&text).unwrap_or_else(|fault| panic!("{text}: {fault}"));
            assert_eq!((found.len(), found[0].action), (1, Action::New), "{text}");
        }
        assert_eq!(decisions("{\"decisions\":[]}"), Ok(Vec::new()));
    }

    /// MEM-2: the form of a decision is strict.
    #[test]
    fn what_is_no_answer() {
        for text in [
            "",
            "Nothing to remember.",
            "[]",
            "{\"decisions\":{}}",
            "{\"decisions\":[{}]}",
            "{\"decisions\":[{\"action\":\"delete\"}]}",
            "{\"decisions\":[{\"action\":\"new\",\"summary\":7}]}",
            "{\"decisions\":[{\"action\":\"new\",\"summary\":\"cut o",
            &"{".repeat(100_000),
        ] {
            assert!(decisions(text).is_err(), "{text:.80}");
        }
    }

    /// MEM-7: ids or numbers of the list.
    #[test]
    fn chosen() {
        let id = |text: &str| Choice::Id(text.to_owned());
        assert_eq!(choices("{\"ids\":[]}"), Ok(Vec::new()));
        assert_eq!(
            choices("Sure: {\"ids\":[\"mem_1\", 2, \" 3 \", null, -4, {}]}"),
            Ok(vec![id("mem_1"), Choice::Number(2), Choice::Number(3)])
        );
        assert!(choices("mem_1").is_err());
    }
}
