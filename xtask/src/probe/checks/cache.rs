//! The prefix cache.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use agent_protocol::{ModelRequest, Role, SystemPrompt, Usage};

use crate::probe::heard::Heard;
use crate::probe::say;
use crate::probe::target::Target;
use crate::probe::verdict::{Miss, Verdict, failed, not_supported};

/// The shared beginning, in bytes: above the least that servers keep; a smaller window gets half of what it holds.
const PREFIX: u64 = 24 * 1024;
/// A first request this many times slower than the second was read anew,
const MUCH_SLOWER: u32 = 3;
/// if it took so long that reading was most of it.
const SLOW: Duration = Duration::from_millis(500);

pub(super) async fn prefix(target: &Target) -> Verdict {
    let bytes = PREFIX.min(target.settings.context_window.saturating_mul(2));
    // Another beginning each time, or the first request would be found in the cache of an earlier probe.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let text = format!("Note {}.\n{}", now.as_nanos(), say::filler(usize::try_from(bytes).unwrap_or(usize::MAX)));
    let prompt = SystemPrompt::from(vec![say::system(&text)]);
    let question = say::text(Role::User, "Say only the word: ready");
    let first = ModelRequest { system: Arc::new(prompt), ..target.request(vec![question.clone()]) };
    let heard = target.ask(first.clone()).await?;
    // The second request goes on with the first one, as a run does.
    let mut second = first;
    second.messages.push(Arc::new(say::earlier(heard.reply()?)));
    second.messages.push(Arc::new(question));
    let again = target.ask(second).await?;
    let (before, after) = (&heard.reply()?.usage, &again.reply()?.usage);
    possible(before)?;
    possible(after)?;
    let seen = format!("first {}, then {}", shown(&heard, before), shown(&again, after));
    let read = after.cache_read_tokens.is_some_and(|read| read > 0);
    let fewer = before.input_tokens.zip(after.input_tokens).is_some_and(|(before, after)| after < before);
    let faster =
        heard.first.zip(again.first).is_some_and(|(before, after)| before > SLOW && before > after * MUCH_SLOWER);
    if read || fewer || faster { Ok(seen) } else { not_supported(format!("no sign of a cache: {seen}")) }
}

/// TYP-8: what is read from a cache is part of the prompt.
fn possible(usage: &Usage) -> Result<(), Miss> {
    match (usage.input_tokens, usage.cache_read_tokens) {
        (Some(input), Some(read)) if read > input => {
            failed(format!("{read} of {input} prompt tokens came from a cache"))
        }
        _ => Ok(()),
    }
}

fn shown(heard: &Heard, usage: &Usage) -> String {
    let tokens = usage.input_tokens.map_or_else(|| "an unknown number of".to_owned(), |tokens| tokens.to_string());
    let cached = usage.cache_read_tokens.map(|read| format!(", {read} from the cache")).unwrap_or_default();
    let time = heard.first.map(|first| format!(", begun after {:.2} s", first.as_secs_f64())).unwrap_or_default();
    format!("{tokens} prompt tokens{cached}{time}")
}
