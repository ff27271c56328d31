//! Everything that people are shown, as rows of a terminal (CLI-2, CLI-5).

use std::collections::HashSet;

use agent_testkit::{Call, Reply};
use serde_json::json;

use crate::screen::Screen;
use crate::support::{World, calls, command, read, sh, write};
use crate::terminal::Terminal;

/// So wide that nothing is wrapped.
const WIDE: u16 = 2000;
/// What a row may begin with before its first word.
const BORDERS: [&str; 5] = ["|", ":", ">", "-", "!"];

/// The words of a screen as nobody has wrapped it.
struct Words {
    whole: HashSet<String>,
    long: Vec<String>,
}

impl Words {
    fn of(screen: &Screen) -> Self {
        let text = screen.text();
        let whole: HashSet<String> = text.split_whitespace().map(str::to_owned).collect();
        let long = whole.iter().filter(|word| word.chars().count() > 24).cloned().collect();
        Self { whole, long }
    }

    /// Whether it is a word, and not a part of one that would have fitted on a row of so many columns.
    fn knows(&self, word: &str, columns: usize) -> bool {
        let is_number = |c: char| c.is_ascii_digit() || ".,:+-%()?".contains(c);
        self.whole.contains(word)
            || word.chars().all(is_number)
            || is_id(word)
            || word.contains('…')
            // A quoted script is shown line by line.
            || self.whole.iter().any(|whole| whole.contains("\\n") && whole.split_inclusive("\\n").any(|part| part == word))
            || self.long.iter().any(|long| long.chars().count() > columns - 16 && long.contains(word.trim_end_matches('\\')))
    }
}

/// An id of ours, whole: those of two runs differ.
fn is_id(word: &str) -> bool {
    ["sess_", "run_"].iter().any(|prefix| {
        let digits = word.trim_end_matches('\\').strip_prefix(prefix).unwrap_or_default();
        digits.len() == 32 && digits.chars().all(|c| c.is_ascii_hexdigit())
    })
}

/// No row is wider than the terminal, and none ends or begins in the middle of a word.
#[track_caller]
fn check(kind: &str, columns: u16, written: &str, words: &Words) {
    let columns = usize::from(columns);
    let screen = Screen::of(written, columns);
    for row in screen.rows() {
        let text = row.text();
        assert!(!row.full, "{kind} at {columns}: the terminal wrapped {text:?} in\n{}", screen.text());
        let mut all = text.split_whitespace().filter(|word| !BORDERS.contains(word));
        let ends = [all.next(), all.next_back()];
        for word in ends.into_iter().flatten() {
            assert!(
                words.knows(word, columns),
                "{kind} at {columns}: {word:?} is cut in {text:?} of\n{}",
                screen.text()
            );
        }
    }
}

/// A model that does something of every kind, and a person who answers.
fn busy(world: &World, columns: u16) -> String {
    let script = "set -e\nfor file in one two three; do\n    echo \"compiling the file called $file\"\ndone\n\
                  echo 'error: the third of them could not be compiled, since it is not there' >&2\nexit 3\n";
    let long = "The quick brown fox jumps over the lazy dog and then comes back to have another look at it.";
    world.server.script([
        Reply::text(long).calls([
            read("notes.txt"),
            read("nothing-of-that-name.txt"),
            Call::new("code.search", json!({"query": "needle in a haystack", "path": "sub", "glob": "*.none"})),
            Call::new("code.search", json!({"query": "quick|brown"})),
            Call::new("code.list_dir", json!({"path": ".", "recursive": true})),
        ]),
        calls(sh(script)),
        calls(write("out.txt", &format!("{long}\n{long}\n"))),
        calls(Call::new("code.edit_file", json!({"path": "notes.txt", "edits": [{"old": "quick", "new": "slow"}]}))),
        calls(command(&["no-such-program-on-this-machine", "--with", "arguments"])),
        Reply::text(format!(
            "# What I did\n\n{long} {long}\n\n- {long}\n\n```sh\nls -l\n```\n\nThat is all there is.\n"
        )),
    ]);
    world.home.write("project/notes.txt", "The quick brown fox jumps over the lazy dog.\nAnother line of the notes.\n");
    let _ = std::fs::remove_file(world.home.project.join("out.txt"));
    let mut terminal = Terminal::start_of(columns, world.on_terminal(["run", "Do something of every kind."]));
    terminal.shows("1, 2 or 3? ").types("1\n");
    terminal.shows("1, 2 or 3? ").types("2\n");
    terminal.shows("1, 2 or 3? ").types("3 leave it as is\n");
    let (code, screen) = terminal.ends();
    assert_eq!(code, 0, "{screen}");
    screen
}

fn world(name: &str) -> World {
    let world = World::new(name);
    world.configure("model.context_window = 65536\n");
    world.home.write("project/sub/deeper/still.txt", "quick\n");
    world.home.write("project/agents.md", "Be kind.\n");
    world
}

/// FND-73, FND-61, FND-64, FND-28: a run, whatever it does, at several widths: no row is wrapped by the terminal or ends in the middle
/// of a word; a search says what was searched, and a command that failed shows the end of what it printed.
#[test]
fn a_run() {
    let world = world("screens_run");
    let wide = Screen::of(&busy(&world, WIDE), WIDE.into());
    let text = wide.text();
    for told in [
        "code.search 'needle in a haystack' in sub, files '*.none': ",
        "ok     code.search 'quick|brown' in .: 2 matches",
        "ok     code.list_dir .",
        "note   agents.md: is not read: an instruction file is called AGENTS.md",
        "exit   code.run_command sh -c ",
        "       | compiling the file called three\n       | error: the third of them could not be compiled",
        "denied code.edit_file notes.txt: not run, permission denied: the user said no: leave it as is",
        "note   1 call was denied\n",
        "go on with: soong-agent run --session-id sess_",
    ] {
        assert!(text.contains(told), "{told:?} is missing in\n{text}");
    }
    assert_eq!(text.matches("agents.md: is not read").count(), 1, "FND-70: a run says it once\n{text}");
    let words = Words::of(&wide);
    for columns in [40, 80, 120] {
        check("run", columns, &busy(&world, columns), &words);
    }
}

/// FND-73, CLI-5: `sessions`, `replay`, `tools` and `config check`, at any width between 40 and 200 columns.
#[test]
fn pages() {
    let world = world("screens_pages");
    busy(&world, 80);
    for message in ["And another message which is a little longer than the first one was", "Short."] {
        world.session(message, "Well, there is the answer that was waited for.");
    }
    let kinds: [&[&str]; 10] = [
        &["sessions"],
        &["sessions", "--search", "quick"],
        &["replay", "last"],
        &["replay", "last", "--context"],
        &["replay", "FIRST"],
        &["replay", "FIRST", "--context"],
        &["tools"],
        &["tools", "code.run_command"],
        &["config", "check"],
        &["memory", "list"],
    ];
    let list = world.run(&["sessions"]).stdout;
    let first = list.lines().last().and_then(|line| line.split('\t').next()).unwrap();
    for arguments in kinds {
        let arguments: Vec<_> = arguments.iter().map(|word| if *word == "FIRST" { first } else { word }).collect();
        let shown = |columns| {
            let (code, screen) = Terminal::start_of(columns, world.on_terminal(&arguments)).ends();
            assert_eq!(code, 0, "{screen}");
            screen
        };
        let mut words = Words::of(&Screen::of(&shown(WIDE), WIDE.into()));
        // How long ago something was changes while this test runs.
        words
            .whole
            .extend(["min", "s", "ago", "ago)", "just", "(just", "now", "now)", "h", "failed"].map(str::to_owned));
        for columns in [40, 47, 60, 79, 80, 81, 100, 120, 200] {
            check(&arguments.join(" "), columns, &shown(columns), &words);
        }
    }
}

/// FND-73: without a terminal, a line is a line however long it is, and no escape is written.
#[test]
fn no_terminal() {
    let world = world("screens_none");
    busy(&world, 80);
    for arguments in [&["replay", "last"][..], &["replay", "last", "--context"], &["tools"], &["sessions"]] {
        let ended = world.run(arguments).exits(0);
        assert!(!ended.stdout.lines().any(|line| line.ends_with(" \\")), "{}", ended.stdout);
    }
    let tools = world.run(&["tools"]).stdout;
    assert!(tools.lines().filter(|line| line.starts_with("code.")).count() == 6, "{tools}");
}

/// FND-73: a run that was cancelled says so, and so does one whose calls nobody answered about.
#[test]
fn cancelled_and_denied() {
    let world = world("screens_cancelled");
    let (reply, gate) = Reply::text("This takes a while.").gated();
    world.server.script([reply]);
    let mut terminal = Terminal::start_of(80, world.on_terminal(["run", "Wait."]));
    world.is_answering(0);
    terminal.types("\x03");
    let (code, screen) = terminal.ends();
    drop(gate);
    assert_eq!(code, 130, "{screen}");
    let text = Screen::of(&screen, 80).text();
    assert!(text.contains("note   stopping; once more quits at once\n") && text.contains("\ncancelled; "), "{text}");
    world.server.script([calls(write("a.txt", "x")), Reply::text("Done.")]);
    world.run(&["run", "Write."]).exits(3).says(&["1 call was denied, because nobody answered"]);
}

/// FND-64: while a command runs its last lines are seen below what is going on, and nothing of them is left afterwards.
#[test]
fn the_last_lines_of_a_command() {
    let world = world("screens_live");
    let script =
        "for n in 1 2 3 4 5 6 7 8 9; do echo \"step $n of nine\"; done; while [ ! -e go ]; do sleep 0.05; done";
    world.server.script([calls(sh(script)), Reply::text("Done.")]);
    let mut terminal = Terminal::start_of(60, world.on_terminal(["run", "Work."]));
    terminal.shows("1, 2 or 3? ").types("1\n");
    terminal.shows("| step 6 of nine").shows("| step 9 of nine");
    world.home.write("project/go", "");
    let (code, screen) = terminal.ends();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains(" s\r\n"), "the seconds are seen however long the command is: {screen:?}");
    let text = Screen::of(&screen, 60).text();
    assert!(!text.contains("\n       | step"), "{text}");
    assert!(text.contains("ok     code.run_command"), "{text}");
}

/// FND-64: all that a command printed is in the request of the next turn.
#[test]
fn all_that_a_command_printed() {
    let world = world("screens_all");
    let script = "n=0; while [ $n -lt 60 ]; do n=$((n+1)); echo \"line $n\"; done; exit 1";
    world.server.script([calls(sh(script)), Reply::text("Done.")]);
    let ended = world.run_answered("Work.", "1\n").exits(0);
    assert!(ended.stderr.contains("       | line 60\n") && !ended.stderr.contains("| line 50\n"), "{}", ended.stderr);
    let replay = world.run(&["replay", "last"]).exits(0).stdout;
    assert!(replay.contains("       | line 60\n") && replay.contains("--run N --turn M"), "{replay}");
    let request = world.run(&["replay", "last", "--run", "1", "--turn", "2"]).exits(0).stdout;
    for n in 1..=60 {
        assert!(
            request.contains(&format!("line {n}\\\\n")) || request.contains(&format!("line {n}\\n")),
            "line {n}: {request}"
        );
    }
}
