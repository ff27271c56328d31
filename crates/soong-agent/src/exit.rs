//! Exit codes (CLI-4), and the one place where errors become words.

use std::process::ExitCode;

use agent_core::error::{ArchiveError, BuildError, ErrorCode, ErrorPayload, Missing, RuntimeError, StoreError};
use agent_core::runtime::{RunResult, RunStatus};

use crate::hint;
use crate::output::Output;

/// What a command came to: nothing more to say, or what went wrong.
pub(crate) type Outcome = Result<Exit, Failure>;

/// What scripts see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done.
    Completed,
    /// 1: the run failed.
    Failed,
    /// 2: wrong usage or configuration.
    Usage,
    /// 3: done, but a call was denied because nobody answered.
    Unanswered,
    /// 128 + the signal that cancelled it; 130 for Ctrl-C.
    Signal(u8),
}

impl Exit {
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Unanswered => 3,
            Self::Signal(number) => 128 + number,
        }
    }

    pub(crate) fn code(self) -> ExitCode {
        self.number().into()
    }

    /// The same, when not all of the answer could be delivered: a script must not take half of it for the whole.
    pub(crate) fn undelivered(self) -> Self {
        match self {
            Self::Completed | Self::Unanswered => Self::Failed,
            other => other,
        }
    }

    /// The exit of a run that ended by itself.
    pub(crate) fn of_run(result: &RunResult) -> Self {
        match result.status {
            RunStatus::Completed if result.unanswered.is_empty() => Self::Completed,
            RunStatus::Completed => Self::Unanswered,
            RunStatus::Aborted | RunStatus::Cancelled => Self::Signal(2),
            RunStatus::Failed | RunStatus::Queued | RunStatus::Pending | RunStatus::Running => Self::Failed,
        }
    }
}

/// What went wrong before or around a run.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into() }
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { exit: Exit::Failed, message: message.into() }
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        Self { exit: exit_of(error.code()), message: hint::of_build(&error) }
    }
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        RuntimeError::from(error).into()
    }
}

impl From<RuntimeError> for Failure {
    fn from(error: RuntimeError) -> Self {
        let exit = match &error {
            // A session id or a turn that is wrong is a wrong argument.
            RuntimeError::Store(StoreError::SessionNotFound { .. })
            | RuntimeError::Archive(ArchiveError::NotRebuilt { missing: Missing::Turn, .. }) => Exit::Usage,
            RuntimeError::Store(StoreError::SessionActive { .. }) => Exit::Failed,
            other => exit_of(other.code()),
        };
        Self { exit, message: hint::of_runtime(&error) }
    }
}

/// Wrong usage or configuration, or something that failed.
fn exit_of(code: ErrorCode) -> Exit {
    match code {
        ErrorCode::ConfigError
        | ErrorCode::ValidationError
        | ErrorCode::UnsupportedCapability
        | ErrorCode::InvalidAgentDefinition
        | ErrorCode::DuplicateAgentDefinition
        | ErrorCode::InvalidAgentOverride => Exit::Usage,
        _ => Exit::Failed,
    }
}

/// Says what went wrong, in one go.
pub(crate) trait Report {
    fn report(self, output: &mut Output) -> Exit;
}

impl Report for Outcome {
    fn report(self, output: &mut Output) -> Exit {
        match self {
            Ok(exit) => exit,
            Err(failure) => {
                output.error(&failure.message);
                failure.exit
            }
        }
    }
}

/// A run's error as a person reads it.
pub(crate) fn describe(error: &ErrorPayload) -> String {
    match error.details.get("provider_said").and_then(|said| said.as_str()) {
        Some(said) => format!("{} (the server said: {said})", error.message),
        None => error.message.clone(),
    }
}

#[cfg(test)]
mod tests {
    use agent_core::event::TreeUsage;
    use agent_core::model::Usage;
    use agent_core::runtime::Unanswered;

    use super::*;

    /// CLI-4: the exit codes.
    #[test]
    fn numbers() {
        let numbers = [Exit::Completed, Exit::Failed, Exit::Usage, Exit::Unanswered, Exit::Signal(2), Exit::Signal(15)]
            .map(Exit::number);
        assert_eq!(numbers, [0, 1, 2, 3, 130, 143]);
        let of = |status, unanswered| {
            let call = Unanswered {
                tool_call_id: "call_1".parse().unwrap(),
                tool_name: "code.write_file".to_owned(),
                reason: "nobody answered".to_owned(),
            };
            let unanswered = if unanswered { vec![call] } else { Vec::new() };
            let usage = Usage::default();
            Exit::of_run(&RunResult {
                status,
                end_reason: None,
                answer: None,
                error: None,
                usage,
                tree: TreeUsage::default(),
                turns: 1,
                unanswered,
            })
            .number()
        };
        assert_eq!(of(RunStatus::Completed, false), 0);
        assert_eq!(of(RunStatus::Completed, true), 3);
        assert_eq!(of(RunStatus::Failed, true), 1);
        assert_eq!(of(RunStatus::Aborted, false), 130);
    }
}
