//! What becomes of a child's end.

use super::*;

/// AGT-5: an answer in words is the summary, whatever it holds; one that is a report in JSON, alone or in a fence, fills the fields of
/// the result.
#[tokio::test]
async fn answers_become_results() {
    let report = r#"{"summary": "Two.", "findings": ["a", {"b": 1}], "proposed_actions": ["c"]}"#;
    let parts = json!({"summary": "Two.", "findings": ["a", {"b": 1}], "proposed_actions": ["c"]});
    let summary = |text: &str| json!({"summary": text});
    for (answer, expected) in [
        ("Nothing is wrong.".to_owned(), summary("Nothing is wrong.")),
        (report.to_owned(), parts.clone()),
        (format!("  ```json\n{report}\n```\n"), parts.clone()),
        (format!("```\n{report}\n```"), parts),
        (r#"{"summary": "Short."}"#.to_owned(), summary("Short.")),
    ] {
        let (output, _) = ended(completed(&answer), 10_000).await;
        let mut result = object(data(&output));
        assert_eq!(result.remove("status"), Some(json!("completed")));
        assert_eq!(result.remove("metadata"), Some(json!({"child_run_id": "run_2", "turns": 3})));
        assert_eq!(Value::from(result), expected, "{answer}");
        assert_eq!(output.error, None);
    }
    // Anything else that looks like one is words.
    for answer in [
        format!("Here it is:\n{report}"),
        format!("{report} {report}"),
        r#"{"findings": ["a"]}"#.to_owned(),
        r#"{"summary": "x", "status": "failed"}"#.to_owned(),
        r#"{"summary": 1}"#.to_owned(),
        r#"{"summary": "x", "findings": "a"}"#.to_owned(),
        r#"["summary"]"#.to_owned(),
        "{".to_owned(),
        "```json".to_owned(),
        "``````".to_owned(),
    ] {
        let (output, _) = ended(completed(&answer), 10_000).await;
        assert_eq!(data(&output)["summary"], answer);
        assert!(data(&output).get("findings").is_none());
    }
}

/// AGT-5: the JSON of a wanted form is the result's `output`, and artifacts and the facts for programs are told.
#[tokio::test]
async fn everything_is_told() {
    let ids = ["art_1", "art_2"].map(|id| ArtifactId::parse(id).unwrap());
    let report =
        ChildReport { output: Some(json!({"n": 2})), artifacts: ids.to_vec(), ..completed("```json\n{\"n\": 2}\n```") };
    let (output, _) = ended(report, 10_000).await;
    let metadata = json!({"child_run_id": "run_2", "turns": 3});
    let expected =
        json!({"status": "completed", "output": {"n": 2}, "artifacts": ["art_1", "art_2"], "metadata": metadata});
    assert_eq!(data(&output), expected);
    for (key, value) in [
        ("child_agent_id", json!("agent_2")),
        ("child_run_id", json!("run_2")),
        ("stream_id", json!("run_2")),
        ("agent_definition_id", json!("default_sub_agent")),
        ("child_status", json!("completed")),
        ("turns", json!(3)),
        ("summary", json!("completed, 3 turns")),
    ] {
        assert_eq!(output.metadata[key], value, "{key}");
    }
    assert_eq!(output.metadata["usage"]["input_tokens"], 7);
}

/// AGT-C01, AGT-5: no end of a child but a completed one with an answer as it was wanted is a success, whatever else is set; the code
/// and the words are those of the child's error, and what it had said is `partial`.
#[tokio::test]
async fn only_a_success_is_one() {
    let limited = || Some(ErrorPayload::new(ErrorCode::ProviderRateLimited, "429: slow down").retryable(true));
    let schema = || Some(ErrorPayload::new(ErrorCode::SchemaError, "`n`: is required"));
    for (status, error, code, word) in [
        (RunStatus::Failed, limited(), ErrorCode::ProviderRateLimited, "failed"),
        (RunStatus::Failed, None, ErrorCode::InternalError, "failed"),
        (RunStatus::Aborted, None, ErrorCode::Cancelled, "cancelled"),
        (RunStatus::Cancelled, limited(), ErrorCode::ProviderRateLimited, "cancelled"),
        (RunStatus::Running, limited(), ErrorCode::ProviderRateLimited, "failed"),
        (RunStatus::Pending, None, ErrorCode::InternalError, "failed"),
        (RunStatus::Queued, None, ErrorCode::InternalError, "failed"),
        (RunStatus::Completed, schema(), ErrorCode::SchemaError, "failed"),
    ] {
        for said in [Some("Half a sen"), Some(" "), None] {
            let report = ChildReport {
                status,
                error: error.clone(),
                answer: said.map(str::to_owned),
                output: Some(json!("never told")),
                end_reason: Some(EndReason::Failed),
                ..completed("")
            };
            let (output, _) = ended(report, 10_000).await;
            let told = output.error.clone().unwrap();
            assert_eq!(told.code, code, "{status:?}");
            let words = error.as_ref().map_or("", |error| error.message.as_str());
            assert!(told.message.contains(words), "{}", told.message);
            assert_eq!(told.details["child_run_id"], "run_2");
            let result = data(&output);
            assert_eq!(result["status"], word);
            assert_eq!(result.get("partial"), said.filter(|said| !said.trim().is_empty()).map(Value::from).as_ref());
            assert!(result.get("summary").is_none() && result.get("output").is_none());
            assert_eq!(output.metadata["child_status"], word);
        }
    }
}

/// AGT-C01: a child that was stopped with its call says so.
#[tokio::test]
async fn a_cancelled_call() {
    let mut context = context_with(Arc::default());
    let report = ChildReport { status: RunStatus::Aborted, answer: None, ..completed("") };
    context.children = Arc::new(Ending { report, started: Mutex::default() });
    context.cancel.cancel();
    let output = call("agent.fork_agent", json!({"task": "Look."}), context).await;
    assert_eq!(output.metadata[ToolOutput::ABORTED], true);
    assert_eq!(output.error.unwrap().code, ErrorCode::Cancelled);
}
