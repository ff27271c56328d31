//! The permission prompt (CLI-3).

mod answer;
mod shown;

use std::fs::File;
use std::io;
use std::sync::Arc;

use agent_core::permission::{CallbackError, PermissionCallback};
use agent_core::{PermissionDecision, PermissionRequest};
use futures::FutureExt;
use futures::future::BoxFuture;
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::{mpsc, oneshot};

pub(crate) use answer::{Answer, words};
use shown::Shown;

use crate::output::{Colour, Output};

/// A question on its way to the person.
pub(crate) type Question = (PermissionRequest, oneshot::Sender<PermissionDecision>);

/// Hands questions to the loop that owns the terminal.
pub(crate) struct Asker {
    questions: mpsc::Sender<Question>,
}

impl Asker {
    pub(crate) fn channel() -> (Arc<Self>, mpsc::Receiver<Question>) {
        let (questions, asked) = mpsc::channel(1);
        (Arc::new(Self { questions }), asked)
    }
}

impl PermissionCallback for Asker {
    fn decide(&self, request: PermissionRequest) -> BoxFuture<'_, Result<PermissionDecision, CallbackError>> {
        async move {
            let gone = || CallbackError("the terminal is gone".to_owned());
            let (answer, answered) = oneshot::channel();
            self.questions.send((request, answer)).await.map_err(|_| gone())?;
            answered.await.map_err(|_| gone())
        }
        .boxed()
    }
}

/// Where answers come from.
pub(crate) enum Channel {
    /// Stdin: the message was an argument.
    Stdin,
    /// The controlling terminal: the message came from stdin.
    Terminal(File),
    /// Nobody can answer.
    Nobody,
}

impl Channel {
    pub(crate) fn for_message(from_stdin: bool) -> Self {
        if !from_stdin {
            return if stdin_is_null() { Self::Nobody } else { Self::Stdin };
        }
        File::options().read(true).write(true).open("/dev/tty").map_or(Self::Nobody, Self::Terminal)
    }

    /// Throws away what was typed on a terminal before a question is shown: it was not meant for it. What is typed from
    /// here on is its answer, however quick.
    pub(crate) fn forget_typed_ahead(&self) {
        // A pipe has nothing typed ahead; a terminal that refuses is no worse than before.
        let _ = match self {
            Self::Stdin => tcflush(io::stdin(), QueueSelector::IFlush),
            Self::Terminal(terminal) => tcflush(terminal, QueueSelector::IFlush),
            Self::Nobody => Ok(()),
        };
    }
}

/// Whether stdin is `/dev/null`, as it also is where the process was started without one.
fn stdin_is_null() -> bool {
    let (Ok(stdin), Ok(null)) = (rustix::fs::fstat(io::stdin()), rustix::fs::stat("/dev/null")) else { return false };
    (stdin.st_mode, stdin.st_rdev) == (null.st_mode, null.st_rdev)
}

/// Shows a question.
pub(crate) fn show(request: &PermissionRequest, output: &mut Output) {
    let shown = Shown::of(request, output.width());
    output.rows(&shown.preview);
    let mark = if request.dangerous { Colour::Red } else { Colour::Yellow };
    output.marked_rows(shown::TITLE, mark, &shown.title);
    output.rows(&shown.facts);
    output.ask(shown::ASKING);
}
