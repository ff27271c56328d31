//! Plain answers.

use std::sync::Arc;

use agent_protocol::{Role, StopKind, SystemPrompt};

use crate::probe::heard::stop;
use crate::probe::say;
use crate::probe::target::Target;
use crate::probe::verdict::{Verdict, failed, model_did_not, quote};

/// An output limit no list of numbers fits in. No smaller: some servers take nothing below it.
const FEW_TOKENS: u64 = 16;
/// More text than [`FEW_TOKENS`] tokens can be, in bytes.
const FAR_TOO_LONG: usize = 400;

pub(super) async fn plain(target: &Target) -> Verdict {
    let heard = target.ask_user("Write the numbers from one to twelve as words, separated by commas.").await?;
    let text = heard.said()?;
    let tokens = heard.finished()?.usage.output_tokens;
    match heard.text_deltas {
        1 if tokens.is_some_and(|tokens| tokens <= 2) => model_did_not(format!("said only {}", quote(text))),
        1 => failed(format!("{} bytes came in a single delta: the server does not stream", text.len())),
        deltas => Ok(format!("{deltas} deltas: {}{}", quote(text), heard.after_retries())),
    }
}

pub(super) async fn usage(target: &Target) -> Verdict {
    let heard = target.ask_user("Say hello.").await?;
    let usage = &heard.reply()?.usage;
    match (usage.input_tokens, usage.output_tokens) {
        (Some(0), _) | (_, Some(0)) => failed(format!("counts of zero: {}", counts(usage))),
        (Some(_), Some(output)) if output > target.max_output_tokens => {
            failed(format!("{output} tokens, though at most {} were asked for", target.max_output_tokens))
        }
        (Some(input), Some(output)) => match usage.total_tokens {
            Some(total) if total < input.saturating_add(output) => {
                failed(format!("a total of {total} for {input} + {output}"))
            }
            _ => Ok(format!("{input} + {output} tokens")),
        },
        _ => failed(format!("budgets would rest on estimates: {}", counts(usage))),
    }
}

fn counts(usage: &agent_protocol::Usage) -> String {
    let shown = |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
    format!("prompt {}, answer {}", shown(usage.input_tokens), shown(usage.output_tokens))
}

pub(super) async fn stop_reason(target: &Target) -> Verdict {
    let heard = target.ask_user("Say only the word: ready").await?;
    let reply = heard.finished()?;
    match (reply.stop.kind, &reply.stop.raw) {
        (StopKind::EndTurn, Some(_)) => Ok(stop(reply)),
        _ => failed(stop(reply)),
    }
}

pub(super) async fn max_tokens(target: &Target) -> Verdict {
    let question = say::text(Role::User, "Write the numbers from one to two hundred as words, one on each line.");
    let mut request = target.request(vec![question]);
    request.max_output_tokens = FEW_TOKENS;
    let heard = target.ask(request).await?;
    let reply = heard.reply()?;
    let output = reply.usage.output_tokens;
    if output.is_some_and(|tokens| tokens > FEW_TOKENS) || heard.text.len() > FAR_TOO_LONG {
        return failed(format!("the limit of {FEW_TOKENS} tokens was not kept: {}", quote(&heard.text)));
    }
    match reply.stop.kind {
        StopKind::MaxTokens if heard.text.is_empty() && heard.reasoning.is_empty() => {
            failed("cut, and what had come is lost")
        }
        StopKind::MaxTokens => {
            let what = if heard.text.is_empty() { &heard.reasoning } else { &heard.text };
            Ok(format!("{} after {}", stop(reply), quote(what)))
        }
        StopKind::EndTurn if output.is_some_and(|tokens| tokens < FEW_TOKENS) => {
            model_did_not(format!("was done before the limit: {}", quote(&heard.text)))
        }
        _ => failed(format!("cut at {FEW_TOKENS} tokens, and called {}: {}", stop(reply), quote(&heard.text))),
    }
}

pub(super) async fn bare(target: &Target) -> Verdict {
    let mut request = target.request(vec![say::text(Role::User, "Say hello.")]);
    request.system = Arc::new(SystemPrompt::default());
    // A blank block is as good as none, and must not become a blank message.
    Arc::make_mut(&mut request.system).blocks.push(say::system(""));
    request.temperature = None;
    Ok(quote(target.ask(request).await?.said()?))
}

/// What is to come back: accents, a combining mark, CJK, Cyrillic, an emoji outside the first plane, a family of joined ones.
const PIECES: [&str; 6] = ["naïve", "e\u{301}te", "日本語", "мир", "🦀", "👩\u{200d}👩\u{200d}👧"];

pub(super) async fn unicode(target: &Target) -> Verdict {
    let line = PIECES.join(" ");
    let heard = target.ask_user(&format!("Repeat exactly this line and nothing else:\n{line}")).await?;
    let text = heard.said()?;
    if text.contains('\u{fffd}') && !line.contains('\u{fffd}') {
        return failed(format!("characters were torn: {}", quote(text)));
    }
    if let Some(piece) = PIECES.iter().find(|piece| text.contains(&misread(piece))) {
        return failed(format!("{piece} was read as Latin-1: {}", quote(text)));
    }
    let missing: Vec<_> = PIECES.iter().filter(|piece| !text.contains(**piece)).copied().collect();
    match missing.len() {
        0 => Ok(quote(text)),
        lost => model_did_not(format!("left out {lost} of {}: {}", PIECES.len(), quote(text))),
    }
}

/// UTF-8 taken for Latin-1, byte by byte.
fn misread(text: &str) -> String {
    text.bytes().map(char::from).collect()
}
