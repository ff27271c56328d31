//! `[tools]`: limits and boundaries of tools.

use std::collections::BTreeMap;

use crate::path_value::PathValue;
use crate::schema::{bytes, count, millis, section, tokens, words};
use crate::texts::{ENV_NAME, HOST, MCP_TOOL, NAME, OWN_TOOL, PATTERN, TAG, TOOL};

section! {
    /// `[tools]`: limits and boundaries of all tools.
    pub struct ToolsConfig {
        /// Loads the tools of `tools/*.json` in home.
        declarative_enabled: bool = true;
        /// Tools that nobody gets, by full name.
        disabled: Vec<String> = Vec::new(), TOOL;
        /// Folders besides the project that tools may write to.
        allowed_write_roots: Vec<PathValue> = Vec::new();
        /// Counts the folder for temporary files among them.
        allow_tmp_write: bool = false;
        /// Time for a command that asks for none.
        default_timeout_ms: u64 = 120_000, millis(1);
        /// Longest time a command may ask for; at least `default_timeout_ms`.
        max_timeout_ms: u64 = 600_000, millis(1);
        /// Variables of the environment that commands get to see; no others of the environment are passed on (docs/tools.md says what is set besides).
        env_allowlist: Vec<String> = strings(&["PATH", "HOME", "TMPDIR"]), ENV_NAME;
        /// Standard output of a command that its result holds; the whole goes to an artifact.
        stdout_limit_bytes: u64 = 65_536, bytes(1);
        /// The same for standard error.
        stderr_limit_bytes: u64 = 65_536, bytes(1);
        /// Paths that are read only after asking; `~` is your home folder, folders cover what is in them. An empty list
        /// leaves only the built-in ones.
        sensitive_paths: Vec<String> = strings(&[
            "~/.ssh", "~/.gnupg", "~/.aws", "~/.config/gcloud", "*.pem", "*.key", ".env", ".env.*",
        ]), PATTERN;
        /// Size from which a tool's output becomes an artifact, with head and tail in the result.
        artifact_threshold_bytes: u64 = 65_536, bytes(1);
        /// The same in tokens; the smaller of the two counts. Not set: a quarter of `model.context_window`.
        artifact_threshold_tokens: Option<u64> = None, tokens(1);
        /// Most of one output that an artifact keeps; the rest is counted and dropped.
        artifact_max_bytes: u64 = 64 << 20, count(1, 1 << 40, "bytes");
        /// Hosts that tools may reach at all.
        network: ToolNetworkConfig = ToolNetworkConfig::default();
        /// Changes to single tools, by full name. Here `permission` can only be tightened, to `write`.
        overrides: BTreeMap<String, ToolOverride> = BTreeMap::new(), OWN_TOOL;
        /// Tools of MCP servers.
        mcp: McpToolsConfig = McpToolsConfig::default();
    }
}

section! {
    /// `[tools.network]`: the outer limit of the network; with both lists empty there is none.
    pub struct ToolNetworkConfig {
        /// Hosts, exactly these.
        allowed_hosts: Vec<String> = Vec::new(), HOST;
        /// Domains with all their subdomains.
        allowed_domains: Vec<String> = Vec::new(), HOST;
    }
}

section! {
    /// `[tools.overrides.NAME]` and `[tools.mcp.tool_overrides.NAME]`: what to change about one tool.
    pub struct ToolOverride {
        /// Whether it counts as reading or writing. Not set: as the tool says.
        permission: Option<ToolPermission> = None;
        /// Tags it gets besides its own, as `dangerous` or `network`.
        tags: Vec<String> = Vec::new(), TAG;
        /// Its time limit; at most `tools.max_timeout_ms`. Not set: the usual one.
        timeout_ms: Option<u64> = None, millis(1);
    }
}

section! {
    /// `[tools.mcp]`: tools of MCP servers. The servers themselves are in `mcp.json`.
    pub struct McpToolsConfig {
        /// Servers that are not started.
        disabled_servers: Vec<String> = Vec::new(), NAME;
        /// Tools that nobody gets, `mcp.SERVER.TOOL`. They are checked when the server is there.
        disabled_tools: Vec<String> = Vec::new(), MCP_TOOL;
        /// Changes to single tools. `permission = "readonly"` lets a tool run unasked.
        tool_overrides: BTreeMap<String, ToolOverride> = BTreeMap::new(), MCP_TOOL;
        /// How long a server's tool list is believed; 0 asks each time.
        discovery_cache_ttl_ms: u64 = 300_000, count(0, 86_400_000, "milliseconds");
    }
}

words! {
    /// Whether a tool reads or writes.
    pub enum ToolPermission {
        /// It changes nothing and runs unasked.
        Readonly = "readonly",
        /// It may change something and asks.
        Write = "write",
    }
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
