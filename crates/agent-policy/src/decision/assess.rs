//! What is to be said about a call before anybody decides.

use std::path::Path;

use agent_protocol::{Permission, SessionId, ToolDefinition, path_from_shown, shown_path};
use agent_redact::{escape_word, false_letter, quote_name, shown_name, shown_word};

use super::{
    network,
    settings::{NetworkPolicy, PolicySettings, Stance},
};
use crate::{
    facts::{Access, Command, Facts, Target, TargetKind},
    paths::{PathRules, Root, words::MAX_PATH},
};

/// How many reasons a question lists; the rest is counted.
const MAX_REASONS: usize = 24;

/// The findings about one call.
#[derive(Debug, Default)]
pub(super) struct Assessment {
    /// Somebody has to be asked, or to have been.
    pub(super) asks: bool,
    /// A write outside every root.
    pub(super) outside: bool,
    /// The call may do more than its targets show.
    pub(super) dangerous: bool,
    /// Whether a session grant is possible at all.
    pub(super) grantable: bool,
    /// For each target, in order: a grant may cover its neighbours too.
    pub(super) ordinary: Vec<bool>,
    warnings: Vec<String>,
    notes: Vec<String>,
}

/// Whether a target is one file of what the calls of this session put out and stored: its agents have been let have it. The
/// path is the one that resolving has led to, and a file with further names is judged like any other.
fn is_output_of(session: &SessionId, target: &Target, rules: &PathRules) -> bool {
    let artifacts = rules.places().sessions_dir.join(session.as_str()).join("artifacts");
    let is_file_of_one = target.resolved.strip_prefix(artifacts).is_ok_and(|rest| rest.components().count() == 2);
    matches!(target.access, Access::Read | Access::Search)
        && target.kind == TargetKind::File
        && target.links == 1
        && target.aliases.is_empty()
        && is_file_of_one
}

impl Assessment {
    pub(super) fn of(definition: &ToolDefinition, facts: &Facts, rules: &PathRules, settings: &PolicySettings) -> Self {
        let mut found = Self { grantable: true, ..Self::default() };
        for danger in &facts.dangers {
            found.warn(shown_word(danger));
            found.dangerous = true;
        }
        let careful = found.dangerous || definition.has_tag(ToolDefinition::DANGEROUS);
        for target in &facts.targets {
            let is_own_output = facts.session.as_ref().is_some_and(|session| is_output_of(session, target, rules));
            let ordinary = is_own_output || found.target(target, rules);
            found.ordinary.push(ordinary && !careful);
        }
        if let Some(command) = &facts.command {
            found.command(command, rules);
        }
        found.definition(definition, facts, rules, &settings.network);
        if settings.readonly == Stance::Ask && definition.permission == Permission::Readonly && !found.asks {
            found.note(format!("{} reads, and reading asks here", escape_word(&definition.name)));
        }
        found
    }

    /// Whether anything about the call is out of the ordinary for its kind.
    pub(super) fn unusual(&self) -> bool {
        !self.warnings.is_empty()
    }

    /// Why this asks, the gravest first.
    pub(super) fn into_reasons(self) -> Vec<String> {
        let mut reasons = self.warnings;
        reasons.extend(self.notes);
        if reasons.len() > MAX_REASONS {
            let more = reasons.len() - MAX_REASONS;
            reasons.truncate(MAX_REASONS);
            reasons.push(format!("and {more} more reasons"));
        }
        reasons
    }

    fn warn(&mut self, reason: String) {
        self.asks = true;
        self.warnings.push(reason);
    }

    fn note(&mut self, reason: String) {
        self.asks = true;
        self.notes.push(reason);
    }

    /// Judges one target; true when it is an ordinary one.
    fn target(&mut self, target: &Target, rules: &PathRules) -> bool {
        let before = self.warnings.len();
        let shown = rules.show(&target.resolved);
        self.name(&target.resolved, target.access, &shown, rules);
        for alias in &target.aliases {
            let shown = format!("{shown} is the same file as {}, which", rules.show(alias));
            self.name(alias, target.access, &shown, rules);
        }
        // The name in the request may go through a link that resolving has taken away.
        let requested = path_from_shown(&target.requested);
        if self.warnings.len() == before && requested.as_os_str().len() <= MAX_PATH {
            let written = rules.as_written(requested, &rules.places().project);
            if written != target.resolved {
                let shown = format!("{}, which is {shown},", rules.show(&written));
                self.name(&written, target.access, &shown, rules);
            }
        }
        self.letters(&shown, &shown_path(&target.resolved));
        if target.access == Access::Write {
            self.write(target, &shown, rules);
        }
        self.warnings.len() == before
    }

    /// Says where a word that is shown can be taken for another one. That alone is no reason to ask.
    fn letters(&mut self, shown: &str, text: &str) {
        self.warnings.extend(false_letter(text).map(|why| format!("{shown} {why}")));
    }

    /// What one of a target's names says about it.
    fn name(&mut self, path: &Path, access: Access, shown: &str, rules: &PathRules) {
        if let Some(why) = rules.sensitive(path) {
            self.warn(format!("{shown} {why}"));
        }
        if access == Access::Write
            && let Some(why) = rules.control(path)
        {
            self.warn(format!("{shown} is a control file: {why}"));
            self.dangerous = true;
        }
    }

    fn write(&mut self, target: &Target, shown: &str, rules: &PathRules) {
        if matches!(rules.root_of(&target.resolved), Root::Outside | Root::Home) {
            self.outside = true;
            self.warn(format!("{shown} lies outside the project and the write roots"));
        }
        let names = if target.links > 1 { format!(" (a file with {} names)", target.links) } else { String::new() };
        self.note(format!("it writes {shown}{names}"));
    }

    fn command(&mut self, command: &Command, rules: &PathRules) {
        let before = self.warnings.len();
        for path in [&command.cwd, &command.program] {
            self.name(path, Access::Read, &rules.show(path), rules);
        }
        // A bare `argv[0]` is looked up in PATH, not in the folder.
        let words = command.argv.iter().enumerate().filter(|(at, word)| *at > 0 || word.contains('/'));
        let mut said = Vec::new();
        for word in &command.argv {
            self.letters(&shown_name(word), word);
        }
        for (_, word) in words {
            if let Some(why) = rules.sensitive_word(word, &command.cwd) {
                self.warn(format!("the command names {}, which {why}", shown_name(word)));
                said.push(word);
            }
        }
        for target in &command.named {
            let by_letters = said.iter().any(|word| word.contains(&target.requested))
                && rules.sensitive_word(&target.requested, &command.cwd).is_some();
            let is_guess = command.guessed.contains(&target.resolved);
            self.argument(target, by_letters, is_guess, rules);
        }
        if self.warnings.len() > before {
            self.dangerous = true;
            self.grantable = false;
        }
        if let Some(why) = &command.untied {
            self.notes.push(format!("an answer counts once: {}", shown_word(why)));
        }
        for code in command.code.iter().filter(|code| code.writable) {
            let how = match command.guessed.contains(&code.path) {
                true => "a word of it may stand for",
                false => "it may read or run",
            };
            self.notes.push(format!("{how} code of this project: {}", rules.show(&code.path)));
        }
    }

    /// Judges what an argument leads to, unless its letters have said it already.
    fn argument(&mut self, target: &Target, by_letters: bool, is_guess: bool, rules: &PathRules) {
        let leads_to = |path: &Path| match is_guess {
            true if path == target.resolved => {
                format!("a word of the command may stand for {}, which", rules.show(path))
            }
            true => {
                let (resolved, path) = (rules.show(&target.resolved), rules.show(path));
                format!("a word of the command may stand for {resolved}, which is {path}, which")
            }
            false => format!("the command names {}, which is {},", shown_name(&target.requested), rules.show(path)),
        };
        let resolved = (!by_letters).then_some(&target.resolved);
        for path in resolved.into_iter().chain(&target.aliases) {
            self.name(path, Access::Read, &leads_to(path), rules);
        }
    }

    /// What the tool's own description calls for, whatever the targets are.
    fn definition(&mut self, definition: &ToolDefinition, facts: &Facts, rules: &PathRules, network: &NetworkPolicy) {
        let tool = escape_word(&definition.name).into_owned();
        if let Some(command) = &facts.command
            && definition.permission == Permission::Write
        {
            self.note(format!("it runs {}", quote_name(&shown_path(&command.program))));
            if !rules.may_run_in(&command.cwd) {
                self.warn(format!("{} lies outside the project and the write roots", rules.show(&command.cwd)));
            }
        }
        if let Some(talks) = network::asks(definition, facts, network) {
            self.note(talks);
        }
        if let Some(host) = &facts.network_host {
            self.letters(&shown_word(host), host);
        }
        if definition.has_tag(ToolDefinition::DANGEROUS) {
            self.dangerous = true;
            // Of a command everybody knows that.
            if facts.command.is_none() {
                self.note(format!("{tool} can do more than its target shows"));
            }
        }
        if definition.permission == Permission::Write && !self.asks {
            self.note(format!("{tool} may change things"));
        }
    }
}
