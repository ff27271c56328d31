//! Answers in a form that was asked for (AGT-5, ERR-6).

use agent_core::EventType;
use agent_core::event::ChildResultSchemaValidationFailed;
use agent_testkit::Protocol;
use serde_json::{Value, json};

use super::actors::{Actors, Say, text_of};
use crate::support::{Ran, World, run};

fn schema() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false})
}

/// A parent whose child is to answer in this form and says these, one after the other.
async fn answers(tool: &'static str, schema: Value, says: &[&'static str]) -> (Actors, Ran) {
    let world = World::with("child_forms", Protocol::OpenAi, "model.provider = \"actors\"").await;
    let actors = Actors::default();
    actors.on("Split it up.", move |turn, _| match turn {
        0 => Say::calls(&[(tool, json!({"task": "Count.", "expected_output_schema": schema}))]),
        _ => Say::text("All is done."),
    });
    let says = says.to_vec();
    actors.on("Count.", move |turn, _| Say::text(says[turn]));
    let runtime = actors.builder(&world).build().await.unwrap();
    let ran = run(&runtime, "Split it up.").await;
    ran.assert_completed();
    runtime.close().await;
    (actors, ran)
}

fn shown(actors: &Actors) -> String {
    text_of(&actors.asked("Split it up.")[1].messages.last().unwrap().content)
}

/// AGT-5: the child is told the schema in its task; an answer that fits is the result's `output`, and one that does not is sent back once
/// with what is wrong.
#[tokio::test]
async fn an_answer_that_fits() {
    for tool in ["agent.create_sub_agent", "agent.fork_agent"] {
        for says in [
            &["{\"n\": 3}"][..],
            &["Here:\n```json\n{\"n\": 3}\n```"],
            &["There are three.", "{\"n\": 3}"],
            &["{\"n\": \"three\"}", "```json\n{\"n\": 3}\n```"],
        ] {
            let (actors, ran) = answers(tool, schema(), says).await;
            let asked = actors.asked("Count.");
            assert_eq!(asked.len(), says.len());
            let task: Vec<_> =
                asked[0].messages.last().unwrap().content.iter().filter_map(|one| one.as_text()).collect();
            let form = task.iter().find(|text| text.contains("JSON schema")).unwrap();
            assert!(form.contains(&schema().to_string()), "{form}");
            if let Some(again) = asked.get(1) {
                let note = text_of(&again.messages.last().unwrap().content);
                assert!(note.contains("not in the form that your task asks for"), "{note}");
            }
            let shown = shown(&actors);
            assert!(shown.contains("\"output\":{\"n\":3}") && shown.contains("\"status\":\"completed\""), "{shown}");
            assert!(ran.of_type(EventType::ChildResultSchemaValidationFailed).is_empty());
        }
    }
}

/// AGT-5, ERR-6: an answer that does not fit when it was sent back is `schema_error`: place and expectation are told, the text is partial,
/// and the event says so; the child's run was none the worse.
#[tokio::test]
async fn an_answer_that_does_not_fit() {
    for tool in ["agent.create_sub_agent", "agent.fork_agent"] {
        let (actors, ran) = answers(tool, schema(), &["Three.", "{\"n\": \"three\", \"m\": 1}"]).await;
        let failed = &ran.of_type(EventType::ToolFailed)[0].payload["error"];
        assert_eq!(failed["code"], "schema_error");
        let message = failed["message"].as_str().unwrap();
        assert!(message.contains("`n`: expected an integer, got \"three\""), "{message}");
        let told: ChildResultSchemaValidationFailed =
            ran.of_type(EventType::ChildResultSchemaValidationFailed)[0].read().unwrap();
        assert_eq!(told.error.details["problems"].as_array().unwrap().len(), 2);
        assert_eq!(ran.of_type(EventType::ChildAgentCompleted).len(), 1);
        let shown = shown(&actors);
        assert!(shown.contains("\"status\":\"failed\"") && shown.contains("\"partial\":"), "{shown}");
        assert_eq!(actors.asked("Count.").len(), 2, "it is asked once more, and not again");
    }
}

/// AGT-5: a schema that cannot be used is refused before anything starts.
#[tokio::test]
async fn a_schema_that_cannot_be_used() {
    for schema in [json!({"type": "nothing"}), json!({"$ref": "https://127.0.0.1:1/x.json"}), json!({"$ref": "#"})] {
        let (actors, ran) = answers("agent.create_sub_agent", schema, &[]).await;
        let failed = &ran.of_type(EventType::ToolFailed)[0].payload["error"];
        assert_eq!(failed["code"], "validation_error");
        assert!(failed["message"].as_str().unwrap().contains("expected_output_schema cannot be used"), "{failed}");
        assert!(ran.of_type(EventType::ChildAgentCreated).is_empty() && actors.asked("Count.").is_empty());
    }
}
