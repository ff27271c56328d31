//! A world: a session that lives in one process after another.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_core::error::{ErrorCode, RuntimeError};
use agent_core::id::SessionId;
use agent_core::model::{ProviderAdapter, ProviderFactory};
use agent_core::permission::{CallbackError, DecisionKind, PermissionCallback};
use agent_core::runtime::{AgentRuntimeBuilder, RunMode, RunStatus};
use agent_core::{AgentRuntime, PermissionDecision, PermissionRequest, RunHandle, StartOptions};
use agent_store::StoreError;
use agent_store::testing::{StoreBetween, Verdict};
use agent_testkit::TestHome;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::runtime::Builder;
use tokio::time::{Instant, sleep, timeout};

use super::checks;
use super::dice::Dice;
use super::monkey::{Model, Monkey};
use super::tally::Tally;
use super::tools::Starts;

/// How long a claim holds without a sign of life, in milliseconds.
const LEASE: u64 = 400;
/// Nothing in these worlds takes this long, unless it never ends.
const NEVER: Duration = Duration::from_secs(40);

/// What the configuration of a world says beside its model.
pub(super) fn configuration() -> String {
    let worker = |id: &str| {
        format!(
            "{{ worker_id = \"{id}\", agent_definition_id = \"default_worker_agent\", allowed_tools = [\"agent.task_get\", \
             \"agent.task_query_steps\", \"agent.task_claim_step\", \"agent.task_update_step\", \"code.read_file\", \
             \"code.write_file\", \"code.run_command\"] }}"
        )
    };
    format!(
        "model.provider = \"monkey\"\nmodel.parallel_requests = 4\nmemory.enabled = false\nruntime.cancel_timeout_ms = 3000\n\
         task.step_lease_timeout_ms = {LEASE}\nagents.max_children_per_run = 3\nagents.default_child_timeout_ms = 1500\n\
         agents.child_cancel_timeout_ms = 2000\n\
         agents.worker_pools = [{{ pool_id = \"default\", workers = [{}, {}] }}]",
        worker("w1"),
        worker("w2")
    )
}

/// How often storing fails in one process: one time in so many; never for 0.
struct Faults {
    rate: u64,
    dice: Mutex<Dice>,
}

/// Says the seed of a world that failed.
pub(super) struct SaysSeed(pub(super) u64);

impl Drop for SaysSeed {
    #[expect(clippy::print_stderr, reason = "it is said only where the test fails")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the world that failed: SOONG_AGENT_WORLDS_SEED={}", self.0);
        }
    }
}

pub(super) struct World {
    seed: u64,
    dice: Dice,
    home: TestHome,
    monkey: Arc<Monkey>,
    tally: Arc<Tally>,
    session: Option<SessionId>,
    /// Storing has failed at times.
    faulty: bool,
}

/// How a process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// At once, with everything that it was at.
    Crash,
    Close,
}

impl World {
    pub(super) fn new(seed: u64, tally: &Arc<Tally>) -> Self {
        let home = TestHome::new("world");
        home.write_config("http://127.0.0.1:9", "openai", &configuration());
        let monkey = Monkey::new(seed, Monkey::nap_of(seed));
        Self { seed, dice: Dice::new(seed), home, monkey, tally: Arc::clone(tally), session: None, faulty: false }
    }

    pub(super) fn live(mut self) {
        let _says = SaysSeed(self.seed);
        for _ in 0..1 + self.dice.below(3) {
            self.life();
        }
        if let Some(session) = self.session.take() {
            last_life(&self.home.home, &self.home.project, &self.monkey, &session);
            checks::no_command_lives(&self.monkey.nap);
            checks::what_is_stored(&self.home, &session, self.faulty, &self.tally);
        }
        self.tally.count(|tally| &tally.worlds);
        self.home.remove();
    }

    fn life(&mut self) {
        self.tally.count(|tally| &tally.lives);
        let faults = Arc::new(Faults { rate: *self.dice.pick(&[0, 0, 60, 12]), dice: Mutex::new(self.dice.clone()) });
        self.faulty |= faults.rate > 0;
        let process = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let end = process.block_on(self.days(&faults));
        // What is under way is dropped where it stands; blocking work, such as a commit, comes to its end as in a kernel.
        process.shutdown_timeout(NEVER);
        match end {
            End::Crash => self.tally.count(|tally| &tally.crashes),
            End::Close => self.tally.count(|tally| &tally.closes),
        }
    }

    async fn days(&mut self, faults: &Arc<Faults>) -> End {
        let builder = builder(&self.home.home, &self.home.project, &self.monkey);
        let person = Person { dice: Mutex::new(self.dice.clone()), tally: Arc::clone(&self.tally) };
        let (judge, tally) = (Arc::clone(faults), Arc::clone(&self.tally));
        let builder = builder
            .permission_callback(person)
            .store_between(move |inner| StoreBetween::shared(inner, move |name| judge.judge(name, &tally)));
        let runtime = builder.build().await.expect("a runtime opens while storing works");
        let mut handles = Vec::new();
        for _ in 0..1 + self.dice.below(3) {
            handles.extend(self.starts(&runtime).await);
        }
        let evening = Instant::now() + Duration::from_millis(50 + self.dice.below(900));
        while Instant::now() < evening {
            sleep(Duration::from_millis(1 + self.dice.below(40))).await;
            if self.dice.one_in(10) && !handles.is_empty() {
                self.tally.count(|tally| &tally.cancels);
                handles[self.dice.below(handles.len() as u64) as usize].stop();
            }
            if self.dice.one_in(30) {
                handles.extend(self.starts(&runtime).await);
            }
        }
        let end = match self.dice.below(3) {
            0 => return End::Crash,
            1 => End::Close,
            _ => {
                for handle in &handles {
                    handle.stop();
                }
                *self.dice.pick(&[End::Crash, End::Close])
            }
        };
        if end == End::Close {
            assert!(timeout(NEVER, runtime.close()).await.is_ok(), "the runtime does not close: {}", stands(&handles));
        }
        for handle in &handles {
            let result = timeout(NEVER, handle.wait()).await;
            let result = result.unwrap_or_else(|_| panic!("a run does not end: {}", stands(&handles)));
            assert!(is_over(result.status), "{result:?}");
        }
        end
    }

    async fn starts(&mut self, runtime: &AgentRuntime) -> Option<RunHandle> {
        let mode = *self.dice.pick(&[RunMode::Normal, RunMode::Orchestrator, RunMode::Orchestrator]);
        let options = StartOptions { session_id: self.session.clone(), mode: Some(mode) };
        let handle = match timeout(NEVER, runtime.start("Do something.", options)).await.expect("starting ends") {
            Ok(handle) => handle,
            Err(error) => {
                assert!(is_of_the_store(&error), "{error:?}");
                return None;
            }
        };
        self.session.get_or_insert_with(|| handle.session_id().clone());
        self.tally.count(|tally| &tally.runs);
        Some(handle)
    }
}

fn is_over(status: RunStatus) -> bool {
    matches!(status, RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled | RunStatus::Aborted)
}

fn stands(handles: &[RunHandle]) -> String {
    handles
        .iter()
        .map(|handle| format!("{} {}", handle.run_id(), handle.status().as_str()))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A fault of the store is what the world does to it.
fn is_of_the_store(error: &RuntimeError) -> bool {
    error.code() == ErrorCode::StorageError
}

pub(super) fn builder(home: &Path, project: &Path, monkey: &Arc<Monkey>) -> AgentRuntimeBuilder {
    let monkey = Arc::clone(monkey);
    let model: ProviderFactory =
        Arc::new(move |_| Ok(Arc::new(Model(Arc::clone(&monkey))) as Arc<dyn ProviderAdapter>));
    let mut builder = AgentRuntime::builder().home_dir(home).project_dir(project);
    for starts in Starts::ALL {
        builder = builder.tool(starts.tool());
    }
    builder.register_provider("monkey", model).unwrap()
}

/// Somebody takes the session up, when the leases of before are over, and does nothing more.
pub(super) fn last_life(home: &Path, project: &Path, monkey: &Arc<Monkey>, session: &SessionId) {
    monkey.calms_down();
    let process = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    process.block_on(async {
        sleep(Duration::from_millis(LEASE + 50)).await;
        let runtime = builder(home, project, monkey).build().await.unwrap();
        let options = || StartOptions { session_id: Some(session.clone()), mode: Some(RunMode::Orchestrator) };
        let handle = timeout(NEVER, runtime.start("Look at it.", options())).await.expect("starting ends").unwrap();
        let result = timeout(NEVER, handle.wait()).await.expect("the last run ends");
        assert_eq!(result.status, RunStatus::Completed, "{:?}", result.error);
        timeout(NEVER, runtime.close()).await.expect("the runtime closes");
    });
    process.shutdown_timeout(NEVER);
}

impl Faults {
    fn judge(&self, name: &'static str, tally: &Tally) -> Verdict {
        let failed = || StoreError::WriteFailed { step: name, path: PathBuf::from("sessions.sqlite") };
        let mut dice = self.dice.lock().unwrap();
        // Without a session there is no world.
        if self.rate == 0 || name == "create_session" || !dice.one_in(self.rate) {
            return Verdict::Pass;
        }
        tally.count(|tally| &tally.store_faults);
        if dice.one_in(4) { Verdict::Deny(failed()) } else { Verdict::Refuse(failed()) }
    }
}

/// Somebody who answers at once, late, or in no way that helps.
pub(super) struct Person {
    dice: Mutex<Dice>,
    tally: Arc<Tally>,
}

impl Person {
    pub(super) fn new(dice: &Dice) -> Self {
        Self { dice: Mutex::new(dice.clone()), tally: Arc::default() }
    }
}

impl PermissionCallback for Person {
    fn decide(&self, _: PermissionRequest) -> BoxFuture<'_, Result<PermissionDecision, CallbackError>> {
        let (wait, decision, fails) = {
            let mut dice = self.dice.lock().unwrap();
            let decisions =
                [DecisionKind::AllowOnce, DecisionKind::AllowOnce, DecisionKind::AllowForSession, DecisionKind::Deny];
            (*dice.pick(&[0, 5, 20, 300, 1200]), *dice.pick(&decisions), dice.one_in(20))
        };
        self.tally.count(|tally| &tally.questions);
        if wait > 100 {
            self.tally.count(|tally| &tally.late_answers);
        }
        async move {
            sleep(Duration::from_millis(wait)).await;
            if fails { Err(CallbackError("nobody is there".to_owned())) } else { Ok(PermissionDecision::new(decision)) }
        }
        .boxed()
    }
}
