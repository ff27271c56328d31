//! Code of others that panics.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use agent_protocol::{ErrorCode, ErrorPayload};
use futures::FutureExt;

/// Runs what others wrote: a panic in it ends this piece of work and nothing else. `what` begins the message.
///
/// Whatever state the panic left behind is that code's own; nothing of ours is touched by it.
pub(crate) async fn caught<T>(what: &str, work: impl Future<Output = T>) -> Result<T, ErrorPayload> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|panic| {
        let message = match words(&*panic) {
            Some(words) => format!("{what} panicked: {words}"),
            None => format!("{what} panicked"),
        };
        ErrorPayload::new(ErrorCode::InternalError, message).detail("kind", "panic")
    })
}

fn words(panic: &(dyn Any + Send)) -> Option<&str> {
    panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panics_become_errors() {
        assert_eq!(caught("x", async { 7 }).await, Ok(7));
        let value = 3;
        let error = caught("the tool", async { panic!("no {value}") }).await.map(|(): ()| ()).unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (ErrorCode::InternalError, "the tool panicked: no 3"));
        let error = caught("x", async { std::panic::panic_any(7) }).await.map(|(): ()| ()).unwrap_err();
        assert_eq!(error.message, "x panicked");
    }
}
