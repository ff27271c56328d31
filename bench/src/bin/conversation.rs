//! Goes on with a session for a few runs, one after another: what it is to do comes in on stdin, what it did goes out on stdout.
//!
//! Home and project come from the environment and the current folder, as for a user's program. It is a process of its own, so
//! that its work and memory are not mixed up with the model server's.

#[path = "../own.rs"]
mod own;
#[path = "../talk.rs"]
mod talk;

use std::error::Error;
use std::io;
use std::time::Duration;

use agent_core::id::SessionId;
use agent_core::runtime::RunStatus;
use agent_core::{AgentRuntime, StartOptions};

use talk::{Talk, Talked};

type Failure = Box<dyn Error>;

/// A run takes a few milliseconds, or a second where a failed request is made again.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> Result<(), Failure> {
    let talk: Talk = serde_json::from_reader(io::stdin())?;
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let talked = threads.block_on(go_on(talk))?;
    serde_json::to_writer(io::stdout(), &talked)?;
    Ok(())
}

async fn go_on(talk: Talk) -> Result<Talked, Failure> {
    let agent = AgentRuntime::builder().build().await?;
    let mut session_id = talk.session_id.as_deref().map(SessionId::parse).transpose()?;
    let (mut failures, mut stuck) = (Vec::new(), false);
    for message in talk.messages {
        let bytes = message.len();
        let options = StartOptions { session_id: session_id.clone(), ..StartOptions::default() };
        let run = agent.start(message, options).await?;
        session_id = Some(run.session_id().clone());
        match tokio::time::timeout(PATIENCE, run.wait()).await {
            Ok(result) if result.status == RunStatus::Completed => {}
            Ok(result) => {
                let error = result.error.map(|error| error.message);
                let status = result.status.as_str();
                failures.push(format!("a run with a message of {bytes} bytes ended as {status}: {error:?}"));
            }
            Err(_) => {
                failures.push(format!("a run did not end within {PATIENCE:?}"));
                stuck = true;
                break;
            }
        }
    }
    if talk.waits {
        agent.background_work().await;
    }
    agent.close().await;
    let session_id = session_id.ok_or("there was nothing to say")?.as_str().to_owned();
    Ok(Talked { session_id, failures, stuck, peak_kib: own::field("VmHWM").unwrap_or(0) })
}
