//! Errors: told apart, and readable.

use agent_llm::KeySource;
use agent_protocol::{ErrorCode, ModelFault, Role};

use crate::probe::heard::{End, Failure, Heard};
use crate::probe::say;
use crate::probe::target::Target;
use crate::probe::verdict::{Miss, Verdict, failed, not_supported, quote};

/// A name no server has a model for.
pub(in crate::probe) const NO_MODEL: &str = "no-such-model-7f3a";
/// A key no server knows.
pub(in crate::probe) const NO_KEY: &str = "sk-probe-0123456789abcdef";
/// Longest message one still reads, in characters.
const READABLE: usize = 1000;
/// More bytes than a window of tokens holds, for each token of it.
const BYTES_A_TOKEN: u64 = 10;

/// What failed, where something was to fail.
fn failure(heard: &Heard) -> Option<&Failure> {
    match &heard.end {
        End::Failure(failure) => Some(failure),
        End::Reply(_) => None,
    }
}

/// A message for people: neither endless nor full of control characters, and it says what it is about.
fn readable(failure: &Failure, about: &str) -> Result<(), Miss> {
    let message = &failure.error.message;
    let odd = |c: char| c.is_control() && c != '\n';
    if message.chars().count() > READABLE || message.contains(odd) || !message.contains(about) {
        return failed(format!("not readable: {}", failure.shown()));
    }
    Ok(())
}

pub(super) async fn wrong_model(target: &Target) -> Verdict {
    let mut request = target.request(vec![say::text(Role::User, "Say hello.")]);
    request.model = NO_MODEL.to_owned();
    let heard = target.ask(request).await?;
    let Some(failure) = failure(&heard) else {
        return not_supported("the server answers under any model's name");
    };
    if (failure.error.code, failure.kind(), failure.fault)
        != (ErrorCode::ProviderError, "model_not_found", ModelFault::Fatal)
    {
        return failed(format!("taken for something else: {}", failure.shown()));
    }
    readable(failure, NO_MODEL)?;
    Ok(failure.shown())
}

pub(super) async fn wrong_key(target: &Target) -> Verdict {
    let wrong = || Some(NO_KEY.to_owned());
    let with_key =
        target.with(|settings| settings.api_key = Some(KeySource::new("PROBE_KEY", "the probe", "wrong-key", wrong)));
    let target = match with_key {
        Ok(target) => target,
        Err(error) => return not_supported(quote(&error.to_string())),
    };
    let heard = target.ask_user("Say hello.").await?;
    let Some(failure) = failure(&heard) else {
        return not_supported("the server does not check keys");
    };
    if failure.error.message.contains(NO_KEY) {
        return failed("the message repeats the key");
    }
    if (failure.error.code, failure.fault) != (ErrorCode::ProviderAuthFailed, ModelFault::Fatal) {
        return failed(format!("taken for something else: {}", failure.shown()));
    }
    readable(failure, &target.provider)?;
    Ok(failure.shown())
}

pub(super) async fn overflow(target: &Target) -> Verdict {
    let window = target.settings.context_window;
    let bytes = usize::try_from(window.saturating_mul(BYTES_A_TOKEN)).unwrap_or(usize::MAX);
    let question = format!("Count the words of this text:\n\n{}", say::filler(bytes));
    let heard = target.ask_user(&question).await?;
    match &heard.end {
        End::Failure(failure) if failure.fault == ModelFault::Overflow => Ok(failure.shown()),
        End::Failure(failure) => failed(format!("taken for something else: {}", failure.shown())),
        End::Reply(reply) => match reply.usage.input_tokens {
            Some(tokens) if tokens > window => {
                not_supported(format!("the server took {tokens} tokens: its window is larger than --context-window"))
            }
            Some(tokens) => failed(format!(
                "the server cut the prompt in silence: {tokens} tokens counted for {bytes} bytes, window {window}"
            )),
            None => failed(format!("answered {bytes} bytes in a window of {window} tokens, and counted nothing")),
        },
    }
}
