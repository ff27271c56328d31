//! Requests and answers as they travelled, for whoever looks for a fault between us and a server (PRV-14). Nothing is kept
//! unless somebody asks for it.

use std::fmt;
use std::sync::Arc;

use agent_protocol::Object;

use crate::redact::Redactor;

/// Most bytes of an answer that are kept.
const MAX_BYTES: usize = 1 << 20;
/// How much more is read before secrets are taken out, so that the cut leaves none of them in half.
const MARGIN: usize = 4096;

/// One attempt: what was sent, and what came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawExchange {
    /// The provider.
    pub provider: String,
    /// The address, without query.
    pub url: String,
    /// What the request's maker wrote into its metadata: whose it is. It was not sent.
    pub metadata: Object,
    /// Which attempt this was, from 1.
    pub attempt: u32,
    /// The body of the request. Headers, and with them the key, are not part of it.
    pub request: String,
    /// The status; none where no answer came.
    pub status: Option<u16>,
    /// The body of the answer as far as it was read, at most 1 MiB.
    pub response: String,
    /// Whether there was more of it.
    pub cut: bool,
}

/// Where exchanges go. It is called while a stream is read, so it must not block; the adapter's own secrets are taken out, those
/// of the conversation are the receiver's matter.
#[derive(Clone)]
pub struct RawSink(Arc<dyn Fn(RawExchange) + Send + Sync>);

impl RawSink {
    /// Hands every exchange to this function, once its attempt is over, however it ended.
    pub fn new(take: impl Fn(RawExchange) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }
}

impl fmt::Debug for RawSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RawSink")
    }
}

/// An attempt while it lasts. Dropping it hands over what there is, so that an attempt that is cancelled is told, too.
pub(crate) struct Recording {
    sink: RawSink,
    redactor: Redactor,
    exchange: RawExchange,
    answer: Vec<u8>,
}

impl Recording {
    pub(crate) fn new(sink: &RawSink, redactor: &Redactor, exchange: RawExchange) -> Self {
        Self { sink: sink.clone(), redactor: redactor.clone(), exchange, answer: Vec::new() }
    }

    pub(crate) fn status(&mut self, status: u16) {
        self.exchange.status = Some(status);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let room = (MAX_BYTES + MARGIN).saturating_sub(self.answer.len());
        self.answer.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let mut exchange = self.exchange.clone();
        exchange.request = self.redactor.clean(&exchange.request).0;
        exchange.response = self.redactor.clean(&String::from_utf8_lossy(&self.answer)).0;
        exchange.cut = exchange.response.len() > MAX_BYTES;
        exchange.response.truncate(exchange.response.floor_char_boundary(MAX_BYTES));
        (self.sink.0)(exchange);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// PRV-14, PRV-18: bounded, and without the key, also where the cut falls into it.
    #[test]
    fn exchanges_are_bounded_and_redacted() {
        let key = crate::KeySource::new("V", "w", "n", || Some("sk-0123456789".to_owned()));
        let redactor = Redactor::new(Some(&key.resolve("openai").unwrap()));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let taken = seen.clone();
        let sink = RawSink::new(move |exchange| taken.lock().unwrap().push(exchange));
        let exchange = RawExchange {
            provider: "openai".into(),
            url: "u".into(),
            metadata: Object::new(),
            attempt: 1,
            request: "{\"a\":\"sk-0123456789\"}".into(),
            status: None,
            response: String::new(),
            cut: false,
        };
        let mut recording = Recording::new(&sink, &redactor, exchange);
        recording.status(200);
        recording.bytes(&vec![b'x'; MAX_BYTES - 5]);
        recording.bytes(b"sk-0123456789");
        recording.bytes(&vec![b'y'; 3 * MARGIN]);
        drop(recording);
        let exchange = seen.lock().unwrap().remove(0);
        assert_eq!((exchange.status, exchange.cut, exchange.response.len()), (Some(200), true, MAX_BYTES));
        assert_eq!(exchange.request, "{\"a\":\"[redacted]\"}");
        assert!(exchange.response.ends_with("x[reda"), "{}", &exchange.response[MAX_BYTES - 20..]);
    }
}
