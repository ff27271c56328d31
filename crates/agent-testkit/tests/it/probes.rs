//! Everything but model answers.

use agent_testkit::{Model, ScriptedServer};
use serde_json::{Value, json};

use crate::client::{send, whole};

async fn ask(server: &ScriptedServer, method: &str, path: &str, body: &str) -> (u16, Value) {
    let (status, text) = whole(send(server, method, path, body.to_owned()).await.unwrap()).await;
    (status, serde_json::from_str(&text).unwrap_or(json!(text)))
}

#[tokio::test]
async fn clients_can_look_around() {
    let models = [Model::new("scripted"), Model::new("tiny:1b").capabilities(["completion"]).context_length(4096)];
    let server = ScriptedServer::builder().models(models).start().await;

    assert_eq!(ask(&server, "GET", "/", "").await, (200, json!("Ollama is running")));
    assert_eq!(ask(&server, "HEAD", "/", "").await, (200, json!("")));
    assert_eq!(ask(&server, "GET", "/health", "").await, (200, json!({"status": "ok"})));
    assert_eq!(ask(&server, "GET", "/api/version", "").await, (200, json!({"version": "0.13.0"})));

    let (status, tags) = ask(&server, "GET", "/api/tags", "").await;
    let names: Vec<&str> = tags["models"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    assert_eq!((status, names), (200, vec!["scripted:latest", "tiny:1b"]));

    let (status, list) = ask(&server, "GET", "/v1/models", "").await;
    let ids: Vec<&str> = list["data"].as_array().unwrap().iter().map(|m| m["id"].as_str().unwrap()).collect();
    assert_eq!((status, ids), (200, vec!["scripted", "tiny:1b"]));

    let (status, show) = ask(&server, "POST", "/api/show", "{\"model\":\"tiny:1b\"}").await;
    assert_eq!((status, &show["capabilities"]), (200, &json!(["completion"])));
    assert_eq!(show["model_info"]["scripted.context_length"], 4096);
    let (_, show) = ask(&server, "POST", "/api/show", "{\"name\":\"scripted:latest\"}").await;
    assert_eq!(show["capabilities"], json!(["completion", "tools"]));

    let paths: Vec<String> =
        server.probes().into_iter().map(|probe| format!("{} {}", probe.method, probe.path)).collect();
    assert_eq!(paths.len(), 8);
    assert_eq!(paths[7], "POST /api/show");
    assert_eq!(server.request_count(), 0);
}

#[tokio::test]
async fn what_is_not_there_is_refused() {
    let server = ScriptedServer::start().await;
    let cases = [
        ("POST", "/api/show", "{\"model\":\"x\"}", 404, json!({"error": "model 'x' not found"})),
        ("POST", "/api/show", "{}", 400, json!({"error": "model is required"})),
        ("GET", "/api/show", "", 405, json!({"error": "method not allowed"})),
        ("GET", "/api/chat", "", 405, json!({"error": "method not allowed"})),
        ("POST", "/v1/responses", "{}", 404, json!("404 page not found")),
        ("GET", "/chat/completions", "", 404, json!("404 page not found")),
    ];
    for (method, path, body, status, expected) in cases {
        assert_eq!(ask(&server, method, path, body).await, (status, expected), "{method} {path}");
    }
}
