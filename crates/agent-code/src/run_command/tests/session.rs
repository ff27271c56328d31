//! From real files to the decision.

use std::path::Path;

use agent_policy::{Grants, PolicySettings, Question, Verdict, decide};
use agent_protocol::ToolOrigin;
use agent_tool::describe;

use super::*;

/// Programs that do nothing, in a folder the model cannot write to.
const PROGRAMS: &[&str] = &[
    "awk", "cargo", "cat", "env", "git", "git-evil", "grep", "java", "ls", "make", "node", "nohup", "npm", "perl",
    "pytest", "python3", "rg", "rm", "sed", "sh", "sudo", "timeout", "xargs",
];

/// A project, and what was allowed for the session on it.
pub(super) struct Session {
    pub(super) tree: Tree,
    pub(super) path_var: String,
    grants: Grants,
}

impl Session {
    pub(super) fn new(name: &str) -> Self {
        let tree = Tree::new(name);
        let bin = tree.root.join("outside/bin");
        fs::create_dir(&bin).unwrap();
        for program in PROGRAMS {
            executable(&bin.join(program), "#!/bin/sh\n");
        }
        Self { tree, path_var: bin.display().to_string(), grants: Grants::new() }
    }

    pub(super) fn decide(&self, argv: &[&str]) -> (Facts, Verdict) {
        let mut settings = self.tree.settings();
        settings.path_var = (&self.path_var).into();
        settings.env = vec![("PATH".into(), (&self.path_var).into())];
        let tool = Blocking::new(RunCommand(Workspace::new(settings)));
        let arguments = testing::object(json!({"argv": argv}));
        let facts = block_on(tool.prepare(arguments, self.tree.context.clone())).unwrap().facts;
        let verdict = decide(
            &describe(ToolOrigin::Builtin, &tool),
            &facts,
            &self.tree.rules(),
            &PolicySettings::default(),
            &self.grants,
        );
        (facts, verdict)
    }

    #[track_caller]
    pub(super) fn asks(&self, argv: &[&str]) -> Question {
        match self.decide(argv).1 {
            Verdict::Ask(question) => *question,
            decided => panic!("{argv:?}: {decided:?}"),
        }
    }

    #[track_caller]
    pub(super) fn passes(&self, argv: &[&str]) {
        let verdict = self.decide(argv).1;
        assert!(matches!(verdict, Verdict::Allow { .. }), "{argv:?}: {verdict:?}");
    }

    /// Allows for the session, after which the same call passes.
    #[track_caller]
    pub(super) fn allow(&mut self, argv: &[&str]) -> String {
        let question = self.asks(argv);
        self.grants.insert(question.grant.unwrap_or_else(|| panic!("{argv:?}: {:?}", question.reasons)));
        self.passes(argv);
        question.reasons.join("\n")
    }

    /// No answer is for the session, and the question says why.
    #[track_caller]
    pub(super) fn counts_once(&self, argv: &[&str], because: &str) -> Question {
        let question = self.asks(argv);
        assert_eq!((&question.grant, &question.grant_covers), (&None, &None), "{argv:?}");
        let reasons = question.reasons.join("\n");
        assert!(reasons.contains(because), "{argv:?}: {because:?} not in\n{reasons}");
        question
    }
}

pub(super) fn executable(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
