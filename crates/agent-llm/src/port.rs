//! What the rest of the house sees of a provider.

use agent_protocol::{ModelEvent, ModelRequest};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use tokio_util::sync::CancellationToken;

use crate::ProviderError;

/// The events of one request. Ends after exactly one `Completed` or `Failed`.
///
/// It does its work while it is polled, inside a tokio runtime with time and I/O enabled, and holds only a few events: a
/// consumer that stops polling stops the reading. Dropping it closes the connection.
pub type ModelStream = BoxStream<'static, ModelEvent>;

/// A model server, asked through one path only (PRV-1).
pub trait ProviderAdapter: Send + Sync {
    /// The key it is registered under, such as `ollama`.
    fn key(&self) -> &str;

    /// Asks the model. Nothing is sent before the stream is polled.
    ///
    /// When `cancel` fires, the connection is closed and the stream ends with `Failed` and the fault
    /// [`Aborted`](agent_protocol::ModelFault::Aborted). A failure before anything of the reply arrived, of which the
    /// adapter has already used up its own attempts, is `Fatal`; after that a failure worth another request is
    /// `Retryable` (PRV-7, RUN-23).
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream;

    /// Asks the server for something that costs it nothing, without a key, and waits for the head of the answer: the status of
    /// HTTP. `None`: this adapter knows nothing of the kind.
    fn reach(&self) -> BoxFuture<'_, Option<Result<u16, ProviderError>>> {
        std::future::ready(None).boxed()
    }

    /// Ends all streams of this adapter as aborted and takes no more requests. Calling it again does nothing.
    fn close(&self) -> BoxFuture<'_, ()>;
}
