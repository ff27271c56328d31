//! FND-40 over the kind: replies with calls, written down in every form in which servers send them, come back as they were said.

use std::collections::HashSet;

use agent_protocol::{Reply, ToolCall};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use crate::anthropic::Anthropic;
use crate::dialect::Dialect;
use crate::ollama::Ollama;
use crate::openai::OpenAi;
use crate::testing::{properties, reply_to, request};
use crate::{ProviderSettings, names::NameTable};

/// Canonical names of the request's tools.
const NAMES: [&str; 3] = crate::testing::TOOLS;

/// A call as the model meant it.
#[derive(Debug, Clone)]
struct Meant {
    name: &'static str,
    arguments: Value,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Ids {
    Own,
    OneForAll,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Indexes {
    Own,
    OneForAll,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Heads {
    /// Id and name come by themselves, arguments after them.
    Alone,
    /// They come with the first piece of the arguments.
    WithArguments,
    /// They are repeated on every piece.
    OnEveryPiece,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Packets {
    /// A message a piece.
    Single,
    /// All pieces in one message.
    Together,
    /// No stream at all: whole calls in one object.
    Whole,
}

fn meant() -> impl Strategy<Value = Vec<Meant>> {
    // Without brackets: a piece that begins with one could begin a call wherever nothing else tells.
    prop::collection::vec((0..NAMES.len(), "[a-z \\\\\"é]{0,9}"), 1..5).prop_map(|calls| {
        let call = |(at, (name, text)): (usize, (usize, String))| Meant {
            name: NAMES[name],
            arguments: json!({"path": text, "n": at}),
        };
        calls.into_iter().enumerate().map(call).collect()
    })
}

fn wire_name(name: &str) -> String {
    NameTable::new(NAMES).wire(name).into_owned()
}

/// The arguments in pieces, none of them empty.
fn pieces(arguments: &Value, cuts: &[Index]) -> Vec<String> {
    let text = arguments.to_string();
    let mut places: Vec<usize> =
        cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len()))).filter(|at| *at > 0).collect();
    places.sort_unstable();
    places.dedup();
    let ends = places.iter().copied().chain([text.len()]);
    let starts = [0].into_iter().chain(places.iter().copied());
    starts.zip(ends).map(|(start, end)| text[start..end].to_owned()).collect()
}

fn id(ids: Ids, at: usize) -> Option<String> {
    match ids {
        Ids::Own => Some(format!("c{at}")),
        Ids::OneForAll => Some("call_0".to_owned()),
        Ids::None => None,
    }
}

fn index(indexes: Indexes, at: usize) -> Option<usize> {
    match indexes {
        Indexes::Own => Some(at),
        Indexes::OneForAll => Some(0),
        Indexes::None => None,
    }
}

/// The calls came back: as many, in their order, and each with an id of its own, the server's where that is one.
fn check(reply: &Reply, meant: &[Meant], ids: Ids) {
    let calls: Vec<&ToolCall> = reply.tool_calls().collect();
    let said: Vec<(&str, Value)> =
        calls.iter().map(|call| (call.name.as_str(), Value::Object(call.arguments.clone()))).collect();
    let expected: Vec<(&str, Value)> = meant.iter().map(|call| (call.name, call.arguments.clone())).collect();
    assert_eq!(said, expected);
    let own: HashSet<&str> = calls.iter().map(|call| call.tool_call_id.as_str()).collect();
    assert_eq!(own.len(), calls.len(), "ids that are not unique");
    for (at, call) in calls.iter().enumerate() {
        match ids {
            Ids::Own => assert_eq!(call.tool_call_id.as_str(), format!("c{at}")),
            Ids::OneForAll if at > 0 => assert_eq!(call.metadata["raw_id"], "call_0"),
            Ids::OneForAll | Ids::None => {}
        }
    }
}

fn settings() -> ProviderSettings {
    ProviderSettings::new("http://127.0.0.1:1")
}

/// What stands in one piece of a call of OpenAI's protocol.
fn openai_piece(index: Option<usize>, head: Option<(Option<String>, String)>, arguments: &str) -> Value {
    let mut piece = json!({"type": "function", "function": {"arguments": arguments}});
    if let Some(index) = index {
        piece["index"] = index.into();
    }
    if let Some((id, name)) = head {
        piece["function"]["name"] = name.into();
        if let Some(id) = id {
            piece["id"] = id.into();
        }
    }
    piece
}

fn openai_pieces(call: &Meant, at: usize, form: (Ids, Indexes, Heads), cuts: &[Index]) -> Vec<Value> {
    let (ids, indexes, heads) = form;
    let head = || Some((id(ids, at), wire_name(call.name)));
    let texts = pieces(&call.arguments, cuts);
    let alone = (heads == Heads::Alone).then(|| openai_piece(index(indexes, at), head(), ""));
    let rest = texts.iter().enumerate().map(|(n, text)| {
        let has_head = heads == Heads::OnEveryPiece || (heads == Heads::WithArguments && n == 0);
        openai_piece(index(indexes, at), if has_head { head() } else { None }, text)
    });
    alone.into_iter().chain(rest).collect()
}

fn openai_body(calls: Vec<Vec<Value>>, packets: Packets, order: &[Index]) -> Vec<u8> {
    let event =
        |calls: Value| format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]}));
    let mut waiting: Vec<std::collections::VecDeque<Value>> = calls.into_iter().map(Into::into).collect();
    // Calls begin in their order, with their first piece; what follows comes in any.
    let mut all: Vec<Value> = Vec::new();
    if !order.is_empty() {
        all.extend(waiting.iter_mut().filter_map(std::collections::VecDeque::pop_front));
    }
    let mut order = order.iter();
    waiting.retain(|pieces| !pieces.is_empty());
    while !waiting.is_empty() {
        let at = order.next().map_or(0, |place| place.index(waiting.len()));
        all.extend(waiting[at].pop_front());
        waiting.retain(|pieces| !pieces.is_empty());
    }
    let mut body: String = match packets {
        Packets::Together | Packets::Whole => event(all.into()),
        Packets::Single => all.into_iter().map(|piece| event(json!([piece]))).collect(),
    };
    body.push_str(
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n",
    );
    body.into_bytes()
}

fn openai_whole(meant: &[Meant], ids: Ids, indexes: Indexes) -> Vec<u8> {
    let call = |(at, call): (usize, &Meant)| {
        openai_piece(index(indexes, at), Some((id(ids, at), wire_name(call.name))), &call.arguments.to_string())
    };
    let calls: Vec<Value> = meant.iter().enumerate().map(call).collect();
    let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
    json!({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}).to_string().into_bytes()
}

fn read(dialect: &dyn Dialect, body: &[u8]) -> Reply {
    reply_to(dialect, request(), body)
}

proptest! {
    #![proptest_config(properties())]

    /// FND-40, STRM-04, STRM-16: OpenAI's form.
    #[test]
    fn calls_in_openai_form(
        meant in meant(),
        ids in prop::sample::select(vec![Ids::Own, Ids::OneForAll, Ids::None]),
        indexes in prop::sample::select(vec![Indexes::Own, Indexes::OneForAll, Indexes::None]),
        heads in prop::sample::select(vec![Heads::Alone, Heads::WithArguments, Heads::OnEveryPiece]),
        packets in prop::sample::select(vec![Packets::Single, Packets::Together, Packets::Whole]),
        cuts in prop::collection::vec(any::<Index>(), 0..4),
        order in prop::collection::vec(any::<Index>(), 0..30),
    ) {
        let dialect = OpenAi::new(&settings(), "127.0.0.1").unwrap();
        let body = if packets == Packets::Whole {
            openai_whole(&meant, ids, indexes)
        } else {
            let form = (ids, indexes, heads);
            let calls = meant.iter().enumerate().map(|(at, call)| openai_pieces(call, at, form, &cuts)).collect();
            // Pieces of several calls are mixed only where something on each of them tells whose it is.
            let told = indexes == Indexes::Own || (ids == Ids::Own && heads == Heads::OnEveryPiece);
            openai_body(calls, packets, if told { &order } else { &[] })
        };
        check(&read(&dialect, &body), &meant, ids);
    }

    /// FND-40: Ollama's form: whole calls, a line each or in one, and once more at the end.
    #[test]
    fn calls_in_ollama_form(
        meant in meant(),
        ids in prop::sample::select(vec![Ids::Own, Ids::OneForAll, Ids::None]),
        together in any::<bool>(),
        again in any::<bool>(),
    ) {
        let dialect = Ollama::new(&settings()).unwrap();
        let calls: Vec<Value> = meant.iter().enumerate().map(|(at, call)| {
            let mut said = json!({"function": {"index": 0, "name": wire_name(call.name), "arguments": call.arguments}});
            if let Some(id) = id(ids, at) {
                said["id"] = id.into();
            }
            said
        }).collect();
        let line = |calls: &[Value], done: bool| {
            let message = json!({"role": "assistant", "content": "", "tool_calls": calls});
            format!("{}\n", json!({"model": "m", "message": message, "done": done, "done_reason": "stop"}))
        };
        let mut body: String =
            if together { line(&calls, false) } else { calls.chunks(1).map(|call| line(call, false)).collect() };
        // Without an id nothing says that it is the same again.
        let listed_again = again && ids != Ids::None;
        body.push_str(&line(if listed_again { &calls } else { &[] }, true));
        check(&read(&dialect, body.as_bytes()), &meant, ids);
    }

    /// FND-40: Anthropic's form: blocks under numbers that may repeat or be missing.
    #[test]
    fn calls_in_anthropic_form(
        meant in meant(),
        ids in prop::sample::select(vec![Ids::Own, Ids::OneForAll, Ids::None]),
        indexes in prop::sample::select(vec![Indexes::Own, Indexes::OneForAll, Indexes::None]),
        packets in prop::sample::select(vec![Packets::Single, Packets::Whole]),
        cuts in prop::collection::vec(any::<Index>(), 0..4),
    ) {
        let dialect = Anthropic::new(&settings(), "").unwrap();
        let block = |at: usize, call: &Meant, input: Value| {
            let mut block = json!({"type": "tool_use", "name": wire_name(call.name), "input": input});
            if let Some(id) = id(ids, at) {
                block["id"] = id.into();
            }
            block
        };
        let body = if packets == Packets::Whole {
            let content: Vec<Value> =
                meant.iter().enumerate().map(|(at, call)| block(at, call, call.arguments.clone())).collect();
            json!({"type": "message", "id": "m", "role": "assistant", "content": content, "stop_reason": "tool_use"})
                .to_string()
        } else {
            let event = |mut event: Value, at: usize| {
                if let Some(index) = index(indexes, at) {
                    event["index"] = index.into();
                }
                format!("data: {event}\n\n")
            };
            let mut body = format!("data: {}\n\n", json!({"type": "message_start", "message": {"id": "m"}}));
            for (at, call) in meant.iter().enumerate() {
                body.push_str(&event(json!({"type": "content_block_start", "content_block": block(at, call, json!({}))}), at));
                for piece in pieces(&call.arguments, &cuts) {
                    let delta = json!({"type": "input_json_delta", "partial_json": piece});
                    body.push_str(&event(json!({"type": "content_block_delta", "delta": delta}), at));
                }
                body.push_str(&event(json!({"type": "content_block_stop"}), at));
            }
            body + "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"
        };
        check(&read(&dialect, body.as_bytes()), &meant, ids);
    }
}

/// FND-40: an id that was used earlier in the session is not used again, whatever the server repeats.
#[test]
fn ids_of_the_conversation_are_not_used_again() {
    let mut asked = request();
    asked.messages.push(std::sync::Arc::new(agent_protocol::ModelMessage::new(
        agent_protocol::Role::Assistant,
        vec![crate::testing::call("call_0", NAMES[0], json!({}))],
    )));
    let meant: Vec<Meant> = (0..3).map(|n| Meant { name: NAMES[0], arguments: json!({"n": n}) }).collect();
    let body = openai_whole(&meant, Ids::OneForAll, Indexes::None);
    let reply = reply_to(&OpenAi::new(&settings(), "127.0.0.1").unwrap(), asked, &body);
    let ids: HashSet<&str> = reply.tool_calls().map(|call| call.tool_call_id.as_str()).collect();
    assert!(ids.len() == 3 && !ids.contains("call_0"), "{ids:?}");
    assert!(reply.tool_calls().all(|call| call.metadata["raw_id"] == "call_0"));
}
