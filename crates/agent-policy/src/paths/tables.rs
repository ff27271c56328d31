//! The fixed lists: what is always sensitive (PRM-10), and what is under control inside a writable root (COD-8).

/// What holds secrets, whatever the configuration says, in the syntax of `tools.sensitive_paths` (PRM-10).
pub(super) const ALWAYS_SENSITIVE: &[&str] = &[
    // The same facts as `environ`, `mem`, `maps` and `fd` have further names there.
    "/proc/*/**/{environ,mem,maps,smaps,numa_maps,map_files,fd}",
    "/dev/fd",
    ".envrc",
    ".dev.vars",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".kube/config",
    ".docker/config.json",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "${SOONG_AGENT_HOME}/config.toml",
    "${SOONG_AGENT_HOME}/hooks.json",
    "${SOONG_AGENT_HOME}/mcp.json",
    "${SOONG_AGENT_HOME}/sessions.sqlite*",
];

const GIT: &str = "git runs programs that are named there";
const CI: &str = "the build server runs it";
const EDITOR: &str = "editors run tasks and programs that are named there";
const SHELL: &str = "every new shell runs it";
const AGENT: &str = "it steers what agents do";

/// Files that make other programs run something, and why each is asked for by itself (COD-8). At any depth.
pub(super) const CONTROL: &[(&str, &str)] = &[
    (".git", GIT),
    (".gitmodules", "git fetches code from where it points"),
    (".gitattributes", "it names the filter programs git runs"),
    (".github/workflows", CI),
    (".husky", "git runs the hooks in there"),
    (".vscode", EDITOR),
    (".idea", EDITOR),
    (".cargo/config*", "cargo runs programs that are named there"),
    (".envrc", "direnv runs it on entering the folder"),
    (".npmrc", "it says where packages come from and who you are there"),
    (".mcp.json", "it names servers that other agents start"),
    (".claude", AGENT),
    ("CLAUDE.md", AGENT),
    ("AGENTS.md", AGENT),
    (".profile", SHELL),
    (".login", SHELL),
    (".logout", SHELL),
    (".bashrc", SHELL),
    (".bash_profile", SHELL),
    (".bash_login", SHELL),
    (".bash_logout", SHELL),
    (".bash_aliases", SHELL),
    (".zshenv", SHELL),
    (".zprofile", SHELL),
    (".zshrc", SHELL),
    (".zlogin", SHELL),
    (".zlogout", SHELL),
    (".kshrc", SHELL),
    (".cshrc", SHELL),
    (".tcshrc", SHELL),
    (".config/fish", SHELL),
];

/// The folder of this agent's products in a project: control but for the plans.
pub(super) const OURS: (&str, &str) = (".soong-agent", "it belongs to soong-agent itself");
