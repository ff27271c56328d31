//! A result of which not all is shown, and the whole of it.

use agent_protocol::Object;
use agent_tool::{CallContext, store_result};
use serde_json::Value;
use tokio::task::spawn_blocking;

/// The most of a whole that goes to an artifact: a Task's own texts and one step are far smaller. Bytes.
const MOST_WHOLE: u64 = 1 << 20;

/// A result, and where texts of it were cut the whole.
pub(super) struct Shown {
    pub(super) result: Object,
    pub(super) whole: Option<Value>,
}

impl Shown {
    /// Makes the whole an artifact and names it.
    pub(super) async fn stored(self, context: &CallContext) -> Object {
        let Self { mut result, whole } = self;
        let Some(whole) = whole else { return result };
        let context = context.clone();
        let stored = spawn_blocking(move || store_result(&whole.to_string(), "task.json", MOST_WHOLE, &context));
        if let Ok(Ok(artifact_id)) = stored.await {
            result.insert("whole_in".to_owned(), artifact_id.as_str().into());
        }
        result.insert("texts_cut".to_owned(), true.into());
        result
    }
}
