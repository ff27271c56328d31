//! One attempt: send the call, read the answer.

use std::time::Duration;

use agent_protocol::{Object, Reply};
use bytes::Bytes;
use futures::StreamExt;
use tokio::time::{Instant, timeout_at};

use super::generate::Emitter;
use super::{Conversation, Failure, History, Prepared, refused};
use crate::dialect::{Decoder, Flow, StreamFault, StreamState, Unfinished};
use crate::fault::{Circumstances, ServerWords, classify, tokens};
use crate::http::{Answer, Body, Call, Method};
use crate::raw::Recording;
use crate::redact::Redactor;
use crate::reply::{About, ReplyBuilder};
use crate::{BrokenStream, ProviderError, RawExchange, Refusal, RefusalKind, Waiting, retry};

/// How long the end of a body is waited for after the reply's end mark, so that the connection can serve the next request.
const DRAIN_TIME: Duration = Duration::from_millis(50);
/// Headers under which servers name a request.
const REQUEST_ID: [&str; 3] = ["x-request-id", "request-id", "x-generation-id"];

/// What came next from the body.
enum Next {
    Bytes(Bytes),
    End,
    Failed(ProviderError),
}

/// The body of an answer, and whoever wants to hear it, too.
struct Heard {
    body: Body,
    recording: Option<Recording>,
}

impl Heard {
    fn note(&mut self, bytes: &[u8]) {
        if let Some(recording) = &mut self.recording {
            recording.bytes(bytes);
        }
    }
}

impl Conversation {
    pub(super) async fn attempt(
        &self,
        prepared: &Prepared,
        history: &History,
        emit: &Emitter,
    ) -> Result<Reply, Failure> {
        let deadline = Instant::now() + self.terms.patience.first_content;
        let call = Call {
            method: Method::Post,
            path: self.terms.dialect.path(),
            headers: prepared.headers.clone(),
            body: prepared.body.clone(),
        };
        let mut recording = self.recording(prepared, history);
        let sent = timeout_at(deadline, async { self.terms.wire.send(call).await });
        let answer = match self.stop.unless(self.provider(), sent).await? {
            Ok(answer) => answer?,
            Err(_) => return Err(self.timed_out(Waiting::FirstContent, self.terms.patience.first_content).into()),
        };
        if let Some(recording) = &mut recording {
            recording.status(answer.status);
        }
        self.check_head(&answer)?;
        if !(200..300).contains(&answer.status) {
            return Err(self.refusal(prepared, answer, recording).await?.into());
        }
        let mut metadata = Object::new();
        if let Some(id) = request_id(&answer, &prepared.redactor) {
            metadata.insert("request_id".to_owned(), id.into());
        }
        history.note(&mut metadata);
        let builder = ReplyBuilder::new(About {
            provider: self.provider(),
            request: self.request.clone(),
            names: prepared.names.clone(),
            metadata,
            limit: self.terms.limits.reply_bytes,
        });
        let decoder = self.terms.dialect.decoder(builder);
        self.read(prepared, decoder, Heard { body: answer.body, recording }, deadline, emit).await
    }

    /// What this attempt is told as, if somebody listens.
    fn recording(&self, prepared: &Prepared, history: &History) -> Option<Recording> {
        let exchange = || RawExchange {
            provider: self.provider().to_owned(),
            url: self.terms.url.clone(),
            metadata: self.request.metadata.clone(),
            attempt: history.attempt(),
            request: String::from_utf8_lossy(&prepared.body).into_owned(),
            status: None,
            response: String::new(),
            cut: false,
        };
        self.terms.raw.as_ref().map(|sink| Recording::new(sink, &prepared.redactor, exchange()))
    }

    async fn read(
        &self,
        prepared: &Prepared,
        mut decoder: Box<dyn Decoder>,
        mut heard: Heard,
        first_content: Instant,
        emit: &Emitter,
    ) -> Result<Reply, Failure> {
        let mut events = Vec::new();
        let outcome = loop {
            let state = decoder.state();
            let result = match self.next(&mut heard.body, state, first_content).await {
                Next::Bytes(bytes) => {
                    heard.note(&bytes);
                    decoder.feed(&bytes, &mut events)
                }
                Next::End => decoder.end(&mut events).map(|()| Flow::Done),
                Next::Failed(error) => break Err(error),
            };
            for event in events.drain(..) {
                emit.send(event).await;
            }
            match result {
                Ok(Flow::More) => {}
                Ok(Flow::Done) => break Ok(()),
                Err(fault) => break Err(self.name(prepared, fault)),
            }
        };
        let begun = decoder.has_content();
        match outcome {
            Ok(()) => {
                let finished = decoder.finish(&mut events);
                let reply = finished.map_err(|unfinished| {
                    let Unfinished { fault, partial } = *unfinished;
                    Failure { error: self.name(prepared, fault), partial, begun }
                });
                for event in events.drain(..) {
                    emit.send(event).await;
                }
                let reply = reply?;
                // What the wire still holds says nothing any more; only its end is of use.
                let _ = tokio::time::timeout(DRAIN_TIME, heard.body.next()).await;
                Ok(reply)
            }
            Err(error) => {
                let is_refused = matches!(&error, ProviderError::Broken { broken, .. } if broken.is_too_long());
                let partial =
                    decoder.partial().map(|partial| if is_refused { refused::beginning(partial) } else { partial });
                Err(Failure { error, partial, begun })
            }
        }
    }

    /// The next bytes, waited for as long as the reply's state allows.
    async fn next(&self, body: &mut Body, state: StreamState, first_content: Instant) -> Next {
        let patience = &self.terms.patience;
        let silence = if self.terms.dialect.buffers_calls() { patience.first_content } else { patience.idle };
        let (deadline, waiting, limit) = match state {
            StreamState::Waiting => (first_content, Waiting::FirstContent, patience.first_content),
            StreamState::Content => (Instant::now() + silence, Waiting::MoreBytes, silence),
            StreamState::MaybeFinished => (Instant::now() + patience.idle, Waiting::MoreBytes, patience.idle),
            StreamState::Finished => {
                let linger = patience.linger.min(patience.idle);
                (Instant::now() + linger, Waiting::MoreBytes, linger)
            }
        };
        match self.stop.unless(self.provider(), timeout_at(deadline, body.next())).await {
            Ok(Ok(Some(Ok(bytes)))) => Next::Bytes(bytes),
            Ok(Ok(None)) => Next::End,
            // The reply is there; how the server lets go of the connection does not matter.
            Ok(Ok(Some(Err(_))) | Err(_)) if state == StreamState::Finished => Next::End,
            Ok(Err(_)) if state == StreamState::MaybeFinished => Next::End,
            Ok(Ok(Some(Err(error)))) => Next::Failed(error),
            Ok(Err(_)) => Next::Failed(self.timed_out(waiting, limit)),
            Err(stopped) => Next::Failed(stopped),
        }
    }

    /// What can be told from the head alone.
    fn check_head(&self, answer: &Answer) -> Result<(), ProviderError> {
        let (provider, url) = (self.provider().to_owned(), self.terms.url.clone());
        match answer.status {
            300..400 => {
                let to = answer.header("location").and_then(|to| to.split(['?', '#']).next()).map(str::to_owned);
                Err(ProviderError::Redirected { provider, url, to })
            }
            200..300 if answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html")) => {
                Err(self.broken(BrokenStream::WebPage))
            }
            _ => Ok(()),
        }
    }

    /// Reads a refusal's body, as far as it comes in time.
    async fn refusal(
        &self,
        prepared: &Prepared,
        mut answer: Answer,
        recording: Option<Recording>,
    ) -> Result<ProviderError, ProviderError> {
        let limit = self.terms.limits.error_bytes;
        let mut body = Vec::new();
        let reading = async {
            while let Some(Ok(chunk)) = answer.body.next().await {
                body.extend_from_slice(&chunk[..chunk.len().min(limit - body.len())]);
                if body.len() == limit {
                    break;
                }
            }
        };
        // A body that does not come takes nothing from what the status says.
        let _ = self.stop.unless(self.provider(), tokio::time::timeout(self.terms.patience.idle, reading)).await?;
        if let Some(mut recording) = recording {
            recording.bytes(&body);
        }
        let words = ServerWords::from_body(&body);
        let header = |name: &str| answer.header(name);
        let mut refusal = self.refuse(prepared, &words, Some(answer.status));
        refusal.retry_after = retry::asked_wait(header, answer.status, &words);
        refusal.should_retry = retry::asked_again(answer.header("x-should-retry"));
        refusal.request_id = request_id(&answer, &prepared.redactor);
        Ok(ProviderError::Refusal(Box::new(refusal)))
    }

    /// A refusal from the server's words.
    fn refuse(&self, prepared: &Prepared, words: &ServerWords, status: Option<u16>) -> Refusal {
        // Four bytes a token, as a rule of thumb: only to tell a long prompt from a short one.
        let fills_window = prepared.body.len() as u64 / 4 >= self.terms.context_window;
        let kind = classify(words, Circumstances { status, fills_window });
        let (shown, redacted) = words.shown(&prepared.redactor);
        Refusal {
            provider: self.provider().to_owned(),
            model: self.request.model.clone(),
            url: self.terms.url.clone(),
            status,
            kind,
            words: shown,
            redacted,
            hint: self.hint(prepared, words, kind),
            retry_after: retry::asked_wait(|_| None, 200, words),
            should_retry: None,
            tokens: tokens(words, kind),
            server_code: words.code.as_ref().or(words.kind.as_ref()).map(|code| prepared.redactor.clean(code).0),
            param: words.param.as_ref().map(|param| prepared.redactor.clean(param).0),
            request_id: None,
        }
    }

    /// What the user can do about a refused key, or an address that does not exist.
    fn hint(&self, prepared: &Prepared, words: &ServerWords, kind: RefusalKind) -> Option<String> {
        if let Some(url) = &words.signin_url {
            return Some(format!("Sign in at {}.", prepared.redactor.clean(url).0));
        }
        if kind == RefusalKind::EndpointNotFound {
            let (base, path) = (&self.terms.url, self.terms.dialect.path());
            let asked = format!("{}/{path}", base.trim_end_matches('/'));
            return Some(format!("It was sent to {asked}: model.base_url must be what stands before /{path}."));
        }
        (kind == RefusalKind::Auth).then(|| match &self.terms.api_key {
            Some(source) => source.hint(),
            None => "No key was sent; name the variable that holds one in model.api_key_env.".to_owned(),
        })
    }

    /// A stream's fault, with who and what.
    fn name(&self, prepared: &Prepared, fault: StreamFault) -> ProviderError {
        match fault {
            StreamFault::Broken(BrokenStream::Malformed { reason, sample, .. }) => {
                // A parser quotes what it stumbles over.
                let ((reason, in_reason), (sample, in_sample)) =
                    (prepared.redactor.clean(&reason), prepared.redactor.clean(&sample));
                self.broken(BrokenStream::Malformed { reason, sample, redacted: in_reason || in_sample })
            }
            StreamFault::Broken(broken) => self.broken(broken),
            StreamFault::Said(words) => ProviderError::Refusal(Box::new(self.refuse(prepared, &words, None))),
            StreamFault::PromptFillsWindow { prompt, window } => ProviderError::PromptFillsWindow {
                provider: self.provider().to_owned(),
                model: self.request.model.clone(),
                prompt,
                window,
            },
        }
    }

    fn broken(&self, broken: BrokenStream) -> ProviderError {
        ProviderError::Broken { provider: self.provider().to_owned(), model: self.request.model.clone(), broken }
    }

    fn timed_out(&self, waiting: Waiting, limit: Duration) -> ProviderError {
        ProviderError::TimedOut { provider: self.provider().to_owned(), url: self.terms.url.clone(), waiting, limit }
    }

    fn provider(&self) -> &'static str {
        self.terms.dialect.key()
    }
}

fn request_id(answer: &Answer, redactor: &Redactor) -> Option<String> {
    let id = REQUEST_ID.iter().find_map(|name| answer.header(name))?;
    Some(redactor.clean(id).0.chars().take(200).collect())
}
