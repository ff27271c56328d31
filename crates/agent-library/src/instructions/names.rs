//! Names that a scan looks for, and that it passes over.

/// The names of instruction files. In one folder the first that is there wins.
pub(super) const NAMES: [&str; 2] = ["CLAUDE.md", "AGENTS.md"];

/// Folders that hold what others wrote or what was built, and what core itself puts into a project: never looked into.
pub(super) const SKIPPED: [&str; 11] = [
    ".git",
    "node_modules",
    ".venv",
    "venv",
    "dist",
    "build",
    "target",
    ".next",
    ".cache",
    "__pycache__",
    ".soong-agent",
];
