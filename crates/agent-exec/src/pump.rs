//! Keeps all pipes of a program moving at once.

use crate::{
    Output,
    progress::Reporter,
    stream::{Feed, OutputStream},
};
use std::{convert::Infallible, future::pending};
use tokio::{join, select};

/// The pipes of a running program. Every method may be dropped at an await and called again without losing a byte.
pub(crate) struct Pump {
    pub(crate) stdin: Option<Feed>,
    pub(crate) stdout: OutputStream,
    pub(crate) stderr: OutputStream,
    pub(crate) reporter: Option<Reporter>,
}

impl Pump {
    /// Until both outputs have ended.
    pub(crate) async fn drain(&mut self) {
        while self.stdout.is_open() || self.stderr.is_open() {
            self.turn().await;
        }
    }

    /// Until it is dropped: the end of the outputs is not the end of the program.
    ///
    /// The last view is shown even if nothing happens any more.
    pub(crate) async fn run(&mut self) -> Infallible {
        while self.stdout.is_open() || self.stderr.is_open() || self.feeds() {
            self.turn().await;
        }
        if let Some(reporter) = &mut self.reporter {
            reporter.due().await;
            reporter.publish(self.stdout.keeper(), self.stderr.keeper());
        }
        pending().await
    }

    fn feeds(&self) -> bool {
        self.stdin.as_ref().is_some_and(Feed::is_open)
    }

    /// One step of whichever pipe is ready. The choice is random, so that a flood on one does not starve the other.
    async fn turn(&mut self) {
        let Self { stdin, stdout, stderr, reporter } = self;
        let feeding = stdin.as_mut().filter(|feed| feed.is_open());
        select! {
            () = stdout.fill(), if stdout.is_open() => {}
            () = stderr.fill(), if stderr.is_open() => {}
            () = async { match feeding { Some(feed) => feed.send().await, None => pending().await } } => {}
            () = async { match reporter { Some(reporter) => reporter.due().await, None => pending().await } } => {
                if let Some(reporter) = reporter {
                    reporter.publish(stdout.keeper(), stderr.keeper());
                }
            }
        }
    }

    /// Closes the pipes and sums up: standard output, standard error.
    pub(crate) async fn finish(self) -> (Output, Output) {
        join!(self.stdout.finish(), self.stderr.finish())
    }
}

#[cfg(test)]
mod tests;
