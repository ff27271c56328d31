//! Which crates there are, and who may use whom.

/// A crate, and those of ours that it may use.
type Allowed = (&'static str, &'static [&'static str]);

/// The layers from the bottom up, and in each its crates with those of ours that they may use, development aside. A crate may only
/// use what stands above it in this list.
pub(super) const LAYERS: &[(&str, &[Allowed])] = &[
    ("words", &[("agent-protocol", &[])]),
    (
        "pure",
        &[
            ("agent-engine", &["agent-protocol"]),
            ("agent-redact", &["agent-protocol"]),
            ("agent-policy", &["agent-protocol", "agent-redact"]),
            ("agent-tasks", &["agent-protocol"]),
        ],
    ),
    (
        "ports and adapters",
        &[
            ("agent-library", &["agent-protocol"]),
            ("agent-exec", &[]),
            ("agent-journal", &[]),
            ("agent-task-store", &["agent-protocol", "agent-tasks", "agent-journal"]),
            ("agent-store", &["agent-protocol"]),
            ("agent-llm", &["agent-protocol"]),
            ("agent-tool", &["agent-protocol", "agent-redact", "agent-policy", "agent-tasks"]),
            ("agent-code", &["agent-protocol", "agent-redact", "agent-policy", "agent-tool", "agent-exec"]),
        ],
    ),
    (
        "composition",
        &[
            (
                "agent-archive",
                &["agent-protocol", "agent-engine", "agent-redact", "agent-tasks", "agent-store", "agent-task-store"],
            ),
            (
                "agent-runtime",
                &[
                    "agent-protocol",
                    "agent-engine",
                    "agent-redact",
                    "agent-policy",
                    "agent-library",
                    "agent-store",
                    "agent-tasks",
                    "agent-task-store",
                    "agent-tool",
                    "agent-llm",
                    "agent-archive",
                ],
            ),
        ],
    ),
    ("configuration", &[("agent-config", &[])]),
    (
        "facade",
        &[(
            "agent_core",
            &[
                "agent-protocol",
                "agent-archive",
                "agent-code",
                "agent-config",
                "agent-engine",
                "agent-library",
                "agent-llm",
                "agent-policy",
                "agent-redact",
                "agent-runtime",
                "agent-store",
                "agent-tasks",
                "agent-tool",
            ],
        )],
    ),
    // What concerns the whole process is switched on by whoever owns it.
    ("face", &[("soong-agent", &["agent_core", "agent-exec"])]),
    (
        "development",
        &[
            ("agent-testkit", &[]),
            ("xtask", &["agent-protocol", "agent-engine", "agent-redact", "agent-llm"]),
            (
                "soong-bench",
                &[
                    "agent-protocol",
                    "agent-engine",
                    "agent-redact",
                    "agent-policy",
                    "agent-library",
                    "agent-store",
                    "agent-tasks",
                    "agent-task-store",
                    "agent-llm",
                    "agent-code",
                    "agent-tool",
                    "agent_core",
                    "agent-testkit",
                ],
            ),
        ],
    ),
];

/// Crates of others that only some of ours may use.
pub(super) const CONFINED: &[(&str, &[&str])] = &[
    ("reqwest", &["agent-llm"]),
    ("rustls", &["agent-llm"]),
    ("rusqlite", &["agent-store", "soong-bench"]),
    ("process-wrap", &["agent-exec"]),
    ("clap", &["soong-agent", "soong-bench", "xtask"]),
    ("dagre", &["soong-agent"]),
    ("grep-searcher", &["agent-code"]),
    ("ignore", &["agent-code"]),
];

/// Crates that decide and do nothing else.
pub(super) const PURE: &[&str] = &["agent-protocol", "agent-engine", "agent-redact", "agent-policy", "agent-tasks"];

/// What pure crates never name in their sources.
pub(super) const IMPURE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::time::Instant::now",
    "std::time::SystemTime::now",
    "rand",
    "tokio",
];

/// What pure crates never depend on, however far down.
pub(super) const IMPURE_CRATES: &[&str] = &[
    "async-std",
    "chrono",
    "fastrand",
    "futures",
    "getrandom",
    "hyper",
    "jiff",
    "libsqlite3-sys",
    "mio",
    "nix",
    "rand",
    "rand_core",
    "reqwest",
    "rusqlite",
    "rustix",
    "rustls",
    "socket2",
    "tempfile",
    "tokio",
    "uuid",
];

/// How a program looks around: environment, current folder, home.
pub(super) const LOOKS_AROUND: &[&str] = &[
    "std::env::*",
    "std::env::args",
    "std::env::args_os",
    "std::env::current_dir",
    "std::env::current_exe",
    "std::env::home_dir",
    "std::env::remove_var",
    "std::env::set_current_dir",
    "std::env::set_var",
    "std::env::temp_dir",
    "std::env::var",
    "std::env::var_os",
    "std::env::vars",
    "std::env::vars_os",
];

/// All crates from the bottom up: layer, name, what they may use.
pub(super) fn crates() -> impl DoubleEndedIterator<Item = (&'static str, &'static str, &'static [&'static str])> {
    LAYERS.iter().flat_map(|(layer, crates)| crates.iter().map(move |(name, uses)| (*layer, *name, *uses)))
}
