//! What a call left out of its result and stored (ART-1), read back.
//!
//! An artifact is named by its id: nobody has to know, or to write out, where its file lies.

use std::{
    borrow::Cow,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use agent_protocol::{ArtifactId, SessionId, shown_path};

use crate::{
    place::{Folder, Found, walk},
    workspace::Workspace,
};

/// The folder of a session's artifacts within its own.
const FOLDER: &str = "artifacts";

/// How to read an artifact from a line on, as words for a model.
pub(crate) fn how_to_read(id: &ArtifactId, line: usize) -> String {
    format!("code.read_file {{\"path\":\"{id}\",\"start_line\":{line}}}")
}

/// A path as the model wrote it; of an artifact of this session, which is named by its id, where its file lies.
pub(crate) fn real_path<'p>(workspace: &Workspace, session: &SessionId, requested: &'p str) -> Cow<'p, str> {
    let file = || {
        let id = ArtifactId::parse(requested).ok()?;
        let sessions = &workspace.rules().places().sessions_dir;
        let folder = sessions.join(session.as_str()).join(FOLDER).join(id.as_str());
        let Ok(Found::Folder(folder)) = walk(&folder) else { return None };
        let file = folder.path().join(only_entry(&folder)?);
        Some(shown_path(&file).into_owned())
    };
    file().map_or(Cow::Borrowed(requested), Cow::Owned)
}

/// The one thing in a folder.
fn only_entry(folder: &Folder) -> Option<OsString> {
    let mut names = folder.entries().ok()?.filter_map(Result::ok).filter_map(|entry| {
        let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
        (name != "." && name != "..").then_some(name)
    });
    let first = names.next()?;
    names.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use agent_policy::Verdict;
    use serde_json::json;

    use crate::{
        read_file::ReadFile,
        search::Search,
        testing::{Tree, block_on},
    };

    /// FND-21: what a call has stored is read, and searched, by its id; that of another session is not there.
    #[test]
    fn artifacts_are_read_by_their_id() {
        let tree = Tree::new("artifact-read");
        let sessions = tree.root.join("home/sessions");
        for (session, id) in [("sess_1", "art_own"), ("sess_2", "art_other")] {
            let folder = sessions.join(session).join("artifacts").join(id);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("stdout.txt"), "one\ntwo\nthree\n").unwrap();
        }
        let own = json!({"path": "art_own", "start_line": 2});
        assert_eq!(tree.ok(ReadFile, own.clone())["content"], "two\nthree\n");
        assert!(matches!(tree.verdict(ReadFile, own), Verdict::Allow { .. }));
        let found = tree.ok(Search, json!({"query": "^t", "path": "art_own"}));
        assert_eq!(found["matches"].as_array().unwrap().len(), 2);
        let written_out = sessions.join("sess_1/artifacts/art_own/stdout.txt");
        assert!(matches!(tree.verdict(ReadFile, json!({"path": written_out})), Verdict::Allow { .. }));
        assert!(block_on(tree.prepare(ReadFile, json!({"path": "art_other"}))).is_err());
        let other = sessions.join("sess_2/artifacts/art_other/stdout.txt");
        assert!(matches!(tree.verdict(ReadFile, json!({"path": other})), Verdict::Ask(_)));
    }
}
