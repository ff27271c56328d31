//! The calls of a run between their phases: prepared, decided about, run (TOL-9).

use std::collections::HashMap;
use std::sync::Arc;

use agent_engine::{BudgetError, Input, Outcome, ResultKind, Verdict};
use agent_policy::Facts;
use agent_protocol::{ContentBlock, ErrorCode, ErrorPayload, NodeId, Object, ToolCall, ToolCallId, ToolDescriptor};
use agent_redact::{KnownSecrets, SecretPatterns, quote_argv, shorten};
use agent_tool::{CallContext, CallGroup, Fence, Prepared, PreparedCall, ProgressSink, ToolOutput};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::artifacts::{CallArtifacts, Finished};
use crate::broker::{Asked, cancelled, is_for_want_of_an_answer};
use crate::caught::caught;
use crate::children::{CallChildren, Children};
use crate::context::{Gathered, Gatherer, InstructionFiles, Loaded, noticed, will_change};
use crate::dispatch::CallWorkers;
use crate::redact::Redactor;
use crate::run_context::RunContext;
use crate::run_state::Unanswered;
use crate::services::Services;
use crate::sources::Tools;
use crate::tasks::{CallTasks, Ending, ForCall, TaskAccess};

/// Columns of the one line that says what a call will do.
const SUMMARY_COLUMNS: usize = 160;
/// Bytes of a result for each token there is room for: less than a token has as a rule, as a result is more than its text.
const BYTES_PER_TOKEN: usize = 3;

/// The calls of one run that are at work.
pub(crate) struct Calls {
    run: Arc<RunContext>,
    services: Arc<Services>,
    /// The tools as they were when the run started.
    tools: Arc<Tools>,
    children: Children,
    finished: Finished,
    loaded: Arc<Loaded>,
    instructions: Option<Arc<InstructionFiles>>,
    /// Closed when the run ends: a call that did not stop in time can change nothing any more (RUN-12).
    fence: Fence,
    /// How much of a result the window has room for. Bytes.
    result_room: usize,
    open: HashMap<ToolCallId, Open>,
    /// Those that are open, and those that were open beside them.
    group: CallGroup,
    unanswered: Vec<Unanswered>,
}

struct Open {
    cancel: CancellationToken,
    tool: Option<Arc<ToolDescriptor>>,
    facts: Option<Arc<Facts>>,
    handle: Option<Box<dyn PreparedCall>>,
    progress: Option<watch::Receiver<Object>>,
}

/// What a finished preparation hands back to the driver besides its input.
pub(crate) struct PreparedHandle {
    tool: Arc<ToolDescriptor>,
    facts: Arc<Facts>,
    handle: Box<dyn PreparedCall>,
}

/// What a job of a run comes to.
pub(crate) enum Done {
    /// An input for the machine.
    Input(Box<Input>),
    /// A prepared call, whose handle stays with the driver, and the line that says what it will do.
    Prepared { call: ToolCallId, prepared: Box<PreparedHandle>, summary: String },
    /// What the next request is made of, and who keeps it.
    Gathered(Box<(Gatherer, Result<Gathered, BudgetError>)>),
}

pub(crate) type Job = BoxFuture<'static, Done>;

impl Calls {
    pub(crate) fn new(
        run: Arc<RunContext>,
        services: Arc<Services>,
        tools: Arc<Tools>,
        children: Children,
        fence: Fence,
    ) -> Self {
        Self {
            run,
            services,
            tools,
            children,
            finished: Finished::default(),
            loaded: Arc::default(),
            instructions: None,
            fence,
            result_room: usize::MAX,
            open: HashMap::new(),
            group: CallGroup::default(),
            unanswered: Vec::new(),
        }
    }

    /// Rows of artifacts whose files are finished.
    pub(crate) fn finished_artifacts(&self) -> &Finished {
        &self.finished
    }

    /// Lets it notice which instruction files calls read and write.
    #[must_use]
    pub(crate) fn with_instructions(mut self, files: Arc<InstructionFiles>) -> Self {
        self.instructions = Some(files);
        self
    }

    /// Lets calls store what would be shortened for the model, so that it can be read on: the results of a turn have room for
    /// this many tokens.
    #[must_use]
    pub(crate) fn with_result_room(mut self, tokens: u64) -> Self {
        self.result_room = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(BYTES_PER_TOKEN);
        self
    }

    /// What is in the conversation because it was loaded.
    pub(crate) fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Nothing of this run can change anything from here on.
    pub(crate) fn close(&self) {
        self.fence.close();
        for open in self.open.values() {
            open.cancel.cancel();
        }
    }

    pub(crate) fn abort(&self, call: &ToolCallId) {
        if let Some(open) = self.open.get(call) {
            open.cancel.cancel();
        }
    }

    /// First phase. `before` is the node in front of the reply that makes the call.
    pub(crate) fn prepare(&mut self, call: ToolCall, before: Option<NodeId>) -> Job {
        let (sink, progress) = ProgressSink::channel();
        let cancel = CancellationToken::new();
        let id = call.tool_call_id.clone();
        if self.open.is_empty() {
            self.group = CallGroup::default();
        }
        self.group.join();
        let context = self.context(&id, cancel.clone(), sink, before);
        let open = Open { cancel: cancel.clone(), tool: None, facts: None, handle: None, progress: Some(progress) };
        self.open.insert(id.clone(), open);
        let tools = Arc::clone(&self.tools);
        let (redactor, live) = (self.run.redactor.clone(), Arc::clone(&self.run.live));
        async move {
            let name = call.name.clone();
            let work = caught(&name, prepare(&tools, call, context));
            let result = tokio::select! {
                biased;
                () = cancel.cancelled() => Err(cancelled()),
                result = work => result.flatten(),
            };
            match result {
                Ok((tool, prepared)) => {
                    let summary = summary(&prepared.facts, &redactor, &live.patterns);
                    let prepared =
                        Box::new(PreparedHandle { tool, facts: Arc::new(prepared.facts), handle: prepared.call });
                    Done::Prepared { call: id, prepared, summary }
                }
                Err(mut error) => {
                    redactor.error(&mut error);
                    Done::Input(Box::new(Input::Prepared { call: id, result: Err(error) }))
                }
            }
        }
        .boxed()
    }

    fn context(
        &self,
        call: &ToolCallId,
        cancel: CancellationToken,
        progress: ProgressSink,
        before: Option<NodeId>,
    ) -> CallContext {
        let run = &self.run;
        let children = |before| CallChildren {
            children: self.children.clone(),
            call: call.clone(),
            cancel: cancel.clone(),
            fence: self.fence.clone(),
            before,
        };
        let for_call = ForCall { call: call.clone(), cancel: cancel.clone(), fence: self.fence.clone() };
        let access = TaskAccess::of(run, &self.services);
        // A worker begins with its task.
        let workers = CallWorkers { children: children(None), tasks: access.clone(), call: for_call.clone() };
        let tasks = CallTasks {
            access,
            call: for_call,
            ending: Ending { patience: self.services.settings.children.cancel_timeout },
        };
        CallContext {
            session_id: run.session.id().clone(),
            agent_id: run.agent.id.clone(),
            run_id: run.run_id.clone(),
            tool_call_id: call.clone(),
            cancel: cancel.clone(),
            fence: self.fence.clone(),
            progress,
            artifacts: Arc::new(CallArtifacts {
                writer: self.services.artifacts.clone(),
                session_id: run.session.id().clone(),
                tool_call_id: call.clone(),
                finished: self.finished.clone(),
            }),
            versions: run.agent.files.clone(),
            children: Arc::new(children(before)),
            workers: Arc::new(workers),
            tasks: Arc::new(tasks),
            loaded: Arc::clone(&self.loaded) as _,
            result_bytes: self.services.settings.result_bytes.min(self.result_room),
            group: self.group.clone(),
            secrets: run.redactor.secrets(),
        }
    }

    /// Keeps the handle of a prepared call until it is decided about.
    pub(crate) fn keep(&mut self, call: &ToolCallId, prepared: PreparedHandle) {
        if let Some(open) = self.open.get_mut(call) {
            open.tool = Some(prepared.tool);
            open.facts = Some(prepared.facts);
            open.handle = Some(prepared.handle);
        }
    }

    /// Gets the decision.
    pub(crate) fn authorize(&self, call: ToolCallId) -> Job {
        let (run, services) = (Arc::clone(&self.run), Arc::clone(&self.services));
        let known =
            self.open.get(&call).and_then(|open| Some((open.tool.clone()?, open.facts.clone()?, open.cancel.clone())));
        async move {
            let result = match known {
                Some((tool, facts, cancel)) => {
                    let asked = Asked { run: &run, call: &call, tool: &tool, facts: &facts, cancel: &cancel };
                    services.broker.authorize(&asked).await
                }
                None => Err(lost_handle()),
            };
            let verdict = match result {
                Ok(()) => Verdict::Allow,
                Err(mut error) => {
                    run.redactor.error(&mut error);
                    Verdict::Deny { error }
                }
            };
            Done::Input(Box::new(Input::Authorized { call, verdict }))
        }
        .boxed()
    }

    /// Keeps a denial for the run's result, where it is there for want of an answer.
    pub(crate) fn note_unanswered(&mut self, call: &ToolCallId, error: &ErrorPayload) {
        let tool = self.open.get(call).and_then(|open| open.tool.as_ref()).filter(|_| is_for_want_of_an_answer(error));
        self.unanswered.extend(tool.map(|tool| Unanswered {
            tool_call_id: call.clone(),
            tool_name: tool.name().to_owned(),
            reason: error.message.clone(),
        }));
    }

    pub(crate) fn take_unanswered(&mut self) -> Vec<Unanswered> {
        let mut all = std::mem::take(&mut self.unanswered);
        all.extend(self.children.take_unanswered());
        all
    }

    /// Second phase: exactly what was prepared.
    pub(crate) fn execute(&mut self, call: ToolCallId) -> Job {
        let run = Arc::clone(&self.run);
        let open = self.open.get_mut(&call);
        let (tool, facts) = open.as_ref().map_or((None, None), |open| (open.tool.clone(), open.facts.clone()));
        let (handle, progress) = open.map_or((None, None), |open| (open.handle.take(), open.progress.take()));
        let loaded = Arc::clone(&self.loaded);
        let instructions = self.instructions.clone();
        async move {
            // Before it runs, and whatever becomes of it: who reads such a file meanwhile is not to be bound by it (INS-6).
            if let (Some(tool), Some(files), Some(facts), Some(_)) = (&tool, &instructions, &facts, &handle) {
                will_change(tool, facts, files);
            }
            let mut output = match handle {
                Some(handle) => {
                    let work = watched(&run, &call, handle, progress);
                    caught("the tool", work).await.unwrap_or_else(ToolOutput::failed)
                }
                None => ToolOutput::failed(lost_handle()),
            };
            let mut after = match (&tool, &instructions) {
                (Some(tool), Some(files)) => noticed(tool, files, &loaded, &call, &mut output),
                _ => Vec::new(),
            };
            for node in &mut after {
                run.redactor.blocks(&mut node.content);
                run.redactor.object(&mut node.metadata);
            }
            let outcome = Box::new(Outcome { after, ..outcome(&run, output) });
            Done::Input(Box::new(Input::CallDone { call, outcome }))
        }
        .boxed()
    }

    /// The call has its result.
    pub(crate) fn forget(&mut self, call: &ToolCallId) {
        self.open.remove(call);
    }
}

/// Checks the arguments and lets the tool look.
async fn prepare(
    tools: &Tools,
    call: ToolCall,
    context: CallContext,
) -> Result<(Arc<ToolDescriptor>, Prepared), ErrorPayload> {
    let Some(registered) = tools.get(&call.name) else {
        let message = format!("{} is not registered", call.name);
        return Err(ErrorPayload::new(ErrorCode::ToolNotAvailable, message));
    };
    let arguments = registered.check_arguments(call.arguments, &context.secrets)?;
    if registered.definition().may_change() {
        holds_no_placeholder(&arguments, &context.secrets)?;
    }
    let (descriptor, tool) = (Arc::clone(registered.descriptor()), Arc::clone(registered.binding()));
    let prepared = tool.prepare(arguments, context).await?;
    Ok((descriptor, prepared))
}

/// Fails where the arguments hold what stands for a secret: whatever the call does, it would do it with these words instead of
/// the value, and nobody who is asked could see the difference (FND-01).
fn holds_no_placeholder(arguments: &Object, secrets: &KnownSecrets) -> Result<(), ErrorPayload> {
    let Some(placeholder) = secrets.placeholder_within(arguments) else { return Ok(()) };
    let message = format!(
        "{placeholder} stands for a value that you are not shown, and would be written in its place; nothing was changed. Make \
         the change without this text: an edit whose old and new text lie beside it leaves the value as it is"
    );
    Err(ErrorPayload::new(ErrorCode::ValidationError, message).detail("kind", "secret_placeholder"))
}

/// Runs a call and shows its progress meanwhile.
async fn watched(
    run: &RunContext,
    call: &ToolCallId,
    handle: Box<dyn PreparedCall>,
    progress: Option<watch::Receiver<Object>>,
) -> ToolOutput {
    let mut work = handle.run();
    let Some(mut progress) = progress else { return work.await };
    loop {
        tokio::select! {
            biased;
            output = &mut work => return output,
            changed = progress.changed() => {
                if changed.is_err() {
                    return work.await;
                }
                let mut view = progress.borrow_and_update().clone();
                run.redactor.object(&mut view);
                run.live.progress(call, view);
            }
        }
    }
}

/// What a tool's output means for the machine.
fn outcome(run: &RunContext, output: ToolOutput) -> Outcome {
    let ToolOutput { mut content, mut error, mut metadata, .. } = output;
    let aborted = metadata.get(ToolOutput::ABORTED).is_some_and(|flag| flag == true);
    let kind = match &error {
        None => ResultKind::Ok,
        Some(_) if aborted => ResultKind::Aborted,
        Some(_) => ResultKind::Failed,
    };
    if let Some(error) = &mut error {
        run.redactor.error(error);
        // The reason first; what was captured before it failed comes after it.
        content.insert(0, ContentBlock::text(error.message.clone()));
    }
    let replaced = metadata.get(ToolOutput::REDACTED).is_some_and(|flag| flag == true);
    if run.redactor.blocks(&mut content) || replaced {
        metadata.insert(ToolOutput::REDACTED.to_owned(), true.into());
        content.push(ContentBlock::text(
            "[Known secrets in this result were replaced by their names. An edit of that text would not match, and a call that \
             writes one of these names is refused: leave them out.]",
        ));
    }
    let summary = metadata.remove(ToolOutput::SUMMARY).and_then(|line| line.as_str().map(str::to_owned));
    Outcome { kind, content, error, metadata, summary, after: Vec::new() }
}

/// What a call will do, in one line: the command, the tool's own line, or the targets as the model wrote them, or its preview's first line. Secrets
/// are taken out of the words before they are quoted and cut, and what looks like one before it is cut, as half of one is not
/// recognised.
fn summary(facts: &Facts, redactor: &Redactor, patterns: &SecretPatterns) -> String {
    let redacted = |word: &str| {
        let mut word = word.to_owned();
        redactor.text(&mut word);
        word
    };
    let line = match (&facts.command, &facts.line) {
        (Some(command), _) => quote_argv(&command.argv.iter().map(|word| redacted(word)).collect::<Vec<_>>()),
        (None, Some(line)) => redacted(line),
        (None, None) if !facts.targets.is_empty() => {
            facts.targets.iter().map(|target| redacted(&target.requested)).collect::<Vec<_>>().join(", ")
        }
        (None, None) => redacted(facts.preview.lines().next().unwrap_or_default()),
    };
    shorten(&patterns.redact(&line).text, SUMMARY_COLUMNS).into()
}

fn lost_handle() -> ErrorPayload {
    ErrorPayload::new(ErrorCode::InternalError, "the prepared call is gone; this is a bug in soong-agent")
}
