use super::nearest;

const KEYS: [&str; 6] = ["name", "base_url", "api_key_env", "timeout_ms", "max_output_tokens", "context_window"];

#[track_caller]
fn check(name: &str, expected: Option<&str>) {
    assert_eq!(nearest(name, KEYS), expected, "{name}");
}

#[test]
fn mistyped_names_find_their_key_and_strangers_find_none() {
    check("nam", Some("name"));
    check("nmae", Some("name"));
    check("Name", Some("name"));
    check("base-url", Some("base_url"));
    check("baseurl", Some("base_url"));
    check("api_key", Some("api_key_env"));
    check("context_windows", Some("context_window"));
    check("max_ouput_tokens", Some("max_output_tokens"));
    check("output", Some("max_output_tokens"));
    check("url", None);
    check("x", None);
    check("", None);
    check("frequency_penalty", None);
    check(&"a".repeat(1_000_000), None);
}
