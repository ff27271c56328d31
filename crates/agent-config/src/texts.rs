//! What strings of the configuration must look like.

use url::{Host, Url};

use crate::schema::{Refusal, Text};

/// Longest name or id, in bytes.
const LONGEST_NAME: usize = 128;

/// Any name a server or a person may choose.
pub(crate) const NAME: Text = Text {
    noun: "a string that is not empty and has no control characters",
    check: |text| shown(!text.trim().is_empty() && !text.chars().any(char::is_control)),
};

/// An id of ours: it becomes part of file names and of other ids.
pub(crate) const ID: Text =
    Text { noun: "a name of letters, digits, `-` and `_`, at most 128 of them", check: |text| shown(is_id(text)) };

/// The name of an environment variable.
pub(crate) const ENV_NAME: Text =
    Text { noun: "the name of an environment variable (letters, digits, `_`)", check: env_name };

/// The name of an environment variable that holds a key, or nothing for no key (CFG-3, CFG-9).
pub(crate) const KEY_ENV: Text = Text {
    noun: "the name of an environment variable that holds the key, or \"\" for no key",
    check: |text| if text.is_empty() { Ok(()) } else { env_name(text) },
};

/// The address of a model server.
pub(crate) const BASE_URL: Text =
    Text { noun: "an http:// or https:// address without user name, query or fragment", check: base_url };

/// A tool by its canonical name.
pub(crate) const TOOL: Text = Text { noun: "a tool's full name such as \"code.read_file\"", check: tool };

/// A tool of an MCP server.
pub(crate) const MCP_TOOL: Text =
    Text { noun: "an MCP tool's full name, \"mcp.SERVER.TOOL\"", check: |text| shown(is_mcp_tool(text)) };

/// A tool that is not an MCP server's.
pub(crate) const OWN_TOOL: Text = Text {
    noun: "a tool's full name such as \"code.read_file\" (for MCP tools use tools.mcp.tool_overrides)",
    check: |text| if text.starts_with("mcp.") { Err(Refusal::Shown) } else { tool(text) },
};

/// A host or domain, without anything around it.
pub(crate) const HOST: Text = Text {
    noun: "a bare host name or address such as \"api.example.com\", without scheme, port, path or `*`",
    check: |text| shown(is_host(text)),
};

/// A pattern of file names.
pub(crate) const PATTERN: Text = Text {
    noun: "a path or file name pattern that is not empty",
    check: |text| shown(!text.trim().is_empty() && !text.chars().any(char::is_control)),
};

/// The packaged plan templates: NAME stands for `template.plan.NAME`.
pub(crate) const PLAN_TEMPLATES: &[&str] = &["default"];

/// One of them (PLN-4).
pub(crate) const PLAN_TEMPLATE: Text = Text {
    noun: "the name of a packaged plan template; there is \"default\"",
    check: |text| shown(PLAN_TEMPLATES.contains(&text)),
};

/// A tag: free text, but short.
pub(crate) const TAG: Text = Text {
    noun: "a tag of 1 to 64 characters without control characters",
    check: |text| shown((1..=64).contains(&text.chars().count()) && !text.chars().any(char::is_control)),
};

fn shown(right: bool) -> Result<(), Refusal> {
    if right { Ok(()) } else { Err(Refusal::Shown) }
}

pub(crate) fn is_id(text: &str) -> bool {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(safe)
}

/// A misspelt name would switch nothing off, without a word. Who else has tools is not known here; of `code.` all are.
fn tool(text: &str) -> Result<(), Refusal> {
    const CODE_TOOLS: [&str; 6] =
        ["code.edit_file", "code.list_dir", "code.read_file", "code.run_command", "code.search", "code.write_file"];
    if !is_tool(text) {
        return Err(Refusal::Shown);
    }
    // Names are compared exactly where they count, so another case is a slip as well.
    let is_ours = text.get(..5).is_some_and(|prefix| prefix.eq_ignore_ascii_case("code."));
    if is_ours && !CODE_TOOLS.contains(&text) { Err(Refusal::NoneOf(&CODE_TOOLS)) } else { Ok(()) }
}

fn is_tool(text: &str) -> bool {
    is_mcp_tool(text)
        || (text.len() <= LONGEST_NAME && text.contains('.') && !text.starts_with("mcp.") && text.split('.').all(is_id))
}

/// Servers choose their tools' names, so only the frame is checked here (TOL-8).
fn is_mcp_tool(text: &str) -> bool {
    let named = |rest: &str| rest.split_once('.').is_some_and(|(server, tool)| !server.is_empty() && !tool.is_empty());
    text.strip_prefix("mcp.").is_some_and(named) && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

/// What is no variable name may well be the secret itself: it is never repeated.
fn env_name(text: &str) -> Result<(), Refusal> {
    let mut bytes = text.bytes();
    let starts = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let named = starts && text.len() <= LONGEST_NAME && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if named && !looks_like_a_key(text) {
        return Ok(());
    }
    Err(Refusal::Said("something else (not shown: it may be the secret itself)"))
}

/// Some keys are made of letters and digits only. Taken for a name, one would be repeated by "NAME is not set".
fn looks_like_a_key(text: &str) -> bool {
    let has = |class: fn(&u8) -> bool| text.as_bytes().iter().any(class);
    let mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
    text.len() >= 24 && mixed && (has(u8::is_ascii_uppercase) || !text.contains('_'))
}

/// What the message of the parser, which says no more than that the text is wrong, leaves out.
const PORT: Refusal = Refusal::Said("an address whose port is no number from 1 to 65535");

/// The parser is the one the HTTP client uses, so that both mean the same host. It forgives blanks,
/// backslashes and missing or surplus slashes; we do not.
fn base_url(text: &str) -> Result<(), Refusal> {
    if text.contains('@') {
        return Err(Refusal::Said("an address with a user name or password in it (not shown)"));
    }
    let blank = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
    let bare = text.split_once("://").is_none_or(|(_, rest)| rest.starts_with('/'));
    if bare || text.chars().any(blank) {
        return Err(Refusal::Shown);
    }
    let url = match Url::parse(text) {
        Ok(url) if url.port() == Some(0) => return Err(PORT),
        Ok(url) => url,
        Err(url::ParseError::InvalidPort) => return Err(PORT),
        Err(_) => return Err(Refusal::Shown),
    };
    let right = matches!(url.scheme(), "http" | "https")
        && url.host().is_some()
        && url.query().is_none()
        && url.fragment().is_none();
    shown(right)
}

fn is_host(text: &str) -> bool {
    let address = text.parse::<std::net::IpAddr>().is_ok();
    let label = |label: &str| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
    address || (text.len() <= 253 && text.split('.').all(label))
}

/// What matters about where requests go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) plain: bool,
    pub(crate) loopback: bool,
    /// Scheme, host and port as the HTTP client sees them.
    pub(crate) origin: String,
    /// Host and port, which are the same for all names of this machine.
    pub(crate) server: String,
}

impl Endpoint {
    /// `None` for what is no URL; such a text does not get past [`BASE_URL`].
    pub(crate) fn of(base_url: &str) -> Option<Self> {
        let url = Url::parse(base_url).ok()?;
        let loopback = match url.host()? {
            Host::Domain(name) => name.trim_end_matches('.') == "localhost",
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.to_canonical().is_loopback(),
        };
        let host = if loopback { "localhost" } else { url.host_str()?.trim_end_matches('.') };
        let server = format!("{host}:{}", url.port_or_known_default()?);
        Some(Self { plain: url.scheme() == "http", loopback, origin: url.origin().ascii_serialization(), server })
    }
}

#[cfg(test)]
#[path = "texts_tests.rs"]
mod tests;
