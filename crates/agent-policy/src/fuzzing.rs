//! What fuzz targets call: rules that must hold of any input, as assertions. Only with the feature `fuzzing`.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
    sync::LazyLock,
};

use crate::paths::{PathRules, Places, Root, words::MAX_PATH};

/// The contract's default list.
const SENSITIVE: [&str; 8] = ["~/.ssh", "~/.gnupg", "~/.aws", "~/.config/gcloud", "*.pem", "*.key", ".env", ".env.*"];

static RULES: LazyLock<Option<PathRules>> = LazyLock::new(|| {
    let places = Places {
        project: "/home/u/ws".into(),
        write_roots: vec!["/srv/out".into()],
        tmp: Some("/tmp".into()),
        home: "/home/u/.soong-agent".into(),
        user_home: Some("/home/u".into()),
        memory_dir: "/home/u/.soong-agent/memory".into(),
        wal_dir: "/home/u/ws/.soong-agent/tasks".into(),
        session_db: "/home/u/.soong-agent/sessions.sqlite".into(),
        sessions_dir: "/home/u/.soong-agent/sessions".into(),
        plans_dir: "/home/u/ws/.soong-agent/plans".into(),
    };
    PathRules::new(places, &SENSITIVE.map(str::to_owned)).ok()
});

/// Asks every question about a path and about a word of a command, and checks that the answers fit together.
///
/// `path` is any bytes, taken as they come and as the end of paths whose answer is known; `word` any argument.
///
/// # Panics
/// When a rule does not hold. That is what it is for.
pub fn path_rules(path: &[u8], word: &str) {
    let rules = RULES.as_ref();
    assert!(rules.is_some(), "the rules can be built");
    let Some(rules) = rules else { return };
    let absolute = Path::new("/").join(OsStr::from_bytes(path));
    folders_cover(rules, &absolute);
    case_opens_nothing(rules, &absolute);
    roots_are_exact(rules, &absolute);
    below_known_folders(rules, path);
    words_are_paths(rules, &absolute, word);
    assert!(!rules.show(&absolute).contains(char::is_control), "shown paths are escaped: {absolute:?}");
}

/// What holds of a folder holds of what is in it, and of the folder asked entry by entry.
fn folders_cover(rules: &PathRules, path: &Path) {
    let below = path.join("x");
    assert!(rules.sensitive(path).is_none() || rules.sensitive(&below).is_some(), "{path:?}");
    assert!(rules.forbidden_write(path).is_none() || is_plan(rules, &below) || rules.forbidden_write(&below).is_some());
    assert!(rules.sensitive_entry(path).is_none() || rules.sensitive(path).is_some(), "{path:?}");
    if clean(path) {
        let walked = path.ancestors().any(|at| rules.sensitive_entry(at).is_some());
        assert_eq!(walked, rules.sensitive(path).is_some(), "{path:?}");
    }
}

/// Rules that restrict do so in any case.
fn case_opens_nothing(rules: &PathRules, path: &Path) {
    let Some(text) = path.to_str() else { return };
    for other in [text.to_uppercase(), text.to_lowercase()].map(PathBuf::from) {
        assert!(rules.sensitive(path).is_none() || rules.sensitive(&other).is_some(), "{path:?} {other:?}");
        assert!(rules.forbidden_write(path).is_none() || rules.forbidden_write(&other).is_some(), "{path:?} {other:?}");
    }
}

/// Rules that permit do so for exactly what is named; what is in our home by its exact letters is never written.
fn roots_are_exact(rules: &PathRules, path: &Path) {
    let (places, root) = (rules.places(), rules.root_of(path));
    let dots = path.components().any(|part| part == Component::ParentDir);
    assert!(!dots || root == Root::Outside, "{path:?}");
    assert!(root != Root::Home || rules.forbidden_write(path).is_some(), "{path:?}");
    if !dots && path.starts_with(&places.home) {
        assert_eq!(root, Root::Home, "{path:?}");
    }
    assert_eq!(root == Root::Project, !dots && path.starts_with(&places.project), "{path:?}");
    assert!(root != Root::Project || rules.may_run_in(path));
}

/// Whatever is below a sensitive folder is sensitive, however the folder is spelled; and below our home nothing is written.
fn below_known_folders(rules: &PathRules, rest: &[u8]) {
    let rest = Path::new(OsStr::from_bytes(rest));
    if rest.is_absolute() || !clean(rest) {
        return;
    }
    for folder in ["/home/u/.ssh", "/HOME/U/.SSH", "/home/u/.S\u{17f}h", "/home/u/.ssh.", "/home/u/.s\u{200b}sh"] {
        assert!(rules.sensitive(&Path::new(folder).join(rest)).is_some(), "{folder} {rest:?}");
    }
    for folder in ["/home/u/.soong-agent", "/home/u/.Soong-Agent", "/home/u/.soong-agent "] {
        assert!(rules.forbidden_write(&Path::new(folder).join(rest)).is_some(), "{folder} {rest:?}");
    }
    assert!(rules.control(&rules.places().project.join(".Git").join(rest)).is_some(), "{rest:?}");
}

/// An argument that names a sensitive path is seen, alone and as an option's value.
fn words_are_paths(rules: &PathRules, path: &Path, word: &str) {
    let project = rules.places().project.as_path();
    let seen = |word: &str| rules.sensitive_word(word, project).is_some();
    let short = |word: &str| (1..=MAX_PATH).contains(&word.len());
    if short(word) && rules.sensitive(&rules.as_written(word, project)).is_some() {
        assert!(seen(word), "{word:?}");
    }
    let _ = seen(word);
    if let Some(path) = path.to_str().filter(|path| short(path) && rules.sensitive(Path::new(path)).is_some()) {
        assert!(seen(path), "{path:?}");
        assert!(seen(&format!("--file={path}")), "{path:?}");
    }
}

fn is_plan(rules: &PathRules, path: &Path) -> bool {
    path.starts_with(&rules.places().plans_dir)
}

/// Whether the path is what resolving leaves: names, and no dots.
fn clean(path: &Path) -> bool {
    let dots = |name: &OsStr| name == "." || name == "..";
    !path.as_os_str().as_bytes().split(|byte| *byte == b'/').map(OsStr::from_bytes).any(dots)
}
