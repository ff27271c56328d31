//! Whether successive requests only ever add to what was sent before, so that a server can keep its prompt cache.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::protocol::Protocol;
use crate::record::RecordedRequest;

#[cfg(test)]
mod tests;

/// Compares each request with the one before it, byte by byte and element by element: tools and messages (the system
/// message among them) must begin with the earlier request's. Returns what does not. Of Anthropic's users' messages each block
/// is an element; marks for the cache are none, as the server does not read them either.
///
/// All requests must be of one conversation and one epoch: pick them out of a server's record first.
pub fn prefix_violations(requests: &[RecordedRequest]) -> Vec<String> {
    prefix_violations_ignoring(requests, |_| false)
}

/// As [`prefix_violations`], but trailing messages for which `volatile` is true are no history and may vanish from the
/// next request.
pub fn prefix_violations_ignoring(requests: &[RecordedRequest], volatile: impl Fn(&Value) -> bool) -> Vec<String> {
    let mut violations = Vec::new();
    for (pair, number) in requests.windows(2).zip(1..) {
        let [before, after] = pair else { continue };
        let mut say = |what: String| violations.push(format!("request {number} of the series: {what}"));
        if before.protocol != after.protocol || before.model() != after.model() {
            say("another protocol or model".to_owned());
            continue;
        }
        let (old, new) = match (Elements::of(before), Elements::of(after)) {
            (Ok(old), Ok(new)) => (old, new),
            (Err(e), _) | (_, Err(e)) => {
                say(format!("the body cannot be compared: {e}"));
                continue;
            }
        };
        let kept = before.messages().iter().rev().skip_while(|message| volatile(message)).count();
        differs("tools", &old.tools, &new.tools).map(&mut say);
        differs("messages", &old.messages[..kept], &new.messages).map(&mut say);
    }
    violations
}

/// The parts of a request that make up the prompt, each as the bytes that were sent.
#[derive(Default)]
struct Elements {
    tools: Vec<String>,
    /// One for each of [`RecordedRequest::messages`].
    messages: Vec<String>,
}

#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow, default)]
    tools: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    system: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Turn<'a> {
    role: &'a str,
    #[serde(borrow)]
    content: &'a RawValue,
}

impl Elements {
    fn of(request: &RecordedRequest) -> serde_json::Result<Self> {
        let parts: Parts<'_> = serde_json::from_slice(&request.raw)?;
        let texts = |list: &[&RawValue]| list.iter().map(|raw| raw.get().to_owned()).collect();
        if request.protocol != Protocol::Anthropic {
            return Ok(Self { tools: texts(&parts.tools), messages: texts(&parts.messages) });
        }
        let mut elements = Self { tools: parts.tools.iter().map(|raw| unmarked(raw)).collect(), messages: Vec::new() };
        elements.messages.extend(parts.system.map(unmarked));
        for message in parts.messages {
            let turn: Turn<'_> = serde_json::from_str(message.get())?;
            match serde_json::from_str::<Vec<&RawValue>>(turn.content.get()) {
                Ok(blocks) if turn.role == "user" => elements.messages.extend(blocks.into_iter().map(unmarked)),
                _ => elements.messages.push(unmarked(message)),
            }
        }
        Ok(elements)
    }
}

/// The text without marks, which clients write as the last field of a block.
fn unmarked(raw: &RawValue) -> String {
    const MARKS: [&str; 3] = [
        ",\"cache_control\":{\"type\":\"ephemeral\"}}",
        ",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"5m\"}}",
        ",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}}",
    ];
    MARKS.iter().fold(raw.get().to_owned(), |text, mark| text.replace(mark, "}"))
}

fn differs(field: &str, old: &[String], new: &[String]) -> Option<String> {
    if new.len() < old.len() {
        return Some(format!("{field} has {} elements, {} before", new.len(), old.len()));
    }
    let place = old.iter().zip(new).position(|(old, new)| old != new)?;
    let (old, new) = excerpts(&old[place], &new[place]);
    Some(format!("{field}[{place}] was {old} and is {new}"))
}

/// A little of both texts around the first difference: a message may be long.
fn excerpts<'a>(old: &'a str, new: &'a str) -> (&'a str, &'a str) {
    const BEFORE: usize = 40;
    const LENGTH: usize = 120;
    let same = old.chars().zip(new.chars()).take_while(|(a, b)| a == b).count();
    let cut = |text: &'a str| {
        let at = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
        let start = same.saturating_sub(BEFORE);
        &text[at(start)..at(start + LENGTH)]
    };
    (cut(old), cut(new))
}
