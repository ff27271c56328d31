//! Work on the Tasks of a session: one piece at a time, off the runtime's threads, never torn.

use std::sync::Arc;

use agent_protocol::{ErrorCode, ErrorPayload, EventDraft, SessionId, ToolCallId};
use agent_task_store::{Actor, Recorded, Stamp, TaskError, TaskStore, find_ended, session_folder};
use agent_tasks::{Command, Refusal, Task, TaskId};
use agent_tool::Fence;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::events;
use crate::owned::Hold;
use crate::run_context::RunContext;
use crate::services::Services;
use crate::task_settings::TaskSettings;
use crate::workers::{AtTask, EndedRun, Workers};

/// The way of a run to the Tasks of its session.
#[derive(Clone)]
pub(crate) struct TaskAccess {
    pub(crate) run: Arc<RunContext>,
    pub(crate) settings: Arc<TaskSettings>,
    /// Knows work that goes on although nobody waits for it any more.
    pub(crate) tracker: TaskTracker,
}

/// For whom the work is done.
#[derive(Clone)]
pub(crate) struct ForCall {
    pub(crate) call: ToolCallId,
    pub(crate) cancel: CancellationToken,
    pub(crate) fence: Fence,
}

impl TaskAccess {
    pub(crate) fn of(run: &Arc<RunContext>, services: &Services) -> Self {
        let settings = Arc::clone(&services.settings.tasks);
        Self { run: Arc::clone(run), settings, tracker: services.runs.clone() }
    }

    /// Does something with the Tasks, which are opened for it if they are not. What it did is told before anybody else works on them,
    /// so that events come in the order of the log (WAL-2).
    ///
    /// It is done to its end, whoever drops this future, and the session stays owned meanwhile.
    ///
    /// # Errors
    /// If the session or the call is over, or the folder of the logs cannot be read. Nothing was done then.
    pub(crate) async fn work<R: Send + 'static>(
        &self,
        call: Option<ForCall>,
        work: impl FnOnce(&mut Desk<'_>) -> R + Send + 'static,
    ) -> Result<R, ErrorPayload> {
        let hold = self.run.owned.hold().map_err(|error| error.payload())?;
        let (access, owned) = (self.clone(), Arc::clone(&self.run.owned));
        let job = self.tracker.spawn(async move {
            let result = access.piece(&hold, call, work).await;
            // Whoever gave the session up meanwhile could not close what was in use.
            if owned.is_released() {
                owned.tasks.let_go();
            }
            drop(hold);
            result
        });
        job.await.unwrap_or_else(|_| Err(broken()))
    }

    async fn piece<R: Send + 'static>(
        self,
        hold: &Hold,
        call: Option<ForCall>,
        work: impl FnOnce(&mut Desk<'_>) -> R + Send + 'static,
    ) -> Result<R, ErrorPayload> {
        let Self { run, settings, .. } = self;
        let tasks = &run.owned.tasks;
        let mut store = tasks.exclusive().await;
        // The last moment at which it can be kept from happening.
        let _effect = match &call {
            Some(call) if call.cancel.is_cancelled() => return Err(over()),
            Some(call) => Some(call.fence.enter().map_err(|_| over())?),
            None => None,
        };
        let (session_id, workers) = (run.session.id().clone(), tasks.workers.clone());
        let done = spawn_blocking(move || {
            let mut told = Vec::new();
            let stamp = settings.stamp();
            let opened = match store.take() {
                Some(store) => Ok(store),
                None => open(&settings, &session_id, &stamp, &mut told),
            };
            let result = opened.map(|opened| {
                let opened = store.insert(opened);
                work(&mut Desk { store: opened, stamp, workers, told: &mut told })
            });
            (store, told, result)
        });
        match done.await {
            Ok((store, mut told, result)) => {
                if let Some(call) = &call {
                    told = told.into_iter().map(|event| event.call(&call.call)).collect();
                }
                run.record_under(hold, told).await;
                drop(store);
                result
            }
            // Whatever it left half done in memory: what counts is in the logs.
            Err(_) => {
                drop(tasks.exclusive().await.take());
                Err(broken())
            }
        }
    }

    /// Whether the session has Tasks that nobody has opened yet. The file system is asked at once, which takes microseconds.
    pub(crate) fn are_closed(&self) -> bool {
        let folder = session_folder(&self.settings.wal_dir, self.run.session.id());
        !self.run.owned.tasks.are_open() && folder.symlink_metadata().is_ok()
    }

    /// Opens them: what a crash has left is mended before anybody looks. That they cannot be opened is told, and whoever needs them
    /// tries again.
    pub(crate) async fn open(&self) {
        let _ = self.work(None, |_| ()).await;
    }
}

/// Opens the Tasks of a session, and tells what became of each log.
fn open(
    settings: &TaskSettings,
    session_id: &SessionId,
    stamp: &Stamp<'_>,
    told: &mut Vec<EventDraft>,
) -> Result<TaskStore, ErrorPayload> {
    let shown = settings.shown_folder(session_id);
    let folder = session_folder(&settings.wal_dir, session_id);
    match TaskStore::open(&folder, &shown, session_id, settings.board.changes, stamp) {
        Ok((store, recovered)) => {
            told.extend(recovered.into_iter().flat_map(|log| events::of_recovery(&shown, log)));
            Ok(store)
        }
        Err(error) => {
            told.push(events::of_folder(&shown, &error));
            Err(payload(&error))
        }
    }
}

fn over() -> ErrorPayload {
    ErrorPayload::new(ErrorCode::Cancelled, "the call or its run has ended: nothing was changed")
}

fn broken() -> ErrorPayload {
    ErrorPayload::new(ErrorCode::InternalError, "work on the tasks broke off; this is a bug in soong-agent")
}

/// An error of the store in the contract's form.
pub(super) fn payload(error: &TaskError) -> ErrorPayload {
    ErrorPayload::new(error.code(), error.to_string())
}

/// The Tasks while one piece of work has them for itself.
pub(crate) struct Desk<'a> {
    pub(super) store: &'a mut TaskStore,
    pub(super) stamp: Stamp<'a>,
    pub(super) workers: Workers,
    /// What is to be told.
    pub(super) told: &'a mut Vec<EventDraft>,
}

impl Desk<'_> {
    /// Brings a Task up to date before it is looked at or changed: who lives in this process keeps its step (TSK-5), leases that
    /// are over end (TSK-13), and so do the steps of workers whose runs are over (WRK-7). Gives the lines that were written.
    ///
    /// # Errors
    /// If there is no active Task of this id, or its log cannot be written.
    pub(super) fn refresh(&mut self, task_id: &TaskId) -> Result<Vec<Recorded>, TaskError> {
        let until = self.stamp.now.plus(self.stamp.lease_millis);
        let AtTask { holders, ended } = self.workers.at(task_id);
        for run_id in &holders {
            self.store.renew_lease(task_id, run_id, until);
        }
        let settled = self.store.settle(task_id, &self.stamp);
        if matches!(settled, Err(TaskError::NotFound(_))) {
            self.workers.all_released(task_id);
        }
        let mut recorded = self.note(task_id, settled)?;
        for EndedRun { run_id, reason, .. } in ended {
            let command = Command::RunEnded { run_id: run_id.clone(), reason };
            let done = self.store.execute(task_id, &command, &Actor::default(), &self.stamp);
            // Where the log cannot be written, whoever looks next tries again.
            recorded.extend(self.note(task_id, done.map(|done| done.recorded))?);
            self.workers.released(&run_id);
        }
        Ok(recorded)
    }

    /// Notes what is to be told of lines that were written, or of a log that could not be.
    pub(super) fn note(
        &mut self,
        task_id: &TaskId,
        recorded: Result<Vec<Recorded>, TaskError>,
    ) -> Result<Vec<Recorded>, TaskError> {
        match recorded {
            Ok(recorded) => {
                self.told.extend(events::of_lines(task_id, &recorded));
                Ok(recorded)
            }
            Err(error) => {
                let wal_path = self.store.task(task_id).map(Task::wal_path);
                self.told.extend(events::of_failed_write(wal_path, &error));
                Err(error)
            }
        }
    }

    /// Why a Task that is to be changed is not there: it may have ended, which is final (TSK-7).
    pub(super) fn terminal(&self, task_id: &TaskId, error: TaskError) -> TaskError {
        match error {
            TaskError::NotFound(_) => match find_ended(self.store, task_id) {
                Ok(task) if task.status().is_terminal() => {
                    Refusal::TaskTerminal { task_id: task_id.clone(), status: task.status() }.into()
                }
                Ok(_) => error,
                // There is none, or its log is damaged: as it is told to whoever looks at it.
                Err(why) => why,
            },
            other => other,
        }
    }

    /// Looks at an active Task, brought up to date, or at one that has ended, which is read for this and kept nowhere (TSK-14).
    ///
    /// # Errors
    /// If there is none of this id, or it cannot be read.
    pub(super) fn look<R>(&mut self, task_id: &TaskId, look: impl FnOnce(&Task) -> R) -> Result<R, TaskError> {
        match self.refresh(task_id) {
            Err(TaskError::NotFound(_)) => find_ended(self.store, task_id).map(|task| look(&task)),
            Err(error) => Err(error),
            Ok(_) => match self.store.check_log(task_id).map(|()| self.store.task(task_id))? {
                Some(task) => Ok(look(task)),
                None => Err(TaskError::NotFound(task_id.clone())),
            },
        }
    }
}
