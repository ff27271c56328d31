use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use agent_testkit::scratch;
use serde_json::json;

use super::{SkillCatalog, SkillError};

struct Skills(PathBuf);

impl Skills {
    fn new(name: &str) -> Self {
        let folder = scratch(&format!("library-skills-{name}")).canonicalize().unwrap().join("skills");
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(self, name: &str, text: &str) -> Self {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn scan(&self) -> SkillCatalog {
        SkillCatalog::scan(&self.0)
    }
}

fn tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}

/// File name, line and message of each problem.
fn problems(catalog: &SkillCatalog) -> Vec<(String, Option<usize>, &str)> {
    let name = |path: &std::path::Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let all = catalog.problems().iter();
    all.map(|problem| (name(&problem.path), problem.line, problem.message.as_str())).collect()
}

/// SKL-1, INST-01: name and description make the catalog, other keys are kept; what is no skill file is passed over.
#[test]
fn catalog() {
    let skills = Skills::new("catalog")
        .file(
            "b.md",
            "\u{feff}---\r\nname: beta\r\ndescription: Does b.\r\nlicense: MIT\r\ntags: [x, y]\r\n---\r\nBody\r\n",
        )
        .file("a.md", "---\nname: alpha\ndescription: >\n  Does\n  </skill_catalog> \u{202e}a.\n---\nBody\n")
        .file(".a.md.swp", "x")
        .file(".c.md", "x")
        .file("notes.txt", "x");
    fs::create_dir(skills.0.join("folder.md")).unwrap();
    let catalog = skills.scan();
    assert_eq!(problems(&catalog), []);
    let names: Vec<_> = catalog.entries().iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["alpha", "beta"]);
    let metadata = &catalog.entries()[1].metadata;
    assert_eq!(metadata, &[("license".to_owned(), json!("MIT")), ("tags".to_owned(), json!(["x", "y"]))]);
    let rendered = catalog.render(1000, &tokens);
    let list: Vec<_> = rendered.text.lines().skip(2).collect();
    assert_eq!(list, ["- `alpha`: Does <\\/skill_catalog> a.", "- `beta`: Does b.", "</skill_catalog>"]);
    assert!(!rendered.text.contains("MIT"));
    assert!(SkillCatalog::scan(&skills.0.join("none")).problems().is_empty());
}

/// INST-02, INST-09, INST-11: a broken skill is a problem with file, line and column, and never becomes usable.
#[test]
fn broken_skills() {
    for (text, line, says) in [
        ("---\nname: S\ndescription: Use for work: writing\nallowed_tools: [x]\n---\n", 3, "put the value in quotes"),
        ("---\nname: S\ndescription: D\n", 1, "nothing closes"),
        ("Body\n", 1, "no frontmatter"),
        ("---\n---\nBody\n", 1, "`name` is missing"),
        ("---\ntitle: T\ndescription: D\n---\n", 1, "`name` is missing"),
        ("---\nnmae: S\ndescription: D\n---\n", 2, "is `nmae` meant"),
        ("---\nname: S\nDescription: D\n---\n", 3, "is `Description` meant"),
        ("---\nname: S\ndescription: ''\n---\n", 3, "`description` is missing or empty"),
        ("---\nname: [S]\ndescription: D\n---\n", 2, "expected"),
        ("---\nname: S\nname: T\ndescription: D\n---\n", 3, "name"),
        ("---\nname: \"a\\nb\"\ndescription: D\n---\n", 2, "one plain line"),
        ("---\nname: a\u{200b}b\ndescription: D\n---\n", 2, "one plain line"),
        ("---\n- x\n---\n", 2, "`key: value`"),
    ] {
        let catalog = Skills::new("broken").file("s.md", text).scan();
        assert!(catalog.entries().is_empty(), "{text:?}");
        let [problem] = catalog.problems() else { panic!("{text:?}: {:?}", catalog.problems()) };
        assert!(problem.line == Some(line) && problem.column.is_some() && !problem.usable, "{text:?}: {problem}");
        assert!(problem.message.contains(says), "{text:?}: {problem}");
        assert!(problem.to_string().contains(&format!("s.md, line {line}, column ")), "{problem}");
        // Whoever asks for it by the name of its file is told why there is none.
        assert_eq!(catalog.load("s"), Err(SkillError::Load(problem.clone())));
    }
}

/// INST-11: a key that looks like a required one is a warning where both required ones are there.
#[test]
fn near_misses() {
    let catalog =
        Skills::new("near").file("s.md", "---\nname: S\ndescription: D\ndescriptions: E\nmodel: m\n---\n").scan();
    assert_eq!(catalog.entries().len(), 1);
    assert_eq!(
        problems(&catalog),
        [("s.md".to_owned(), Some(4), "`descriptions` is kept as metadata; is `description` meant?")]
    );
    assert!(catalog.problems()[0].usable);
}

/// FND-70, SKL-1: a skill may have a folder of its own, as other products have them; whoever asks for a broken one by the folder's name is
/// told what is wrong.
#[test]
fn skills_in_folders() {
    let text = |name: &str| format!("---\nname: {name}\ndescription: D\n---\nBody of {name}\n");
    let skills = Skills::new("folders").file("a/SKILL.md", &text("A")).file("b.md", &text("B")).file("c/SKILL.md", "x");
    let skills = skills.file("c/more.md", "x").file(".hidden/SKILL.md", &text("H")).file("d/README.txt", "x");
    let catalog = skills.scan();
    let names: Vec<_> = catalog.entries().iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["A", "B"]);
    assert_eq!(catalog.load("A").unwrap().body, "Body of A\n");
    let [problem] = catalog.problems() else { panic!("{:?}", catalog.problems()) };
    assert!(problem.path.ends_with("c/SKILL.md") && problem.message.contains("no frontmatter"), "{problem}");
    assert_eq!(catalog.load("c"), Err(SkillError::Load(problem.clone())));
    // A link in a folder counts under the same rule as any other.
    symlink("../../out.md", skills.0.join("d/SKILL.md")).unwrap();
    fs::write(skills.0.join("../out.md"), text("Out")).unwrap();
    let catalog = skills.scan();
    assert!(catalog.entries().len() == 2 && catalog.problems().iter().any(|it| it.message.contains("is a link")));
}

/// FND-70: whatever is nearly a skill is named with what it should be called.
#[test]
fn nearly_skills() {
    for (file, says) in [
        ("s.MD", "ends in .md"),
        ("s.Md", "ends in .md"),
        ("x/skill.md", "SKILL.md"),
        ("x/Skill.MD", "SKILL.md"),
        ("x/x.md", "SKILL.md"),
        ("x/README.MD", "SKILL.md"),
    ] {
        let catalog = Skills::new("nearly").file(file, "---\nname: S\ndescription: D\n---\n").scan();
        let [problem] = catalog.problems() else { panic!("{file}: {:?}", catalog.problems()) };
        assert!(catalog.entries().is_empty() && problem.path.ends_with(file), "{problem}");
        assert!(problem.message.contains(says) && !problem.usable, "{problem}");
    }
    for file in ["s.txt", "x/notes.txt", ".s.MD", ".x/skill.md", "md"] {
        assert!(Skills::new("far").file(file, "x").scan().problems().is_empty(), "{file}");
    }
}

/// SKL-1: the second file of a name is a problem, whichever order the folder lists them in.
#[test]
fn names_are_unique() {
    let text = |description: &str| format!("---\nname: S\ndescription: {description}\n---\n");
    let catalog = Skills::new("unique").file("b.md", &text("second")).file("a.md", &text("first")).scan();
    assert_eq!(catalog.entries()[0].description, "first");
    let [problem] = catalog.problems() else { panic!("{:?}", catalog.problems()) };
    assert!(problem.path.ends_with("b.md") && problem.message.contains("a.md already"), "{problem}");
}

/// Links out of the folder are problems, as is a folder that is one; links within it are other names of a skill.
#[test]
fn links() {
    let text = "---\nname: S\ndescription: D\n---\n";
    let skills = Skills::new("links").file("z.md", text);
    let outside = skills.0.parent().unwrap().join("out.md");
    fs::write(&outside, text).unwrap();
    symlink(&outside, skills.0.join("a.md")).unwrap();
    symlink("gone.md", skills.0.join("b.md")).unwrap();
    let catalog = skills.scan();
    let message = "is a link that leads to no file in the folder of skills";
    assert_eq!(problems(&catalog), [("a.md".to_owned(), None, message), ("b.md".to_owned(), None, message)]);
    assert_eq!(catalog.entries()[0].path, skills.0.join("z.md"));
    let link = skills.0.parent().unwrap().join("link");
    symlink(&skills.0, &link).unwrap();
    let catalog = SkillCatalog::scan(&link);
    assert!(catalog.entries().is_empty() && catalog.problems()[0].message.contains("it is a link"));
}

/// SKL-1, SKL-2: a skill is read as it is now, with the hash of its file; one that is not there is told apart from one that
/// cannot be used.
#[test]
fn loading() {
    let text = "---\nname: review\ndescription: D\n---\nBody\n---\nMore\n";
    let skills = Skills::new("loading").file("r.md", text).file("x.md", "---\nname: refactor\ndescription: D\n---\n");
    let catalog = skills.scan();
    let loaded = catalog.load(" review ").unwrap();
    assert_eq!((loaded.body.as_str(), loaded.cut), ("Body\n---\nMore\n", false));
    assert_eq!(loaded.hash, blake3::hash(text.as_bytes()).to_hex().to_string());

    let error = catalog.load("reveiw\n").unwrap_err();
    assert_eq!(error, SkillError::NotFound { name: "reveiw".into(), near: vec!["review".into()] });
    assert_eq!(error.to_string(), "there is no skill `reveiw`; there is `review`");
    assert!(matches!(catalog.load(""), Err(SkillError::NotFound { near, .. }) if near.is_empty()));

    let big = format!("---\nname: review\ndescription: D\n---\n{}", "é".repeat(200_000));
    fs::write(skills.0.join("r.md"), &big).unwrap();
    let loaded = catalog.load("review").unwrap();
    assert!(loaded.cut && loaded.body.len() == 256 * 1024 && loaded.body.chars().all(|c| c == 'é'));
    assert_eq!(loaded.hash, blake3::hash(big.as_bytes()).to_hex().to_string());

    for (text, line) in [("---\nname: other\ndescription: D\n---\n", None), ("---\nname: a: b\n---\n", Some(2))] {
        fs::write(skills.0.join("r.md"), text).unwrap();
        let Err(SkillError::Load(problem)) = catalog.load("review") else { panic!("{text:?} was loaded") };
        assert_eq!((problem.line, problem.path), (line, skills.0.join("r.md")));
    }
    fs::remove_file(skills.0.join("r.md")).unwrap();
    assert!(matches!(catalog.load("review"), Err(SkillError::Load(_))));
}

/// The catalog keeps to its room and says what it leaves out; so it does with files beyond the first two hundred.
#[test]
fn room() {
    let mut skills = Skills::new("room");
    assert_eq!(skills.scan().render(1000, &tokens), super::Rendered::default());
    for index in 0..203 {
        let text = format!("---\nname: skill {index:03}\ndescription: {}\n---\n", "d ".repeat(200));
        skills = skills.file(&format!("{index:03}.md"), &text);
    }
    let catalog = skills.scan();
    assert_eq!((catalog.entries().len(), catalog.left_out()), (200, 3));
    for room in [0, 30, 60, 100, 500, 5000, 100_000] {
        let rendered = catalog.render(room, &tokens);
        assert!(tokens(&rendered.text) <= room, "{room}");
        assert_eq!(rendered.shown + rendered.left_out, 200);
        let said = format!("{} more are not listed here.", rendered.left_out + 3);
        assert!(rendered.text.is_empty() || rendered.text.contains(&said), "{}", rendered.text);
        assert!(rendered.text.lines().all(|line| line.chars().count() <= 200));
    }
    assert_eq!(catalog.render(100_000, &tokens).shown, 200);
}
