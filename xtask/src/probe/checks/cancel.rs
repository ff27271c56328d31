//! Stopping an answer.

use std::time::{Duration, Instant};

use agent_protocol::{ModelEvent, ModelFault, Role};
use tokio_util::sync::CancellationToken;

use crate::probe::heard::{End, listen};
use crate::probe::relay::Relay;
use crate::probe::say;
use crate::probe::target::Target;
use crate::probe::verdict::{Miss, Verdict, failed, model_did_not, quote};

/// Deltas to wait for: the answer is well under way then.
const UNDER_WAY: usize = 3;
/// How long the adapter may take to stop, and the connection to close. Both take milliseconds; a busy machine adds some.
const AT_ONCE: Duration = Duration::from_secs(2);

pub(super) async fn mid_stream(target: &Target) -> Verdict {
    let relay = Relay::before(&target.settings.base_url).await;
    let mut relay = relay.map_err(|error| Miss::Failed(format!("no port for our own relay: {error}")))?;
    // An adapter of its own: its first connection is the one that must close.
    let relayed = target.with(|settings| {
        if let Some(relay) = &relay {
            settings.base_url = relay.base_url().to_owned();
        }
    });
    let relayed = relayed.map_err(|error| Miss::Failed(error.to_string()))?;
    let (stopped_after, partial) = stop_mid_stream(&relayed).await?;
    let connection = match &mut relay {
        None => "whether the connection closed cannot be seen through TLS",
        Some(relay) => match relay.client_closes(AT_ONCE).await {
            true => "the connection closed",
            false => return failed(format!("the connection is still open {} s after the cancel", AT_ONCE.as_secs())),
        },
    };
    let begun = Instant::now();
    target.ask_user("Say hello.").await?.reply()?;
    Ok(format!(
        "ended {:.1} ms after the cancel with {partial}; {connection}; the next answer took {:.2} s",
        stopped_after.as_secs_f64() * 1000.0,
        begun.elapsed().as_secs_f64()
    ))
}

/// Cancels an answer under way: how long the adapter took, and what it kept.
async fn stop_mid_stream(target: &Target) -> Result<(Duration, String), Miss> {
    let question = "Write the numbers from one to two hundred as words, one on each line.";
    let cancel = CancellationToken::new();
    let stream = target.adapter().stream(target.request(vec![say::text(Role::User, question)]), cancel.clone());
    let (mut deltas, mut cancelled) = (0, None);
    let listening = listen(stream, |event| {
        let content = matches!(event, ModelEvent::TextDelta { .. } | ModelEvent::ReasoningDelta { .. });
        deltas += usize::from(content);
        if deltas == UNDER_WAY && cancelled.is_none() {
            cancel.cancel();
            cancelled = Some(Instant::now());
        }
    });
    let deaf = async {
        cancel.cancelled().await;
        tokio::time::sleep(AT_ONCE).await;
    };
    let heard = tokio::select! {
        heard = listening => heard?,
        () = deaf => return failed(format!("the adapter goes on {} s after the cancel", AT_ONCE.as_secs())),
    };
    let Some(cancelled) = cancelled else {
        heard.reply()?;
        return model_did_not(format!("was done before it could be cancelled: {}", quote(&heard.text)));
    };
    match &heard.end {
        End::Failure(failure) if failure.fault == ModelFault::Aborted => match &failure.partial {
            Some(_) => Ok((cancelled.elapsed(), format!("{} bytes of text", heard.text.len()))),
            None => failed("what had come is lost"),
        },
        End::Failure(failure) => failed(format!("cancelled, and called {}", failure.shown())),
        // What the adapter had read already may be all there was.
        End::Reply(_) => model_did_not(format!("was done before it could be cancelled: {}", quote(&heard.text))),
    }
}
