//! What a command prints while it runs (COD-7).

use std::time::Duration;

use agent_exec::{Progress, ProgressSink};
use agent_protocol::Object;
use agent_redact::KnownSecrets;
use agent_tool::CallContext;
use tokio::sync::watch;

use super::{output::live, plan::millis};

/// The keys of the last lines of each output: in a view while the command runs, and in the facts about one that failed.
pub(super) const STDOUT_TAIL: &str = "stdout_tail";
pub(super) const STDERR_TAIL: &str = "stderr_tail";
/// How often a view is made at most.
const EVERY: Duration = Duration::from_millis(200);
/// How much of each output's end a view shows. Bytes.
const TAIL: usize = 2048;

/// The sink for a command, if anybody looks.
pub(super) fn channel(context: &CallContext) -> (Option<ProgressSink>, Option<watch::Receiver<Progress>>) {
    if !context.progress.is_watched() {
        return (None, None);
    }
    let (sink, views) = ProgressSink::channel(EVERY, TAIL + context.secrets.longest());
    (Some(sink), Some(views))
}

/// Passes views on until the command has ended.
pub(super) async fn forward(views: Option<watch::Receiver<Progress>>, context: &CallContext) {
    let Some(mut views) = views else { return };
    while views.changed().await.is_ok() {
        let view = views.borrow_and_update().clone();
        context.progress.show(shown(&view, &context.secrets));
    }
}

fn shown(view: &Progress, secrets: &KnownSecrets) -> Object {
    let mut shown = Object::new();
    let mut put = |key: &str, value: serde_json::Value| shown.insert(key.to_owned(), value);
    put("elapsed_ms", millis(view.elapsed).into());
    put(STDOUT_TAIL, live(secrets, &view.stdout_tail, view.stdout_total, TAIL).into());
    put(STDERR_TAIL, live(secrets, &view.stderr_tail, view.stderr_total, TAIL).into());
    put("stdout_bytes", view.stdout_total.into());
    put("stderr_bytes", view.stderr_total.into());
    shown
}
