//! Models of agent definitions: made once, of the configuration and the definition alone (CFG-4).

use agent_core::error::ErrorCode;
use agent_core::message::Object;
use agent_protocol::ModelProfile;
use agent_testkit::Protocol;
use serde_json::{Value, json};

use super::stage::{Stage, Step, definition};
use crate::support::{World, run};

fn sent(profile: Option<&Value>) -> Step {
    let mut arguments = json!({ "task": "Help" });
    if let Some(profile) = profile {
        arguments["profile"] = profile.to_string().into();
    }
    Step::calls(&[("test.send", arguments)])
}

/// CFG-4: a child asks the model of its definition: by name, in place, on another server; where that says nothing, or nothing else than
/// `[model]`, it asks that. Its window and its answer's length are those of its model.
#[tokio::test]
async fn a_child_asks_its_definitions_model() {
    let extra = "model.provider = \"stage\"\nmodel.name = \"big\"\nmodel.parallel_requests = 4\n\
                 model_overrides.small.name = \"small\"\nmodel_overrides.small.temperature = 0.9\n\
                 model_overrides.small.context_window = 8192\nmodel_overrides.small.max_output_tokens = 256";
    let cases = [
        (None, "big", 0.2, 4_096, 1),
        (Some(json!({})), "big", 0.2, 4_096, 1),
        (Some(json!({ "name": "big" })), "big", 0.2, 4_096, 1),
        (Some(json!("small")), "small", 0.9, 256, 1),
        (Some(json!({ "name": "other", "temperature": 1.5 })), "other", 1.5, 4_096, 1),
        (Some(json!({ "base_url": "http://127.0.0.1:9", "max_output_tokens": 64 })), "big", 0.2, 64, 2),
    ];
    for (profile, name, temperature, output, servers) in cases {
        let extra = format!("{extra}\nmodel.context_window = 131072\ncontext.reserve_output_tokens = 4096");
        let world = World::with("definition_model", Protocol::OpenAi, &extra).await;
        let stage = Stage::new();
        let call = sent(profile.as_ref());
        stage.on("Go.", move |turn| if turn == 0 { vec![call.clone()] } else { vec![Step::text("Done.")] });
        stage.on("Help", |_| vec![Step::text("Helped.")]);
        let runtime = stage.builder(&world).build().await.unwrap();
        run(&runtime, "Go.").await.assert_completed();
        let asked = stage.requests("Help").remove(0);
        assert_eq!((asked.model.as_str(), asked.temperature), (name, Some(temperature)), "{profile:?}");
        assert_eq!(asked.max_output_tokens, output, "{profile:?}");
        assert_eq!(stage.most().len(), servers, "{profile:?}");
        assert!(stage.requests("Go.").iter().all(|request| request.model == "big"));
        runtime.close().await;
    }
}

/// CFG-4: a profile that cannot be used keeps its child from being started, with what is wrong; the run goes on.
#[tokio::test]
async fn a_wrong_profile_starts_no_child() {
    for (profile, says) in [
        (json!("smal"), "[model_overrides.smal]"),
        (json!({ "nmae": "x" }), "unknown key"),
        (json!({ "provider": "nobody" }), "no provider is called \"nobody\""),
        (json!({ "context_window": 1_024, "max_output_tokens": 1_024 }), "the model of helper"),
    ] {
        let world = World::with("definition_wrong", Protocol::OpenAi, "model.provider = \"stage\"").await;
        let stage = Stage::new();
        let call = sent(Some(&profile));
        stage.on("Go.", move |turn| if turn == 0 { vec![call.clone()] } else { vec![Step::text("Done.")] });
        let runtime = stage.builder(&world).build().await.unwrap();
        run(&runtime, "Go.").await.assert_completed();
        let error = stage.reports().remove(0).expect_err("no child is started");
        assert_eq!(error.code, ErrorCode::ConfigError, "{profile}");
        assert!(error.message.contains(says), "{profile}: {}", error.message);
        runtime.close().await;
    }
}

/// AGD-3, CFG-4: a definition of the program whose profile cannot be used is refused as it is registered, with what is wrong; a provider
/// that is registered before it counts.
#[tokio::test]
async fn a_wrong_profile_is_refused_at_registration() {
    let extra = "model.provider = \"stage\"\nruntime.max_cost = 1.0\nmodel.price.input_per_million = 1.0\n\
                 model.price.output_per_million = 1.0";
    let world = World::with("definition_refused", Protocol::OpenAi, extra).await;
    let stage = Stage::new();
    let runtime = stage.builder(&world).build().await.unwrap();
    for (profile, says) in [
        (json!("smal"), "[model_overrides.smal]"),
        (json!({ "temperature": 9 }), "temperature"),
        (json!({ "provider": "nobody" }), "no provider is called \"nobody\""),
        (json!({ "provider": "openai", "provider_options": { "openai": { "no_such": 1 } } }), "no_such"),
    ] {
        let error = runtime.register_agent_definition(definition(Some(&profile))).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidAgentDefinition, "{profile}");
        assert!(error.to_string().contains(says), "{profile}: {error}");
    }
    runtime.register_agent_definition(definition(Some(&json!({ "name": "other" })))).unwrap();
    runtime.close().await;
}

/// FND-06, CFG-3: the key of a profile is hidden, whoever brings the profile and whenever: a definition that is registered after the runtime
/// was built, and one that a program hands over with its task.
#[tokio::test]
async fn a_profiles_key_is_hidden() {
    // A variable that every test process has; its value is what must not be seen.
    let variable = "CARGO_MANIFEST_DIR";
    let value = std::env::var(variable).unwrap();
    let profile = json!({ "api_key_env": variable, "name": "keyed" });
    for registered in [true, false] {
        let world = World::with("definition_key", Protocol::OpenAi, "model.provider = \"stage\"").await;
        let stage = Stage::new();
        let call = sent(Some(&profile));
        let told = value.clone();
        stage.on("Go.", move |turn| match (turn, registered) {
            (0, false) => vec![call.clone()],
            _ => vec![Step::text(&format!("It is {told}."))],
        });
        stage.on("Help", |_| vec![Step::text("Helped.")]);
        let runtime = stage.builder(&world).build().await.unwrap();
        if registered {
            runtime.register_agent_definition(definition(Some(&profile))).unwrap();
        }
        let ran = run(&runtime, "Go.").await;
        ran.assert_completed();
        assert_eq!(ran.result.answer.as_deref(), Some("It is [secret CARGO_MANIFEST_DIR]."), "{registered}");
        assert!(!ran.text().contains(&value));
        runtime.close().await;
    }
}

/// CFG-4: no argument of a call decides about a model: what the packaged tools take says nothing of one.
#[tokio::test]
async fn no_argument_names_a_model() {
    let world = World::with("definition_arguments", Protocol::OpenAi, "model.provider = \"stage\"").await;
    let stage = Stage::new();
    stage.on("Go.", |_| vec![Step::text("Done.")]);
    let runtime = stage.builder(&world).build().await.unwrap();
    run(&runtime, "Go.").await.assert_completed();
    let tools = &stage.requests("Go.")[0].tools.tools;
    for tool in tools.iter().filter(|tool| !tool.name.starts_with("test.")) {
        let properties = tool.input_schema["properties"].as_object().cloned().unwrap_or_default();
        let of_models = ["model", "model_profile", "profile", "provider", "base_url", "temperature"];
        assert!(of_models.iter().all(|key| !properties.contains_key(*key)), "{}", tool.name);
    }
    let profile = ModelProfile::Inline(Object::new());
    assert_eq!(definition(Some(&json!({}))).model_profile, Some(profile));
    runtime.close().await;
}
