//! What older builds wrote differently. Everything that is not here was written by every build, under the same key.
//!
//! Left out, so that the field is an `Option` or has a default:
//! - `context_built`: `call_id_prefix`, `system_tokens`, `tail` and the epoch's `model`, `max_output_tokens`, `results_limit`,
//!   and of its budgets `summary`, `keep_recent`, `catalogs`.
//! - `model_started`: `request`, `turn`.
//! - `compact_started`: all fields; `compact_failed`: `mode`.
//! - `tool_completed`, `tool_failed`, `tool_denied`: `metadata`.
//! - `loop_completed`, `loop_aborted`, `loop_failed`: `estimates`.
//!
//! Written and passed over today:
//! - `compact_started`: `needed`, `available`.
//! - `model_started`: whatever the adapter said about the reply that begins.
//!
//! In another place: `context_built` had what the requests of an epoch have in common in every report, beside the rest.

use serde_json::Value;

use crate::Object;

/// The keys that stand in `epoch_part` today.
const OF_EPOCH: [&str; 3] = ["epoch_because", "budgets", "fixed_part"];

/// What belongs to the epoch, as its part.
pub(super) fn context_built(payload: &Object) -> Object {
    if payload.contains_key("epoch_part") || !payload.contains_key("budgets") {
        return Object::new();
    }
    let field = |key: &str| payload.get(key).map(|value| (key.to_owned(), value.clone()));
    let part: Object = OF_EPOCH.into_iter().filter_map(field).collect();
    Object::from_iter([("epoch_part".to_owned(), Value::Object(part))])
}
