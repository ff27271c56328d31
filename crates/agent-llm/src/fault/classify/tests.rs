use super::*;

#[track_caller]
fn check(status: impl Into<Option<u16>>, body: &str, expected: RefusalKind) {
    let around = Circumstances { status: status.into(), fills_window: false };
    assert_eq!(classify(&ServerWords::from_text(body), around), expected, "{status:?} {body}", status = around.status);
}

/// PRV-10: what each status and text means, before the first byte of a reply.
#[test]
fn refusals_before_the_reply() {
    use RefusalKind::*;
    check(413, "", ContextTooLong);
    check(400, r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#, ContextTooLong);
    check(429, "Request too large for m: Limit 30000, Requested 41000", ContextTooLong);
    check(401, r#"{"error":"unauthorized","signin_url":"u"}"#, Auth);
    check(403, r#"{"error":{"type":"permission_error","message":"no access"}}"#, Auth);
    check(403, "requires moderation on provider", Blocked);
    check(402, "Insufficient Balance", Billing);
    check(
        400,
        r#"{"error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits"}}"#,
        Billing,
    );
    check(429, r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#, Quota);
    check(429, "", RateLimited);
    check(503, r#"{"error":"server busy, please try again.  maximum pending requests exceeded"}"#, RateLimited);
    check(498, "", RateLimited);
    check(529, "", Overloaded);
    check(503, r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#, Loading);
    check(
        400,
        r#"{"error":{"message":"Assistant response prefill is incompatible with enable_thinking."}}"#,
        Unsupported,
    );
    check(500, r#"{"error":"option \"seed\" must be of type integer"}"#, InvalidRequest);
    check(
        429,
        r#"{"__type":"ThrottlingException","message":"Too many tokens, please wait before trying again."}"#,
        RateLimited,
    );
    check(429, r#"{"error":{"message":"TPM token limit exceeded","code":"rate_limit_exceeded"}}"#, RateLimited);
    check(429, r#"{"error":{"code":"context_length_exceeded"}}"#, ContextTooLong);
    for status in [408, 425, 504, 522, 524] {
        check(status, "<html>gateway</html>", Timeout);
    }
    check(400, r#"{"error":"registry.ollama.ai/library/gemma:2b does not support tools"}"#, Unsupported);
    check(404, "No endpoints found that support tool use.", Unsupported);
    check(404, "No endpoints found for x/y.", ModelNotFound);
    check(501, r#"{"error":{"type":"not_supported_error"}}"#, Unsupported);
    check(
        400,
        r#"{"error":{"code":"unsupported_parameter","param":"temperature","type":"invalid_request_error"}}"#,
        Unsupported,
    );
    check(404, r#"{"error":"model 'gemma4' not found"}"#, ModelNotFound);
    check(404, r#"{"error":{"code":"model_not_found","type":"invalid_request_error"}}"#, ModelNotFound);
    check(404, "404 page not found", EndpointNotFound);
    check(400, r#"{"error":{"code":"content_filter","message":"filtered"}}"#, Filtered);
    check(400, r#"{"error":{"type":"invalid_request_error","message":"tool_call_id"}}"#, InvalidRequest);
    check(409, "conflict", InvalidRequest);
    check(400, r#"{"error":{"code":"tool_use_failed","type":"invalid_request_error"}}"#, BadGeneration);
    check(500, r#"{"error":"error parsing tool call: raw='{'"}"#, BadGeneration);
    check(500, r#"{"error":"model runner has unexpectedly stopped"}"#, Runner);
    for status in [500, 502, 503, 520] {
        check(status, "", Server);
    }
}

/// PRV-7: inside a reply the HTTP status is 200 and means nothing; the object's own words decide.
#[test]
fn refusals_inside_a_reply() {
    use RefusalKind::*;
    check(None, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Overloaded);
    check(None, r#"{"error":{"code":429,"message":"slow down"}}"#, RateLimited);
    check(None, r#"{"error":{"code":429,"message":"Too many tokens, slow down"}}"#, RateLimited);
    check(None, r#"{"error":{"message":"boom","type":"server_error"}}"#, Server);
    check(None, r#"{"error":{"status_code":400,"code":"tool_use_failed"}}"#, BadGeneration);
    check(None, r#"{"error":"an error was encountered while running the model"}"#, Unknown);
    check(None, r#"{"error":{"code":400,"message":"request exceeds the available context size"}}"#, ContextTooLong);
}
