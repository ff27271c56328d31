//! Calls.

use agent_protocol::{ContentBlock, ModelRequest, Role, StopKind, ToolCall, ToolChoice, ToolDefinition};
use serde_json::Value;

use crate::probe::heard::{End, Heard, stop};
use crate::probe::say::{self, CLOCK, WEATHER};
use crate::probe::target::Target;
use crate::probe::verdict::{Miss, Verdict, failed, model_did_not, not_supported, quote};

/// A request that offers tools.
pub(super) fn with_tools(mut request: ModelRequest, tools: Vec<ToolDefinition>) -> ModelRequest {
    request.tools = std::sync::Arc::new(tools.into());
    request
}

pub(super) async fn auto(target: &Target) -> Verdict {
    let question = say::text(Role::User, "What is the weather in Oslo now? Use the tool.");
    let heard = target.ask(with_tools(target.request(vec![question]), vec![say::weather()])).await?;
    let calls = heard.calls()?;
    ends_for_tools(&heard)?;
    let city = city_of(calls[0])?;
    match city.to_lowercase().contains("oslo") {
        true => Ok(format!("{WEATHER} with city {}{}", quote(city), heard.after_retries())),
        false => model_did_not(format!("asked for {} instead of Oslo", quote(city))),
    }
}

/// A reply with calls waits for their results.
fn ends_for_tools(heard: &Heard) -> Result<(), Miss> {
    let reply = heard.finished()?;
    match reply.stop.kind {
        StopKind::ToolUse => Ok(()),
        _ => failed(format!("a call, and yet {}", stop(reply))),
    }
}

/// The argument of a call of the weather tool.
pub(super) fn city_of(call: &ToolCall) -> Result<&str, Miss> {
    checked_name(call, &[WEATHER])?;
    checked_arguments(call)?;
    match call.arguments.get("city") {
        Some(Value::String(city)) => Ok(city),
        _ => model_did_not(format!("gave no city: {}", quote(&Value::Object(call.arguments.clone()).to_string()))),
    }
}

/// The call names one of these tools, as we call it.
fn checked_name(call: &ToolCall, tools: &[&str]) -> Result<(), Miss> {
    // A dot may be anything on the wire; what differs in nothing else was not translated back.
    let bare = |name: &str| name.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    if tools.contains(&call.name.as_str()) {
        Ok(())
    } else if tools.iter().any(|tool| bare(tool) == bare(&call.name)) {
        failed(format!("the name {} was not translated back", quote(&call.name)))
    } else {
        model_did_not(format!("called {}, which is not among its tools", quote(&call.name)))
    }
}

/// Text that is no object is the model's; an object that was not seen is ours.
fn checked_arguments(call: &ToolCall) -> Result<(), Miss> {
    let Some(error) = call.arguments_error() else { return Ok(()) };
    let text = call.metadata.get(ToolCall::INVALID_ARGUMENTS).and_then(Value::as_str).unwrap_or_default();
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(_)) => failed(format!("good arguments were refused ({error}): {}", quote(text))),
        _ => model_did_not(format!("wrote arguments that are no object: {}", quote(text))),
    }
}

pub(super) async fn required(target: &Target) -> Verdict {
    // A model that may choose answers this by itself, so that the choice must be what decides.
    let question = "Is Oslo a large city?";
    forced(target, ToolChoice::Required, vec![say::weather()], question).await
}

pub(super) async fn named(target: &Target) -> Verdict {
    // Here the other tool would be called.
    let question = "What time is it in Oslo now?";
    forced(target, ToolChoice::Tool(WEATHER.to_owned()), vec![say::clock(), say::weather()], question).await
}

/// A call the model has no say in. Runs never force one, so a server that cannot is none the worse for it.
async fn forced(target: &Target, choice: ToolChoice, tools: Vec<ToolDefinition>, question: &str) -> Verdict {
    let request = with_tools(target.request(vec![say::text(Role::User, question)]), tools);
    let heard = target.ask(ModelRequest { tool_choice: choice.clone(), ..request.clone() }).await?;
    if let End::Failure(failure) = &heard.end
        && failure.kind() == "invalid_request"
        && target.ask(request).await?.reply().is_ok()
    {
        // The same without the choice is accepted, so it is the choice that this server does not know.
        return not_supported(format!("refused only because of the choice: {}", quote(&failure.error.message)));
    }
    let Some(call) = heard.reply()?.tool_calls().next() else {
        // Text where a call was demanded, cut or not; only thoughts may come before it.
        if !heard.text.is_empty() {
            let cut = heard.reply()?.stop.kind == StopKind::MaxTokens;
            let what = if cut { "accepted, and no call up to the output limit" } else { "accepted and ignored" };
            return not_supported(format!("{what}: {}", quote(&heard.text)));
        }
        heard.finished()?;
        return not_supported("accepted and ignored: the model said nothing");
    };
    if choice != ToolChoice::Required && call.name == CLOCK {
        return not_supported(format!("accepted and ignored: it called {CLOCK} instead of {WEATHER}"));
    }
    ends_for_tools(&heard)?;
    Ok(format!("{WEATHER} with city {}", quote(city_of(call)?)))
}

pub(super) async fn none(target: &Target) -> Verdict {
    let question = say::text(Role::User, "What is the weather in Oslo now? Use the tool.");
    let request = with_tools(target.request(vec![question]), vec![say::weather()]);
    let heard = target.ask(ModelRequest { tool_choice: ToolChoice::None, ..request }).await?;
    match heard.finished()?.tool_calls().next() {
        Some(call) => failed(format!("the server ignored the choice and called {}", quote(&call.name))),
        None => Ok(format!("no call: {}", quote(&heard.text))),
    }
}

pub(super) async fn parallel(target: &Target) -> Verdict {
    let question = "What is the weather in Oslo and in Lima now? Call the tool for both cities at the same time, then say \
                    both temperatures.";
    let question = say::text(Role::User, question);
    let request = with_tools(target.request(vec![question.clone()]), vec![say::weather()]);
    let heard = target.ask(request).await?;
    let calls = heard.calls()?;
    if calls.len() < 2 {
        return model_did_not("made one call at a time");
    }
    ends_for_tools(&heard)?;
    let mut messages = vec![question, say::earlier(heard.finished()?)];
    for call in &calls {
        let degrees = if city_of(call)?.to_lowercase().contains("oslo") { "-17" } else { "23" };
        messages.push(say::result(&call.tool_call_id, vec![ContentBlock::text(format!("{degrees} degrees"))]));
    }
    let answer = target.ask(with_tools(target.request(messages), vec![say::weather()])).await?;
    let text = answer.said()?;
    match text.contains("17") && text.contains("23") {
        true => Ok(format!("{} calls, then {}", calls.len(), quote(text))),
        false => {
            model_did_not(format!("made {} calls, and left a result out of its answer: {}", calls.len(), quote(text)))
        }
    }
}
