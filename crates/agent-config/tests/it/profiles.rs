//! Model profiles.

use agent_config::{Config, ModelProfile, ProfileError};
use serde_json::json;

use crate::{problems, right, wrong};

const BASE: &str = r#"
[model]
base_url = "https://a.example/v1"
api_key_env = "KEY_A"
name = "big"
temperature = 0.7
provider_options.openai = { effort = "high", user = "me" }

[model.retry]
max_attempts = 5
"#;

fn named(name: &str) -> ModelProfile {
    ModelProfile::Named(name.to_owned())
}

/// CFG-4: a profile changes the keys it holds and no others; tables merge key by key.
#[test]
fn a_profile_is_laid_over_the_model() {
    let config = right(&format!(
        "{BASE}\n[model_overrides.small]\nname = \"small\"\nretry.initial_backoff_ms = 9\nprovider_options.openai.effort = \"low\"\n"
    ));
    let model = config.model_for(Some(&named("small"))).expect("model");
    assert_eq!((model.name.as_str(), model.temperature, model.api_key_env.as_str()), ("small", 0.7, "KEY_A"));
    assert_eq!((model.retry.max_attempts, model.retry.initial_backoff_ms, model.retry.max_backoff_ms), (5, 9, 8000));
    let options = serde_json::Value::Object(model.provider_options.of("openai").expect("options").clone());
    assert_eq!(options, json!({"effort": "low", "user": "me"}));
    assert_eq!(config.model.name, "big", "[model] itself stays");
}

/// CFG-4: the inline form, in the file and from a definition.
#[test]
fn a_profile_may_be_written_in_place() {
    let config = right(&format!("{BASE}\n[compact]\nmodel_profile = {{ name = \"inline\", temperature = 0 }}\n"));
    let model = config.model_for(config.compact.model_profile.as_ref()).expect("model");
    assert_eq!((model.name.as_str(), model.temperature), ("inline", 0.0));
    let profile = ModelProfile::from_json(&json!({"name": "agent's", "price": null}), "agents/x.md").expect("profile");
    assert_eq!(config.model_for(Some(&profile)).expect("model").name, "agent's");
    assert_eq!(ModelProfile::from_json(&json!("small"), "agents/x.md").expect("profile"), named("small"));
}

/// CFG-9: no profile, or one that says nothing, is [model] unchanged; no key is no key.
#[test]
fn without_a_profile_the_model_is_unchanged() {
    let config = right(&format!("{BASE}\n[model_overrides.nothing]\n"));
    assert_eq!(config.model_for(None).expect("model"), config.model);
    assert_eq!(config.model_for(Some(&named("nothing"))).expect("model"), config.model);
    assert_eq!(config.model.key_variable(), Some("KEY_A"));
    let keyless = config.model_for(Some(&ModelProfile::from_json(&json!({"api_key_env": ""}), "x").expect("profile")));
    assert_eq!(keyless.expect("model").key_variable(), None);
}

/// CMP-5: a summary reuses what the model has read already only with the same model on the same server, run in the same way.
/// A connection is shared only if everything it was made with is the same.
#[test]
fn the_same_model_is_told_apart_from_another() {
    // It asks Ollama: the options for openai are nobody's.
    let config = right(BASE);
    for (keys, same_model, same_adapter) in [
        (json!({}), true, true),
        (json!({"temperature": 0, "max_output_tokens": 64}), true, true),
        (json!({"parallel_requests": 2, "price": {"input_per_million": 1, "output_per_million": 2}}), true, true),
        (json!({"provider_options": {"openai": {"effort": "low"}}}), true, true),
        (json!({"provider_options": {"ollama": {}}}), true, true),
        (json!({"timeout_ms": 9}), true, false),
        (json!({"retry": {"max_attempts": 1}}), true, false),
        (json!({"allow_insecure": true}), true, false),
        (json!({"name": "small"}), false, true),
        (json!({"provider_options": {"ollama": {"num_gpu": 1}}}), false, false),
        (json!({"provider": "openai"}), false, false),
        (json!({"base_url": "https://a.example/v2"}), false, false),
        (json!({"api_key_env": "KEY_B"}), false, false),
        (json!({"context_window": 4096}), false, false),
    ] {
        let profile = ModelProfile::from_json(&keys, "x").expect("profile");
        let (base, model) = (&config.model, config.model_for(Some(&profile)).expect("model"));
        let found = (base.same_model_as(&model), base.same_adapter_as(&model));
        assert_eq!(found, (same_model, same_adapter), "{keys}");
        assert_eq!((model.same_model_as(base), model.same_adapter_as(base)), found, "{keys}");
    }
    let packaged = Config::default();
    let summaries = packaged.model_for(packaged.compact.model_profile.as_ref()).expect("model");
    assert!(summaries.same_model_as(&packaged.model), "the packaged profile only draws answers differently");
}

/// CFG-4: a price is one thing; the cache price of one model says nothing about another.
#[test]
fn prices_do_not_mix() {
    let config = right(
        "[model.price]\ninput_per_million = 1\noutput_per_million = 2\ncache_read_per_million = 0.1\n[model_overrides.x.price]\ninput_per_million = 5\noutput_per_million = 6\n",
    );
    let price = config.model_for(Some(&named("x"))).expect("model").price.expect("price");
    assert_eq!((price.input_per_million, price.cache_read_per_million), (5.0, None));
}

#[test]
fn profiles_that_are_not_there_are_errors() {
    wrong(
        "[compact]\nmodel_profile = \"compact\"\n",
        &[
            "2:17 compact.model_profile: there is no [model_overrides.compact]; expected the name of a [model_overrides.NAME]; leave the key out to use [model] unchanged",
        ],
    );
    for (section, key) in
        [("compact", "model_profile"), ("memory", "extract_model_profile"), ("memory", "recall_model_profile")]
    {
        let found = problems(&format!("[model_overrides.small]\nname = \"s\"\n[{section}]\n{key} = \"smal\"\n"));
        assert_eq!(found.len(), 1, "{found:?}");
        let said = format!("{section}.{key}: there is no [model_overrides.smal]; expected the name of");
        assert!(found[0].contains(&said) && found[0].ends_with("such as \"small\""), "{found:?}");
    }
    let config = right("[model_overrides.small]\nname = \"s\"\n");
    let error = config.model_for(Some(&named("smal"))).expect_err("unknown");
    assert_eq!(error.to_string(), "there is no [model_overrides.smal]; the nearest known name is `small`");
    assert!(matches!(error, ProfileError::Unknown { .. }));
}

#[test]
fn profiles_are_checked_like_the_model() {
    wrong(
        "[model_overrides.x]\ncontext_window = 3\nname = 4\n[memory]\nextract_model_profile = { nmae = \"x\" }\nrecall_model_profile = 7\n",
        &[
            "2:18 model_overrides.x.context_window: expected a whole number of tokens from 1024 to 10000000, found the number 3",
            "3:8 model_overrides.x.name: expected a string that is not empty and has no control characters, found the number 4",
            "5:27 memory.extract_model_profile.nmae: unknown key; the nearest known key is `memory.extract_model_profile.name`",
            "6:24 memory.recall_model_profile: expected the name of a [model_overrides.NAME], or a table of any keys of [model], found the number 7",
        ],
    );
    let error =
        ModelProfile::from_json(&json!({"temperature": 9, "nam": "x"}), "agents/x.md").expect_err("two problems");
    assert_eq!((error.file(), error.problems().len()), ("agents/x.md", 2));
    assert!(error.problems().iter().all(|problem| problem.position.is_none()));
}

/// PRV-17 and the key of another server: what a profile inherits can be what makes it dangerous.
#[test]
fn a_profile_cannot_take_the_key_elsewhere_unsaid() {
    let with = |keys: &str| format!("{BASE}\n[model_overrides.x]\n{keys}\n");
    let astray = |text: &str| {
        problems(text).iter().any(|line| line.contains("the key of [model] (KEY_A) would be sent to that server"))
    };
    assert!(astray(&with("base_url = \"https://b.example/v1\"")));
    assert!(astray(&with("base_url = \"http://127.0.0.1:11434\"")));
    for keys in [
        "base_url = \"https://a.example/v2\"",
        "base_url = \"https://b.example/v1\"\napi_key_env = \"KEY_B\"",
        "base_url = \"https://b.example/v1\"\napi_key_env = \"KEY_A\"",
        "base_url = \"http://10.0.0.5\"\napi_key_env = \"\"",
    ] {
        right(&with(keys));
    }
    wrong(
        &with("base_url = \"http://10.0.0.5\"\napi_key_env = \"KEY_B\""),
        &[
            "13:12 model_overrides.x.base_url: the key in KEY_B would travel unencrypted to http://10.0.0.5; expected https, a server on this machine, or allow_insecure = true",
        ],
    );
    let config = right(BASE);
    let inline = ModelProfile::from_json(&json!({"base_url": "https://b.example"}), "x").expect("fine by itself");
    assert!(matches!(config.model_for(Some(&inline)), Err(ProfileError::Invalid(_))));
}

/// What [model] itself breaks is said once, not once for each profile; what a profile breaks besides is said too.
#[test]
fn faults_of_the_model_are_not_repeated() {
    let base = "[model]\nbase_url = \"http://10.0.0.5\"\napi_key_env = \"KEY\"\nretry.max_backoff_ms = 1\n";
    let text = format!("{base}[model_overrides.a]\nname = \"a\"\n[model_overrides.b]\nname = \"b\"\n");
    assert_eq!(problems(&text).len(), 2, "{:?}", problems(&text));
    let text = format!("{base}[model_overrides.a]\nx = 1\napi_key_env = \"OTHER\"\nretry.max_backoff_ms = 2\n");
    let found = problems(&text);
    let own: Vec<_> = found.iter().filter(|line| line.contains(" model_overrides.a")).collect();
    assert_eq!((found.len(), own.len()), (5, 3), "{found:?}");
}
