//! A run before its loop: it waits in the queue if it must, finds where its conversation stands, and hands over to the driver
//! (RUN-1, RUN-2).

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError};

use agent_engine::{AnswerRule, CompactMode, Exchange, Input, Limits, Run};
use agent_protocol::internal::{COMPACT, DEFINITION, PURPOSE, WORKER, WORKER_POOL};
use agent_protocol::{
    AgentId, AgentRole, AgentStatus, AgentType, ContentBlock, EndReason, ErrorPayload, EventDraft, ModelRequest,
    NodeId, Object, Reply, RunCancelled, RunDequeued, RunMode, RunPatch, RunQueued, RunStatus, Usage,
};
use agent_store::{NewAgent, NewRun, StoreError, Write};
use agent_tool::{Fence, OutputSchema, WorkerScope};
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agent::{Agent, CarriedState};
use crate::agent_end::{AgentEnd, ROLE};
use crate::calls::Calls;
use crate::child_streams::ChildStreams;
use crate::children::Children;
use crate::compaction::Compactor;
use crate::context::{Catalogs, Gatherer, InstructionFiles};
use crate::driver::Driver;
use crate::failed_run::failed_patch;
use crate::ids::fresh_id;
use crate::live::{ClosedAtTheEnd, Live};
use crate::machine::Machine;
use crate::models::RunModel;
use crate::owned::OwnedSession;
use crate::queue::{QueuePosition, SessionPermit};
use crate::raw::RunExchanges;
use crate::redact::Redactor;
use crate::resume::Resume;
use crate::run_clock::RunClock;
use crate::run_context::RunContext;
use crate::run_spec::{ChildWork, RunSpec, Seed, StartRuns, StartedRun, Work, root_role};
use crate::run_state::{RunResult, RunState};
use crate::seen_files::SeenFiles;
use crate::services::Services;
use crate::session::Session;
use crate::sources::PartsFor;
use crate::tasks::TaskAccess;
use crate::workers::{Lives, WorkerRun};

/// What a queued run's row keeps its message under, so that it survives a process that ends before its turn comes.
pub(crate) const QUEUED_MESSAGE: &str = "queued_message";

/// Starts the runs of a runtime, all of them in the same way.
#[derive(Clone)]
pub(crate) struct Launcher {
    services: Arc<Services>,
    resume: Arc<Resume>,
}

impl Launcher {
    pub(crate) fn new(services: Arc<Services>, resume: Arc<Resume>) -> Self {
        Self { services, resume }
    }
}

impl StartRuns for Launcher {
    fn start(&self, session: &Arc<Session>, owned: &Arc<OwnedSession>, spec: RunSpec) -> StartedRun {
        let RunSpec { run_id, work, model, limits, spending, cancel } = spec;
        let new = || Live::new(session.id().clone(), run_id.clone(), self.services.patterns.clone());
        let live = match &work {
            Work::Answer { .. } => Arc::new(new()),
            Work::Child(child) => Arc::clone(&child.stream.0),
            Work::Summary { .. } => Arc::new(new().unwatched()),
        };
        let child_streams = ChildStreams::default();
        let context = Arc::new(RunContext {
            agent: agent_of(&work, owned),
            session: Arc::clone(session),
            owned: Arc::clone(owned),
            store: Arc::clone(&self.services.store),
            run_id: run_id.clone(),
            role: role_of(&work),
            known_as: match &work {
                Work::Child(child) => Some(child.known_as.clone()),
                Work::Answer { .. } | Work::Summary { .. } => None,
            },
            worker: worker_of(&work).cloned(),
            live: Arc::clone(&live),
            child_streams: child_streams.clone(),
            spending,
            clock: clock_of(&work),
            redactor: self.services.redactor.clone(),
            left_behind: AtomicBool::new(false),
        });
        let is_queued = matches!(&work, Work::Answer { queue: QueuePosition::Waiting { .. }, .. });
        let status = if is_queued { RunStatus::Queued } else { RunStatus::Pending };
        let (state, watched) = watch::channel(RunState { status, left_behind: false, end: None });
        let started = StartedRun {
            run_id,
            session_id: session.id().clone(),
            agent_id: context.agent.id.clone(),
            live: Arc::clone(&live),
            child_streams,
            clock: Arc::clone(&context.clock),
            cancel: cancel.clone(),
            state: watched,
        };
        let lives = worker_of(&work).map(|scope| {
            owned.tasks.workers.lives(WorkerRun {
                agent_id: started.agent_id.clone(),
                run_id: started.run_id.clone(),
                task_id: scope.task_id.clone(),
                cancel: cancel.clone(),
                state: started.state.clone(),
            })
        });
        let launch = Launch { launcher: self.clone(), context, model, limits, cancel, state };
        let closed = ClosedAtTheEnd(live);
        self.services.runs.spawn(async move {
            let _closed = closed;
            launch.run(work, lives).await;
        });
        started
    }
}

fn role_of(work: &Work) -> AgentRole {
    match work {
        Work::Answer { mode, .. } => root_role(*mode),
        Work::Child(child) => child.role,
        // Core's own: it calls nothing and asks nobody.
        Work::Summary { .. } => AgentRole::Fork,
    }
}

fn worker_of(work: &Work) -> Option<&WorkerScope> {
    match work {
        Work::Child(child) => child.worker.as_ref().map(|worker| &worker.scope),
        Work::Answer { .. } | Work::Summary { .. } => None,
    }
}

fn clock_of(work: &Work) -> Arc<RunClock> {
    let of_another = match work {
        Work::Summary { clock, .. } => clock.clone(),
        Work::Answer { .. } | Work::Child(_) => None,
    };
    of_another.unwrap_or_else(|| Arc::new(RunClock::started()))
}

fn agent_of(work: &Work, owned: &OwnedSession) -> Arc<Agent> {
    let (id, agent_type, parent) = match work {
        Work::Answer { .. } => return Arc::clone(&owned.root),
        Work::Child(child) => (child.agent_id.clone(), child.agent_type(), &child.parent),
        Work::Summary { parent, .. } => (fresh_id(AgentId::PREFIX, AgentId::parse), AgentType::Fork, parent),
    };
    let files = Arc::new(SeenFiles::new(id.clone(), Arc::clone(&owned.files)));
    Arc::new(Agent::new(id, agent_type, Some(parent.clone()), files, None))
}

/// A run on its way to its driver.
struct Launch {
    launcher: Launcher,
    context: Arc<RunContext>,
    model: Arc<RunModel>,
    limits: Limits,
    cancel: CancellationToken,
    state: watch::Sender<RunState>,
}

/// A conversation that is about to go on.
struct Loop<'a> {
    permit: Option<SessionPermit<Session>>,
    mode: RunMode,
    carried: CarriedState,
    said: Vec<ContentBlock>,
    prelude: Vec<Write>,
    /// The child whose conversation it is.
    child: Option<&'a ChildWork>,
}

impl Launch {
    /// Runs to the end. `lives` counts it among the living workers.
    async fn run(self, work: Work, lives: Option<Lives>) {
        match work {
            Work::Answer { message, mode, queue } => self.answer(message, mode, queue).await,
            Work::Child(child) => {
                let (session, services) = (Arc::clone(&self.context.session), Arc::clone(&self.launcher.services));
                let ChildWork { worker, living, .. } = self.child(*child).await;
                drop(lives);
                if let Some(worker) = worker {
                    let task_id = worker.scope.task_id.clone();
                    TaskAccess::of(&worker.sender, &services).end_of_runs(task_id).await;
                }
                // A child lives until nothing of its run is left.
                drop(living);
                session.child_ended();
            }
            Work::Summary { request, mode, from, reply_to, .. } => self.summary(*request, mode, from, reply_to).await,
        }
    }

    async fn answer(self, message: Vec<ContentBlock>, mode: RunMode, queue: QueuePosition<Session>) {
        let (permit, prelude) = match queue {
            QueuePosition::First(permit) => (permit, vec![self.row(RunStatus::Pending, of_mode(mode))]),
            QueuePosition::Waiting { position, permit } => match self.wait(&message, mode, position, permit).await {
                Some(permit) => (permit, vec![Write::Event(EventDraft::of(RunDequeued {}))]),
                None => return,
            },
        };
        let prelude = self.recover_tasks(prelude).await;
        match self.carried().await {
            Ok(carried) => {
                self.converse(Loop { permit: Some(permit), mode, carried, said: message, prelude, child: None }).await;
            }
            Err(error) => self.never_began(Some(permit), prelude, &error).await,
        }
    }

    /// Opens the Tasks of the session, where it has some: the run shows them (TBD-1). Gives what of the prelude is still to be stored: the
    /// run's row comes before its events.
    async fn recover_tasks(&self, prelude: Vec<Write>) -> Vec<Write> {
        let tasks = TaskAccess::of(&self.context, &self.launcher.services);
        if !tasks.are_closed() {
            return prelude;
        }
        if self.context.commit(prelude.clone()).await.is_err() {
            return prelude;
        }
        tasks.open().await;
        let problems = tasks.problems().await;
        *self.launcher.services.task_problems.lock().unwrap_or_else(PoisonError::into_inner) = problems;
        Vec::new()
    }

    /// What the run before left, or what is stored (DB-11): read only now that no other run of the agent writes.
    async fn carried(&self) -> Result<CarriedState, StoreError> {
        let agent = &self.context.agent;
        match agent.take_carried() {
            Some(carried) => Ok(carried),
            None => self.launcher.resume.root(self.context.session.id(), &agent.id).await,
        }
    }

    /// Gives the work back once its run is over.
    async fn child(self, mut child: ChildWork) -> ChildWork {
        let (session_id, resume) = (self.context.session.id(), &self.launcher.resume);
        let (agent_id, status) = (child.agent_id.clone(), AgentStatus::Running);
        // A worker may have been sent before, also by another process.
        let before = match &child.worker {
            Some(_) => resume.worker(session_id, &agent_id).await,
            None => Ok(None),
        };
        let agent = match &before {
            Ok(Some(_)) => Write::AgentStatus { agent_id, status, result: None },
            Ok(None) | Err(_) => Write::Agent(new_agent(&child)),
        };
        let prelude = vec![agent, self.row(RunStatus::Pending, child.origin.clone().into_metadata())];
        let carried = match (before, &child.seed) {
            (Err(error), _) => Err(error),
            (Ok(Some(carried)), _) => Ok(carried),
            (Ok(None), Seed::Fresh) => Ok(CarriedState::default()),
            (Ok(None), Seed::Inherited(from)) => resume.inherited(session_id, &child.parent.agent_id, from).await,
        };
        let said = std::mem::take(&mut child.task);
        match carried {
            Ok(carried) => {
                let mode = RunMode::Normal;
                self.converse(Loop { permit: None, mode, carried, said, prelude, child: Some(&child) }).await;
            }
            Err(error) => self.never_began(None, prelude, &error).await,
        }
        child
    }

    async fn converse(self, begin: Loop<'_>) {
        let services = Arc::clone(&self.launcher.services);
        let owned = &self.context.owned;
        let changes = match &begin.child {
            None => owned.files.begin_changes(owned.living_children() > 0),
            Some(_) => owned.files.changes(),
        };
        let found = tokio::select! {
            biased;
            // The driver sees it first thing.
            () = self.cancel.cancelled() => Catalogs::default(),
            found = loadable(&services) => found,
        };
        let child = begin.child;
        let parts = services.fixed.parts(PartsFor {
            role: self.context.role,
            offer: found.offer(),
            allowed: child.and_then(|child| child.allowed_tools.as_ref()),
            definition: child.map(|child| &*child.definition),
            model: &self.model,
        });
        let files = Arc::new(InstructionFiles::new(Arc::new(found), Arc::clone(services.fixed.rules()), changes));
        let result_room = parts.system.result_room();
        let gatherer = Gatherer::new(Arc::new(parts.system), Arc::clone(&files));
        let CarriedState { path, calibration, compaction_floor, started, lost_children, cut_short } = begin.carried;
        let mut machine = Run::new(self.limits.clone(), self.context.run_id.clone(), path, calibration)
            .with_compaction_floor(compaction_floor)
            .with_lost_children(lost_children.iter().map(|lost| lost.in_words()).collect())
            .with_cut_short(cut_short.map(|cut| cut.told(|name| Some(parts.tools.get(name)?.definition()))))
            .with_today((services.settings.today)())
            .with_mode(begin.mode);
        if let Some(output) = child.and_then(|child| child.output.clone()) {
            machine = machine.with_answer_rule(answer_rule(output, &self.context.redactor));
        }
        if let Some(started) = started {
            machine = machine.with_started_calls(started.into_keys().collect());
        }
        let fence = begin.child.as_ref().map_or_else(Fence::new, |child| child.fence.clone());
        let calls = self.calls(parts.tools, fence).with_instructions(files).with_result_room(result_room);
        let end = self.agent_end();
        let extractor = services.extractor.clone().filter(|_| begin.child.is_none());
        let tasks = TaskAccess::of(&self.context, &services);
        let driver = Driver {
            extractor,
            gatherer: Some(gatherer),
            tasks: Some(tasks),
            permit: begin.permit,
            ..self.driver(Machine::Loop(Box::new(machine)), calls, end, begin.prelude)
        };
        driver.drive(Input::Start { content: begin.said }).await;
    }

    /// What becomes of the agent with this run.
    fn agent_end(&self) -> AgentEnd {
        match (&self.context.agent.parent, &self.context.worker) {
            (None, _) => AgentEnd::WaitsForMore,
            (Some(_), Some(_)) => AgentEnd::Idles,
            (Some(_), None) => AgentEnd::Done,
        }
    }

    async fn summary(self, request: ModelRequest, mode: CompactMode, from: NodeId, reply_to: oneshot::Sender<Reply>) {
        let metadata = Object::from_iter([
            (PURPOSE.to_owned(), COMPACT.into()),
            ("mode".to_owned(), mode.as_str().into()),
            (DEFINITION.to_owned(), "default_compact_agent".into()),
        ]);
        let Agent { id, agent_type, parent, .. } = &*self.context.agent;
        let agent = NewAgent {
            agent_id: id.clone(),
            parent_agent_id: parent.as_ref().map(|parent| parent.agent_id.clone()),
            agent_type: *agent_type,
            created_by_run_id: parent.as_ref().map(|parent| parent.run_id.clone()),
            fork_from_node_id: Some(from),
            status: AgentStatus::Running,
            metadata: metadata.clone(),
        };
        let prelude = vec![Write::Agent(agent), self.row(RunStatus::Pending, metadata)];
        let machine = Machine::Exchange(Box::new(Exchange::new(COMPACT, request, self.limits.price)));
        let calls = self.calls(self.launcher.services.fixed.registered().snapshot(), Fence::new());
        let server = self.model.summariser.clone();
        let driver = self.driver(machine, calls, AgentEnd::DoneWithoutResult, prelude);
        let driver = Driver { reply_to: Some(reply_to), server, ..driver };
        driver.drive(Input::Start { content: Vec::new() }).await;
    }

    fn calls(&self, tools: Arc<crate::sources::Tools>, fence: Fence) -> Calls {
        let services = &self.launcher.services;
        let children = Children {
            starter: Arc::new(self.launcher.clone()),
            services: Arc::clone(services),
            run: Arc::clone(&self.context),
            living: TaskTracker::new(),
            unanswered: Arc::default(),
        };
        Calls::new(Arc::clone(&self.context), Arc::clone(services), tools, children, fence)
    }

    fn driver(self, machine: Machine, calls: Calls, agent_end: AgentEnd, prelude: Vec<Write>) -> Driver {
        let services = &self.launcher.services;
        let raw = services.raw.as_ref().map(|exchanges| {
            RunExchanges {
                exchanges: exchanges.clone(),
                run_id: self.context.run_id.clone(),
                session_id: self.context.session.id().clone(),
                writer: services.artifacts.clone(),
                redactor: services.redactor.clone(),
                patterns: services.patterns.clone(),
            }
            .listen()
        });
        Driver {
            permit: None,
            server: self.model.server.clone(),
            machine,
            calls,
            gatherer: None,
            tasks: None,
            compactor: Compactor {
                starter: Arc::new(self.launcher.clone()),
                services: Arc::clone(services),
                model: self.model,
            },
            extractor: None,
            summary: None,
            reply_to: None,
            agent_end,
            raw,
            prelude,
            held: None,
            store_failed: false,
            locked: None,
            unsaid: false,
            cancel: self.cancel,
            cancel_timeout: services.settings.cancel_timeout,
            state: self.state,
            context: self.context,
        }
    }

    fn row(&self, status: RunStatus, metadata: Object) -> Write {
        Write::Run(NewRun {
            run_id: self.context.run_id.clone(),
            agent_id: self.context.agent.id.clone(),
            status,
            start_node_id: None,
            metadata,
        })
    }

    /// Waits until it is this run's turn. `None` if it has ended instead: it was cancelled, or cannot be stored.
    async fn wait(
        &self,
        message: &[ContentBlock],
        mode: RunMode,
        position: usize,
        permit: oneshot::Receiver<SessionPermit<Session>>,
    ) -> Option<SessionPermit<Session>> {
        let mut metadata = of_mode(mode);
        // Blocks are plain JSON; that they cannot be written down is impossible.
        metadata.insert(QUEUED_MESSAGE.to_owned(), serde_json::to_value(message).unwrap_or_default());
        let queued = EventDraft::of(RunQueued { position: position as u64 });
        let queued = vec![self.row(RunStatus::Queued, metadata), Write::Event(queued)];
        if let Err(error) = self.context.commit(queued).await {
            self.end(RunStatus::Failed, Some(EndReason::Failed), Some(error.payload()));
            return None;
        }
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {
                self.cancelled().await;
                None
            }
            permit = permit => match permit {
                Ok(permit) => {
                    self.state.send_modify(|state| state.status = RunStatus::Pending);
                    Some(permit)
                }
                // The queue itself is gone, and with it the runtime.
                Err(_) => {
                    self.cancelled().await;
                    None
                }
            },
        }
    }

    /// RUN-2: nothing but that it is over.
    async fn cancelled(&self) {
        let patch = RunPatch {
            status: RunStatus::Cancelled,
            end_reason: None,
            end_node_id: None,
            turn_count: 0,
            usage: Usage::default(),
            error: None,
        };
        let writes = vec![
            Write::Event(EventDraft::of(RunCancelled {})),
            Write::Event(EventDraft::of(RunDequeued {})),
            Write::RunPatch(patch),
        ];
        let error = self.context.commit(writes).await.err().map(|error| error.payload());
        self.end(RunStatus::Cancelled, None, error);
    }

    /// The conversation cannot be read.
    async fn never_began(self, permit: Option<SessionPermit<Session>>, mut prelude: Vec<Write>, error: &StoreError) {
        let error = error.payload();
        prelude.extend(failed_patch(&error, None, 0, Usage::default()));
        if self.context.agent.parent.is_some() {
            prelude.push(self.agent_end().write(&self.context.agent.id, RunStatus::Failed, || None));
        }
        if self.context.commit(prelude).await.is_err() {
            self.context.owned.end_is_unstored();
        }
        // The next run comes before anybody is told.
        drop(permit);
        self.end(RunStatus::Failed, Some(EndReason::Failed), Some(error));
    }

    fn end(&self, status: RunStatus, end_reason: Option<EndReason>, error: Option<ErrorPayload>) {
        self.context.live.close();
        let result = RunResult::without_work(status, end_reason, error);
        self.state.send_replace(RunState { status, left_behind: false, end: Some(result.into()) });
    }
}

/// Judges answers by a schema.
fn answer_rule(output: OutputSchema, redactor: &Redactor) -> AnswerRule {
    let secrets = redactor.secrets().clone();
    AnswerRule::new(move |answer| output.check(answer, &secrets).err().map(|mismatch| mismatch.to_string()))
}

/// What a run's row says of its mode: nothing of the usual one.
fn of_mode(mode: RunMode) -> Object {
    let named = (mode != RunMode::Normal).then(|| (RunMode::KEY.to_owned(), mode.as_str().into()));
    named.into_iter().collect()
}

/// The row of a child.
fn new_agent(child: &ChildWork) -> NewAgent {
    let definition = Some(child.definition.agent_definition_id.as_str());
    let role = child.worker.is_some().then_some(AgentRole::Worker.as_str());
    let worker = child.origin.worker.as_ref();
    let worker_id = worker.and_then(|worker| worker.worker_id.as_deref());
    let pool = worker.map(|worker| worker.worker_pool_id.as_str());
    let named = [(DEFINITION, definition), (ROLE, role), (WORKER, worker_id), (WORKER_POOL, pool)].into_iter();
    NewAgent {
        agent_id: child.agent_id.clone(),
        parent_agent_id: Some(child.parent.agent_id.clone()),
        agent_type: child.agent_type(),
        created_by_run_id: Some(child.parent.run_id.clone()),
        fork_from_node_id: match &child.seed {
            Seed::Fresh => None,
            Seed::Inherited(from) => Some(from.clone()),
        },
        status: AgentStatus::Running,
        metadata: named.filter_map(|(key, value)| Some((key.to_owned(), value?.into()))).collect(),
    }
}

/// Looks at what a run may load.
async fn loadable(services: &Services) -> Catalogs {
    let places = services.fixed.places().clone();
    let rules = Arc::clone(services.fixed.rules());
    let scan = tokio::task::spawn_blocking(move || Catalogs::scan(&places, &rules));
    let memories = async {
        match &services.memory {
            Some(memory) => memory.visible().await,
            None => None,
        }
    };
    let (scanned, memories) = tokio::join!(scan, memories);
    // Where the scan broke off there is nothing to list, and the run goes on.
    let catalogs = Catalogs { memories, ..scanned.unwrap_or_default() };
    *services.file_problems.lock().unwrap_or_else(PoisonError::into_inner) = catalogs.problems();
    catalogs
}
