//! Whole conversations against the scripted server, which refuses what no real server would take.

use std::sync::Arc;

use agent_protocol::{
    ContentBlock, ModelEvent, ModelMessage, ModelRequest, Object, Reply as ModelReply, Role, StopKind, SystemBlock,
    ToolResultBlock,
};
use agent_testkit::{Call, Protocol, Reply, ScriptedServer, prefix_violations};
use serde_json::json;

use crate::ask::{adapter, completed, events, failed, request, tool};

/// Puts a reply and results for its calls into the conversation.
fn go_on(request: &mut ModelRequest, reply: &ModelReply) {
    let mut message = ModelMessage::new(Role::Assistant, reply.content.clone());
    if let Some(reasoning) = reply.metadata.get("reasoning") {
        message.metadata.insert("reasoning".to_owned(), reasoning.clone());
    }
    request.messages.push(Arc::new(message));
    for call in reply.tool_calls() {
        let block = ToolResultBlock {
            tool_call_id: call.tool_call_id.clone(),
            is_error: call.arguments_error().is_some(),
            content: vec![ContentBlock::text(call.arguments_error().unwrap_or("ok"))],
            error: None,
            metadata: Object::new(),
        };
        request.messages.push(Arc::new(ModelMessage::new(Role::Tool, vec![ContentBlock::ToolResult(block)])));
    }
}

fn rule() -> SystemBlock {
    SystemBlock {
        block_id: "system.core".to_owned(),
        source: "test".to_owned(),
        content: "RULE-42".to_owned(),
        priority: 0,
        dynamic: false,
        token_count: 3,
        metadata: Object::new(),
    }
}

fn scripted() -> ModelRequest {
    ModelRequest { model: agent_testkit::MODEL.to_owned(), ..request() }
}

/// STRM-01, STRM-19, PRV-4, PRV-15: tools of all names, over several turns, in every protocol; each request is legal and
/// begins with the bytes of the one before. PRV-11: what the model thought is kept, and goes back where the protocol has it.
#[tokio::test]
async fn turns_with_tools() {
    // The first two would share a wire name, and one has letters no server takes.
    let tools = ["code.read_file", "code__read_file", "user.schön", "plain"];
    for &protocol in Protocol::ALL {
        let server = ScriptedServer::start_blocking();
        server.respond_with(move |request, turn| match request.tool_names().get(turn) {
            Some(name) => {
                let call = Call::new(*name, json!({"path": "a"}));
                Reply::text("Let me look.").thinking("hm").usage(40, 7).calls([call])
            }
            None => Reply::text("Done."),
        });
        let adapter = adapter(protocol.provider(), &server.base_url(protocol));
        let mut request = scripted();
        request.tools = Arc::new(tools.map(tool).to_vec().into());
        request.system = Arc::new(vec![rule()].into());
        for name in tools {
            let all = events(&*adapter, request.clone()).await;
            let (reply, _) = completed(&all);
            assert_eq!((reply.stop.kind, &*reply.text()), (StopKind::ToolUse, "Let me look."));
            assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (Some(40), Some(7)));
            assert!(reply.metadata["reasoning"].to_string().contains("\"hm\""));
            let said: Vec<&str> = reply.tool_calls().map(|call| call.name.as_str()).collect();
            assert_eq!(said, [name], "{protocol:?}");
            go_on(&mut request, reply);
        }
        assert_eq!(completed(&events(&*adapter, request).await).0.text(), "Done.");
        server.assert_valid();
        let requests = server.requests();
        assert_eq!(prefix_violations(&requests), Vec::<String>::new());
        assert_eq!(requests.len(), tools.len() + 1);
        for request in &requests {
            assert_eq!(request.messages()[0], json!({"role": "system", "content": "RULE-42"}));
        }
        if protocol == Protocol::Anthropic {
            let thought = &requests[1].messages()[2]["thinking"][0];
            assert_eq!(thought["thinking"], "hm");
            assert!(thought["signature"].as_str().unwrap().starts_with("sig-0-"));
        }
    }
}

/// STRM-02: broken arguments make an error the model sees, and the next request is legal.
#[tokio::test]
async fn broken_arguments_are_survived() {
    for protocol in [Protocol::OpenAi, Protocol::Anthropic] {
        let server = ScriptedServer::start_blocking();
        let broken = r#"{"path": "a"}{"path": "b"}"#;
        server.script([Reply::empty().calls([Call::raw("code.read_file", broken)]), Reply::text("Sorry.")]);
        let adapter = adapter(protocol.provider(), &server.base_url(protocol));
        let mut request = scripted();
        let all = events(&*adapter, request.clone()).await;
        let (reply, _) = completed(&all);
        let call = reply.tool_calls().next().unwrap();
        assert_eq!(call.metadata["invalid_arguments"], broken);
        assert!(call.arguments_error().unwrap().contains("line 1 column 14"));
        go_on(&mut request, reply);
        assert_eq!(completed(&events(&*adapter, request).await).0.text(), "Sorry.");
        server.assert_valid();
    }
}

/// PERF-3: of a flood, every delta arrives, in order.
#[tokio::test]
async fn every_delta_of_a_flood_arrives() {
    for &protocol in Protocol::ALL {
        let server = ScriptedServer::start_blocking();
        server.push(Reply::flood(20_000, "word "));
        let all = events(&*adapter(protocol.provider(), &server.base_url(protocol)), scripted()).await;
        let deltas = all.iter().filter(|event| matches!(event, ModelEvent::TextDelta { .. })).count();
        assert_eq!(deltas, 20_000);
        assert_eq!(completed(&all).0.text(), "word ".repeat(20_000));
    }
}

/// A reply that the limit cut says so, in every protocol.
#[tokio::test]
async fn a_reply_cut_by_the_limit() {
    for &protocol in Protocol::ALL {
        let server = ScriptedServer::start_blocking();
        server.push(Reply::text("and then").stop(agent_testkit::Stop::Length));
        let all = events(&*adapter(protocol.provider(), &server.base_url(protocol)), scripted()).await;
        assert_eq!(completed(&all).0.stop.kind, StopKind::MaxTokens, "{protocol:?}");
    }
}

/// STRM-06, PRV-7: cut anywhere, the reply is none, in every protocol; what had come of its text is told.
#[tokio::test]
async fn a_reply_cut_anywhere() {
    for &protocol in Protocol::ALL {
        let server = ScriptedServer::start_blocking();
        let adapter = adapter(protocol.provider(), &server.base_url(protocol));
        let reply =
            || Reply::text("half of it").thinking("hm").calls([Call::new("code.read_file", json!({"path": "a"}))]);
        for bytes in (0..450).step_by(31) {
            // The adapter asks again where nothing had come.
            server.respond_with(move |_, _| reply().cut_after(bytes));
            let all = events(&*adapter, scripted()).await;
            let (_, error, partial) = failed(&all);
            assert!(error.message.contains("before the reply was complete"), "{protocol:?} {bytes}: {}", error.message);
            assert!(partial.is_none_or(|partial| "half of it".starts_with(&*partial.text())));
            assert!(partial.is_none_or(|partial| partial.tool_calls().next().is_none()));
        }
        server.respond_with(move |_, _| reply());
        assert_eq!(completed(&events(&*adapter, scripted()).await).0.text(), "half of it");
    }
}
