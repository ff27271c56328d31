use super::*;

#[track_caller]
fn right(rule: Text, texts: &[&str]) {
    for text in texts {
        assert_eq!((rule.check)(text), Ok(()), "{text:?}");
    }
}

#[track_caller]
fn shown(rule: Text, texts: &[&str]) {
    for text in texts {
        assert_eq!((rule.check)(text), Err(Refusal::Shown), "{text:?}");
    }
}

/// The message has words of its own in place of the text.
#[track_caller]
fn hidden(rule: Text, texts: &[&str]) {
    for text in texts {
        match (rule.check)(text) {
            Err(Refusal::Said(words)) => assert!(text.is_empty() || !words.contains(text), "{text:?}"),
            other => panic!("{text:?}: {other:?}"),
        }
    }
}

/// CFG-3: a key in place of its variable's name is refused and not repeated.
#[test]
fn key_variables_are_names_and_keys_are_not_shown() {
    right(KEY_ENV, &["", "OPENAI_API_KEY", "_x", "my_key_2", "A", "PRODUCTION_GATEWAY_API_KEY_2"]);
    right(KEY_ENV, &["my_long_lowercase_variable_name_2"]);
    hidden(KEY_ENV, &["sk-abc", "$KEY", "${KEY}", "A B", "1KEY", "KEY=1", "schlüssel"]);
    hidden(
        KEY_ENV,
        &["AIzaSyD4x7Hq2mNvT9bKpLw3RcZ1", "0123456789abcdef0123456789abcdef", "a0123456789bcdef0123456789abcdef"],
    );
    right(ENV_NAME, &["PATH", "LC_ALL"]);
    hidden(ENV_NAME, &["", "PATH*", "A=B"]);
}

#[test]
fn base_urls_are_plain_http_addresses() {
    right(
        BASE_URL,
        &[
            "http://127.0.0.1:11434",
            "https://api.example.com/v1",
            "http://[::1]:8080/",
            "HTTP://LOCALHOST",
            "https://bücher.example",
        ],
    );
    shown(
        BASE_URL,
        &[
            "",
            "localhost:11434",
            "127.0.0.1",
            "ftp://x",
            "http://",
            "https:///v1",
            "http:x",
            "http://x/?a=1",
            "http://x/#f",
            " http://x",
            "http://x\t",
            "http:\\\\x",
            "http://ex ample",
            "file:///etc/passwd",
        ],
    );
    hidden(
        BASE_URL,
        &["http://user:secret@x/", "https://token@x", "//user:secret@x", "http://127.0.0.1\\@evil.example"],
    );
}

/// CFG-3: a port that none is is named as what is wrong, whatever else the address holds.
#[test]
fn ports_that_are_none_are_named() {
    for host in ["x", "127.0.0.1", "[::1]", "h.example"] {
        for port in ["99999", "65536", "0", "11434x", "-1", "1e3"] {
            for path in ["", "/", "/v1"] {
                let address = format!("http://{host}:{port}{path}");
                match (BASE_URL.check)(&address) {
                    Err(Refusal::Said(words)) => assert!(words.contains("port"), "{address}: {words}"),
                    other => panic!("{address}: {other:?}"),
                }
            }
        }
        right(BASE_URL, &[format!("http://{host}:65535/v1").as_str(), &format!("http://{host}:1")]);
    }
}

#[test]
fn endpoints_know_this_machine_under_all_its_names() {
    let loopback = |url: &str| Endpoint::of(url).expect(url).loopback;
    for url in [
        "http://127.0.0.1:1",
        "http://127.9.9.9",
        "http://localhost",
        "http://LocalHost.:80",
        "http://[::1]",
        "http://0x7f.1",
        "http://2130706433",
        "http://[::ffff:127.0.0.1]",
    ] {
        assert!(loopback(url), "{url}");
    }
    for url in [
        "http://0.0.0.0",
        "http://10.0.0.1",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com",
        "http://[::]",
        "http://128.0.0.1",
        "http://mylocalhost",
    ] {
        assert!(!loopback(url), "{url}");
    }
    let origin = |url: &str| Endpoint::of(url).expect(url).origin;
    assert_eq!(origin("https://a.example/v1"), origin("https://A.example:443/v2"));
    assert_ne!(origin("https://a.example"), origin("http://a.example"));
    assert_ne!(origin("https://a.example"), origin("https://a.example:8443"));
    assert_eq!(Endpoint::of("nonsense"), None);
}

/// TOL-8: names of MCP tools pass wherever tools are listed; who they are is found out when their server is there.
#[test]
fn tools_have_full_names() {
    right(TOOL, &["code.read_file", "agent.task_get", "mcp.my-server.do/it", "mcp.srv.a.b"]);
    shown(
        TOOL,
        &["", "read_file", "code.", ".x", "code.*", "code read", "mcp.", "mcp.srv", "mcp.srv.", "mcp..x", "mcp.s.a b"],
    );
    // Who else has tools is not known here; of `code.` all are.
    for (tools, slip) in
        [TOOL, OWN_TOOL].into_iter().flat_map(|text| ["code.raed_file", "CODE.read_file"].map(|slip| (text, slip)))
    {
        let found = (tools.check)(slip).unwrap_err().found(slip).unwrap();
        assert_eq!(found, format!("`{slip}`, which does not exist; did you mean `code.read_file`?"));
    }
    for (slip, meant) in
        [("code.serch", "did you mean `code.search`?"), ("code.zzzzzzzzzzz", "there are code.edit_file, ")]
    {
        let found = (TOOL.check)(slip).unwrap_err().found(slip).unwrap();
        assert!(found.contains(slip) && found.contains(meant), "{found}");
    }
    right(MCP_TOOL, &["mcp.srv.tool"]);
    shown(MCP_TOOL, &["code.read_file", "mcp.srv"]);
    right(OWN_TOOL, &["code.read_file"]);
    shown(OWN_TOOL, &["mcp.srv.tool"]);
}

#[test]
fn hosts_are_bare() {
    right(HOST, &["example.com", "localhost", "10.0.0.1", "::1", "my_host-1", "bücher.example"]);
    shown(
        HOST,
        &[
            "",
            "https://example.com",
            "example.com:443",
            "example.com/x",
            "*.example.com",
            ".example.com",
            "a..b",
            "a b",
            "u@h",
        ],
    );
}

#[test]
fn names_and_ids() {
    right(NAME, &["gemma4", "org/model:7b-q4", "модель"]);
    shown(NAME, &["", "  ", "a\nb", "a\u{1b}b"]);
    right(ID, &["default", "a-b_C9"]);
    let long = "a".repeat(129);
    shown(ID, &["", "a b", "a.b", "a/b", "ä", &long]);
}

/// PLN-4: the names are those of the packaged files, all of them, and the message names them all.
#[test]
fn plan_templates_are_the_packaged_files() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent-library/assets/templates");
    let mut packaged: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter_map(|file| Some(file.strip_prefix("plan_")?.strip_suffix(".md")?.to_owned()))
        .collect();
    packaged.sort_unstable();
    assert_eq!(packaged, PLAN_TEMPLATES);
    right(PLAN_TEMPLATE, PLAN_TEMPLATES);
    shown(PLAN_TEMPLATE, &["", "plan_default", "Default"]);
    for name in PLAN_TEMPLATES {
        assert!(PLAN_TEMPLATE.noun.contains(&format!("{name:?}")), "{name}");
    }
}
