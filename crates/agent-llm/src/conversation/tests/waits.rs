//! Silence and waits that mean one thing from one server and another from the next.

use super::*;

/// PRV-9: a server that sends nothing while it collects a call has as long as for its first content; others have not.
#[tokio::test(start_paused = true)]
async fn calls_are_collected_in_silence() {
    let thinks = r#"{"message":{"thinking":"hm"},"done":false}"#;
    let called =
        r#"{"message":{"tool_calls":[{"id":"c1","function":{"name":"code__write_file","arguments":{}}}]},"done":true}"#;
    for (silence, expected) in [
        (599, "done tool_use think\"hm\" c1:code.write_file{}"),
        (601, "failed retryable provider_timeout timeout | error think\"hm\""),
    ] {
        let body = vec![(0, Some(format!("{thinks}\n"))), (silence, Some(format!("{called}\n")))];
        let script = script([Scene { body, ..good() }]);
        let settings = ProviderSettings::new("http://127.0.0.1:1");
        let dialect = Arc::new(crate::ollama::Ollama::new(&settings).unwrap());
        let adapter = HttpAdapter::over(Terms { dialect, ..terms(&script, 1) });
        let lines: Vec<_> = adapter.stream(request(), CancellationToken::new()).map(|e| line(&e)).collect().await;
        assert_eq!(lines.last().unwrap(), expected);
    }
}

/// PRV-7: where a server says "stop" with every piece, a pause is no end; where nothing comes for good, it is.
#[tokio::test(start_paused = true)]
async fn pauses_are_no_ends() {
    let noisy = r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#;
    let last = r#"{"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}]}"#;
    for (scene, expected, seconds) in [
        (Scene::events(&[(0, noisy), (20, noisy), (0, DONE)]), "done end_turn \"aa\"", 20),
        (Scene::events(&[(0, noisy), (20, noisy), (30, noisy)]).open(), "done end_turn \"aaa\"", 110),
        (Scene::events(&[(0, noisy)]).open(), "done end_turn \"a\"", 60),
        (Scene::events(&[(0, HI), (0, last)]).open(), "done end_turn \"Hib\"", 5),
        (Scene::events(&[(0, STOP)]).open(), "done end_turn", 60),
        (Scene::events(&[(0, STOP), (20, HI), (0, STOP), (0, DONE)]), "done end_turn \"Hi\"", 20),
        // A connection that breaks in such a pause breaks the reply.
        (
            Scene { body: vec![(0, Some(format!("data: {noisy}\n\n"))), (1, None)], ..good() },
            "failed retryable provider_error unreachable | error \"a\"",
            1,
        ),
    ] {
        let before = Instant::now();
        let lines = transcript(&script([scene])).await;
        assert_eq!((lines.last().unwrap().as_str(), before.elapsed().as_secs()), (expected, seconds));
    }
}

/// PRV-8: a model that is being loaded is waited for, as long as for the first content, and each wait is told.
#[tokio::test(start_paused = true)]
async fn loading_is_waited_for() {
    let loading =
        || Scene::status(503, r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#);
    let script_of = |n: usize| script((0..n).map(|_| loading()).chain([good()]));
    let before = Instant::now();
    let lines = transcript(&script_of(40)).await;
    assert_eq!(lines[40..], GOOD);
    assert_eq!(lines[..40], (1..=40).map(|n| format!("retry {n} ~ loading")).collect::<Vec<_>>());
    assert!(before.elapsed().as_secs() < 200);
    let before = Instant::now();
    let lines = transcript(&script_of(1000)).await;
    assert_eq!(lines.last().unwrap(), "failed fatal provider_error loading | nothing");
    assert!((590..=600).contains(&before.elapsed().as_secs()), "{:?}", before.elapsed());
    // Failures of another kind are counted all the same.
    let script =
        script([loading(), loading(), Scene::status(500, ""), Scene::status(500, ""), Scene::status(500, ""), good()]);
    let lines = transcript(&script).await;
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[4], "failed fatal provider_error server | nothing");
}

/// PRV-8: Google calls a limit by the minute a quota, and says when it ends; a quota without an end is one.
#[tokio::test(start_paused = true)]
async fn quotas_with_an_end_are_limits() {
    let text = "You exceeded your current quota, please check your plan and billing details.";
    let minute = format!(
        r#"[{{"error":{{"code":429,"message":"{text} Please retry in 34.07s.","status":"RESOURCE_EXHAUSTED"}}}}]"#
    );
    let field = format!(
        r#"{{"error":{{"code":429,"message":"{text}","status":"RESOURCE_EXHAUSTED","details":[{{"retryDelay":"34.07s"}}]}}}}"#
    );
    for body in [minute, field] {
        let before = Instant::now();
        let lines = transcript(&script([Scene::status(429, &body), good()])).await;
        assert_eq!(lines[0], "retry 1 ~ rate_limited");
        assert_eq!(lines[1..], GOOD);
        assert_eq!(before.elapsed(), Duration::from_millis(34_070));
    }
    for body in [
        format!(r#"[{{"error":{{"code":429,"message":"{text}","status":"RESOURCE_EXHAUSTED"}}}}]"#),
        format!(r#"{{"error":{{"code":"insufficient_quota","message":"{text} Try again in 5s."}}}}"#),
    ] {
        let lines = transcript(&script([Scene::status(429, &body)])).await;
        assert_eq!(lines, ["failed fatal provider_rate_limited quota | nothing"]);
    }
}

/// PRV-10: an overflow that comes as an event before the reply is one.
#[tokio::test(start_paused = true)]
async fn overflow_as_the_first_event() {
    let scene = Scene {
        body: vec![(
            0,
            Some("event: error\ndata: {\"error\":{\"message\":\"Trying to keep the first 9001 tokens when context the overflows.\"}}\n\n".to_owned()),
        )],
        ..good()
    };
    assert_eq!(transcript(&script([scene])).await, ["failed overflow provider_error context_too_long | nothing"]);
    let generation = r#"{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<x>","status_code":400}}"#;
    let lines = transcript(&script([Scene::events(&[(0, generation)]), good()])).await;
    assert_eq!(lines[0], "retry 1 ~ bad_generation");
    assert_eq!(lines[1..], GOOD);
}

/// FND-72: a wait that is too long to be waited for is told, in every form in which a server asks for it, and nothing says that it is
/// asked again.
#[tokio::test(start_paused = true)]
async fn long_waits_are_told() {
    for (scene, words) in [
        (Scene::status(429, "").header("retry-after", "3600"), "It asks to wait 1 h before"),
        (Scene::status(503, "busy").header("retry-after-ms", "150000"), "busy. It asks to wait 2 min 30 s before"),
        (Scene::status(429, "Please try again in 7h12m."), "7h12m. It asks to wait 7 h 12 min before"),
    ] {
        let events = events(&script([scene])).await;
        let [ModelEvent::Failed { error, .. }] = events.as_slice() else { panic!("{words}: {events:?}") };
        assert!(error.message.contains(words), "{}", error.message);
    }
}
