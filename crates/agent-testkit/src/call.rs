//! A tool call a model makes.

use serde_json::Value;

/// A tool call in a [`Reply`](crate::Reply).
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Call {
    /// Canonical: the server finds the wire name among the request's tools.
    pub(crate) name: String,
    pub(crate) arguments: Arguments,
    pub(crate) id: CallId,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Arguments {
    Json(Value),
    /// Text a model wrote that need not be JSON at all.
    Raw(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CallId {
    /// Unique within the server.
    Generated,
    Given(String),
    Absent,
}

impl Call {
    /// A call of a tool by its canonical name (`code.read_file`), with an id the server makes up.
    pub fn new(name: impl Into<String>, arguments: Value) -> Self {
        Self { name: name.into(), arguments: Arguments::Json(arguments), id: CallId::Generated }
    }

    /// A call whose arguments are this text, JSON or not.
    ///
    /// OpenAI and Anthropic carry it verbatim. Ollama's arguments are a JSON value, so there text that parses is sent as that value and
    /// other text as a JSON string.
    pub fn raw(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { name: name.into(), arguments: Arguments::Raw(arguments.into()), id: CallId::Generated }
    }

    /// Sets the id, which need not be unique or legal.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = CallId::Given(id.into());
        self
    }

    /// Sends no id at all, as older Ollama servers do.
    pub fn no_id(mut self) -> Self {
        self.id = CallId::Absent;
        self
    }

    /// The arguments as the string that OpenAI and Anthropic stream.
    pub(crate) fn arguments_text(&self) -> String {
        match &self.arguments {
            Arguments::Json(value) => value.to_string(),
            Arguments::Raw(text) => text.clone(),
        }
    }

    /// The arguments as Ollama's value.
    pub(crate) fn arguments_value(&self) -> Value {
        match &self.arguments {
            Arguments::Json(value) => value.clone(),
            Arguments::Raw(text) => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone())),
        }
    }

    /// The id on the wire; `request` and `place` make a generated one unique.
    pub(crate) fn wire_id(&self, request: usize, place: usize) -> Option<String> {
        match &self.id {
            CallId::Generated => Some(format!("call_{request:05}{place:03}")),
            CallId::Given(id) => Some(id.clone()),
            CallId::Absent => None,
        }
    }
}
