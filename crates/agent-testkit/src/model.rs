//! The models a server claims to have.

use serde_json::{Value, json};

/// A model on offer.
#[derive(Clone, Debug)]
#[must_use]
pub struct Model {
    pub(crate) name: String,
    pub(crate) capabilities: Vec<String>,
    pub(crate) context_length: u64,
}

impl Model {
    /// A model that completes and takes tools, with a window of 131,072 tokens.
    pub fn new(name: impl Into<String>) -> Self {
        let capabilities = ["completion", "tools"].map(str::to_owned).to_vec();
        Self { name: name.into(), capabilities, context_length: 131_072 }
    }

    /// Sets what it can do, in Ollama's words: `completion`, `tools`, `thinking`, `vision`. Without `tools`, requests with
    /// tools are refused as a real server does.
    pub fn capabilities<S: Into<String>>(mut self, capabilities: impl IntoIterator<Item = S>) -> Self {
        self.capabilities = capabilities.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the trained context length, in tokens.
    pub fn context_length(mut self, tokens: u64) -> Self {
        self.context_length = tokens;
        self
    }

    pub(crate) fn can(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|c| c == capability)
    }

    /// Whether a request for `name` means this model; a missing tag is `latest`, as in Ollama.
    pub(crate) fn is(&self, name: &str) -> bool {
        full_name(&self.name) == full_name(name)
    }

    /// An entry of `GET /api/tags`.
    pub(crate) fn tag(&self) -> Value {
        let name = full_name(&self.name);
        json!({
            "name": name,
            "model": name,
            "modified_at": "2026-01-01T00:00:00Z",
            "size": 1,
            "digest": "0".repeat(64),
            "details": self.details(),
        })
    }

    /// The answer of `POST /api/show`.
    pub(crate) fn show(&self) -> Value {
        json!({
            "modelfile": "",
            "parameters": "",
            "template": "",
            "details": self.details(),
            "model_info": {"general.architecture": "scripted", "scripted.context_length": self.context_length},
            "capabilities": self.capabilities,
            "modified_at": "2026-01-01T00:00:00Z",
        })
    }

    /// An entry of `GET /v1/models`.
    pub(crate) fn entry(&self) -> Value {
        json!({"id": self.name, "object": "model", "created": 1_767_225_600, "owned_by": "library"})
    }

    fn details(&self) -> Value {
        json!({"format": "gguf", "family": "scripted", "families": ["scripted"], "parameter_size": "1B", "quantization_level": "Q4_0"})
    }
}

fn full_name(name: &str) -> String {
    if name.contains(':') { name.to_owned() } else { format!("{name}:latest") }
}
