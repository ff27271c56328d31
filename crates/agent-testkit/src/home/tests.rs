use std::os::unix::fs::PermissionsExt;

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// TST-8: home and project lie side by side; private, so that the agent's own checks of them pass.
#[test]
fn a_home_has_its_folders_and_modes() {
    let test = TestHome::new("home");
    assert_eq!(test.home, test.root.join("home"));
    assert_eq!(test.project, test.root.join("project"));
    for folder in [&test.root, &test.home, &test.project] {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    test.write_config("http://127.0.0.1:1", "ollama", "");
    assert_eq!(mode(&test.config_path()), 0o600);
}

#[test]
fn extra_toml_is_laid_over_the_base() {
    let test = TestHome::new("config");
    test.write_config(
        "http://127.0.0.1:1/v1",
        "openai",
        "model.name = \"other\"\nmodel.retry.max_attempts = 1\n[tools]\ndisabled = [\"code.run_command\"]\n",
    );
    let config: Table = toml::from_str(&fs::read_to_string(test.config_path()).unwrap()).unwrap();
    let expected: Table = toml::from_str(
        "[model]\nprovider = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\napi_key_env = \"\"\nname = \"other\"\n\
         retry = { max_attempts = 1 }\n[tools]\ndisabled = [\"code.run_command\"]\n",
    )
    .unwrap();
    assert_eq!(config, expected);
}

#[test]
fn a_command_sees_only_the_test_home() {
    let test = TestHome::new("command");
    let output = test.command("sh").args(["-c", "pwd; echo $HOME; env | wc -l; cat"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], test.project.to_str().unwrap());
    assert_eq!(lines[1], test.root.to_str().unwrap());
    // PATH, HOME, SOONG_AGENT_HOME, LC_ALL and what the shell adds itself (PWD, SHLVL, _, OLDPWD).
    assert!(lines[2].trim().parse::<u32>().unwrap() <= 8, "{text}");
}

#[test]
fn removing_takes_all_folders() {
    let test = TestHome::new("remove");
    test.write("project/deep/file.txt", "x");
    let root = test.root.clone();
    test.remove();
    assert!(!root.exists());
}
