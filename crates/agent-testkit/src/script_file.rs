//! Scripts as JSON.

use entries::{After, Format, Select};

use crate::model::Model;
use crate::reply::Reply;
use crate::server::{ScriptedServer, ServerBuilder};

mod entries;
mod error;
#[cfg(test)]
mod tests;

pub use error::ScriptError;

/// A script read from JSON, as the command `scripted-server` serves it.
///
/// ```json
/// {
///   "models": [{"name": "scripted", "capabilities": ["completion", "tools"], "context_length": 131072}],
///   "select": "arrival",
///   "after": "stop",
///   "replies": [
///     {"message": {"text": "Let me look.", "calls": [{"name": "code.read_file", "arguments": {"path": "a.txt"}}]}},
///     {"message": {"text": "It says hello.", "chunks": 3, "usage": {"input": 210, "output": 17}}},
///     {"error": {"status": 429, "message": "slow down", "delivery": {"headers": {"retry-after": "1"}}}},
///     {"flood": {"count": 20000, "delta": "word "}},
///     "hang"
///   ]
/// }
/// ```
///
/// - `models` may be left out: one model named `scripted`. So may a model's other fields.
/// - `select`: `arrival` takes the replies in the order of the requests; `turn` takes the one at the number of assistant
///   messages in the request, so that any number of sessions can share the script.
/// - `after`, when there are no more replies: `stop` refuses, `last` repeats the last one, `cycle` begins again.
/// - A reply is one of
///   - `message`: `text`, `thinking`, `calls` (each `name` and either `arguments` or `raw_arguments`, a text; `id` if it is
///     not to be made up), `usage` (`input`, `output`), `stop` (`end`, `length`, `filter` or the server's own word), `chunks`,
///     `end` (`marker`, `missing`, `dropped`, or `{"error": "text"}`);
///   - `flood`: `count` text deltas, each `delta`;
///   - `error`: `status` and `message` in the protocol's shape; `status`: `status` and `body` as given;
///   - `context_overflow`: `requested` and `limit` in tokens;
///   - `raw`: `body` and `content_type`, status 200;
///   - `"hang"`, `"hang_up"`.
/// - All but the last two take `delivery`: `headers`, `cut_after`, `stall_after` and `pieces_of`, in bytes of the body.
#[derive(Clone, Debug)]
pub struct ScriptFile {
    models: Vec<Model>,
    select: Select,
    after: After,
    replies: Vec<Reply>,
}

impl ScriptFile {
    /// Reads a script.
    ///
    /// # Errors
    /// Where it is not in the format.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let format: Format = serde_json::from_str(text)?;
        let replies: Vec<Reply> =
            format.replies.into_iter().enumerate().map(|(at, entry)| entry.reply(at)).collect::<Result<_, _>>()?;
        if replies.is_empty() {
            return Err(ScriptError::NoReplies);
        }
        let models = format.models.into_iter().map(entries::ModelEntry::model).collect();
        Ok(Self { models, select: format.select, after: format.after, replies })
    }

    /// A server that has the script's models, still without its replies.
    pub fn builder(&self) -> ServerBuilder {
        ScriptedServer::builder().models(self.models.iter().cloned())
    }

    /// Lets a server answer from this script.
    pub fn install(self, server: &ScriptedServer) {
        server.respond_with(move |request, answered| {
            self.reply(match self.select {
                Select::Arrival => answered,
                Select::Turn => request.turn(),
            })
        });
    }

    fn reply(&self, number: usize) -> Reply {
        let count = self.replies.len();
        let place = match self.after {
            After::Stop => number,
            After::Last => number.min(count - 1),
            After::Cycle => number % count,
        };
        let end = || Reply::error(400, format!("the script ends after {count} replies"));
        self.replies.get(place).cloned().unwrap_or_else(end)
    }
}
