//! The permission prompt (CLI-3).

mod answer;
mod channel;
mod script;
mod shown;
mod word;

use std::sync::Arc;

use agent_core::permission::{CallbackError, PermissionCallback};
use agent_core::{PermissionDecision, PermissionRequest};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

pub(crate) use answer::{Answer, Answered};
pub(crate) use channel::Channel;
use shown::Shown;
pub(crate) use word::of as words;

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

/// Shows a question.
pub(crate) fn show(request: &PermissionRequest, output: &mut Output) {
    let shown = Shown::of(request, output.width());
    output.rows(&shown.preview);
    let mark = if request.dangerous { Colour::Red } else { Colour::Yellow };
    output.marked_rows(shown::TITLE, mark, &shown.title);
    output.rows(&shown.facts);
    output.ask(shown::ASKING);
}
