//! What the model writes, on its way to the live stream while it is written: text for everybody, the rest for who debugs.

use std::collections::BTreeMap;

use agent_protocol::{ModelReasoningDelta, ModelTextDelta, ToolCallDelta};
use agent_redact::SecretStream;

use crate::live::Live;
use crate::redact::Redactor;

/// Calls of one reply whose arguments are shown while they are written. Of others only the whole call is seen.
const SHOWN_CALLS: usize = 64;

/// The deltas of one reply, without known secrets even where one is cut by a delta's end: what may be the beginning of one is
/// held back until it is known not to be.
pub(crate) struct Deltas<'a> {
    live: &'a Live,
    redactor: &'a Redactor,
    /// Absent where no secret is known; then nothing is looked at.
    text: Option<SecretStream>,
    reasoning: Option<SecretStream>,
    /// By the call's place in the reply.
    calls: BTreeMap<usize, SecretStream>,
}

impl<'a> Deltas<'a> {
    pub(crate) fn new(live: &'a Live, redactor: &'a Redactor) -> Self {
        let stream = || redactor.is_active().then(|| redactor.secrets().stream());
        Self { live, redactor, text: stream(), reasoning: stream(), calls: BTreeMap::new() }
    }

    pub(crate) fn text(&mut self, text: &str) {
        match &mut self.text {
            None => show_text(self.live, text),
            Some(stream) => show_text(self.live, &pushed(stream, text)),
        }
    }

    pub(crate) fn reasoning(&mut self, text: String) {
        match &mut self.reasoning {
            None => show_reasoning(self.live, text),
            Some(stream) => show_reasoning(self.live, pushed(stream, &text)),
        }
    }

    pub(crate) fn call(&mut self, index: usize, mut name: Option<String>, fragment: String) {
        if !self.redactor.is_active() {
            return show_call(self.live, index, name, fragment);
        }
        if self.calls.len() >= SHOWN_CALLS && !self.calls.contains_key(&index) {
            return;
        }
        if let Some(name) = &mut name {
            self.redactor.text(name);
        }
        let stream = self.calls.entry(index).or_insert_with(|| self.redactor.secrets().stream());
        show_call(self.live, index, name, pushed(stream, &fragment));
    }

    /// The reply is over: what was held back is no secret.
    pub(crate) fn finish(&mut self) {
        if let Some(stream) = self.text.take() {
            show_text(self.live, &finished(stream));
        }
        if let Some(stream) = self.reasoning.take() {
            show_reasoning(self.live, finished(stream));
        }
        for (index, stream) in std::mem::take(&mut self.calls) {
            show_call(self.live, index, None, finished(stream));
        }
    }
}

fn pushed(stream: &mut SecretStream, piece: &str) -> String {
    let mut safe = Vec::new();
    stream.push(piece.as_bytes(), &mut safe);
    text_of(safe)
}

fn finished(stream: SecretStream) -> String {
    let mut rest = Vec::new();
    let _ = stream.finish(&mut rest);
    text_of(rest)
}

/// What is given out begins and ends at borders of secrets, which are borders of characters.
fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn show_text(live: &Live, text: &str) {
    if !text.is_empty() {
        live.debug(|| ModelTextDelta { text: text.to_owned() });
        live.text(text);
    }
}

fn show_reasoning(live: &Live, text: String) {
    if !text.is_empty() {
        live.debug(|| ModelReasoningDelta { text });
    }
}

fn show_call(live: &Live, index: usize, name: Option<String>, fragment: String) {
    if name.is_some() || !fragment.is_empty() {
        live.debug(|| ToolCallDelta { fragment, index, name });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_protocol::{RunId, SessionId};
    use agent_redact::{KnownSecrets, SecretPatterns};
    use proptest::prelude::*;

    const SECRET: &str = "sk-very/secret+\"key\"=42";
    const MARKER: &str = "[secret KEY]";

    fn redactor() -> Redactor {
        Redactor::new(KnownSecrets::new([("KEY", SECRET)]).unwrap())
    }

    fn live() -> Live {
        let (session, run) = (SessionId::parse("sess_t").unwrap(), RunId::parse("run_t").unwrap());
        Live::new(session, run, SecretPatterns::new().unwrap()).debugged()
    }

    /// A text of words and secrets, as it is and as an argument's JSON, cut anywhere.
    fn written() -> impl Strategy<Value = (String, Vec<usize>)> {
        let word = prop_oneof![Just(SECRET.to_owned()), Just(SECRET[..9].to_owned()), "[a-zé \"\\\\-]{0,6}"];
        let text = proptest::collection::vec(word, 0..6).prop_map(|words| words.concat());
        (text, proptest::collection::vec(any::<prop::sample::Index>(), 0..12)).prop_map(|(text, cuts)| {
            let mut cuts: Vec<_> = cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
            cuts.sort_unstable();
            (text, cuts)
        })
    }

    fn pieces<'t>(text: &'t str, cuts: &[usize]) -> Vec<&'t str> {
        let starts = std::iter::once(0).chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain([text.len()]);
        starts.zip(ends).map(|(from, to)| &text[from..to]).collect()
    }

    proptest! {
        /// FND-06: in whatever pieces text, reasoning and arguments of calls come, and however these are mixed, who debugs sees
        /// what is seen of the whole, and no piece of a known secret.
        #[test]
        fn deltas_show_no_known_secret(texts in proptest::collection::vec(written(), 4)) {
            let (live, redactor) = (live(), redactor());
            let escaped = serde_json::to_string(SECRET).unwrap();
            let texts: Vec<_> = texts.iter().enumerate().map(|(at, (text, cuts))| {
                // Arguments hold it as JSON writes it.
                let text = if at < 2 { text.clone() } else { text.replace(SECRET, &escaped[1..escaped.len() - 1]) };
                let cuts: Vec<_> = cuts.iter().map(|cut| text.floor_char_boundary(*cut)).collect();
                (text, cuts)
            }).collect();
            let parts: Vec<_> = texts.iter().map(|(text, cuts)| pieces(text, cuts)).collect();
            let mut deltas = Deltas::new(&live, &redactor);
            for at in 0..parts.iter().map(Vec::len).max().unwrap_or(0) {
                for (kind, parts) in parts.iter().enumerate() {
                    let Some(part) = parts.get(at) else { continue };
                    match kind {
                        0 => deltas.text(part),
                        1 => deltas.reasoning((*part).to_owned()),
                        call => deltas.call(call, Some(SECRET.to_owned()).filter(|_| at == 0), (*part).to_owned()),
                    }
                }
            }
            deltas.finish();
            let mut seen: BTreeMap<String, String> = BTreeMap::new();
            for (kind, payload) in live.debug_deltas() {
                let kind = payload.get("index").map_or(kind.as_str().to_owned(), |index| index.to_string());
                let text = payload.get("text").or(payload.get("fragment")).unwrap().as_str().unwrap();
                seen.entry(kind).or_default().push_str(text);
                prop_assert!(payload.get("name").and_then(|name| name.as_str()).is_none_or(|name| name == MARKER));
            }
            for ((text, _), kind) in texts.iter().zip(["model_text_delta", "model_reasoning_delta", "2", "3"]) {
                let whole = redactor.secrets().redact(text).text.into_owned();
                prop_assert_eq!(seen.get(kind).map_or("", String::as_str), &whole);
            }
            prop_assert_eq!(live.pending_text(), redactor.secrets().redact(&texts[0].0).text);
        }
    }

    /// Where no secret is known, each delta is shown as it comes.
    #[test]
    fn without_secrets_nothing_is_held_back() {
        let (live, redactor) = (live(), Redactor::new(KnownSecrets::new([("", ""); 0]).unwrap()));
        let mut deltas = Deltas::new(&live, &redactor);
        deltas.text("sk-very");
        deltas.reasoning("sk-very".to_owned());
        deltas.call(0, None, "sk-very".to_owned());
        assert_eq!((live.debug_deltas().len(), live.pending_text().as_str()), (3, "sk-very"));
    }
}
