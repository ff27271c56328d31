//! What travelled to and from the model server, kept as artifacts when somebody debugs (PRV-14).

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_llm::{RawExchange, RawSink};
use agent_protocol::{Object, RunId, SessionId};
use agent_redact::SecretPatterns;
use agent_redact::within::in_text;
use agent_store::{ArtifactWriter, StoreError, Write};
use serde_json::json;

use crate::redact::Redactor;

/// The key of a request's metadata that says whose it is.
pub(crate) const RUN_ID: &str = "run_id";
/// The key of a request's metadata that numbers it within its run.
pub(crate) const REQUEST: &str = "request";
/// `kind` in the metadata of these artifacts, by which cleanup knows them (ART-3).
const KIND: &str = "raw";

/// Exchanges of a run kept in memory until its next commit.
const KEPT: usize = 32;

/// Takes exchanges from an adapter and gives them to the runs they belong to. Those of no run that listens are dropped.
#[derive(Debug, Clone, Default)]
pub struct RawExchanges(Arc<Mutex<HashMap<RunId, Vec<RawExchange>>>>);

impl RawExchanges {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// For the provider's settings.
    #[must_use]
    pub fn sink(&self) -> RawSink {
        let exchanges = self.clone();
        RawSink::new(move |exchange| exchanges.keep(exchange))
    }

    fn runs(&self) -> MutexGuard<'_, HashMap<RunId, Vec<RawExchange>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, exchange: RawExchange) {
        let run = exchange.metadata.get(RUN_ID).and_then(|id| id.as_str()).and_then(|id| RunId::parse(id).ok());
        if let Some(run) = run
            && let Some(kept) = self.runs().get_mut(&run)
        {
            // Attempts at a server that is loading are many; the latest tell most.
            if kept.len() == KEPT {
                kept.remove(0);
            }
            kept.push(exchange);
        }
    }
}

/// One run's share of them, until it is dropped.
pub(crate) struct RunExchanges {
    pub(crate) exchanges: RawExchanges,
    pub(crate) run_id: RunId,
    pub(crate) session_id: SessionId,
    pub(crate) writer: ArtifactWriter,
    pub(crate) redactor: Redactor,
    pub(crate) patterns: SecretPatterns,
}

impl RunExchanges {
    pub(crate) fn listen(self) -> Self {
        self.exchanges.runs().insert(self.run_id.clone(), Vec::new());
        self
    }

    /// Writes the files of what has come since the last time, and gives their rows (ART-1). A file that cannot be made costs
    /// the exchange and not the run.
    pub(crate) async fn take(&self) -> Vec<Write> {
        let taken = self.exchanges.runs().get_mut(&self.run_id).map(std::mem::take).unwrap_or_default();
        if taken.is_empty() {
            return Vec::new();
        }
        let (writer, session_id) = (self.writer.clone(), self.session_id.clone());
        let clean: Vec<_> = taken.into_iter().map(|exchange| self.clean(exchange)).collect();
        let write = move || clean.iter().filter_map(|exchange| store(&writer, &session_id, exchange).ok()).collect();
        tokio::task::spawn_blocking(write).await.unwrap_or_default()
    }

    /// Known secrets as everywhere, and what looks like one, since these files are made to be shown.
    fn clean(&self, mut exchange: RawExchange) -> RawExchange {
        for text in [&mut exchange.request, &mut exchange.response, &mut exchange.url] {
            self.redactor.text(text);
            in_text(&self.patterns, text);
        }
        exchange
    }
}

impl Drop for RunExchanges {
    fn drop(&mut self) {
        self.exchanges.runs().remove(&self.run_id);
    }
}

fn store(writer: &ArtifactWriter, session_id: &SessionId, exchange: &RawExchange) -> Result<Write, StoreError> {
    let RawExchange { provider, url, metadata, attempt, request, status, response, cut } = exchange;
    let number = metadata.get(REQUEST).and_then(serde_json::Value::as_u64).unwrap_or(0);
    let name = format!("request-{number}-attempt-{attempt}.json");
    let mut file = writer.begin_artifact(session_id, &name)?;
    let body = json!({
        "provider": provider, "url": url, "request_number": number, "attempt": attempt, "status": status,
        "request": request, "response": response, "response_cut": cut,
    });
    let path = file.path().to_owned();
    file.write_all(format!("{body:#}\n").as_bytes()).map_err(|source| StoreError::File {
        step: "write",
        path,
        source: Arc::new(source),
    })?;
    let mut row = file.finish();
    row.mime_type = Some("application/json".to_owned());
    row.summary = Some(format!("raw request {number}, attempt {attempt}, to {provider}"));
    row.metadata = Object::from_iter([("kind".to_owned(), KIND.into())]);
    Ok(Write::Artifact(row))
}
