//! A program with an Orchestrator and three workers: what it takes to start them, and to see what each of them does.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_core::archive::{TaskView, open_tasks};
use agent_core::config::Location;
use agent_core::event::{ChildAgentCompleted, ChildAgentCreated, EventStream, TaskEvent, TaskStepClaimed, ToolStarted};
use agent_core::id::{RunId, SessionId};
use agent_core::runtime::RunMode;
use agent_core::task::StepId;
use agent_core::{AgentRuntime, EventType, RuntimeEvent, StartOptions};
use futures::stream::{BoxStream, SelectAll, StreamExt, TryStreamExt, try_unfold};

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// An Orchestrator needs a worker pool, and three workers a server that takes three requests at a time.
fn config(base_url: &str) -> String {
    let worker = |id| format!("{{ worker_id = \"{id}\", agent_definition_id = \"default_worker_agent\" }}");
    format!(
        "[model]\nprovider = \"openai\"\nbase_url = \"{base_url}\"\napi_key_env = \"\"\nname = \"scripted\"\n\
         context_window = 131072\nparallel_requests = 3\n\n[memory]\nenabled = false\n\n\
         [[agents.worker_pools]]\npool_id = \"crew\"\nworkers = [{}, {}, {}]\n",
        worker("ada"),
        worker("ben"),
        worker("cleo")
    )
}

/// What came of a run.
pub(crate) struct Report {
    pub(crate) session_id: SessionId,
    /// It went on with what an earlier process left.
    pub(crate) resumed: bool,
    pub(crate) answer: String,
    pub(crate) task: TaskView,
    pub(crate) log: PathBuf,
    pub(crate) jobs: Vec<Job>,
    /// Turns of the Orchestrator.
    pub(crate) turns: u32,
    pub(crate) took: Duration,
}

/// What a worker was sent for. Times are from the beginning of the run.
pub(crate) struct Job {
    /// Its entry in the configuration.
    pub(crate) worker: String,
    run: RunId,
    pub(crate) step: Option<StepId>,
    pub(crate) turns: u32,
    pub(crate) from: Duration,
    pub(crate) to: Duration,
}

/// Does the work in `folder`, or goes on with it where an earlier process left a Task that has not ended.
pub(crate) async fn work(folder: &Path, base_url: &str, say: &dyn Fn(&str)) -> Result<Report, Failure> {
    let (home, project) = (folder.join("home"), folder.join("project"));
    fs::create_dir_all(&home)?;
    fs::write(home.join("config.toml"), config(base_url))?;
    let location = Location::default().home_dir(home).project_dir(project);

    let session_id = unfinished(&location)?;
    let resumed = session_id.is_some();
    let message = if resumed { "Go on." } else { "Write the release notes." };
    let runtime = AgentRuntime::builder().location(location.clone()).build().await?;
    let run = runtime.start(message, StartOptions { session_id, mode: Some(RunMode::Orchestrator) }).await?;

    // Each agent has a stream of its own: the run's, and that of each child, from the child's first event on.
    let mut streams = SelectAll::new();
    streams.push(stream(run.events(true)?));
    let mut crew = Crew::default();
    while let Some(event) = streams.try_next().await? {
        if event.event_type == EventType::ChildAgentCreated {
            let child: ChildAgentCreated = event.read()?;
            streams.push(stream(run.child_events(&child.child_run_id, true)?));
        }
        crew.see(&event, say)?;
    }
    let result = run.wait().await;
    runtime.close().await;
    if let Some(error) = result.error {
        return Err(error.message.into());
    }

    let tasks = open_tasks(&location)?;
    let session = tasks.session(run.session_id()).ok_or("the session has no Task")?;
    let log = session.logs.first().ok_or("the session has no Task")?;
    Ok(Report {
        session_id: run.session_id().clone(),
        resumed,
        answer: result.answer.unwrap_or_default(),
        task: tasks.read(log).map_err(|damage| damage.why)?,
        log: log.path.clone(),
        jobs: crew.jobs,
        turns: result.turns,
        took: crew.now,
    })
}

/// A session whose Task has not ended.
fn unfinished(location: &Location) -> Result<Option<SessionId>, Failure> {
    let tasks = open_tasks(location)?;
    for session in tasks.sessions()? {
        let mut read = session.logs.iter().filter_map(|log| tasks.read(log).ok());
        if read.any(|task| !task.status.is_terminal()) {
            return Ok(Some(session.session_id));
        }
    }
    Ok(None)
}

fn stream(events: EventStream) -> BoxStream<'static, Result<RuntimeEvent, Failure>> {
    let next = |mut events: EventStream| async move {
        let event = events.next().await?;
        Ok::<_, Failure>(event.map(|event| (event, events)))
    };
    try_unfold(events, next).boxed()
}

/// What is seen of the workers.
#[derive(Default)]
struct Crew {
    jobs: Vec<Job>,
    began: Option<u64>,
    now: Duration,
}

impl Crew {
    fn see(&mut self, event: &RuntimeEvent, say: &dyn Fn(&str)) -> Result<(), Failure> {
        let millis = event.created_at.to_unix_millis().ok_or("an event without a time")?;
        let now = Duration::from_millis(millis.saturating_sub(*self.began.get_or_insert(millis)));
        self.now = self.now.max(now);
        match event.event_type {
            EventType::ChildAgentCreated => {
                let child: ChildAgentCreated = event.read()?;
                let worker = child.worker_id.ok_or("a child that is no worker")?;
                self.jobs.push(Job { worker, run: child.child_run_id, step: None, turns: 0, from: now, to: now });
            }
            EventType::TaskStepClaimed => {
                let claim: TaskEvent<TaskStepClaimed> = event.read()?;
                if let Some(job) = self.job(&claim.payload.claimed_by_run_id) {
                    job.step = claim.step_id;
                }
            }
            EventType::ChildAgentCompleted => {
                let child: ChildAgentCompleted = event.read()?;
                if let Some(job) = self.job(&child.child_run_id) {
                    (job.turns, job.to) = (child.turns, now);
                }
            }
            EventType::ToolStarted => {
                let call: ToolStarted = event.read()?;
                let job = event.run_id.as_ref().and_then(|run| self.job(run));
                let who = job.map_or("orchestrator", |job| &job.worker).to_owned();
                let what = call.summary.unwrap_or_default();
                say(&format!("{:5.2} s  {who:12}  {} {what}", now.as_secs_f64(), call.tool_name));
            }
            _ => {}
        }
        Ok(())
    }

    fn job(&mut self, run: &RunId) -> Option<&mut Job> {
        self.jobs.iter_mut().find(|job| job.run == *run)
    }
}
