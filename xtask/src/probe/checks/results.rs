//! Results of tools, on their way to the model.

use agent_protocol::{ContentBlock, ModelMessage, Role, ToolCallId};
use serde_json::json;

use super::tools::{city_of, with_tools};
use crate::probe::heard::Heard;
use crate::probe::say::{self, WEATHER};
use crate::probe::target::Target;
use crate::probe::verdict::{Miss, Verdict, failed, model_did_not, quote};

/// A code that no model knows by itself.
const CODE: &str = "4173";
/// A temperature that none would guess.
const DEGREES: &str = "31.4";
/// The longest result, in bytes; a smaller window gets half of what it holds.
const LONG: u64 = 30 * 1024;
/// More bytes than a token of common words ever has.
const BYTES_A_TOKEN: u64 = 12;

/// An id for a call that we write in the model's place.
pub(super) fn call_id(text: &str) -> Result<ToolCallId, Miss> {
    ToolCallId::parse(text).map_err(|error| Miss::Failed(error.to_string()))
}

/// Asks with the weather tool at hand.
async fn ask(target: &Target, messages: Vec<ModelMessage>) -> Result<Heard, Miss> {
    target.ask(with_tools(target.request(messages), vec![say::weather()])).await
}

pub(super) async fn round_trip(target: &Target) -> Verdict {
    let question = say::text(Role::User, "What is the weather in Oslo now? Use the tool.");
    let heard = ask(target, vec![question.clone()]).await?;
    let call = heard.calls()?[0];
    city_of(call)?;
    let conversation = |result: &str| {
        let mut messages = vec![question.clone(), say::earlier(heard.reply()?)];
        for call in heard.reply()?.tool_calls() {
            messages.push(say::result(&call.tool_call_id, vec![ContentBlock::text(result)]));
        }
        Ok::<_, Miss>(messages)
    };
    let answer = ask(target, conversation(&format!("-{DEGREES} degrees and snow"))?).await?;
    let missing = match answer.said() {
        Ok(text) if text.contains(DEGREES) => return Ok(quote(text)),
        Ok(text) => format!("answered without the result: {}", quote(text)),
        Err(Miss::ModelDidNot(what)) => what,
        Err(miss) => return Err(miss),
    };
    // The model may have overlooked it, or the server's template does not show it: then its length costs nothing.
    let longer = ask(target, conversation(&say::filler(1500))?).await?;
    match (answer.reply()?.usage.input_tokens, longer.reply()?.usage.input_tokens) {
        (Some(short), Some(long)) if long <= short + 20 => failed(format!(
            "the server does not show results to the model: {short} tokens with a short one, {long} with a long"
        )),
        _ => model_did_not(missing),
    }
}

pub(super) async fn two(target: &Target) -> Verdict {
    let (oslo, lima) = (call_id("call_oslo")?, call_id("call_lima")?);
    let calls = say::calls([(&oslo, WEATHER, json!({"city": "Oslo"})), (&lima, WEATHER, json!({"city": "Lima"}))]);
    let messages = vec![
        say::text(Role::User, "What is the weather in Oslo and in Lima? Answer with the two temperatures only."),
        calls,
        say::result(&oslo, vec![ContentBlock::text("-17 degrees")]),
        say::result(&lima, vec![ContentBlock::text("23 degrees")]),
    ];
    let heard = ask(target, messages).await?;
    let text = accepted(&heard)?;
    let seen =
        [("17", "Oslo's"), ("23", "Lima's")].map(|(degrees, whose)| if text.contains(degrees) { whose } else { "" });
    Ok(format!("accepted; the answer names {}: {text}", named(&seen)))
}

fn named(seen: &[&str]) -> String {
    let seen: Vec<_> = seen.iter().filter(|name| !name.is_empty()).copied().collect();
    if seen.is_empty() { "none of them".to_owned() } else { seen.join(" and ") }
}

/// What the model made of a conversation that was only to be accepted: whether that is clever does not matter here.
pub(super) fn accepted(heard: &Heard) -> Result<String, Miss> {
    let reply = heard.reply()?;
    Ok(match (reply.tool_calls().next(), heard.text.trim()) {
        (Some(call), _) => format!("a call of {}", quote(&call.name)),
        (None, "") => "no text".to_owned(),
        (None, text) => quote(text),
    })
}

pub(super) async fn long(target: &Target) -> Verdict {
    let bytes = LONG.min(target.settings.context_window.saturating_mul(2));
    let text = format!("{}\nThe code is {CODE}.", say::filler(usize::try_from(bytes).unwrap_or(usize::MAX)));
    let id = call_id("call_long")?;
    let messages = vec![
        say::text(Role::User, "Ask for the weather in Oslo and tell me the code at the end of the report."),
        say::calls([(&id, WEATHER, json!({"city": "Oslo"}))]),
        say::result(&id, vec![ContentBlock::text(text)]),
    ];
    let heard = ask(target, messages).await?;
    let answer = accepted(&heard)?;
    let found = heard.text.contains(CODE);
    match heard.reply()?.usage.input_tokens {
        Some(tokens) if tokens < bytes / BYTES_A_TOKEN => {
            failed(format!("the server cut it: {tokens} tokens counted for {bytes} bytes"))
        }
        Some(tokens) => {
            let found = if found { "found" } else { "did not find" };
            Ok(format!("{bytes} bytes, {tokens} tokens; the model {found} the code at its end"))
        }
        None if found => Ok(format!("{bytes} bytes; the model found the code at its end")),
        None => model_did_not(format!("did not find the code at the end of {bytes} bytes: {answer}")),
    }
}

pub(super) async fn odd(target: &Target) -> Verdict {
    let (nothing, data) = (call_id("call_nothing")?, call_id("call_data")?);
    let messages = vec![
        say::text(Role::User, "What is the weather in Oslo and in Lima?"),
        say::calls([(&nothing, WEATHER, json!({"city": "Oslo"}))]),
        say::result(&nothing, vec![]),
        say::calls([(&data, WEATHER, json!({"city": "Lima"}))]),
        say::result(
            &data,
            vec![ContentBlock::json(json!({"sky": ["clear", null], "degrees": 23.5, "note": "\"\\\u{7}"}))],
        ),
        say::text(Role::User, "Thank you. Now say only the word: ready"),
    ];
    Ok(format!("accepted: {}", accepted(&ask(target, messages).await?)?))
}
