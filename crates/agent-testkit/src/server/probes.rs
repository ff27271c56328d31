//! What clients ask besides model answers.

use bytes::Bytes;
use hyper::Method;
use hyper::http::request::Parts;
use serde_json::{Value, json};

use crate::model::Model;
use crate::reply::Fault;
use crate::{Protocol, wire};

const VERSION: &str = "0.13.0";

/// Status and body; text stands for a body that is no JSON.
pub(super) fn answer(head: &Parts, raw: &Bytes, models: &[Model]) -> (u16, Value) {
    let get = matches!(head.method, Method::GET | Method::HEAD);
    match head.uri.path() {
        "/" if get => (200, json!("Ollama is running")),
        "/health" if get => (200, json!({"status": "ok"})),
        "/api/version" if get => (200, json!({"version": VERSION})),
        "/api/tags" if get => (200, json!({"models": models.iter().map(Model::tag).collect::<Vec<_>>()})),
        "/v1/models" if get => {
            (200, json!({"object": "list", "data": models.iter().map(Model::entry).collect::<Vec<_>>()}))
        }
        "/api/show" if head.method == Method::POST => show(raw, models),
        "/" | "/health" | "/api/version" | "/api/tags" | "/v1/models" | "/api/show" => {
            (405, json!({"error": "method not allowed"}))
        }
        _ => (404, json!("404 page not found")),
    }
}

fn show(raw: &Bytes, models: &[Model]) -> (u16, Value) {
    let request: Value = match serde_json::from_slice(raw) {
        Ok(request) => request,
        Err(e) => return (400, json!({"error": e.to_string()})),
    };
    // `name` is the older spelling.
    let Some(name) = request["model"].as_str().or(request["name"].as_str()).filter(|name| !name.is_empty()) else {
        return (400, json!({"error": "model is required"}));
    };
    match models.iter().find(|model| model.is(name)) {
        Some(model) => (200, model.show()),
        None => wire::fault(Protocol::Ollama, &Fault::ModelMissing(name.to_owned())),
    }
}
