//! Schemas of payloads, for `docs/schemas/events` (API-8).

use std::fmt::Write;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::*;
use crate::event::event_type::EventType;

/// The schema of an event's payload.
#[derive(Debug, Clone, PartialEq)]
pub struct EventSchema {
    /// The event's type.
    pub event_type: EventType,
    /// JSON Schema (draft 2020-12) of its payload.
    pub schema: Value,
}

/// The schemas of all payloads, in the order of [`EventType::ALL`].
#[must_use]
pub fn event_schemas() -> Vec<EventSchema> {
    macro_rules! schemas {
        ($($name:ident),* $(,)?) => {
            vec![$(EventSchema { event_type: $name::EVENT_TYPE, schema: schema::<$name>() }),*]
        };
    }
    macro_rules! lines {
        ($($name:ident),* $(,)?) => {
            [$(EventSchema { event_type: <TaskEvent<$name> as EventPayload>::EVENT_TYPE, schema: line_schema::<$name>() }),*]
        };
    }
    let mut schemas = schemas![
        RunQueued,
        RunDequeued,
        RunCancelled,
        LoopStarted,
        LoopCompleted,
        LoopAborted,
        LoopFailed,
        ContextBuilt,
        MessageCreated,
        MessageCompleted,
        MessageDelta,
        ToolProgress,
        ModelStarted,
        ModelCompleted,
        ModelFailed,
        ModelRetry,
        ModelTextDelta,
        ModelReasoningDelta,
        ToolCallDelta,
        ToolStarted,
        ToolCompleted,
        ToolFailed,
        ToolDenied,
        PermissionRequested,
        PermissionResolved,
        PermissionFailed,
        ChildAgentCreated,
        WorkerDispatched,
        WorkerDispatchFailed,
        ChildAgentCancelRequested,
        ChildAgentCancelled,
        ChildAgentCancelTimeout,
        ChildResultSchemaValidationFailed,
        ChildAgentCompleted,
        ChildAgentFailed,
        CompactStarted,
        CompactCompleted,
        CompactFailed,
        MemoryExtractionStarted,
        MemoryExtractionCompleted,
        MemoryExtractionFailed,
        CancelTimeout,
        ErrorReported,
        TaskStepClaimSkipped,
        TaskWalReplayed,
        TaskWalFailed,
    ];
    schemas.extend(lines![
        TaskCreated,
        TaskRunning,
        TaskUpdated,
        TaskReopened,
        TaskCompleted,
        TaskFailed,
        TaskCancelled,
        TaskStepReady,
        TaskStepClaimed,
        TaskStepStarted,
        TaskStepUpdated,
        TaskStepBlocked,
        TaskStepCompleted,
        TaskStepFailed,
        TaskStepCancelled,
        TaskStepReopened,
        TaskStepLeaseExpired,
    ]);
    schemas.sort_by_key(|schema| EventType::ALL.iter().position(|event_type| *event_type == schema.event_type));
    schemas
}

fn schema<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value()
}

/// The event of a line is called and described as the line is.
fn line_schema<P: TaskLine + JsonSchema>() -> Value {
    let mut event = schema::<TaskEvent<P>>();
    let line = schema::<P>();
    for key in ["title", "description"] {
        event[key] = line[key].clone();
    }
    event
}

/// The index of `docs/schemas/events`: which event is for whom, whether it is kept, and what it says.
#[must_use]
pub fn event_index() -> String {
    let mut index = String::from(
        "# Events\n\nWhat `payload` of a [`RuntimeEvent`](../RuntimeEvent.json) holds, by `event_type`. Generated from the types.\n\n\
         \"Debug\" events are seen with `debug`, in inspect and in replay only; the others by everybody who watches a run. Stored \
         events have a `seq`; live ones are sent and not kept. Events without a schema are not written yet.\n\n\
         | event | seen | kept | payload |\n|---|---|---|---|\n",
    );
    let schemas = event_schemas();
    for event_type in EventType::ALL {
        let name = event_type.as_str();
        let seen = if event_type.is_debug_only() { "debug" } else { "always" };
        let kept = if event_type.is_stored() { "stored" } else { "live" };
        let payload = match schemas.iter().find(|schema| schema.event_type == *event_type) {
            Some(schema) => {
                let words = schema.schema.get("description").and_then(Value::as_str).unwrap_or_default();
                format!("[{name}.json]({name}.json): {}", words.replace('\n', " "))
            }
            None => "–".to_owned(),
        };
        // Writing to a string never fails.
        let _ = writeln!(index, "| `{name}` | {seen} | {kept} | {payload} |");
    }
    index
}
