use agent_core::id::{AgentId, PermissionRequestId, RunId, SessionId};
use agent_core::message::Object;
use agent_core::permission::DecisionKind;
use agent_core::session::AgentRole;
use agent_core::text::quote_argv;
use agent_core::tool::Permission;
use proptest::prelude::*;
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::*;

/// What a question may be about.
struct Asked {
    tool: &'static str,
    summary: String,
    target: Option<String>,
    reasons: Vec<String>,
    scope: Option<String>,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            tool: "code.edit_file",
            summary: "--- a/a.txt\n+++ b/a.txt\n-old\n+new\n".to_owned(),
            target: Some("/t/ws/a.txt".to_owned()),
            reasons: vec!["it writes a.txt".to_owned()],
            scope: Some("writes to files directly in ./ by code.edit_file".to_owned()),
        }
    }
}

impl Asked {
    fn request(self) -> PermissionRequest {
        let id = "00000000-0000-7000-8000-000000000000";
        let mut metadata = Object::new();
        metadata.insert("reasons".to_owned(), json!(self.reasons));
        metadata.extend(self.scope.map(|scope| ("session_scope".to_owned(), json!(scope))));
        PermissionRequest {
            request_id: PermissionRequestId::parse(&format!("{}{id}", PermissionRequestId::PREFIX)).unwrap(),
            session_id: SessionId::parse(&format!("{}{id}", SessionId::PREFIX)).unwrap(),
            agent_id: AgentId::parse(&format!("{}{id}", AgentId::PREFIX)).unwrap(),
            run_id: RunId::parse(&format!("{}{id}", RunId::PREFIX)).unwrap(),
            parent_agent_id: None,
            parent_run_id: None,
            agent_role: AgentRole::Main,
            tool_name: self.tool.to_owned(),
            permission: Permission::Write,
            tags: Vec::new(),
            args_summary: self.summary,
            target_scope: self.target,
            cwd: "/t/ws".to_owned(),
            env_summary: Object::new(),
            network_host: None,
            dangerous: false,
            hook_summary: None,
            suggested_decision: DecisionKind::AllowOnce,
            metadata,
        }
    }

    fn rows(self, columns: usize) -> Vec<String> {
        rows_of(&self.request(), columns)
    }
}

fn rows_of(request: &PermissionRequest, columns: usize) -> Vec<String> {
    let shown = Shown::of(request, Width::new(columns, false));
    [shown.preview, shown.title, shown.facts].concat()
}

/// CLI-3, PRM-6: the change first, then what it is about, then what can be answered, one a line.
#[test]
fn a_question() {
    assert_eq!(
        Asked::default().rows(80),
        [
            "  | --- a/a.txt",
            "  | +++ b/a.txt",
            "  | -old",
            "  | +new",
            "allow? code.edit_file",
            "  target  /t/ws/a.txt",
            "  in      /t/ws",
            "  because it writes a.txt",
            "  1  allow once",
            "  2  allow for this session: do not ask again about writes to files directly ",
            "   : in ./ by code.edit_file",
            "  3  deny; what follows the 3 tells the model why",
        ]
    );
}

/// FND-28, PRM-6: a script in a command is shown line by line; the rows together are the command in its quoting, and only
/// a line break in quotes ends a row.
#[test]
fn a_script_is_shown_in_lines() {
    let command = |argv: &[&str], columns| {
        let argv: Vec<_> = argv.iter().map(|word| (*word).to_owned()).collect();
        let mut request = Asked { summary: quote_argv(&argv), ..Asked::default() }.request();
        request.env_summary.insert("names".to_owned(), json!(["PATH"]));
        let shown = Shown::of(&request, Width::new(columns, false)).preview;
        let whole: String = shown.iter().map(|row| &row[4..]).collect();
        assert_eq!(whole, quote_argv(&argv));
        shown
    };
    let script = "set -e\nfor file in src/*.c; do\n    cc -c \"$file\"\ndone\n";
    assert_eq!(
        command(&["sh", "-c", script], 80),
        ["  | sh -c $'set -e\\n", "  : for file in src/*.c; do\\n", "  :     cc -c \"$file\"\\n", "  : done\\n'"]
    );
    assert_eq!(
        command(&["sh", "-c", "echo it\\'s\necho 'two words'", "a\\nb"], 80),
        ["  | sh -c $'echo it\\\\\\'s\\n", "  : echo \\'two words\\'' 'a\\nb'"]
    );
    // What does not fit goes on at a blank.
    assert_eq!(
        command(&["sh", "-c", "printf one two three\nexit"], 24),
        ["  | sh -c $'printf one ", "  : two three\\n", "  : exit'"]
    );
}

/// CLI-3, PRM-6: danger, the host, hooks and a child agent that asks are all named.
#[test]
fn who_asks_and_what_is_known() {
    let mut request = Asked { scope: None, ..Asked::default() }.request();
    request.dangerous = true;
    request.network_host = Some("example.com".to_owned());
    request.agent_role = AgentRole::Sub;
    request.parent_agent_id = Some(request.agent_id.clone());
    request.metadata.insert(PermissionRequest::AGENT_NAME.to_owned(), json!("Re\u{202e}viewer"));
    request.metadata.insert(PermissionRequest::PARENT_ROLE.to_owned(), json!("orchestrator"));
    request.hook_summary = Some(Object::from_iter([("lint".to_owned(), json!("fails")), ("n".to_owned(), json!(2))]));
    let rows = rows_of(&request, 200);
    let id = &request.agent_id;
    for row in [
        "allow? code.edit_file (dangerous)",
        "  host    example.com",
        &format!("  asks    the sub-agent Re\\u{{202e}}viewer ({id}), a child of the orchestrator agent {id}"),
        "  hook    lint: fails",
        "  hook    n: 2",
        "  2  allow for this session: not possible for this call, so it counts once",
    ] {
        assert!(rows.iter().any(|shown| shown == row), "{row} in {rows:#?}");
    }
}

/// PRM-6: that something is not shown is said next to the options, with how much it is.
#[test]
fn a_cut_is_said_next_to_the_options() {
    for (summary, said) in [
        ("+a\n[… 812 characters in 20 lines not shown …]\n+z", Some("812 characters in 20 lines")),
        ("tar c [… 812 characters in 90 words not shown …] z", Some("812 characters in 90 words")),
        ("sh -c 'a'[… 812 characters not shown …]'z'", Some("812 characters")),
        ("+[<U+2026> 3 characters not shown …]", None),
        ("[… nothing, all is well: 1 allow once not shown …]", Some("a part")),
    ] {
        let rows = Asked { summary: summary.to_owned(), ..Asked::default() }.rows(200);
        let warning = rows.iter().position(|row| row.starts_with("  !       "));
        assert_eq!(warning.is_some(), said.is_some(), "{rows:#?}");
        if let (Some(at), Some(said)) = (warning, said) {
            assert_eq!(rows[at], format!("  !       not shown whole; left out above: {said}"));
            assert_eq!(rows[at + 1], "  1  allow once");
        }
    }
}

/// PRM-6: facts leave room for the options: long ones show both ends and say what is missing, many are counted.
#[test]
fn facts_are_bounded() {
    let long = format!("/t/ws/{}/the-end.txt", "deep/".repeat(800));
    let rows = Asked {
        target: Some(long.clone()),
        reasons: (0..30).map(|n| format!("{n} {long}")).collect(),
        scope: Some(format!("writes to {long}")),
        ..Asked::default()
    }
    .rows(80);
    let facts = rows.iter().position(|row| row.starts_with("allow?")).unwrap();
    assert!(rows.len() - facts < 60, "{rows:#?}");
    let joined = rows.join("\n").replace("\n        : ", "").replace("\n   : ", "");
    assert!(joined.contains("  target  /t/ws/deep/deep/"), "{joined}");
    assert_eq!(joined.matches("/the-end.txt\n").count(), 10, "{joined}");
    assert_eq!(joined.matches(" characters not shown …]").count(), 10, "{joined}");
    assert!(joined.contains("\n  because and 22 more\n"), "{joined}");
}

/// PRM-6: a request has paths as they are; a person sees where each ends and what is in it, and no two alike.
#[test]
fn paths_are_quoted_and_escaped() {
    for (raw, shown) in [
        ("/t/ws/a.txt", "/t/ws/a.txt"),
        ("/t/ws/trail ", "'/t/ws/trail '"),
        ("/t/ws/it's", "$'/t/ws/it\\'s'"),
        ("/t/ws/a\u{202e}.rs", "/t/ws/a\\u{202e}.rs"),
        ("/t/ws/\u{1b}[2J", "/t/ws/\\x1b[2J"),
        ("bytes:/t/ws/a%0Ab", "/t/ws/a\\nb"),
        ("bytes:/t/ws/%FF", "/t/ws/\\xFF"),
        ("bytes:/t/ws/%FF%0A", "/t/ws/\\xFF\\n"),
    ] {
        let rows = Asked { target: Some(raw.to_owned()), ..Asked::default() }.rows(80);
        assert!(rows.contains(&format!("  target  {shown}")), "{raw:?}: {rows:#?}");
        let mut request = Asked::default().request();
        request.cwd = raw.to_owned();
        let rows = rows_of(&request, 80);
        assert!(rows.contains(&format!("  in      {shown}")), "{raw:?}: {rows:#?}");
    }
    let many: Vec<_> = (0..12).map(|n| format!("/t/{n}")).collect();
    let rows = Asked { target: Some(many.join("\n")), ..Asked::default() }.rows(80);
    let targets: Vec<_> = rows.iter().filter(|row| row.starts_with("  target  ")).collect();
    assert_eq!(
        (targets.len(), targets[7].as_str(), targets[8].as_str()),
        (9, "  target  /t/7", "  target  and 4 more")
    );
}

/// PRM-6: no cut of ours leaves half of an escape.
#[test]
fn escapes_are_not_cut() {
    for before in 0..40 {
        let text = format!("{}{}", "a".repeat(before), "\\u{202e}\\x1b".repeat(60));
        let shown = short(&text);
        let (head, rest) = shown.split_once("[…").unwrap();
        let tail = rest.split_once("…]").unwrap().1;
        for part in [head, tail] {
            let rest = part.replace("\\u{202e}", "").replace("\\x1b", "");
            assert!(rest.bytes().all(|byte| byte == b'a'), "{part}");
        }
    }
}

/// What stands at the beginning of rows of ours.
const BORDERS: &[&str] = &[
    "  | ",
    "  : ",
    "allow? ",
    "     : ",
    "  target  ",
    "  in      ",
    "  because ",
    "  !       ",
    "        : ",
    "  1  ",
    "  2  ",
    "  3  ",
    "   : ",
];

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("  target  src/ok.txt".to_owned()),
        Just("  1  allow once".to_owned()),
        Just("allow? code.read_file".to_owned()),
        Just("  | +harmless".to_owned()),
        Just("  1, 2 or 3? ".to_owned()),
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        (0_usize..220).prop_map(|n| " ".repeat(n)),
        (0_usize..220).prop_map(|n| "x".repeat(n)),
        (0_usize..120).prop_map(|n| "中".repeat(n)),
        "[\t\u{1b}\u{85}\u{202e}\u{2028}\u{301}\u{1f468}\u{200d}א✓\\\\]{0,8}",
        "\\PC{0,30}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// CLI-3, PRM-6: whatever a request holds and however wide the terminal is: each row begins with something of ours and
    /// fits, and labels stand only where we have put them.
    #[test]
    fn a_question_cannot_be_imitated(
        summary in hostile(),
        target in hostile(),
        reasons in prop::collection::vec(hostile(), 0..4),
        scope in prop::option::of(hostile()),
        columns in 20_usize..=200,
    ) {
        let targets = target.split('\n').count().min(MAX_TARGETS + 1);
        let (because, cut) = (reasons.len(), summary.contains(NOTE));
        let rows = Asked { summary, target: Some(target), reasons, scope, ..Asked::default() }.rows(columns);
        for row in &rows {
            prop_assert!(row.width() < columns && !row.contains(char::is_control), "{row:?}");
            prop_assert!(BORDERS.iter().any(|border| row.starts_with(border)), "{row:?}");
        }
        let count = |border: &str| rows.iter().filter(|row| row.starts_with(border)).count();
        prop_assert_eq!(count("allow? "), 1);
        prop_assert_eq!(count("  target  "), targets);
        prop_assert_eq!(count("  in      "), 1);
        prop_assert_eq!(count("  because "), because);
        prop_assert_eq!(count("  !       "), usize::from(cut));
        // The options are the last rows, in order.
        let options: Vec<_> = rows.iter().skip_while(|row| !row.starts_with("  1  ")).collect();
        prop_assert!(options.len() >= 3 && options[0] == "  1  allow once");
        prop_assert!(options[1].starts_with("  2  allow for "));
        let last = options.iter().position(|row| row.starts_with("  3  deny; ")).unwrap();
        prop_assert!(options[2..].iter().enumerate().all(|(at, row)| at + 2 == last || row.starts_with("   : ")));
    }
}
