use super::*;

fn words(message: &str) -> ServerWords {
    ServerWords { message: message.to_owned(), ..ServerWords::default() }
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[track_caller]
fn check(body: &str, expected: ServerWords) {
    assert_eq!(ServerWords::from_body(body.as_bytes()), expected, "{body}");
}

/// PRV-10: the message is the server's own, whatever shape the error object has.
#[test]
fn every_shape_is_read() {
    check("", words(""));
    check("plain text\n", words("plain text"));
    check("\u{feff}{\"error\":\"model is required\"}", words("model is required"));
    check(
        r#"{"error":{"message":"bad","type":"invalid_request_error","param":"tools","code":"x"}}"#,
        ServerWords { code: some("x"), kind: some("invalid_request_error"), param: some("tools"), ..words("bad") },
    );
    check(
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded","details":{"error_code":"e"}},"request_id":"r"}"#,
        ServerWords { kind: some("overloaded_error"), detail: some("e"), ..words("Overloaded") },
    );
    check(
        r#"[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}]"#,
        ServerWords { kind: some("RESOURCE_EXHAUSTED"), status: Some(429), ..words("slow") },
    );
    check(
        r#"{"object":"error","message":{"detail":[{"loc":["body"]}]},"type":"invalid_request_error","code":"3280"}"#,
        ServerWords {
            kind: some("invalid_request_error"),
            code: some("3280"),
            ..words(r#"{"detail":[{"loc":["body"]}]}"#)
        },
    );
    check(
        r#"{"error":"{\"error\":{\"code\":400,\"message\":\"too big\",\"type\":\"t\",\"n_prompt_tokens\":9,\"n_ctx\":4}}"}"#,
        ServerWords { kind: some("t"), status: Some(400), tokens: Some((9, 4)), ..words("too big") },
    );
    check(
        r#"{"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"upstream\"}}"}}}"#,
        ServerWords { status: Some(502), ..words("Provider returned error: upstream") },
    );
    check(
        r#"{"error":"unauthorized","signin_url":"https://ollama.com/x"}"#,
        ServerWords { signin_url: some("https://ollama.com/x"), ..words("unauthorized") },
    );
    check(r#"{"code":"429","message":"m"}"#, ServerWords { status: Some(429), ..words("m") });
    check(r#"{"detail":"Not Found"}"#, words("Not Found"));
    check(
        r#"{"error":{"code":"BadRequest","message":"m","innererror":{"code":"context_length_exceeded"}}}"#,
        ServerWords { code: some("context_length_exceeded"), ..words("m") },
    );
    check(
        r#"{"__type":"ThrottlingException","message":"m"}"#,
        ServerWords { kind: some("ThrottlingException"), ..words("m") },
    );
    check(
        r#"[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"@type":"x.Help"},{"@type":"x.RetryInfo","retryDelay":"34s"}]}}]"#,
        ServerWords {
            kind: some("RESOURCE_EXHAUSTED"),
            status: Some(429),
            retry_after: Some(std::time::Duration::from_secs(34)),
            ..words("m")
        },
    );
}

#[test]
fn web_pages_become_text() {
    let page = "<!DOCTYPE html><html><head><title>502 Bad Gateway</title><style>a{b:c}</style>\
                <script>if (1 < 2) {}</script></head>\n<body><h1>Bad&nbsp;Gateway</h1></body></html>";
    let (shown, _) = ServerWords::from_body(page.as_bytes()).shown(&Redactor::default());
    assert_eq!(shown, "502 Bad Gateway Bad&nbsp;Gateway");
    // A comparison is no markup.
    assert_eq!(words("1 < 2 > 0").shown(&Redactor::default()).0, "1 < 2 > 0");
    // An open tag at the end, or a script without an end, loses no more than itself.
    assert_eq!(words("<html>x<script>y").shown(&Redactor::default()).0, "x");
    assert_eq!(words("<html>x<b").shown(&Redactor::default()).0, "x");
}

/// PRV-18: no more than 500 characters, and a secret at the cut is still found.
#[test]
fn messages_are_bounded_and_redacted_before_the_cut() {
    let source = crate::KeySource::new("V", "w", "n", || Some("sk-0123456789".to_owned()));
    let redactor = Redactor::new(Some(&source.resolve("openai").unwrap()));
    let text = format!("{}sk-0123456789 and more", "é".repeat(495));
    let (shown, redacted) = words(&text).shown(&redactor);
    assert!(redacted);
    assert_eq!(shown, format!("{}[reda…", "é".repeat(495)));
    // STO-10: half of what others would recognise by its shape is not left.
    let text = format!("{} https://bob:Tr0ub4dorAnd3horse@example.org/", "é".repeat(480));
    assert_eq!(words(&text).shown(&redactor).0, format!("{} …", "é".repeat(480)));
}

/// Hostile nesting ends; it does not recurse for ever.
#[test]
fn nesting_is_bounded() {
    let mut body = "x".to_owned();
    for _ in 0..8 {
        body = serde_json::json!({ "error": body }).to_string();
    }
    assert!(ServerWords::from_body(body.as_bytes()).message.contains("error"));
}
