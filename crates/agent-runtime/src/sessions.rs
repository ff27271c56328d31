//! The sessions of a runtime: opened once, owned while they are used, released when others are.
//!
//! A released session costs its entry in a map; one without grants costs nothing. Its lock is given up, so another process may
//! go on with it, and whatever that one stored is read when the session is claimed again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use agent_protocol::{AgentId, AgentType, Object, SessionId};
use agent_store::{NewSession, SessionStore};

use crate::agent::{Agent, CarriedState};
use crate::error::RuntimeError;
use crate::ids::fresh_id;
use crate::owned::OwnedSession;
use crate::resume::Resume;
use crate::seen_files::SeenFiles;
use crate::session::{Session, SessionKeeper};
use crate::session_files::SessionFiles;

/// Sessions that stay owned and in memory although nothing runs in them.
const IDLE_OWNED: usize = 16;

/// A session and what is in memory of it while it is owned.
pub(crate) type Opened = (Arc<Session>, Arc<OwnedSession>);

/// The sessions a runtime has to do with.
pub(crate) struct Sessions {
    store: Arc<dyn SessionStore>,
    resume: Arc<Resume>,
    /// The project folder all of them belong to (COD-10).
    project: String,
    known: Mutex<HashMap<SessionId, Arc<Session>>>,
    /// Idle and owned, the one that has been idle longest first.
    idle: Mutex<VecDeque<SessionId>>,
    /// Itself, for sessions that become idle.
    me: Weak<Self>,
}

impl Sessions {
    pub(crate) fn new(store: Arc<dyn SessionStore>, resume: Arc<Resume>, project: String) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            store,
            resume,
            project,
            known: Mutex::default(),
            idle: Mutex::default(),
            me: Weak::clone(me),
        })
    }

    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Session>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a session, owned by this process.
    pub(crate) async fn create(&self) -> Result<Opened, RuntimeError> {
        let session_id = fresh_id(SessionId::PREFIX, SessionId::parse);
        let agent_id = fresh_id(AgentId::PREFIX, AgentId::parse);
        let new = NewSession {
            session_id,
            cwd: self.project.clone(),
            root_agent_id: agent_id.clone(),
            agent_type: AgentType::Main,
            metadata: Object::new(),
        };
        let lease = self.store.create_session(new).await?;
        let session = self.entry(lease.session_id());
        let files = Arc::new(SessionFiles::default());
        let seen = Arc::new(SeenFiles::new(agent_id.clone(), Arc::clone(&files)));
        let root = Agent::new(agent_id, AgentType::Main, None, seen, Some(CarriedState::default()));
        let owned = Arc::new(OwnedSession::new(lease, self.project.clone(), root, files));
        session.own(Arc::clone(&owned));
        Ok((session, owned))
    }

    /// A session this process owns, or one that is claimed from the store.
    pub(crate) async fn open(&self, id: &SessionId) -> Result<Opened, RuntimeError> {
        let session = self.entry(id);
        match self.own(&session).await {
            Ok(owned) => Ok((session, owned)),
            Err(error) => {
                self.forget(session);
                Err(error)
            }
        }
    }

    fn entry(&self, id: &SessionId) -> Arc<Session> {
        let mut known = self.known();
        let keeper: Weak<dyn SessionKeeper> = self.me.clone();
        Arc::clone(known.entry(id.clone()).or_insert_with(|| Arc::new(Session::new(id.clone(), keeper))))
    }

    /// Drops the entry of a session that has nothing worth keeping and that nobody else has in hand.
    fn forget(&self, session: Arc<Session>) {
        let mut known = self.known();
        // The map's and this one. Whoever wants another must come through the map.
        let unused = Arc::strong_count(&session) == 2 && session.owned().is_err() && session.grants().is_empty();
        if unused {
            known.remove(session.id());
        }
    }

    async fn own(&self, session: &Session) -> Result<Arc<OwnedSession>, RuntimeError> {
        let _one_at_a_time = session.opening.lock().await;
        let holds = match session.owned() {
            Ok(owned) => return Ok(owned),
            Err(holds) => holds,
        };
        // Its lock is free once what was under way when it was released is finished.
        holds.wait().await;
        let owned = Arc::new(self.resume.claim(session.id(), &self.project).await?);
        session.own(Arc::clone(&owned));
        Ok(owned)
    }

    /// Gives a session up so that it can be changed from outside of runs.
    pub(crate) async fn release(&self, id: &SessionId) -> Result<(), RuntimeError> {
        let session = self.known().get(id).cloned();
        let Some(session) = session else { return Ok(()) };
        if !session.release() {
            return Err(RuntimeError::SessionBusy { session_id: id.clone() });
        }
        if let Err(holds) = session.owned() {
            holds.wait().await;
        }
        self.forget(session);
        Ok(())
    }

    /// Gives up all of them.
    pub(crate) fn close(&self) {
        for session in self.known().drain().map(|(_, session)| session) {
            session.release();
        }
    }
}

impl SessionKeeper for Sessions {
    /// The one that has been idle longest is released if too many are owned.
    fn is_idle(&self, session: &Arc<Session>) {
        let oldest = {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.retain(|id| id != session.id());
            idle.push_back(session.id().clone());
            if idle.len() > IDLE_OWNED { idle.pop_front() } else { None }
        };
        let Some(oldest) = oldest else { return };
        let oldest = self.known().get(&oldest).cloned();
        // One that works again comes back here when it is idle.
        if let Some(session) = oldest.filter(|session| session.release()) {
            self.forget(session);
        }
    }
}
