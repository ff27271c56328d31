//! What failed, in the contract's codes and in words a model can act on.

use std::io;

use agent_protocol::{ErrorCode, ErrorPayload};
use agent_tool::FenceClosed;
use tokio_util::sync::CancellationToken;

/// The arguments cannot be used.
pub(crate) fn invalid(message: impl Into<String>) -> ErrorPayload {
    ErrorPayload::new(ErrorCode::ValidationError, message)
}

/// Nothing is there.
pub(crate) fn missing(path: &str, message: impl Into<String>) -> ErrorPayload {
    ErrorPayload::new(ErrorCode::FileNotFound, message).detail("path", path)
}

/// What is there is not what was expected there.
pub(crate) fn conflict(path: &str, message: impl Into<String>) -> ErrorPayload {
    ErrorPayload::new(ErrorCode::PathConflict, message).detail("path", path)
}

/// An operation of the system failed. `step` completes "cannot …".
pub(crate) fn os(step: &str, path: &str, error: &io::Error) -> ErrorPayload {
    use io::ErrorKind as Kind;
    let (code, why) = match error.kind() {
        Kind::NotFound => (ErrorCode::FileNotFound, "it does not exist".to_owned()),
        // In other words than our own refusals, so that nobody looks for the reason in the wrong place.
        Kind::PermissionDenied => {
            (ErrorCode::PermissionDenied, format!("permission denied by the operating system ({error})"))
        }
        Kind::InvalidFilename | Kind::InvalidInput => (ErrorCode::ValidationError, error.to_string()),
        _ => (ErrorCode::StorageError, error.to_string()),
    };
    let payload = ErrorPayload::new(code, format!("cannot {step} {path}: {why}")).detail("path", path);
    match error.kind() {
        Kind::PermissionDenied => payload.detail("kind", "os_permission"),
        Kind::Interrupted | Kind::ResourceBusy | Kind::TimedOut => payload.retryable(true),
        _ => payload,
    }
}

/// The call was cancelled before it had an effect or a result.
pub(crate) fn cancelled() -> ErrorPayload {
    ErrorPayload::new(ErrorCode::Cancelled, "the call was cancelled")
}

/// Fails once the call is cancelled.
pub(crate) fn unless_cancelled(cancel: &CancellationToken) -> Result<(), ErrorPayload> {
    if cancel.is_cancelled() { Err(cancelled()) } else { Ok(()) }
}

/// The run of the call has ended.
pub(crate) fn too_late(closed: FenceClosed) -> ErrorPayload {
    ErrorPayload::new(ErrorCode::Cancelled, closed.to_string())
}
