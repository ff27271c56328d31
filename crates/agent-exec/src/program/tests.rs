use super::resolve_program;
use crate::ProgramError;
use agent_testkit::scratch;
use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

/// A folder with `first/` and `second/` to search, and `work/` to start in.
struct Place {
    root: PathBuf,
}

impl Place {
    fn new(name: &str) -> Self {
        let root = scratch(name);
        for folder in ["first", "second", "work"] {
            fs::create_dir(root.join(folder)).unwrap();
        }
        Self { root }
    }

    fn file(&self, path: &str, mode: u32) -> PathBuf {
        let path = self.root.join(path);
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn resolve(&self, argv0: &str) -> Result<PathBuf, ProgramError> {
        let root = self.root.display();
        let path_var = format!("{root}/first:relative::{root}/second");
        resolve_program(OsStr::new(argv0), OsStr::new(&path_var), &self.root.join("work"))
    }
}

/// COD-7: argv[0] is resolved through the entries of PATH in their order.
#[test]
fn a_bare_name_is_taken_from_the_first_folder_that_has_it() {
    let place = Place::new("program-order");
    let second = place.file("second/tool", 0o755);
    assert_eq!(place.resolve("tool"), Ok(second));
    let first = place.file("first/tool", 0o755);
    assert_eq!(place.resolve("tool"), Ok(first));
}

/// COD-7: relative and empty entries of PATH are not searched.
#[test]
fn a_bare_name_is_never_taken_from_the_working_folder() {
    let place = Place::new("program-relative");
    fs::create_dir(place.root.join("work/relative")).unwrap();
    place.file("work/tool", 0o755);
    place.file("work/relative/tool", 0o755);
    assert_eq!(place.resolve("tool"), Err(ProgramError::NotInPath { argv0: "tool".into(), searched: 2 }));
    let only_relative = resolve_program("tool".as_ref(), "relative::.".as_ref(), &place.root.join("work"));
    assert_eq!(only_relative, Err(ProgramError::NotInPath { argv0: "tool".into(), searched: 0 }));
}

#[test]
fn a_name_with_a_slash_is_taken_from_the_working_folder() {
    let place = Place::new("program-slash");
    place.file("first/tool", 0o755);
    let own = place.file("work/tool", 0o755);
    assert_eq!(place.resolve("./tool").unwrap().canonicalize().unwrap(), own);
    assert_eq!(place.resolve(own.to_str().unwrap()), Ok(own));
    let missing = place.root.join("work/no/tool");
    assert_eq!(place.resolve("no/tool"), Err(ProgramError::Missing { path: missing }));
}

/// The name matters to programs such as busybox, so a link is not followed in what is returned.
#[test]
fn links_stay_links_and_dangling_ones_are_missing() {
    let place = Place::new("program-links");
    place.file("second/tool", 0o755);
    symlink("../second/tool", place.root.join("first/alias")).unwrap();
    symlink("nowhere", place.root.join("first/dangling")).unwrap();
    assert_eq!(place.resolve("alias"), Ok(place.root.join("first/alias")));
    assert!(matches!(place.resolve("dangling"), Err(ProgramError::NotInPath { .. })));
}

#[test]
fn what_is_no_executable_file_is_passed_over_and_told() {
    let place = Place::new("program-kinds");
    let plain = place.file("first/tool", 0o644);
    fs::create_dir(place.root.join("first/folder")).unwrap();
    assert_eq!(place.resolve("tool"), Err(ProgramError::NotExecutable { path: plain }));
    let second = place.file("second/tool", 0o755);
    assert_eq!(place.resolve("tool"), Ok(second));
    assert!(matches!(place.resolve("folder"), Err(ProgramError::NotInPath { .. })));
    let folder = place.root.join("first/folder");
    assert_eq!(place.resolve(folder.to_str().unwrap()), Err(ProgramError::NotAFile { path: folder }));
}

/// EXEC-14: a whole shell line in argv[0] is told from a missing program, and says what to do.
#[test]
fn a_shell_line_in_argv0_is_explained() {
    let place = Place::new("program-line");
    place.file("first/ls", 0o755);
    for line in ["ls -la", "./ls -la", "ls\t-la", "/bin/ls -la"] {
        let error = place.resolve(line).unwrap_err();
        assert_eq!(error, ProgramError::CommandLine { argv0: line.into() });
        assert!(error.to_string().contains(r#"["sh", "-c", ...]"#));
    }
    let spaced = place.file("work/my tool", 0o755);
    assert_eq!(place.resolve("./my tool").unwrap().canonicalize().unwrap(), spaced, "an existing one is fine");
}

/// EXEC-14: `[""]` names no program.
#[test]
fn an_empty_name_is_refused() {
    let empty = resolve_program("".as_ref(), "/bin".as_ref(), Path::new("/"));
    assert_eq!(empty, Err(ProgramError::Empty));
}
