//! Asks Ollama what it has, when it has not what was asked for (PRV-19, PRV-3).

use bytes::Bytes;
use serde::Deserialize;

use crate::dialect::Ask;
use crate::http::{Call, Method};
use crate::json::ObjectWriter;
use crate::{ProviderError, Refusal, RefusalKind};

/// Longest list of models that is read, in bytes.
const LIST_BYTES: usize = 1 << 20;
/// Most models that are named.
const MOST_NAMES: usize = 12;
/// Most models that are asked for what they can do.
const MOST_ASKED: usize = 8;

#[derive(Deserialize)]
struct Tags {
    #[serde(default)]
    models: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
}

#[derive(Deserialize)]
struct Shown {
    #[serde(default)]
    capabilities: Vec<String>,
}

/// Adds to a refusal what the user can do about it.
pub(super) async fn explain(error: ProviderError, ask: Ask<'_>) -> ProviderError {
    let ProviderError::Refusal(mut refusal) = error else { return error };
    match refusal.kind {
        RefusalKind::ModelNotFound => refusal.hint = Some(not_pulled(ask).await),
        RefusalKind::Unsupported if speaks_of_tools(&refusal) => {
            refusal.hint = with_tools(ask).await;
        }
        RefusalKind::Unsupported if refusal.words.to_ascii_lowercase().contains("support thinking") => {
            refusal.hint = Some("Leave think out of model.provider_options.ollama, or set it to false.".to_owned());
        }
        _ => {}
    }
    ProviderError::Refusal(refusal)
}

fn speaks_of_tools(refusal: &Refusal) -> bool {
    refusal.words.to_ascii_lowercase().contains("support tools")
}

async fn not_pulled(ask: Ask<'_>) -> String {
    let model = ask.model;
    let have = match models(ask).await {
        None => return format!("Pull it with `ollama pull {model}`."),
        Some(names) if names.is_empty() => "you have no models yet".to_owned(),
        Some(names) => format!("you have {}", list(&names)),
    };
    format!("Ollama is up, but {model} is not pulled; {have}. Pull it with `ollama pull {model}`.")
}

/// Which of the user's models can take tools; none if that cannot be found out.
async fn with_tools(ask: Ask<'_>) -> Option<String> {
    let names = models(ask).await?;
    let mut able = Vec::new();
    for name in names.into_iter().take(MOST_ASKED) {
        let mut body = String::new();
        let mut object = ObjectWriter::open(&mut body);
        object.string("model", &name);
        object.close();
        let shown: Shown = fetch(ask, Method::Post, "api/show", Bytes::from(body)).await?;
        if shown.capabilities.iter().any(|capability| capability == "tools") {
            able.push(name);
        }
    }
    Some(match able.as_slice() {
        [] => "None of the models you have pulled takes tools.".to_owned(),
        able => format!("Of the models you have pulled, these take tools: {}.", list(able)),
    })
}

async fn models(ask: Ask<'_>) -> Option<Vec<String>> {
    let tags: Tags = fetch(ask, Method::Get, "api/tags", Bytes::new()).await?;
    Some(tags.models.into_iter().map(|tag| tag.name).collect())
}

async fn fetch<T: serde::de::DeserializeOwned>(
    ask: Ask<'_>,
    method: Method,
    path: &'static str,
    body: Bytes,
) -> Option<T> {
    let call = Call { method, path, headers: ask.headers.clone(), body };
    serde_json::from_slice(&ask.body(call, LIST_BYTES).await?).ok()
}

fn list(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(MOST_NAMES).map(String::as_str).collect();
    match names.len().saturating_sub(MOST_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
