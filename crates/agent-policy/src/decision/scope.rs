//! What an allow for the session covers: as little as makes the next same call pass (PRM-4).

use std::{collections::BTreeSet, path::PathBuf};

use agent_protocol::{Permission, ToolDefinition};
use agent_redact::{escape_word, shown_word};

use super::{assess::Assessment, network, settings::canonical_host};
use crate::{
    facts::{Access, CodeFile, Command, Facts, Target, TargetKind},
    paths::PathRules,
};

/// The longest preview a grant for exactly one call may hold, bytes: grants live as long as the session.
const MAX_EXACT: usize = 64 * 1024;

/// What a grant for a command is tied to, and what not.
const UNCHANGED: &str = ", while its program and the files it names stay as they are; not the files those load";

/// The scope of a grant: canonical tool name and everything the call touches. Two calls share a grant only when *all* of it
/// is equal, so that a combination nobody has seen is never pieced together from two grants.
///
/// Only [`decide`](crate::decide) makes one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GrantKey {
    tool: String,
    paths: BTreeSet<PathScope>,
    command: Option<CommandScope>,
    host: Option<String>,
    /// What the tool warned of: another warning is another question.
    dangers: BTreeSet<String>,
    /// The whole preview, for calls whose effect nothing else tells.
    exact: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct PathScope {
    access: Access,
    place: Place,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Place {
    /// Files directly in the folder, not below it.
    FilesIn(PathBuf),
    /// This path and nothing else.
    Exactly(PathBuf),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct CommandScope {
    program: PathBuf,
    cwd: PathBuf,
    argv: Vec<String>,
    code: BTreeSet<CodeFile>,
    /// Where the arguments lead, contents aside: a link that leads elsewhere by now makes it another command.
    named: BTreeSet<PathBuf>,
}

impl GrantKey {
    /// The key of a call, or nothing where an answer must count once: the command names something sensitive, its program's
    /// content is not known, or the call is too big to be remembered.
    pub(super) fn of(definition: &ToolDefinition, facts: &Facts, assessed: &Assessment) -> Option<Self> {
        if !assessed.grantable {
            return None;
        }
        let command = match &facts.command {
            Some(command) => Some(CommandScope::of(command)?),
            None => None,
        };
        let paths =
            facts.targets.iter().zip(&assessed.ordinary).map(|(target, ordinary)| PathScope::of(target, *ordinary));
        let exact = if effect_is_known(definition, facts) {
            None
        } else if facts.preview.len() <= MAX_EXACT {
            Some(facts.preview.clone())
        } else {
            return None;
        };
        Some(Self {
            tool: definition.name.clone(),
            paths: paths.collect(),
            command,
            host: facts.network_host.as_deref().map(canonical_host),
            dangers: facts.dangers.iter().cloned().collect(),
            exact,
        })
    }

    /// What it covers, for the person who is asked.
    pub(super) fn in_words(&self, rules: &PathRules) -> String {
        let tool = escape_word(&self.tool);
        let mut parts: Vec<String> = self.paths.iter().map(|scope| scope.in_words(rules)).collect();
        parts.extend(self.command.as_ref().map(|_| "exactly this command in this folder".to_owned()));
        parts.extend(self.host.as_deref().map(|host| format!("requests to {}", shown_word(host))));
        parts.extend(self.exact.as_ref().map(|_| "exactly this call".to_owned()));
        let as_long = self.command.as_ref().map_or("", |_| UNCHANGED);
        format!("{} by {tool}{as_long}", parts.join(" and "))
    }
}

/// Whether targets, command and host tell what a call does. A tool that says it writes and shows nothing of where could do
/// anything, one that says it talks to other hosts and shows none could talk to any: its grant is for the very same arguments.
fn effect_is_known(definition: &ToolDefinition, facts: &Facts) -> bool {
    let talks = network::talks(definition, facts);
    if talks && facts.network_host.is_none() {
        return false;
    }
    let may_change = definition.permission == Permission::Write || definition.has_tag(ToolDefinition::DANGEROUS);
    let shows_change = facts.targets.iter().any(|target| target.access == Access::Write) || facts.command.is_some();
    shows_change || talks || (!may_change && !facts.targets.is_empty())
}

impl PathScope {
    fn of(target: &Target, ordinary: bool) -> Self {
        let file = matches!(target.kind, TargetKind::File | TargetKind::Missing);
        let place = match target.resolved.parent() {
            Some(folder) if ordinary && file => Place::FilesIn(folder.to_path_buf()),
            _ => Place::Exactly(target.resolved.clone()),
        };
        Self { access: target.access, place }
    }

    fn in_words(&self, rules: &PathRules) -> String {
        let verb = match self.access {
            Access::Read => "reads of",
            Access::List => "listings of",
            Access::Search => "searches in",
            Access::Write => "writes to",
        };
        match &self.place {
            Place::FilesIn(folder) => format!("{verb} files directly in {}", rules.show_folder(folder)),
            Place::Exactly(path) => format!("{verb} {}", rules.show(path)),
        }
    }
}

impl CommandScope {
    /// Nothing when the program's own content is not known, or not all that the arguments name: such a grant would outlive
    /// a swapped file.
    fn of(command: &Command) -> Option<Self> {
        let tied = command.untied.is_none() && command.code.iter().any(|code| code.path == command.program);
        tied.then(|| Self {
            program: command.program.clone(),
            cwd: command.cwd.clone(),
            argv: command.argv.clone(),
            code: command.code.iter().cloned().collect(),
            named: command.named.iter().map(|target| target.resolved.clone()).collect(),
        })
    }
}
