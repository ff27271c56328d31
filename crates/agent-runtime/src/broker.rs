//! Asks about calls: pure policy first, then the person, one question at a time (PRM-5, PRM-9).

use std::ops::ControlFlow;
use std::sync::Arc;

use agent_policy::{
    ARGS_SUMMARY_BYTES, Facts, PathRules, PolicySettings, Question, Verdict, decide, escape_word, request_summary,
};
use agent_protocol::{
    DecisionKind, ErrorCode, ErrorPayload, EventDraft, EventType, Level, Object, PermissionDecision, PermissionRequest,
    PermissionRequestId, ToolCallId, ToolDefinition,
};
use futures::future::BoxFuture;
use uuid::Uuid;

use crate::redact::Redactor;
use crate::session::RunContext;

/// Who decides about calls that must be asked for.
pub trait PermissionCallback: Send + Sync {
    /// Decides about one call. Dropped when the run is cancelled while the question is open.
    fn decide(&self, request: PermissionRequest) -> BoxFuture<'_, Result<PermissionDecision, CallbackError>>;
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
    /// People are asked one question at a time.
    asking: tokio::sync::Mutex<()>,
}

impl Broker {
    pub(crate) fn new(
        callback: Option<Arc<dyn PermissionCallback>>,
        rules: Arc<PathRules>,
        policy: PolicySettings,
    ) -> Self {
        Self { callback, rules, policy, asking: tokio::sync::Mutex::new(()) }
    }

    /// Decides about a prepared call. `Err` is what the model and the timeline are told.
    pub(crate) async fn authorize(
        &self,
        run: &RunContext,
        call: &ToolCallId,
        tool: &ToolDefinition,
        facts: &Facts,
    ) -> Result<(), ErrorPayload> {
        let question = match open_question(self.judge(run, tool, facts)) {
            ControlFlow::Break(decided) => return decided,
            ControlFlow::Continue(question) => question,
        };
        let Some(callback) = &self.callback else {
            return Err(nobody_to_ask(*question));
        };
        let _one_at_a_time = self.asking.lock().await;
        // A grant given while this call waited for its turn is honoured.
        match open_question(self.judge(run, tool, facts)) {
            ControlFlow::Break(decided) => decided,
            ControlFlow::Continue(question) => ask(callback.as_ref(), run, call, tool, facts, *question).await,
        }
    }

    fn judge(&self, run: &RunContext, tool: &ToolDefinition, facts: &Facts) -> Verdict {
        decide(tool, facts, &self.rules, &self.policy, &run.session.grants())
    }
}

/// What is decided, or the question that is left.
fn open_question(verdict: Verdict) -> ControlFlow<Result<(), ErrorPayload>, Box<Question>> {
    match verdict {
        Verdict::Allow { .. } => ControlFlow::Break(Ok(())),
        Verdict::Deny { code, reason } => ControlFlow::Break(Err(denied(code, &reason, "policy"))),
        Verdict::Ask(question) => ControlFlow::Continue(question),
    }
}

fn nobody_to_ask(question: Question) -> ErrorPayload {
    let code = question.without_callback;
    match Verdict::Ask(Box::new(question)).unattended() {
        Verdict::Deny { code, reason } => denied(code, &reason, "no_callback"),
        Verdict::Allow { .. } | Verdict::Ask(_) => denied(code, "nobody can be asked", "no_callback"),
    }
}

async fn ask(
    callback: &dyn PermissionCallback,
    run: &RunContext,
    call: &ToolCallId,
    tool: &ToolDefinition,
    facts: &Facts,
    question: Question,
) -> Result<(), ErrorPayload> {
    let request = request(run, tool, facts, &question);
    let request_id = request.request_id.clone();
    let asked = EventDraft::new(EventType::PermissionRequested)
        .call(call)
        .with("request_id", request_id.as_str())
        .with("tool_name", tool.name.as_str())
        .with("target_scope", request.target_scope.clone())
        .with("reasons", question.reasons.clone());
    run.record(vec![asked]).await;
    let answer = callback.decide(request).await;
    let resolved = |kind: DecisionKind, reason: Option<&str>| {
        EventDraft::new(EventType::PermissionResolved)
            .call(call)
            .with("request_id", request_id.as_str())
            .with("decision", kind.as_str())
            .with("reason", reason)
    };
    match answer {
        Ok(decision) => {
            run.record(vec![resolved(decision.decision, decision.reason.as_deref())]).await;
            take_answer(run, &decision, question)
        }
        Err(error) => {
            let failed = EventDraft::new(EventType::PermissionFailed)
                .level(Level::Warning)
                .call(call)
                .with("request_id", request_id.as_str())
                .with("message", error.to_string());
            run.record(vec![failed, resolved(DecisionKind::Deny, Some("the callback failed"))]).await;
            Err(denied(ErrorCode::PermissionDenied, &error.to_string(), "callback_failed"))
        }
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

fn denied(code: ErrorCode, reason: &str, by: &str) -> ErrorPayload {
    ErrorPayload::new(code, format!("not run, permission denied: {reason}")).detail("denied_by", by)
}

fn request(run: &RunContext, tool: &ToolDefinition, facts: &Facts, question: &Question) -> PermissionRequest {
    let redactor: &Redactor = &run.redactor;
    let summary = request_summary(facts, redactor.secrets(), ARGS_SUMMARY_BYTES);
    let mut metadata = Object::new();
    metadata.insert("reasons".to_owned(), question.reasons.clone().into());
    if let Some(covers) = &question.grant_covers {
        metadata.insert("session_scope".to_owned(), covers.as_str().into());
    }
    PermissionRequest {
        request_id: request_id(),
        session_id: run.session.id().clone(),
        agent_id: run.agent_id.clone(),
        run_id: run.run_id.clone(),
        parent_agent_id: None,
        parent_run_id: None,
        agent_role: agent_protocol::AgentRole::Main,
        tool_name: tool.name.clone(),
        permission: tool.permission,
        tags: tool.tags.clone(),
        args_summary: summary.args_summary,
        target_scope: summary.target_scope,
        cwd: summary.cwd.unwrap_or_else(|| escape_word(run.session.cwd()).into_owned()),
        env_summary: summary.env_summary,
        network_host: summary.network_host,
        dangerous: question.dangerous,
        hook_summary: None,
        suggested_decision: question.suggested,
        metadata,
    }
}

fn request_id() -> PermissionRequestId {
    crate::session::fresh_id(PermissionRequestId::PREFIX, PermissionRequestId::parse, Uuid::now_v7())
}
