//! What happens to Tasks, as programs are told.

use std::path::Path;

use agent_protocol::{EventDraft, Level, TaskWalFailed, TaskWalReplayed, TornEnd};
use agent_task_store::{Recorded, Recovered, Recovery, TaskError, Unavailable};
use agent_tasks::TaskId;

/// Lines that are on disk.
pub(super) fn of_lines(task_id: &TaskId, recorded: &[Recorded]) -> Vec<EventDraft> {
    recorded.iter().map(|line| line.event.draft(task_id, line.wal_seq)).collect()
}

/// What became of a log at recovery. `shown` is what its folder is called.
pub(super) fn of_recovery(shown: &str, recovered: Recovered) -> Vec<EventDraft> {
    let wal_path = below(shown, &recovered.path);
    match recovered.recovery {
        Recovery::Replayed { task_id, lines, torn, settled } => {
            let torn = torn.map(|torn| TornEnd {
                offset: torn.offset,
                bytes: torn.bytes,
                kept_in: below(shown, &torn.kept_at),
            });
            let told = of_lines(&task_id, &settled);
            let was_torn = torn.is_some();
            let replayed = TaskWalReplayed { task_id, wal_path, lines, torn, settled: settled.len() as u64 };
            let replayed = EventDraft::of(replayed);
            let replayed = if was_torn { replayed.level(Level::Warning) } else { replayed };
            std::iter::once(replayed).chain(told).collect()
        }
        Recovery::Failed(Unavailable { task_id, kind, line, why }) => {
            vec![failed(TaskWalFailed { task_id, wal_path, kind: kind.to_owned(), line, reason: why })]
        }
    }
}

/// A folder of logs that cannot be read.
pub(super) fn of_folder(shown: &str, error: &TaskError) -> EventDraft {
    let (kind, reason) = ("folder".to_owned(), error.to_string());
    failed(TaskWalFailed { task_id: None, wal_path: shown.to_owned(), kind, line: None, reason })
}

/// A line that could not be written; nothing where it is another error.
pub(super) fn of_failed_write(wal_path: Option<&str>, error: &TaskError) -> Option<EventDraft> {
    let TaskError::Log { task_id, .. } = error else { return None };
    Some(failed(TaskWalFailed {
        task_id: Some(task_id.clone()),
        wal_path: wal_path.unwrap_or_default().to_owned(),
        kind: "write".to_owned(),
        line: None,
        reason: error.to_string(),
    }))
}

fn failed(payload: TaskWalFailed) -> EventDraft {
    EventDraft::of(payload).level(Level::Warning)
}

fn below(folder: &str, path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    format!("{folder}/{name}")
}
