//! What is in the conversation because it was loaded: asked by calls, told by the machine (SKL-3).

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent_engine::{ContextMark, PathNode};
use agent_protocol::NodeType;
use agent_tool::LoadedContext;

/// The loaded things of one run: those in its last request, and those that its calls have brought since.
#[derive(Debug, Default)]
pub(crate) struct Loaded(Mutex<HashSet<(NodeType, String, String)>>);

impl Loaded {
    fn inner(&self) -> MutexGuard<'_, HashSet<(NodeType, String, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a request holds takes the place of what was known before.
    pub(crate) fn replace(&self, nodes: &[&PathNode]) {
        let mut loaded = self.inner();
        loaded.clear();
        for node in nodes {
            for (key, hash) in node.mark.iter().flat_map(|mark| &mark.items) {
                loaded.insert((node.node_type, key.clone(), hash.clone()));
            }
        }
    }

    /// A call brings this in. False if all of it is there already.
    pub(crate) fn add(&self, node_type: NodeType, mark: &ContextMark) -> bool {
        let mut loaded = self.inner();
        let news = mark.items.iter().filter(|(key, hash)| loaded.insert((node_type, key.clone(), hash.clone())));
        news.count() > 0
    }
}

impl LoadedContext for Loaded {
    fn has(&self, node_type: NodeType, key: &str, hash: &str) -> bool {
        self.inner().contains(&(node_type, key.to_owned(), hash.to_owned()))
    }
}
