//! An address without a path, where servers of this protocol have `/v1`: most answer such requests with an error of their own
//! making, some with status 200.

use bytes::Bytes;

use crate::dialect::Ask;
use crate::http::{Call, Method};
use crate::models::{LIST_BYTES, is_list};
use crate::{ProviderError, Refusal, RefusalKind};

/// Where the models are listed if the address lacks `/v1`.
const LIST: &str = "v1/models";

/// Whether a server may say this of an address that it does not have.
pub(super) fn is_doubtful(refusal: &Refusal) -> bool {
    match refusal.kind {
        RefusalKind::EndpointNotFound => true,
        // In words we do not know, before anything of a reply.
        RefusalKind::Unknown | RefusalKind::InvalidRequest => refusal.status.is_none(),
        _ => false,
    }
}

/// Asks whether the server is one step further down, and says so.
pub(super) async fn explain(error: ProviderError, ask: Ask<'_>) -> ProviderError {
    let ProviderError::Refusal(mut refusal) = error else { return error };
    if is_doubtful(&refusal) {
        let call = Call { method: Method::Get, path: LIST, headers: ask.headers.clone(), body: Bytes::new() };
        let listed = ask.body(call, LIST_BYTES).await.is_some_and(|body| is_list(&body));
        let address = format!("{}/v1", refusal.url);
        if listed {
            refusal.kind = RefusalKind::EndpointNotFound;
            refusal.hint = Some(format!("The server is at {address}: set base_url to that."));
        } else if refusal.kind == RefusalKind::EndpointNotFound {
            let hint = refusal.hint.take().map(|hint| format!("{hint} ")).unwrap_or_default();
            refusal.hint = Some(format!("{hint}With most servers that is {address}."));
        }
    }
    ProviderError::Refusal(refusal)
}
