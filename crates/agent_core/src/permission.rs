//! Asking before something is changed: the question, the answer, and who gives it.
//!
//! ```
//! use agent_core::AgentRuntime;
//! use agent_core::permission::{DecisionKind, PermissionDecision, PermissionRequest};
//!
//! let builder = AgentRuntime::builder().permission_callback(|request: PermissionRequest| async move {
//!     let decision = if request.dangerous { DecisionKind::Deny } else { DecisionKind::AllowOnce };
//!     PermissionDecision::new(decision)
//! });
//! ```

pub use agent_protocol::{DecisionKind, PermissionDecision, PermissionRequest, path_from_text};
pub use agent_runtime::{CallbackError, PermissionCallback};
