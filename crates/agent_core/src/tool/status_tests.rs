use std::path::Path;
use std::sync::Arc;

use agent_config::{Config, Places};
use agent_llm::{ProviderRegistry, SharedProviders};
use agent_protocol::{AgentRole, ToolOrigin, contract_tool};
use agent_testkit::TestHome;
use agent_tool::{Registry, Tool, reference};

use crate::adapters::{Adapters, Gates};
use crate::environment::Environment;
use crate::overrides::Overrides;
use crate::registry::registry;
use crate::settings::Settings;

const TOOLS_HEAD: &str = "\
# The tools

<!-- Generated from the input structs of the tools. Do not edit: UPDATE_DOCS=1 cargo test -p agent_core the_page_of_the_tools -->

What a model can call, in its own words. `soong-agent tools` lists the tools of your configuration and says which of them are not
available and why; `soong-agent tools NAME` prints one page. A parameter that is `null` counts as left out; one that is not
listed is an error. Where no text is taken, JSON text such as `\"5\"` or `\"[1]\"` counts as what it stands for. What each tool may
do unasked, and what asks first, is in [security.md](security.md).

Names that begin with `agent.` or `internal.` are core's own: they change nothing outside the session and never ask.
`agent.task_…` are for `--orchestrator` runs and their workers: what they do stands in logs in `task.wal_dir`, and their results are
described in [12-tasks.md](spec/12-tasks.md). Skills are described in [skills.md](skills.md).
Agents that `agent.create_sub_agent` and `agent.fork_agent` start ask for what they do as any agent does; what their calls return is in
[11-agents.md](spec/11-agents.md).

";

/// What follows the pages.
const TOOLS_TAIL: &str = "
## Paths

A path in a result can be given back as it is shown. A byte that is no text is written `\\xNN`, as in `caf\\xE9.txt`, and a backslash in
front of what would read like one `\\x5C`; every tool reads both in a `path` and in a `cwd`, and nothing else, so that each file has one
name. Questions show the same. The words of a command are given to the program as they are: it takes such a name by a pattern of a
shell (`[\"sh\", \"-c\", \"cat caf?.txt\"]`), and a `glob` by `?`. A path that holds a key is shown with `[secret NAME]` in its place and does not
lead to the file; the result says so.

Text is UTF-8, or UTF-16 with a byte order mark; UTF-32 is not read, and the result says so.

## Results that are too long

`code.run_command` keeps the beginning and the end of each output; listings and searches keep their first entries. What was
found or printed, up to `tools.artifact_max_bytes`, is stored as an artifact, and the result says how to read on: `code.read_file` and
`code.search` take an artifact's id as `path`, as freely as a file of the project where the artifact is of the same session. How much a result shows is bounded by `tools.stdout_limit_bytes` and its like, and by what
the model's context window has room for.

## The environment of commands

A command gets the variables in `tools.env_allowlist`, and these: `GIT_TERMINAL_PROMPT=0`; `GIT_EDITOR`, `GIT_SEQUENCE_EDITOR`, `EDITOR`
and `VISUAL`, so that an editor fails at once instead of waiting (`git commit` needs `-m`); `GIT_PAGER`, `PAGER`, `MANPAGER` and
`SYSTEMD_PAGER` as `cat`; `PATH` without relative folders, `PWD`, and `SOONG_AGENT_CALL`, by which what it starts is found and ended. If the list lets an editor's variable through, none of that kind is set; the same goes for pagers.

## What writing keeps

`code.write_file` and `code.edit_file` replace a file in one step by a new one with the rights, access control list and other extended
attributes of the old one. Where these cannot be kept it is not changed, and the error says why. A file of another owner becomes yours; its
group stays, or becomes yours where that gives nobody more, and then set-id bits go. Another name of the file
(a hard link) keeps the old content; the result says so. An overwrite also keeps the file's byte order mark, its UTF-16, and its
line ends where all of them are CRLF and the new text has LF only; `note` says so. Edits find text whatever its line ends, and leave
those of a mixed file as they are. A file that changed in any way while somebody was asked is not written: `path_conflict`.

A call that may change something and holds the words that stand for a key (`[secret NAME]`) is refused: they would be written in its
place.

## What a failed call tells

An error says what the next call needs, in some 400 tokens besides the words of the call itself; nothing of a file whose reading would ask.

| tool | what failed | what the error has for the next call |
|---|---|---|
| every tool | the arguments do not hold up; the tool is unknown | each place with what is expected there, and the call as it should have been; the names like it |
| `code.read_file` | the file is missing; it is a folder | names like it, else what is in the deepest folder that exists; the call of `code.list_dir` |
| `code.list_dir` | the folder is missing; it is a file | the same names; the call of `code.read_file` |
| `code.search` | no file matches the glob; `path` is a pattern; the pattern is invalid | the files there are, by ending; the call with `glob`; what it found as text |
| `code.run_command` | the program is missing; words were meant for a shell (`>`, `cd`, `A=1`); time is up; a script does not start | names like it in `PATH`; the call with a shell; how to give more time; what is wrong with its first line |
| `agent.create_sub_agent`, `agent.fork_agent` | a tool or a definition that a child cannot have; a schema that cannot be used; the child failed | all such tools with the reason, the names like them; what is wrong with the schema; the child's own error, and what it had said |
| `agent.task_…` | an argument does not hold up; the state of the task or step does not allow it | the argument's place, its value and what is allowed; the steps that are in the way; the call that would do |
| `internal.load_skill` | there is no such skill | the names like it |
| `code.edit_file` | the text is not there, or more than once; a hunk does not apply; an empty `old` for a file that exists; nothing to do | what comes near it and how it differs; the numbered lines of a short file, of a long one those around the place; for an empty `old` the edit that would add the text; without edits the form of a call |
| `code.write_file` | the file exists; it changed since it was read | the call of `code.edit_file` that makes the file what was given, or this call with `overwrite`; the call that reads it |
";

/// All tools of a home without anything in it.
fn packaged_tools(home: &TestHome) -> Registry<Arc<dyn Tool>> {
    let (config, environment) = (Config::default(), Environment::look());
    let places = Places { home: home.home.clone(), project: home.project.clone() };
    let settings = Settings { config: &config, places, environment: &environment, database: None };
    let rules = Arc::new(settings.rules().unwrap());
    let providers = SharedProviders::from(ProviderRegistry::with_builtin());
    let memory =
        Adapters::new(&settings, &providers, None, &Gates::default()).memory(&settings.roles().unwrap()).unwrap();
    registry(&settings, &rules, &Overrides::default(), memory.as_ref(), &[]).unwrap()
}

/// AGD-3, TOL-4: every packaged tool is in the table of the contract's tools, for the roles that it says itself; so a name is judged alike
/// whether its tool is there or not.
#[test]
fn the_table_of_roles_is_that_of_the_tools() {
    let tools = packaged_tools(&TestHome::new("tools_roles"));
    assert!(tools.iter().count() >= 8);
    for tool in tools.iter() {
        let descriptor = tool.descriptor();
        assert!(matches!(descriptor.origin, ToolOrigin::Core | ToolOrigin::Builtin));
        let roles = contract_tool(descriptor.name()).unwrap_or_else(|| panic!("{}", descriptor.name()));
        for role in AgentRole::ALL {
            assert_eq!(roles.access(*role), descriptor.roles.access(*role), "{} {role:?}", descriptor.name());
        }
    }
    assert!(contract_tool("code.read_fil").is_none());
}

/// TOL-2: `docs/tools.md` is what the input structs say. To write it anew: `UPDATE_DOCS=1 cargo test -p agent_core the_page`.
#[test]
fn the_page_of_the_tools_is_current() {
    let tools = packaged_tools(&TestHome::new("tools_page"));
    let pages: Vec<_> = tools.iter().map(|tool| reference(tool.definition())).collect();
    let text = format!("{TOOLS_HEAD}{}{TOOLS_TAIL}", pages.join("\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let on_disk = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        on_disk == text,
        "docs/tools.md is stale: run UPDATE_DOCS=1 cargo test -p agent_core the_page_of_the_tools"
    );
}
