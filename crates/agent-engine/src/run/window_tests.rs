//! What goes into a request when there is more than fits, and what the provider's counts teach.

use std::sync::Arc;

use agent_protocol::{EventType, ModelMessage};

use super::script_testing::Script;
use super::*;

/// CTX-6, CFG-8: a message that cannot fit is said at once, and no request is sent.
#[test]
fn a_message_that_is_too_long() {
    let mut script = Script::new();
    script.messages = 50;
    script.play(&format!("start {}; sources", "word ".repeat(100)));
    assert_eq!(script.trace.last().unwrap(), "sources -> finish prompt_too_long/prompt_too_long");
    assert!(script.last_request.is_none());
}

/// PRV-15, CTX-4, CTX-5, CTX-9: a slide frees down to 60 % at once, keeps the user's message and the latest exchange, and
/// leaves one visible marker.
#[test]
fn the_window_slides() {
    let mut script = Script::new();
    script.messages = 600;
    script.play("start keep me; sources");
    let mut slides = 0;
    for n in 0..12 {
        script.play(&format!("calls look:s{n}={n}; ready s{n}; allow s{n}; done s{n} {}", "word ".repeat(60)));
        script.trace.clear();
        script.play("sources");
        if script.trace[0].contains("slid ") {
            slides += 1;
            script.play("sources");
            let tokens: u64 = script.run.path.nodes().iter().map(|node| node.tokens).sum();
            assert!(tokens > 600);
        }
    }
    assert!((2..=4).contains(&slides), "{slides} slides: each must free for several turns");
    let request = script.request();
    assert_eq!(request[0], "user<keep me>");
    assert!(request[1].contains("earlier turns left"), "{request:?}");
    assert_eq!(request.iter().filter(|line| line.contains("turns left")).count(), 1);
    assert!(request.last().unwrap().contains("ok s11"));
}

/// CTX-7: where the provider counts twice what we estimate, the window slides in the provider's tokens, and the run goes on.
#[test]
fn a_calibrated_window_slides() {
    let mut script = Script::new();
    script.messages = 600;
    for _ in 0..40 {
        script.run.calibration.observe(1000, Some(2000));
    }
    script.play("start keep me; sources");
    for n in 0..8 {
        script.play(&format!("calls look:s{n}={n}; ready s{n}; allow s{n}; done s{n} {}; sources", "word ".repeat(40)));
        if script.trace.last().unwrap().contains("slid ") {
            script.play("sources");
        }
        assert!(script.trace.last().unwrap().contains("ask"), "turn {n}: {:?}", script.trace.last());
    }
}

/// PRV-15: within an epoch every request begins with the very messages of the one before.
#[test]
fn requests_grow_at_their_end_only() {
    let mut script = Script::new();
    script.messages = 100_000;
    script.play("start hi; sources");
    let mut before: Vec<Arc<ModelMessage>> = Vec::new();
    for n in 0..25 {
        let now = script.last_request.as_ref().unwrap().messages.clone();
        assert!(before.iter().zip(&now).all(|(a, b)| Arc::ptr_eq(a, b)) && before.len() < now.len());
        before = now;
        script.play(&format!("calls look:p{n}={n} look:q{n}=x{n}; ready q{n}; allow q{n}; done q{n} y; ready p{n}; allow p{n}; done p{n} x; sources"));
    }
}

/// A result that would fill the window is shortened for the model, the same way each turn; the stored one is whole.
#[test]
fn big_results_are_shortened() {
    let mut script = Script::new();
    script.messages = 1000;
    script
        .play(&format!("start hi; sources; calls look:a; ready a; allow a; done a {}; sources", "word ".repeat(5000)));
    let first = script.last_request.clone().unwrap();
    let ContentBlock::ToolResult(result) = &first.messages[2].content[0] else { panic!() };
    let text = result.content[0].as_text().unwrap();
    assert!(text.contains("left out here") && text.len() < 2200, "{}", text.len());
    script.play("calls look:b=2; ready b; allow b; done b x; sources");
    assert!(Arc::ptr_eq(&first.messages[2], &script.last_request.as_ref().unwrap().messages[2]));
}

/// A script with a conversation of about 450 estimated tokens, in a window of 1000, before its next reply.
fn long_conversation() -> Script {
    let mut script = Script::new();
    script.messages = 500;
    script.play("start hi; sources");
    for n in 0..4 {
        script.play(&format!("calls look:o{n}={n}; ready o{n}; allow o{n}; done o{n} {}; sources", "word ".repeat(60)));
    }
    script.trace.clear();
    script
}

/// PRV-12, CTX-7: a count that falls although the prompt grew teaches the estimate nothing; alone it makes no answer wrong.
#[test]
fn a_count_that_falls_teaches_nothing() {
    let mut script = long_conversation();
    for _ in 0..40 {
        script.run.calibration.observe(1000, Some(1500));
    }
    let ratio = script.run.calibration.ratio();
    script.play("counted 70 an answer");
    assert_eq!(script.trace, ["counted 70 an answer -> [assistant<an answer>], finish completed"]);
    assert!((script.run.calibration.ratio() - ratio).abs() < f64::EPSILON);
}

/// PRV-12: a count of half a window is that of a prompt the server cut: what it answered is kept and not believed, room is made
/// and the whole is asked again; where there is no room to make, the answer stands.
#[test]
fn half_a_window_is_a_cut_prompt() {
    let mut script = long_conversation();
    // The provider's tokens are bigger than ours: the prompt is longer than the window.
    for _ in 0..40 {
        script.run.calibration.observe(1000, Some(2600));
    }
    let ratio = script.run.calibration.ratio();
    script.play("counted 500 half an answer");
    assert!(
        script.trace[0].starts_with("counted 500 half an answer -> [partial assistant<half an answer> slid "),
        "{:?}",
        script.trace
    );
    assert!((script.run.calibration.ratio() - ratio).abs() < f64::EPSILON);
    script.play("sources");
    assert!(script.trace[1].contains("ask"), "{:?}", script.trace);

    let mut script = Script::new();
    script.messages = 500;
    script.play(&format!("start {}; sources", "word ".repeat(380)));
    for _ in 0..40 {
        script.run.calibration.observe(1000, Some(1500));
    }
    script.play("counted 400 an answer");
    assert_eq!(script.trace.last().unwrap(), "counted 400 an answer -> [assistant<an answer>], finish completed");
}

/// When the provider says that the prompt is too long, room is made below what it refused; where nothing is left to drop,
/// the run ends instead of looping.
#[test]
fn the_provider_says_too_long() {
    let mut script = Script::new();
    script.play("start hi; sources");
    for n in 0..4 {
        script.play(&format!("calls look:o{n}={n}; ready o{n}; allow o{n}; done o{n} {}; sources", "word ".repeat(40)));
    }
    script.trace.clear();
    script.play("overflow; sources; overflow; sources; overflow");
    assert!(script.trace[0].contains("slid ") && script.trace[1].contains("ask"), "{:?}", script.trace);
    assert!(script.trace.last().unwrap().contains("finish prompt_too_long"), "{:?}", script.trace);
}

fn board(words: usize) -> Arc<ModelMessage> {
    let text = format!("<task_board>\n{}\n</task_board>", "step ".repeat(words));
    Arc::new(ModelMessage::new(Role::User, vec![ContentBlock::text(text)]))
}

/// TBD-1, CFG-8, PRV-15: the board comes last, takes its room from the messages, and is part of what is estimated; older turns make
/// room for it.
#[test]
fn a_board_takes_its_room() {
    let mut script = Script::new();
    (script.messages, script.tail) = (600, vec![board(80)]);
    let takes = TokenCounter.message(&script.tail[0].content);
    script.play("start keep me; sources");
    let mut slides = 0;
    for n in 0..12 {
        script.play(&format!("calls look:s{n}={n}; ready s{n}; allow s{n}; done s{n} {}; sources", "word ".repeat(60)));
        while script.trace.last().unwrap().contains("slid ") {
            slides += 1;
            script.play("sources");
        }
        let request = script.last_request.as_ref().unwrap();
        assert!(Arc::ptr_eq(request.messages.last().unwrap(), &script.tail[0]), "turn {n}");
        let messages: u64 = request.messages.iter().map(|message| TokenCounter.message(&message.content)).sum();
        assert!(messages <= 600 && messages > takes, "turn {n}: {messages}");
        let built = script.events.iter().rfind(|event| event.event_type == EventType::ContextBuilt).unwrap();
        let tokens = |key: &str| built.payload[key].as_u64().unwrap();
        assert_eq!(tokens("request_tokens"), messages + tokens("system_tokens"), "turn {n}");
    }
    assert!(slides > 1);
}

/// TBD-1, CTX-6: where all that is kept leaves no room for the board, it gives way, and the run goes on.
#[test]
fn a_board_gives_way() {
    let mut script = Script::new();
    (script.messages, script.tail) = (300, vec![board(120)]);
    script.play(&format!("start {}; sources", "word ".repeat(150)));
    assert_eq!(script.request().len(), 1, "{:?}", script.trace);
    // As soon as it fits again it is there again.
    script.messages = 600;
    script.play("calls look:a; ready a; allow a; done a x; sources");
    assert!(script.request().last().unwrap().contains("<task_board>"), "{:?}", script.request());
}
