//! Asks about calls: pure policy first, then the person, one question at a time (PRM-5, PRM-9).

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use agent_policy::{ARGS_SUMMARY_BYTES, Facts, PathRules, PolicySettings, Question, Verdict, decide, request_summary};
use agent_protocol::{
    DecisionKind, ErrorCode, ErrorPayload, EventDraft, Level, Object, PermissionDecision, PermissionFailed,
    PermissionRequest, PermissionRequestId, PermissionRequested, PermissionResolved, ToolCallId, ToolDescriptor,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::caught::caught;
use crate::ids::fresh_id;
use crate::redact::Redactor;
use crate::run_context::RunContext;

/// Who decides about calls that must be asked for: a closure `|request: PermissionRequest| async move { … }` whose future gives
/// a [`PermissionDecision`], or a type of its own.
pub trait PermissionCallback: Send + Sync {
    /// Decides about one call. Dropped when the run is cancelled while the question is open.
    fn decide(&self, request: PermissionRequest) -> BoxFuture<'_, Result<PermissionDecision, CallbackError>>;
}

impl<F, A> PermissionCallback for F
where
    F: Fn(PermissionRequest) -> A + Send + Sync,
    A: Future<Output = PermissionDecision> + Send + 'static,
{
    fn decide(&self, request: PermissionRequest) -> BoxFuture<'_, Result<PermissionDecision, CallbackError>> {
        self(request).map(Ok).boxed()
    }
}

impl<C: PermissionCallback + ?Sized> PermissionCallback for Arc<C> {
    fn decide(&self, request: PermissionRequest) -> BoxFuture<'_, Result<PermissionDecision, CallbackError>> {
        self.as_ref().decide(request)
    }
}

/// A callback that failed; its call is denied.
#[derive(Debug, thiserror::Error)]
#[error("the permission callback failed: {0}")]
pub struct CallbackError(pub String);

/// What a runtime needs to decide about calls.
pub(crate) struct Broker {
    callback: Option<Arc<dyn PermissionCallback>>,
    rules: Arc<PathRules>,
    policy: PolicySettings,
    /// How long an answer may take; absent: as long as it takes.
    patience: Option<Duration>,
    /// People are asked one question at a time.
    asking: tokio::sync::Mutex<()>,
}

/// A prepared call that is to be decided about.
pub(crate) struct Asked<'a> {
    pub(crate) run: &'a RunContext,
    pub(crate) call: &'a ToolCallId,
    pub(crate) tool: &'a ToolDescriptor,
    pub(crate) facts: &'a Facts,
    pub(crate) cancel: &'a CancellationToken,
}

impl Broker {
    pub(crate) fn new(
        callback: Option<Arc<dyn PermissionCallback>>,
        rules: Arc<PathRules>,
        policy: PolicySettings,
        patience: Option<Duration>,
    ) -> Self {
        Self { callback, rules, policy, patience, asking: tokio::sync::Mutex::new(()) }
    }

    /// Decides about a prepared call. `Err` is what the model and the timeline are told.
    pub(crate) async fn authorize(&self, asked: &Asked<'_>) -> Result<(), ErrorPayload> {
        if asked.cancel.is_cancelled() {
            return Err(cancelled());
        }
        let question = match open_question(self.judge(asked)) {
            ControlFlow::Break(decided) => return decided,
            ControlFlow::Continue(question) => question,
        };
        let Some(callback) = &self.callback else {
            return nobody_to_ask(question);
        };
        // From here on it is people who take their time, and not the run.
        let _stopped = asked.run.clock.stop();
        let _one_at_a_time = tokio::select! {
            biased;
            () = asked.cancel.cancelled() => return Err(cancelled()),
            turn = self.asking.lock() => turn,
        };
        // A grant given while this call waited for its turn is honoured.
        match open_question(self.judge(asked)) {
            ControlFlow::Break(decided) => decided,
            ControlFlow::Continue(question) => self.ask(callback.as_ref(), asked, *question).await,
        }
    }

    fn judge(&self, asked: &Asked<'_>) -> Verdict {
        decide(asked.tool, asked.facts, &self.rules, &self.policy, &asked.run.session.grants())
    }

    async fn ask(
        &self,
        callback: &dyn PermissionCallback,
        asked: &Asked<'_>,
        question: Question,
    ) -> Result<(), ErrorPayload> {
        let (request, shown_targets) = request(asked, &question);
        let request_id = request.request_id.clone();
        let requested = EventDraft::of(PermissionRequested {
            request_id: request_id.clone(),
            tool_name: asked.tool.name().to_owned(),
            // For people, escaped and counted. What a program decides by is in the request.
            target_scope: shown_targets,
            reasons: question.reasons.clone(),
        });
        asked.run.record(vec![requested.call(asked.call)]).await;
        let answer = self.answer(callback, request, asked.cancel).await;
        let resolved = |decision: DecisionKind, reason: Option<&str>| {
            let (request_id, reason) = (request_id.clone(), reason.map(str::to_owned));
            EventDraft::of(PermissionResolved { request_id, decision, reason }).call(asked.call)
        };
        let failed = |message: &str| {
            let (request_id, message) = (request_id.clone(), message.to_owned());
            EventDraft::of(PermissionFailed { request_id, message }).call(asked.call).level(Level::Warning)
        };
        match answer {
            Answer::Given(decision) => {
                let resolved = resolved(decision.decision, decision.reason.as_deref());
                // A callback may say itself that nobody was there to answer.
                let unanswered = decision.metadata.get(PermissionDecision::UNANSWERED).and_then(|why| why.as_str());
                asked.run.record(unanswered.map(failed).into_iter().chain([resolved]).collect()).await;
                take_answer(asked.run, &decision, question)
            }
            Answer::Failed(message) => {
                let resolved = resolved(DecisionKind::Deny, Some("the callback failed"));
                asked.run.record(vec![failed(&message), resolved]).await;
                Err(denied(ErrorCode::PermissionDenied, &message, "callback_failed"))
            }
            Answer::TooLate(waited) => {
                let message = format!("the permission callback did not answer within {} ms", waited.as_millis());
                let resolved = resolved(DecisionKind::Deny, Some("not answered in time"));
                asked.run.record(vec![failed(&message), resolved]).await;
                Err(denied(ErrorCode::PermissionDenied, &message, "timeout"))
            }
            Answer::Cancelled => {
                asked.run.record(vec![resolved(DecisionKind::Deny, Some("cancelled before it was answered"))]).await;
                Err(cancelled())
            }
        }
    }

    /// What the callback says, if it says something in time and does not fail.
    async fn answer(
        &self,
        callback: &dyn PermissionCallback,
        request: PermissionRequest,
        cancel: &CancellationToken,
    ) -> Answer {
        let work = caught("the permission callback", async { callback.decide(request).await });
        tokio::select! {
            biased;
            () = cancel.cancelled() => Answer::Cancelled,
            answer = work => match answer {
                Ok(Ok(decision)) => Answer::Given(decision),
                Ok(Err(error)) => Answer::Failed(error.to_string()),
                Err(panic) => Answer::Failed(panic.message),
            },
            waited = out_of_patience(self.patience) => Answer::TooLate(waited),
        }
    }
}

enum Answer {
    Given(PermissionDecision),
    Failed(String),
    /// None within this time.
    TooLate(Duration),
    Cancelled,
}

async fn out_of_patience(patience: Option<Duration>) -> Duration {
    match patience {
        Some(patience) => {
            tokio::time::sleep(patience).await;
            patience
        }
        None => std::future::pending().await,
    }
}

pub(crate) fn cancelled() -> ErrorPayload {
    ErrorPayload::new(ErrorCode::Cancelled, "cancelled before it ran")
}

/// What is decided, or the question that is left.
fn open_question(verdict: Verdict) -> ControlFlow<Result<(), ErrorPayload>, Box<Question>> {
    match verdict {
        Verdict::Allow { .. } => ControlFlow::Break(Ok(())),
        Verdict::Deny { code, reason } => ControlFlow::Break(Err(denied(code, &reason, "policy"))),
        Verdict::Ask(question) => ControlFlow::Continue(question),
    }
}

/// What the configuration says to a question nobody can be asked.
fn nobody_to_ask(question: Box<Question>) -> Result<(), ErrorPayload> {
    match Verdict::Ask(question).unattended() {
        Verdict::Allow { .. } => Ok(()),
        Verdict::Deny { code, reason } => Err(denied(code, &reason, "no_callback")),
        Verdict::Ask(question) => Err(denied(ErrorCode::PermissionDenied, &question.reasons.join("; "), "no_callback")),
    }
}

fn take_answer(run: &RunContext, decision: &PermissionDecision, question: Question) -> Result<(), ErrorPayload> {
    match decision.decision {
        DecisionKind::AllowOnce => Ok(()),
        DecisionKind::AllowForSession => {
            // Where the call is too unusual to be granted, the answer counts once.
            if let Some(grant) = question.grant {
                run.session.grants().insert(grant);
            }
            Ok(())
        }
        DecisionKind::Deny => {
            let by = if decision.metadata.contains_key(PermissionDecision::UNANSWERED) { "nobody" } else { "user" };
            let reason = decision.reason.as_deref().unwrap_or("the user said no");
            Err(denied(ErrorCode::PermissionDenied, reason, by))
        }
    }
}

/// Whether a denial is there because nobody said yes or no.
pub(crate) fn is_for_want_of_an_answer(denial: &ErrorPayload) -> bool {
    let by = denial.details.get("denied_by").and_then(|by| by.as_str());
    matches!(by, Some("no_callback" | "callback_failed" | "timeout" | "nobody"))
}

fn denied(code: ErrorCode, reason: &str, by: &str) -> ErrorPayload {
    ErrorPayload::new(code, format!("not run, permission denied: {reason}")).detail("denied_by", by)
}

/// The request, and its targets as people are shown them.
fn request(asked: &Asked<'_>, question: &Question) -> (PermissionRequest, Option<String>) {
    let Asked { run, facts, .. } = asked;
    let tool = &asked.tool.definition;
    let redactor: &Redactor = &run.redactor;
    let summary = request_summary(facts, &redactor.secrets(), ARGS_SUMMARY_BYTES);
    let mut metadata = Object::new();
    metadata.insert("reasons".to_owned(), question.reasons.clone().into());
    if let Some(covers) = &question.grant_covers {
        metadata.insert("session_scope".to_owned(), covers.as_str().into());
    }
    if let Some(known_as) = &run.known_as {
        metadata.insert(PermissionRequest::AGENT_NAME.to_owned(), known_as.name.as_str().into());
        metadata.insert(PermissionRequest::AGENT_DEFINITION.to_owned(), known_as.definition_id.as_str().into());
    }
    if let Some(parent) = &run.agent.parent {
        metadata.insert(PermissionRequest::PARENT_ROLE.to_owned(), parent.role.as_str().into());
    }
    redactor.object(&mut metadata);
    let cwd = summary.cwd.unwrap_or_else(|| {
        let mut project = run.owned.cwd.clone();
        redactor.text(&mut project);
        project
    });
    let request = PermissionRequest {
        request_id: request_id(),
        session_id: run.session.id().clone(),
        agent_id: run.agent.id.clone(),
        run_id: run.run_id.clone(),
        parent_agent_id: run.agent.parent.as_ref().map(|parent| parent.agent_id.clone()),
        parent_run_id: run.agent.parent.as_ref().map(|parent| parent.run_id.clone()),
        agent_role: run.role,
        tool_name: tool.name.clone(),
        permission: tool.permission,
        tags: tool.tags.clone(),
        args_summary: summary.args_summary,
        target_scope: summary.target_scope,
        cwd,
        env_summary: summary.env_summary,
        network_host: summary.network_host,
        dangerous: question.dangerous,
        hook_summary: None,
        suggested_decision: question.suggested,
        metadata,
    };
    (request, summary.shown_targets)
}

fn request_id() -> PermissionRequestId {
    fresh_id(PermissionRequestId::PREFIX, PermissionRequestId::parse)
}
