//! Asks a server which models it has, when it has not the one that was asked for (PRV-19). OpenAI's list and Anthropic's have
//! in common what is read here.

use bytes::Bytes;
use serde::Deserialize;

use crate::dialect::Ask;
use crate::http::{Call, Method};
use crate::options::nearest;
use crate::{ProviderError, RefusalKind};

/// Longest list of models that is read, in bytes. Some gateways have hundreds.
pub(crate) const LIST_BYTES: usize = 4 << 20;
/// Most models that are named.
const MOST_NAMES: usize = 8;

#[derive(Deserialize)]
struct Models {
    #[serde(default)]
    data: Vec<Model>,
}

#[derive(Deserialize)]
struct Model {
    id: String,
}

/// Adds the names of the models there are, as the list at `path` has them.
pub(crate) async fn explain(error: ProviderError, ask: Ask<'_>, path: &'static str) -> ProviderError {
    let ProviderError::Refusal(mut refusal) = error else { return error };
    if refusal.kind == RefusalKind::ModelNotFound {
        let call = Call { method: Method::Get, path, headers: ask.headers.clone(), body: Bytes::new() };
        let body = ask.body(call, LIST_BYTES).await.unwrap_or_default();
        if let Ok(models) = serde_json::from_slice::<Models>(&body) {
            refusal.hint = hint(&models.data.iter().map(|model| model.id.as_str()).collect::<Vec<_>>(), ask.model);
        }
    }
    ProviderError::Refusal(refusal)
}

/// Whether this is a list of models.
pub(crate) fn is_list(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct List {
        #[serde(rename = "data")]
        _data: Vec<Model>,
    }
    serde_json::from_slice::<List>(body).is_ok()
}

fn hint(names: &[&str], asked: &str) -> Option<String> {
    let some = names.iter().take(MOST_NAMES).copied().collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(MOST_NAMES);
    match (names, nearest(asked, names)) {
        ([], _) => None,
        (_, Some(near)) if more > 0 => Some(format!("Did you mean {near}? The server has {} models.", names.len())),
        (_, None) if more > 0 => Some(format!("The server has {some} and {more} more.")),
        _ => Some(format!("The server has {some}.")),
    }
}
