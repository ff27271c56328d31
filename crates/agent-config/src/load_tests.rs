use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{ConfigError, load, shell_quoted, stays_inside};
use crate::path_value::Places;
use crate::problem::ProblemKind;
use crate::user_file::UserFileError;

struct World {
    places: Places,
}

impl World {
    fn new(name: &str) -> Self {
        let root = agent_testkit::scratch(name);
        let places = Places { home: root.join("home"), project: root.join("project") };
        fs::DirBuilder::new().mode(0o700).create(&places.home).expect("home");
        fs::create_dir(&places.project).expect("project");
        Self { places }
    }

    fn path(&self) -> PathBuf {
        self.places.home.join("config.toml")
    }

    fn write(&self, content: &[u8]) {
        fs::write(self.path(), content).expect("write");
        fs::set_permissions(self.path(), fs::Permissions::from_mode(0o600)).expect("chmod");
    }

    fn error(&self) -> ConfigError {
        load(&self.path(), &self.places).expect_err("must not load")
    }

    fn listing(&self) -> Vec<PathBuf> {
        let entries =
            fs::read_dir(&self.places.home).expect("home").chain(fs::read_dir(&self.places.project).expect("project"));
        entries.map(|entry| entry.expect("entry").path()).collect()
    }
}

#[test]
fn a_small_file_loads() {
    let world = World::new("load-small");
    world.write(b"\xef\xbb\xbf[model]\r\nname = \"other\"\r\n");
    let loaded = load(&world.path(), &world.places).expect("loads");
    assert_eq!(loaded.config.model.name, "other");
    assert_eq!(loaded.file, world.path());
    assert_eq!(world.listing(), [world.path()], "nothing was created");
}

/// CLI-07: no config.toml. The message says what to type, and nothing is created.
#[test]
fn a_missing_file_says_how_to_make_one() {
    let world = World::new("load-missing");
    let error = world.error();
    assert!(matches!(&error, ConfigError::Missing { path } if *path == world.path()), "{error}");
    let lines: Vec<_> = error.to_string().lines().map(|line| line.trim().to_owned()).collect();
    assert!(lines[0].contains(&world.path().display().to_string()), "{lines:?}");
    assert_eq!(lines[1], format!("mkdir -p {}", world.places.home.display()));
    assert_eq!(lines[2], format!("soong-agent config template > {}", world.path().display()));
    assert_eq!(lines[3], format!("chmod go-w {}", world.path().display()));
    assert_eq!(world.listing(), Vec::<PathBuf>::new());
}

/// CLI-07: the lines work when typed, whatever the folder is called.
#[test]
fn the_two_shell_lines_make_the_file() {
    let path = agent_testkit::scratch("load-shell").join("it's \"my\" $HOME; rm -r x").join("-config.toml");
    let message = ConfigError::Missing { path: path.clone() }.to_string();
    let lines: Vec<_> = message.lines().skip(1).collect();
    let script = format!(
        "set -e; umask 077\nsoong_agent() {{ echo \"[model]\"; }}\n{}",
        lines.join("\n").replace("soong-agent config", "soong_agent config")
    );
    assert!(Command::new("sh").arg("-c").arg(script).status().expect("sh").success());
    assert_eq!(fs::read_to_string(&path).expect("made"), "[model]\n");
    let places = Places { home: path.parent().expect("parent").to_owned(), project: "/".into() };
    load(&path, &places).expect("loads");
}

#[test]
fn shell_words_are_quoted_only_where_needed() {
    for (path, expected) in [
        ("/home/u/.soong-agent", "/home/u/.soong-agent"),
        ("/a b", "'/a b'"),
        ("/it's", r"'/it'\''s'"),
        ("~/x", "'~/x'"),
        ("-x", "'-x'"),
        ("", "''"),
    ] {
        assert_eq!(shell_quoted(Path::new(path)), expected);
    }
}

/// CLI-04, the part of config.toml: an empty config.toml is an error, not the defaults.
#[test]
fn an_empty_file_is_refused() {
    let world = World::new("load-empty");
    world.write(b"");
    let error = world.error();
    let ConfigError::Invalid(problems) = &error else { panic!("{error}") };
    assert_eq!(problems.problems()[0].kind, ProblemKind::Empty);
    assert!(error.to_string().contains(&world.path().display().to_string()), "{error}");
}

#[test]
fn what_is_no_text_or_too_much_of_it_is_refused() {
    let world = World::new("load-text");
    world.write(b"[model]\nname = \"\xe9\"\n");
    assert!(matches!(world.error(), ConfigError::File(UserFileError::NotUtf8 { line: 2, .. })));
    world.write(&vec![b'#'; (1 << 20) + 1]);
    assert!(matches!(world.error(), ConfigError::File(UserFileError::TooBig { .. })));
}

/// CFG-12: a config.toml that others may write is not even parsed.
#[test]
fn a_file_that_others_may_write_is_not_parsed() {
    let world = World::new("load-trust");
    world.write(b"[model");
    fs::set_permissions(world.path(), fs::Permissions::from_mode(0o646)).expect("chmod");
    assert!(matches!(world.error(), ConfigError::File(UserFileError::Distrusted { .. })));
}

/// CFG-10: links cannot lead memory_dir out of home.
#[test]
fn memory_dir_stays_inside_home_behind_its_links() {
    let world = World::new("load-links");
    let home = &world.places.home;
    fs::create_dir(home.join("real")).expect("dir");
    for (link, target) in [
        ("inner", home.join("real")),
        ("outer", world.places.project.clone()),
        ("nowhere", world.places.project.join("missing")),
        ("self", home.clone()),
    ] {
        symlink(target, home.join(link)).expect("symlink");
    }
    for (dir, inside) in [
        ("memory", true),
        ("real/deeper/yet", true),
        ("inner", true),
        ("inner/new", true),
        ("outer", false),
        ("outer/new", false),
        ("nowhere", false),
        ("nowhere/new", false),
        ("self", false),
    ] {
        assert_eq!(stays_inside(home, &home.join(dir)).unwrap_or(false), inside, "{dir}");
        world.write(format!("[memory]\nmemory_dir = \"${{SOONG_AGENT_HOME}}/{dir}\"\n").as_bytes());
        assert_eq!(load(&world.path(), &world.places).is_ok(), inside, "{dir}");
    }
}

#[test]
fn a_home_that_is_not_there_yet_has_no_links() {
    let world = World::new("load-no-home");
    let home = world.places.home.join("later");
    assert!(stays_inside(&home, &home.join("memory")).expect("no error"));
}
