use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use agent_testkit::scratch;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use super::*;

/// A folder of definitions.
struct Agents(PathBuf);

impl Agents {
    fn new(name: &str) -> Self {
        let folder = scratch(&format!("library-agents-{name}")).join("agents");
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        fs::write(self.0.join(name), content).unwrap();
        self
    }

    fn read(&self) -> AgentFiles {
        AgentFiles::read(&self.0)
    }

    /// The only problem there is.
    #[track_caller]
    fn problem(&self) -> AgentFileProblem {
        let read = self.read();
        assert_eq!(read.files, []);
        let [problem] = read.problems.as_slice() else { panic!("{:?}", read.problems) };
        problem.clone()
    }
}

fn text(id: &str) -> String {
    format!("---\nid: {id}\nname: The {id}\ndescription: For a test.\n---\nYou are {id}.\n")
}

/// AGD-1: id, name and description are all that a file must say; the rest is optional, and the body is what is behind the frontmatter.
#[test]
fn fields_of_a_file() {
    let full = "\u{feff}---\r\nid: reviewer\r\nname: ' Reviewer '\r\ndescription: >\r\n  Reads and\r\n  judges.\r\nmodel_profile: fast\r\n\
        suggested_tools: [code.read_file, code.search]\r\ntags: [review, 'a b']\r\noverrides: builtin:reviewer\r\n---\r\n\r\n  Review.\r\n---\r\nMore.\r\n\r\n";
    let inline = "---\nid: b\nname: B\ndescription: D\nmodel_profile:\n  name: other\n  temperature: 0\nsuggested_tools:\ntags: []\n---\n";
    let agents = Agents::new("fields").file("a.md", full).file("b.md", inline);
    let AgentFiles { files, problems } = agents.read();
    assert_eq!(problems, []);
    let [a, b] = files.as_slice() else { panic!("{files:?}") };
    assert_eq!((a.id.as_str(), a.name.as_str(), a.description.as_str()), ("reviewer", "Reviewer", "Reads and judges."));
    assert_eq!((&a.model_profile, a.overrides.as_deref()), (&Some(json!("fast")), Some("builtin:reviewer")));
    assert_eq!(
        (a.suggested_tools.join(" "), a.tags.join("|")),
        ("code.read_file code.search".into(), "review|a b".into())
    );
    assert_eq!(a.body, "  Review.\r\n---\r\nMore.");
    assert_eq!(
        (a.path.clone(), a.hash.clone()),
        (agents.0.join("a.md"), blake3::hash(full.as_bytes()).to_hex().to_string())
    );
    assert_eq!(b.model_profile, Some(json!({"name": "other", "temperature": 0})));
    assert!(b.suggested_tools.is_empty() && b.tags.is_empty() && b.overrides.is_none() && b.body.is_empty(), "{b:?}");
}

/// AGD-1, AGD-5: a head that is not understood is a problem with its place, and nothing is filled in or passed over.
#[test]
fn broken_heads() {
    let head = |more: &str| format!("---\nid: a\nname: A\ndescription: D\n{more}---\nBody\n");
    for (text, line, says) in [
        ("Body\n".to_owned(), 1, "no frontmatter"),
        ("---\nid: a\n".to_owned(), 1, "nothing closes"),
        ("---\n---\nBody\n".to_owned(), 1, "`id` is missing"),
        ("---\nname: A\ndescription: D\n---\n".to_owned(), 1, "`id` is missing"),
        ("---\nid: a\ndescription: D\n---\n".to_owned(), 1, "`name` is missing"),
        ("---\nid: a\nname: A\n---\n".to_owned(), 1, "`description` is missing"),
        ("---\nid: a\nname: ''\ndescription: D\n---\n".to_owned(), 3, "`name` is missing or empty"),
        ("---\nid: [a]\nname: A\ndescription: D\n---\n".to_owned(), 2, "expected"),
        ("---\nid: a\nname: A\ndescription: Use for work: writing\n---\n".to_owned(), 4, "put the value in quotes"),
        ("---\n- x\n---\n".to_owned(), 2, "`key: value`"),
        (head("id: b\n"), 5, "id"),
        (head("suggested_tools: code.read_file\n"), 5, "expected"),
        (head("tags: [{a: b}]\n"), 5, "expected"),
        (head("tools: [code.read_file]\n"), 5, "is `suggested_tools` meant"),
        (head("model: fast\n"), 5, "is `model_profile` meant"),
        (head("override: builtin:a\n"), 5, "is `overrides` meant"),
        (head("colour: red\n"), 5, "the keys are id, name, description, model_profile"),
        (head("source: code\n"), 5, "`source` is no key"),
    ] {
        let problem = Agents::new("broken").file("s.md", &text).problem();
        assert!(problem.line == Some(line) && problem.column.is_some(), "{text:?}: {problem}");
        assert!(problem.message.contains(says), "{text:?}: {problem}");
        assert!(problem.to_string().contains(&format!("s.md, line {line}, column ")), "{problem}");
    }
}

/// AGD-5: whatever a definition could be meant to be and is not read as, is a problem with its path; never one definition less in silence.
#[test]
fn files_that_are_none() {
    let outside = scratch("library-agents-outside").join("out.md");
    fs::write(&outside, text("out")).unwrap();
    // Half a pair of surrogates at its end.
    let utf16: Vec<u8> = text("a").encode_utf16().chain([0xd800]).flat_map(u16::to_le_bytes).collect();
    let utf16 = [&[0xff, 0xfe], utf16.as_slice()].concat();
    let latin = [text("a").as_bytes(), b"na\xefve\n"].concat();
    let long = format!("{}{}", text("a"), "x".repeat(400 * 1024));
    for (name, content, says) in [
        ("a.MD", text("a").into_bytes(), "ends in .md, in small letters"),
        ("a.md", utf16, "not text in UTF-8"),
        ("a.md", latin, "not text in UTF-8"),
        ("a.md", [text("a").as_bytes(), b"\0"].concat(), "not text in UTF-8"),
        ("a.md", long.into_bytes(), "are read"),
        ("a.md", Vec::new(), "no frontmatter"),
        ("README.md", b"# Our agents\n".to_vec(), "no frontmatter"),
    ] {
        let problem = Agents::new("none").file(name, content).problem();
        assert!(problem.message.contains(says) && problem.path.ends_with(name), "{problem}");
    }
    let linked = Agents::new("linked");
    symlink(&outside, linked.0.join("a.md")).unwrap();
    assert!(linked.problem().message.contains("is a link that leads to no file"));
    let folder = Agents::new("folder");
    fs::create_dir(folder.0.join("a.md")).unwrap();
    assert_eq!(folder.problem().message, "is no regular file");
    let pipe = Agents::new("pipe");
    mknodat(CWD, pipe.0.join("a.md"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert_eq!(pipe.problem().message, "is no regular file");
    let hard = Agents::new("hard").file("a.md", text("a"));
    fs::hard_link(hard.0.join("a.md"), hard.0.join("other.txt")).unwrap();
    assert!(hard.problem().message.contains("several names"));
}

/// AGD-5: the folder itself: none is none, and one that cannot be read, is a link, or holds too much is a problem.
#[test]
fn folders() {
    let agents = Agents::new("folders").file("b.md", text("b")).file("a.md", text("a")).file(".c.md", "x");
    let agents = agents.file("notes.txt", "x");
    fs::create_dir(agents.0.join("sub")).unwrap();
    fs::write(agents.0.join("sub/d.md"), text("d")).unwrap();
    symlink("a.md", agents.0.join("e.md")).unwrap();
    let read = agents.read();
    let ids: Vec<_> =
        read.files.iter().map(|file| (file.id.as_str(), file.path.file_name().unwrap().to_str().unwrap())).collect();
    assert_eq!(ids, [("a", "a.md"), ("b", "b.md"), ("a", "e.md")]);
    assert_eq!(read.problems, []);

    assert_eq!(AgentFiles::read(&agents.0.join("none")), AgentFiles::default());
    assert_eq!(AgentFiles::read(&agents.0.join("notes.txt/agents")), AgentFiles::default());
    let link = agents.0.parent().unwrap().join("link");
    symlink(&agents.0, &link).unwrap();
    for (folder, says) in [(&link, "it is a link"), (&agents.0.join("notes.txt"), "cannot be listed")] {
        let read = AgentFiles::read(folder);
        assert!(read.files.is_empty() && read.problems[0].message.contains(says), "{:?}", read.problems);
        assert_eq!(read.problems.len(), 1);
    }
    let mut many = Agents::new("many");
    for index in 0..=200 {
        many = many.file(&format!("{index}.md"), text(&format!("a{index}")));
    }
    let problem = many.problem();
    assert!(problem.message.contains("201 agent definitions; at most 200"), "{problem}");
    fs::remove_file(many.0.join("0.md")).unwrap();
    assert_eq!(many.read().files.len(), 200);
}
