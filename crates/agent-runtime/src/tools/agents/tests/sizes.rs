//! Results that are bigger than their share (AGT-C12, ART-2).

use agent_engine::TokenCounter;
use agent_tool::CallGroup;
use proptest::prelude::*;

use super::*;

fn bytes(output: &ToolOutput) -> usize {
    let words = output.error.as_ref().map_or(0, |error| error.message.len());
    words + output.content.iter().filter_map(ContentBlock::to_model_text).map(|text| text.len()).sum::<usize>()
}

fn artifact(output: &ToolOutput, shelf: &Shelf) -> Option<String> {
    let id = output.artifacts().next()?.artifact_id.clone();
    Some(String::from_utf8(shelf.get(id.as_str()).1).unwrap())
}

/// AGT-C12: of a long text the beginning is shown, and the whole is a file of plain text; what fits is left as it is.
#[tokio::test]
async fn long_answers_keep_their_beginning() {
    let text = "A line of a long report, and no \"other\".\n".repeat(1000);
    let (output, shelf) = ended(completed(&text), 4000).await;
    let result = data(&output);
    let shown = result["summary"].as_str().unwrap().trim_end_matches('…');
    assert!(text.starts_with(shown) && shown.len() > 2500);
    assert_eq!((&result["truncated"], &result["status"]), (&json!(true), &json!("completed")));
    assert_eq!(artifact(&output, &shelf), Some(text.clone()));
    let (output, shelf) = ended(completed("Short."), 4000).await;
    assert_eq!((output.content.len(), shelf.count()), (1, 0));
}

/// AGT-C12: JSON of a wanted form is shown whole or not at all, and is whole in its file.
#[tokio::test]
async fn wanted_json_is_never_cut() {
    let value = json!({"rows": (0..2000).map(|n| json!({"n": n, "text": "words"})).collect::<Vec<_>>()});
    let report = ChildReport { output: Some(value.clone()), ..completed("…") };
    let (output, shelf) = ended(report, 4000).await;
    assert!(data(&output).get("output").is_none());
    assert_eq!(data(&output)["truncated"], true);
    assert_eq!(serde_json::from_str::<Value>(&artifact(&output, &shelf).unwrap()).unwrap(), value);
}

/// AGT-C12: findings, artifacts and a long error leave each other room, and what is left out is counted.
#[tokio::test]
async fn many_parts_share_the_room() {
    let findings: Vec<_> = (0..500).map(|n| json!({"file": format!("src/file{n}.rs"), "line": n})).collect();
    let answer = json!({"summary": "words ".repeat(2000), "findings": findings}).to_string();
    let artifacts = (0..40).map(|n| ArtifactId::parse(&format!("art_{n}")).unwrap()).collect();
    let (output, shelf) = ended(ChildReport { artifacts, ..completed(&answer) }, 4000).await;
    let result = data(&output);
    let shown = result["findings"].as_array().unwrap();
    assert!(shown.len() > 5 && shown[..] == findings[..shown.len()]);
    assert_eq!(result["findings_left_out"], 500 - shown.len());
    let named = result["artifacts"].as_array().unwrap().len();
    assert_eq!((named > 0, result["artifacts_left_out"].as_u64()), (true, Some(40 - named as u64)));
    let whole: Value = serde_json::from_str(&artifact(&output, &shelf).unwrap()).unwrap();
    assert_eq!(whole["findings"].as_array().unwrap().len(), 500);
    assert_eq!(whole["artifacts"].as_array().unwrap().len(), 40);
}

/// AGT-C12: calls of one reply share the room, however many there are: each result has the same share of it, and each whole is kept.
#[tokio::test]
async fn a_group_shares_the_room() {
    for (room, least) in [(3200, 120), (64 * 1024, 9000)] {
        let group = CallGroup::default();
        let mut all = 0;
        (0..6).for_each(|_| group.join());
        for child in 0..6 {
            let text = format!("Report {child}. {}", "A sentence of it.\n".repeat(40 * 1024 / 18));
            let shelf = Arc::new(Shelf::default());
            let mut context = context_with(Arc::clone(&shelf));
            context.children = Arc::new(Ending { report: completed(&text), started: Mutex::default() });
            (context.result_bytes, context.group) = (room, group.clone());
            let output = call("agent.create_sub_agent", json!({"task": "Look."}), context).await;
            let summary = data(&output)["summary"].as_str().unwrap().to_owned();
            assert!(summary.starts_with(&format!("Report {child}.")) && summary.len() >= least, "{}", summary.len());
            assert_eq!(artifact(&output, &shelf), Some(text));
            all += bytes(&output);
        }
        assert!(all <= room, "{all} of {room}");
    }
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z 你\n\"\u{1}]{0,200}",
        (1usize..4000).prop_map(|n| "word ".repeat(n)),
        (1usize..3000).prop_map(|n| "\u{1}\"\n".repeat(n)),
        (1usize..400).prop_map(|n| json!({"summary": "s".repeat(n), "findings": vec!["finding"; n]}).to_string()),
        (1usize..200).prop_map(|n| json!({"summary": "", "proposed_actions": vec!["x".repeat(n); n]}).to_string()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    /// AGT-C12, ART-2: whatever a child says and however it ends, its result takes no more than its share, is valid JSON, and what is not
    /// shown is whole in an artifact.
    #[test]
    fn results_fit(text in texts(), room in 700usize..8000, artifacts in 0usize..60, how in 0..4, error in 0usize..3000) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let artifacts = (0..artifacts).map(|n| ArtifactId::parse(&format!("art_{n}")).unwrap()).collect();
        let failed = ErrorPayload::new(ErrorCode::ProviderError, "e".repeat(error));
        let report = match how {
            0 => ChildReport { artifacts, ..completed(&text) },
            1 => ChildReport { artifacts, output: Some(json!({"text": text})), ..completed(&text) },
            2 => ChildReport { artifacts, status: RunStatus::Failed, error: Some(failed), ..completed(&text) },
            _ => ChildReport { artifacts, status: RunStatus::Aborted, ..completed(&text) },
        };
        let (output, shelf) = runtime.block_on(ended(report, room));
        prop_assert!(bytes(&output) <= room + 64, "{} of {room}", bytes(&output));
        let result = data(&output);
        if result.get("truncated").is_some() {
            prop_assert!(artifact(&output, &shelf).is_some());
        } else {
            let shown = result.get("summary").or(result.get("partial")).or(result.pointer("/output/text"));
            let is_whole = shown.is_none_or(|shown| text.contains(shown.as_str().unwrap()));
            prop_assert!(is_whole || result.get("findings").is_some(), "{result}");
        }
        prop_assert!(TokenCounter.message(&output.content) <= room as u64);
    }
}
