//! A view of a call while it runs.

use agent_protocol::Object;
use tokio::sync::watch;

/// Shows the latest state of a call. Holds one view only, so a slow or absent reader costs nothing and holds nobody.
#[derive(Debug, Clone)]
pub struct ProgressSink(watch::Sender<Object>);

impl ProgressSink {
    /// A sink and the place to watch it. The receiver sees the channel closed when the call is over.
    #[must_use]
    pub fn channel() -> (Self, watch::Receiver<Object>) {
        let (sender, receiver) = watch::channel(Object::new());
        (Self(sender), receiver)
    }

    /// A sink nobody looks at.
    #[must_use]
    pub fn ignored() -> Self {
        Self::channel().0
    }

    /// Replaces the view.
    pub fn show(&self, view: Object) {
        self.0.send_replace(view);
    }

    /// Whether anybody looks; if not, making a view is wasted.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        !self.0.is_closed()
    }
}
