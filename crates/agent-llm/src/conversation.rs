//! One request from beginning to end: encode, send, read, and — while nothing of the reply has come — ask again. Knows no
//! provider; a [`Dialect`](crate::dialect::Dialect) says how to write and read, a [`Wire`](crate::http::Wire) carries.

mod attempt;
mod generate;
mod refused;
mod terms;

use std::sync::Arc;
use std::time::Duration;

use agent_protocol::{ModelEvent, ModelFault, ModelRequest, Object, Reply};
use bytes::Bytes;
use reqwest::header::HeaderMap;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::dialect::Ask;
use crate::error::Again;
use crate::names::NameTable;
use crate::redact::Redactor;
use crate::{ModelStream, ProviderError, Refusal, retry};
use generate::{Emitter, generate};
pub(crate) use terms::{Patience, Terms};

/// How long finding out more about a failure may take.
const EXPLAIN_TIME: Duration = Duration::from_secs(5);

/// The two ways in which we end a stream ourselves.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    pub(crate) cancel: CancellationToken,
    pub(crate) closed: CancellationToken,
}

impl Stop {
    /// What the future gives, or why it was not waited for.
    async fn unless<T>(&self, provider: &str, work: impl Future<Output = T>) -> Result<T, ProviderError> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(ProviderError::Aborted { provider: provider.to_owned() }),
            () = self.closed.cancelled() => Err(ProviderError::Closed { provider: provider.to_owned() }),
            done = work => Ok(done),
        }
    }
}

/// One request on its way.
pub(crate) struct Conversation {
    terms: Arc<Terms>,
    request: Arc<ModelRequest>,
    stop: Stop,
}

/// What stays the same over all attempts, until the dialect learns better.
struct Prepared {
    names: Arc<NameTable>,
    headers: HeaderMap,
    body: Bytes,
    redactor: Redactor,
}

/// A failed attempt.
struct Failure {
    error: ProviderError,
    partial: Option<Reply>,
    /// Whether something of the reply had come: then the adapter does not ask again.
    begun: bool,
}

impl From<ProviderError> for Failure {
    fn from(error: ProviderError) -> Self {
        Self { error, partial: None, begun: false }
    }
}

/// Earlier attempts, for metadata.
struct History {
    begun: Instant,
    /// The wait before each further attempt, in milliseconds.
    waits_ms: Vec<u64>,
    /// How many of them a server took to load its model, which is no failure.
    loading: u32,
    /// What the request lacks or does otherwise, because the server refused it as it was.
    adapted: Vec<&'static str>,
}

impl History {
    fn new() -> Self {
        Self { begun: Instant::now(), waits_ms: Vec::new(), loading: 0, adapted: Vec::new() }
    }

    fn attempt(&self) -> u32 {
        u32::try_from(self.waits_ms.len()).unwrap_or(u32::MAX).saturating_add(1)
    }

    fn note(&self, metadata: &mut Object) {
        if !self.adapted.is_empty() {
            metadata.insert("adapted".to_owned(), self.adapted.clone().into());
        }
        if !self.waits_ms.is_empty() {
            metadata.insert("attempts".to_owned(), self.attempt().into());
            metadata.insert("retry_waits_ms".to_owned(), self.waits_ms.clone().into());
        }
    }
}

/// The events of a conversation. Nothing happens before they are asked for.
pub(crate) fn stream(conversation: Conversation) -> ModelStream {
    generate(move |emit| async move {
        let end = conversation.run(&emit).await;
        emit.send(end).await;
    })
}

impl Conversation {
    pub(crate) fn new(terms: Arc<Terms>, request: ModelRequest, stop: Stop) -> Self {
        Self { terms, request: Arc::new(request), stop }
    }

    async fn run(&self, emit: &Emitter) -> ModelEvent {
        let mut history = History::new();
        let failure = match self.prepare() {
            Ok(prepared) => match self.attempts(prepared, &mut history, emit).await {
                Ok(reply) => return ModelEvent::Completed(reply),
                Err(failure) => failure,
            },
            Err(error) => error.into(),
        };
        let fault = match failure.error.fault() {
            // Our own attempts are used up, or the wait is too long; the loop must not multiply them (PRV-8).
            ModelFault::Retryable if !failure.begun => ModelFault::Fatal,
            fault => fault,
        };
        let mut error = failure.error.payload();
        history.note(&mut error.details);
        ModelEvent::Failed { fault, error, partial: failure.partial }
    }

    fn prepare(&self) -> Result<Prepared, ProviderError> {
        let Terms { dialect, api_key, .. } = &*self.terms;
        let key = api_key.as_ref().map(|source| source.resolve(dialect.key())).transpose()?;
        let names = Arc::new(dialect.names(&self.request.tools));
        Ok(Prepared {
            headers: dialect.headers(&self.request, key.as_ref())?,
            body: dialect.encode(&self.request, &names)?,
            redactor: Redactor::new(key.as_ref()),
            names,
        })
    }

    async fn attempts(&self, mut prepared: Prepared, history: &mut History, emit: &Emitter) -> Result<Reply, Failure> {
        let dialect = &self.terms.dialect;
        loop {
            let mut failure = match self.attempt(&prepared, history, emit).await {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            if failure.begun {
                return Err(failure);
            }
            if let ProviderError::Refusal(refusal) = &failure.error {
                let lesson = dialect.learn(refusal);
                let body = dialect.encode(&self.request, &prepared.names)?;
                if body != prepared.body {
                    prepared.body = body;
                    let lesson = lesson.unwrap_or("written anew");
                    history.adapted.push(lesson);
                    let error = failure.error.payload().detail("adapted", lesson);
                    emit.send(ModelEvent::Retry { attempt: history.attempt(), wait_ms: 0, error }).await;
                    continue;
                }
            }
            let mut explained = false;
            if let ProviderError::Refusal(refusal) = &failure.error
                && history.waits_ms.is_empty()
                && dialect.doubts_address(refusal)
            {
                failure.error = self.explain(&prepared, failure.error).await;
                explained = true;
            }
            let again = failure.error.verdict().again;
            let Some(wait) = self.wait(history, again, &failure.error) else {
                if !explained {
                    failure.error = self.explain(&prepared, failure.error).await;
                }
                return Err(failure);
            };
            let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            let (attempt, error) = (history.attempt(), failure.error.payload());
            emit.send(ModelEvent::Retry { attempt, wait_ms, error }).await;
            self.stop.unless(dialect.key(), tokio::time::sleep(wait)).await?;
            history.waits_ms.push(wait_ms);
            history.loading += u32::from(again == Again::Loaded);
        }
    }

    fn wait(&self, history: &History, again: Again, error: &ProviderError) -> Option<Duration> {
        let asked = match error {
            ProviderError::Refusal(refusal) => refusal.retry_after,
            _ => None,
        };
        if again == Again::Loaded {
            let wait = retry::loading_wait(history.loading, asked)?;
            return (history.begun.elapsed() + wait < self.terms.patience.first_content).then_some(wait);
        }
        retry::wait(&self.terms.retry, history.attempt() - history.loading, again, asked, retry::chance())
    }

    /// Lets the dialect find out more, for a while.
    async fn explain(&self, prepared: &Prepared, error: ProviderError) -> ProviderError {
        let ProviderError::Refusal(refusal) = error else { return error };
        let plain = Refusal::clone(&refusal);
        let ask = Ask { wire: &*self.terms.wire, headers: &prepared.headers, model: &self.request.model };
        let explained =
            tokio::time::timeout(EXPLAIN_TIME, self.terms.dialect.explain(ProviderError::Refusal(refusal), ask));
        match self.stop.unless(self.terms.dialect.key(), explained).await {
            Ok(Ok(explained)) => explained,
            Ok(Err(_)) | Err(_) => ProviderError::Refusal(Box::new(plain)),
        }
    }
}

#[cfg(test)]
mod tests;
