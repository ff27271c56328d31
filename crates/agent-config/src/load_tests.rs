use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::json;

use super::{ConfigError, load, load_text, load_value, stays_inside};
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
    assert_eq!(loaded.model.name, "other");
    assert_eq!(world.listing(), [world.path()], "nothing was created");
}

/// API-10: no config.toml. Nothing is created, and the message names the file.
#[test]
fn a_missing_file_is_not_made() {
    let world = World::new("load-missing");
    let error = world.error();
    assert!(matches!(&error, ConfigError::Missing { path } if *path == world.path()), "{error}");
    let message = error.to_string();
    assert!(message.contains(&world.path().display().to_string()) && message.contains("template"), "{message}");
    assert_eq!(world.listing(), Vec::<PathBuf>::new());
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
        let text = format!("[memory]\nmemory_dir = \"${{SOONG_AGENT_HOME}}/{dir}\"\n");
        assert_eq!(load_text(&text, &world.places).is_ok(), inside, "{dir}");
        let value = json!({"memory": {"memory_dir": format!("${{SOONG_AGENT_HOME}}/{dir}")}});
        assert_eq!(load_value(&value, &world.places).is_ok(), inside, "{dir}");
    }
}

#[test]
fn a_home_that_is_not_there_yet_has_no_links() {
    let world = World::new("load-no-home");
    let home = world.places.home.join("later");
    assert!(stays_inside(&home, &home.join("memory")).expect("no error"));
}

/// API-10: a configuration that is no file says in its place what it is, and goes through the same checks.
#[test]
fn a_text_or_a_value_is_checked_like_a_file() {
    let world = World::new("load-text-value");
    let places = &world.places;
    assert_eq!(load_text("[model]\nname = \"other\"\n", places).expect("loads").model.name, "other");
    assert_eq!(load_value(&json!({"model": {"name": "other"}}), places).expect("loads").model.name, "other");
    let problems = load_text("[model]\nnmae = 1\n", places).expect_err("unknown").to_string();
    assert!(problems.contains("the configuration text:2:1: model.nmae: unknown key"), "{problems}");
    let problems = load_value(&json!({"model": {"nmae": 1, "timeout_ms": "long"}}), places).expect_err("both wrong");
    assert_eq!(problems.problems().len(), 2);
    assert!(problems.to_string().contains("the configuration value: model.nmae: unknown key"), "{problems}");
    assert!(load_value(&json!("text"), places).is_err() && load_value(&json!(null), places).is_err());
    let rule = json!({"tools": {"default_timeout_ms": 2000, "max_timeout_ms": 1000}});
    assert_eq!(load_value(&rule, places).expect_err("a rule").problems()[0].kind, ProblemKind::Conflict);
}

/// An empty text may be the rest of something; an empty value was written by somebody.
#[test]
fn an_empty_value_means_the_defaults() {
    let world = World::new("load-empty-value");
    assert_eq!(load_text(" \n", &world.places).expect_err("empty").problems()[0].kind, ProblemKind::Empty);
    assert_eq!(load_value(&json!({}), &world.places).expect("loads"), crate::Config::implied());
}
