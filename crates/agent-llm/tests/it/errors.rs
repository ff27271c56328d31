//! What the user is told.

use agent_llm::KeySource;
use agent_protocol::{ErrorCode, ModelFault};

use crate::ask::{adapter, build, events, failed, request, settings};
use crate::raw::{Answer, RawServer, begun, chunked, whole};

fn ollama_says(status: u16, body: &str) -> Answer {
    Answer::Keep(whole(status, "Content-Type: application/json\r\n", body.as_bytes()))
}

/// The message of a request to Ollama that is answered so.
async fn message(answers: impl IntoIterator<Item = Answer>) -> (ErrorCode, String, Vec<String>) {
    let server = RawServer::start(answers).await;
    let all = events(&*adapter("ollama", &server.url()), request()).await;
    let (fault, error, partial) = failed(&all);
    assert_eq!((fault, partial), (ModelFault::Fatal, None));
    let paths = server.requests().iter().map(|request| request.lines().next().unwrap().to_owned()).collect();
    (error.code, error.message.replace(&server.url(), "URL"), paths)
}

const NOT_FOUND: &str = r#"{"error":"model 'gemma4' not found"}"#;

/// PRV-19: a model that is not there says what is.
#[tokio::test]
async fn a_model_that_is_not_pulled() {
    let tags = r#"{"models":[{"name":"llama3.2:latest","size":1},{"name":"qwen3:8b"}]}"#;
    let (code, text, paths) = message([ollama_says(404, NOT_FOUND), ollama_says(200, tags)]).await;
    assert_eq!(code, ErrorCode::ProviderError);
    assert_eq!(
        text,
        "ollama at URL has no model gemma4 (HTTP 404): model 'gemma4' not found. Ollama is up, but gemma4 is not pulled; \
         you have llama3.2:latest, qwen3:8b. Pull it with `ollama pull gemma4`."
    );
    assert_eq!(paths, ["POST /api/chat HTTP/1.1", "GET /api/tags HTTP/1.1"]);

    let (_, text, _) = message([ollama_says(404, NOT_FOUND), ollama_says(200, r#"{"models":[]}"#)]).await;
    assert!(
        text.ends_with("gemma4 is not pulled; you have no models yet. Pull it with `ollama pull gemma4`."),
        "{text}"
    );
    // What cannot be found out takes nothing from the message.
    for useless in [ollama_says(500, "x"), ollama_says(200, "<html>"), Answer::Close(vec![])] {
        let (_, text, _) = message([ollama_says(404, NOT_FOUND), useless]).await;
        assert!(text.ends_with("model 'gemma4' not found. Pull it with `ollama pull gemma4`."), "{text}");
    }
}

/// PRV-19: an address that does not exist says where the request went, and what base_url must be.
#[tokio::test]
async fn a_wrong_address() {
    let (code, text, _) = message([ollama_says(404, "404 page not found")]).await;
    assert_eq!(code, ErrorCode::ProviderError);
    assert_eq!(
        text,
        "ollama at URL does not know the address of the request (HTTP 404): 404 page not found. It was sent to URL/api/chat: \
         model.base_url must be what stands before /api/chat."
    );
}

/// PRV-3: a model that cannot take tools fails the run, naming provider, model and feature, and the models that can.
#[tokio::test]
async fn a_model_without_tools() {
    let refused = r#"{"error":"registry.ollama.ai/library/gemma4:latest does not support tools"}"#;
    let tags = r#"{"models":[{"name":"a"},{"name":"b"},{"name":"c"}]}"#;
    let able = r#"{"capabilities":["completion","tools"]}"#;
    let (code, text, paths) = message([
        ollama_says(400, refused),
        ollama_says(200, tags),
        ollama_says(200, able),
        ollama_says(200, r#"{"capabilities":["completion"]}"#),
        ollama_says(200, able),
    ])
    .await;
    assert_eq!(code, ErrorCode::UnsupportedCapability);
    assert_eq!(
        text,
        "ollama cannot do what the request for gemma4 needs (HTTP 400): registry.ollama.ai/library/gemma4:latest does not \
         support tools. Of the models you have pulled, these take tools: a, c."
    );
    assert_eq!(paths.len(), 5);
    let (_, text, _) = message([ollama_says(400, refused), ollama_says(500, "")]).await;
    assert!(text.ends_with("does not support tools"), "{text}");
}

/// PRV-19, for servers of OpenAI's kind.
#[tokio::test]
async fn a_model_openai_does_not_know() {
    let refused = r#"{"error":{"message":"The model `gemma4` does not exist","code":"model_not_found","type":"invalid_request_error"}}"#;
    let server = RawServer::start([
        ollama_says(404, refused),
        ollama_says(200, r#"{"object":"list","data":[{"id":"gemma-4-it"},{"id":"qwen3"}]}"#),
    ])
    .await;
    let all = events(&*adapter("openai", &format!("{}/v1", server.url())), request()).await;
    let message = &failed(&all).1.message;
    assert!(message.ends_with("The model `gemma4` does not exist. The server has gemma-4-it, qwen3."), "{message}");
    assert!(server.requests()[1].starts_with("GET /v1/models "));
}

/// The text of the Authorization header.
fn authorization(request: &str) -> String {
    let line = request.lines().find(|line| line.to_lowercase().starts_with("authorization:")).unwrap_or_default();
    line.to_owned()
}

/// PRV-18: a server that echoes the Authorization header tells nobody: not in errors before the reply, nor inside it, nor
/// in retries.
#[tokio::test]
async fn keys_do_not_come_back() {
    const KEY: &str = "sk-very-secret/123";
    let echoes: [fn(&str) -> Vec<u8>; 5] = [
        |request| whole(401, "", format!("{{\"error\":\"bad key in {}\"}}", authorization(request)).as_bytes()),
        |request| whole(500, "", format!("<html><b>{}</b></html>", authorization(request)).as_bytes()),
        |request| chunked(&format!("data: {{\"error\":{{\"message\":\"{}\"}}}}\n\n", authorization(request))),
        |request| chunked(&format!("data: {{\"choices\":[{}]}}\n\n", authorization(request))),
        |request| begun(&format!("data: {{not json {}}}\n\n", authorization(request))),
    ];
    for echo in echoes {
        let server = RawServer::start((0..9).map(|_| Answer::Echo(echo))).await;
        let mut settings = settings(&server.url());
        settings.api_key = Some(KeySource::new("K", "w", "n", || Some(KEY.to_owned())));
        let all = events(&*build("openai", settings), request()).await;
        assert!(authorization(&server.requests()[0]).contains(KEY), "the key was sent");
        let shown = format!("{all:?}");
        assert!(!shown.contains(KEY) && !shown.contains("very-secret"), "{shown}");
        assert!(shown.contains("[redacted]") && failed(&all).1.redacted, "{shown}");
    }
}

/// PRV-10: a refused key says where it came from, a missing one where to name it.
#[tokio::test]
async fn refused_keys() {
    for (key, hint) in [
        (
            Some("sk-1"),
            "openai at URL refused the key (HTTP 401): no. The key is read from MY_KEY, which model.api_key_env names.",
        ),
        (
            None,
            "openai at URL refused the key (HTTP 401): no. No key was sent; name the variable that holds one in model.api_key_env.",
        ),
    ] {
        let server = RawServer::start([ollama_says(401, r#"{"error":"no"}"#)]).await;
        let mut settings = settings(&server.url());
        settings.api_key =
            key.map(|key| KeySource::new("MY_KEY", "w", "model.api_key_env", move || Some(key.to_owned())));
        let all = events(&*build("openai", settings), request()).await;
        let (_, error, _) = failed(&all);
        assert_eq!(
            (error.code, error.message.replace(&server.url(), "URL").as_str()),
            (ErrorCode::ProviderAuthFailed, hint)
        );
    }
}

/// CFG-3, PRV-17: settings that cannot be right are refused before anything is sent.
#[tokio::test]
async fn impossible_settings() {
    let registry = agent_llm::ProviderRegistry::with_builtin();
    let mut insecure = settings("http://192.0.2.1/v1");
    insecure.api_key = Some(KeySource::new("K", "w", "n", || None));
    let mut odd = settings("http://127.0.0.1:1");
    odd.provider_options.insert("keep_alives".into(), 1.into());
    for (provider, settings) in [("openai", insecure), ("ollama", odd), ("ollama", settings("not a url"))] {
        let error = registry.build(provider, settings).err().unwrap();
        assert_eq!(error.payload().code, ErrorCode::ConfigError, "{error}");
    }
}

const LISTED: &str = r#"{"object":"list","data":[{"id":"gemma4","object":"model"}]}"#;

/// FND-72: an address without `/v1` is not asked again and again: the server is asked whether it is one step further down, and the
/// user is told.
#[tokio::test]
async fn a_base_url_without_v1() {
    let json = |status, body: &str| Answer::Keep(whole(status, "Content-Type: application/json\r\n", body.as_bytes()));
    for (status, body) in [
        (200, r#"{"error":"Unexpected endpoint or method. (POST /chat/completions)"}"#),
        (200, r#"{"error":"no such thing"}"#),
        (200, r#"{"detail":"Not Found"}"#),
        (404, r#"{"detail":"Not Found"}"#),
        (404, "404 page not found"),
        (405, ""),
    ] {
        for slash in ["", "/"] {
            let server = RawServer::start([json(status, body), json(200, LISTED)]).await;
            let url = server.url();
            let all = events(&*adapter("openai", &format!("{url}{slash}")), request()).await;
            let (fault, error, _) = failed(&all);
            assert_eq!((all.len(), fault), (1, ModelFault::Fatal), "{body}: {all:?}");
            assert!(
                error.message.ends_with(&format!("The server is at {url}/v1: set base_url to that.")),
                "{}",
                error.message
            );
            assert_eq!(error.details["kind"], "endpoint_not_found");
            let paths: Vec<String> = server.requests().iter().map(|r| r.lines().next().unwrap().to_owned()).collect();
            assert_eq!(paths, ["POST /chat/completions HTTP/1.1", "GET /v1/models HTTP/1.1"]);
        }
    }
    // It is not there either: then it is only likely.
    let server = RawServer::start([json(404, "404 page not found"), json(404, "404 page not found")]).await;
    let all = events(&*adapter("openai", &server.url()), request()).await;
    let (_, error, _) = failed(&all);
    assert!(error.message.ends_with(&format!("With most servers that is {}/v1.", server.url())), "{}", error.message);
    // With a path the address is what the user wanted, and an error that may pass is asked again.
    let server =
        RawServer::start([json(200, r#"{"error":"no such thing"}"#), json(200, r#"{"error":"no such thing"}"#)]).await;
    let all = events(&*adapter("openai", &format!("{}/v1", server.url())), request()).await;
    assert!(server.requests().iter().all(|request| request.starts_with("POST ")) && all.len() > 1, "{all:?}");
}
