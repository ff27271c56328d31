use serde_json::json;

use super::*;
use crate::protocol::Protocol;
use crate::record::Delivery;

fn request(raw: &str) -> RecordedRequest {
    RecordedRequest {
        method: "POST".to_owned(),
        path: "/api/chat".to_owned(),
        headers: Vec::new(),
        body: serde_json::from_str(raw).unwrap_or_default(),
        raw: raw.to_owned().into(),
        view: Vec::new(),
        protocol: Protocol::Ollama,
        at: 0,
        delivery: Delivery::Finished,
    }
}

#[track_caller]
fn check(before: &str, after: &str, expected: &[&str]) {
    assert_eq!(prefix_violations(&[request(before), request(after)]), expected);
}

/// Growing is fine, everything else is named.
#[test]
fn requests_may_only_grow() {
    let base = r#"{"model":"m","tools":[{"n":1}],"messages":[{"a":1,"b":2},{"c":3}]}"#;
    check(base, base, &[]);
    // Limits and other settings are no part of the prompt; tools and messages may be added.
    let grown = r#"{"model":"m","options":{},"tools":[{"n":1},{"n":2}],"messages":[{"a":1,"b":2},{"c":3},{"d":4}]}"#;
    check(base, grown, &[]);
    check(
        grown,
        base,
        &[
            "request 1 of the series: tools has 1 elements, 2 before",
            "request 1 of the series: messages has 2 elements, 3 before",
        ],
    );
    // The same JSON in other bytes is another prompt.
    let reordered = r#"{"model":"m","tools":[{"n":1}],"messages":[{"b":2,"a":1},{"c":3}]}"#;
    check(base, reordered, &["request 1 of the series: messages[0] was {\"a\":1,\"b\":2} and is {\"b\":2,\"a\":1}"]);
    let spaced = r#"{"model":"m","tools":[{"n": 1}],"messages":[{"a":1,"b":2},{"c":3}]}"#;
    check(base, spaced, &["request 1 of the series: tools[0] was {\"n\":1} and is {\"n\": 1}"]);
    check(base, &base.replace("\"m\"", "\"other\""), &["request 1 of the series: another protocol or model"]);
}

#[test]
fn long_differences_are_cut_to_where_they_differ() {
    let long = |end: &str| format!(r#"{{"model":"m","messages":["{}{end}{}"]}}"#, "ä".repeat(300), "ö".repeat(300));
    let found = prefix_violations(&[request(&long("OLD")), request(&long("NEW"))]);
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("OLD") && found[0].contains("NEW") && found[0].chars().count() < 400, "{}", found[0]);
}

#[test]
fn every_pair_of_a_series_is_compared() {
    let with = |messages: &str| request(&format!(r#"{{"model":"m","messages":[{messages}]}}"#));
    let series = [with("1"), with("1,2"), with("1,3"), with("1,3,4"), request("no JSON")];
    let found = prefix_violations(&series);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[0], "request 2 of the series: messages[1] was 2 and is 3");
    assert!(found[1].starts_with("request 4 of the series:"));
}

/// Task board and runtime state come last and are no history.
#[test]
fn a_volatile_tail_may_vanish() {
    let board = r#"{"role":"user","content":"<board>"}"#;
    let series = [
        request(&format!(r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}},{board}]}}"#)),
        request(&format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}},{{"role":"assistant"}},{board}]}}"#
        )),
    ];
    assert_eq!(prefix_violations(&series).len(), 1);
    let volatile = |message: &Value| message["content"] == json!("<board>");
    assert_eq!(prefix_violations_ignoring(&series, volatile), Vec::<String>::new());
    // Only at the end: in the middle it is history like everything else.
    assert_eq!(prefix_violations_ignoring(&series, |m| m["content"] == json!("hi")).len(), 1);
}

/// Anthropic's users' messages grow by blocks, and a mark for the cache may move.
#[test]
fn blocks_are_elements_and_marks_are_none() {
    let anthropic = |system: &str, messages: &str| {
        let raw = format!(r#"{{"model":"m","system":[{{"type":"text","text":"{system}"}}],"messages":[{messages}]}}"#);
        let mut request = request(&raw);
        request.protocol = Protocol::Anthropic;
        request.view = crate::view::of_request(&request.body);
        request
    };
    let text = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let marked = |text: &str| format!(r#"{{"type":"text","text":"{text}","cache_control":{{"type":"ephemeral"}}}}"#);
    let user = |blocks: &[String]| format!(r#"{{"role":"user","content":[{}]}}"#, blocks.join(","));
    let said = r#"{"role":"assistant","content":[{"type":"text","text":"a"}]}"#;
    let first = anthropic("s", &user(&[marked("hi"), text("<board>")]));
    let second = anthropic("s", &format!("{},{said},{}", user(&[text("hi"), text("more")]), user(&[marked("x")])));
    let volatile = |message: &Value| message["content"] == json!("<board>");
    assert_eq!(prefix_violations_ignoring(&[first.clone(), second], volatile), Vec::<String>::new());
    let changed = anthropic("s", &user(&[text("hello")]));
    let found = prefix_violations_ignoring(&[first.clone(), changed], volatile);
    assert!(found.len() == 1 && found[0].contains("messages[1] was"), "{found:?}");
    let found = prefix_violations_ignoring(&[first.clone(), anthropic("t", &user(&[text("hi")]))], volatile);
    assert!(found.len() == 1 && found[0].contains("messages[0] was"), "{found:?}");
    assert_eq!(prefix_violations(&[first.clone(), first]), Vec::<String>::new());
}
