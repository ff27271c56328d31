//! What passing things look like: transcripts, output, state, plans (MEM-4).
//!
//! A shape is told by its lines, not by its subject: "run the tests before you commit" is a memory, what the tests said is
//! none. Each is meant to let a sentence about such a thing through.

use std::fmt;

/// What a text looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Turns of a conversation.
    Transcript,
    /// What a tool, a test run or a log said.
    ToolOutput,
    /// More code than an example.
    LongCode,
    /// Boxes to tick.
    Checklist,
    /// Where tasks stand.
    TaskState,
    /// The body of a plan.
    Plan,
    /// A change of files.
    Diff,
    /// How a program came to an end.
    StackTrace,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Transcript => "a transcript",
            Self::ToolOutput => "output of a tool",
            Self::LongCode => "a long piece of code",
            Self::Checklist => "a list of things to do",
            Self::TaskState => "the state of tasks",
            Self::Plan => "a plan",
            Self::Diff => "a diff",
            Self::StackTrace => "a stack trace",
        })
    }
}

type Test = fn(&[&str]) -> bool;

const TABLE: &[(Shape, Test)] = &[
    (Shape::Transcript, is_transcript),
    (Shape::Diff, is_diff),
    (Shape::StackTrace, is_stack_trace),
    (Shape::ToolOutput, is_tool_output),
    (Shape::Checklist, is_checklist),
    (Shape::TaskState, is_task_state),
    (Shape::Plan, is_plan),
    (Shape::LongCode, is_long_code),
];

/// The first shape a text has.
pub(super) fn find(text: &str) -> Option<Shape> {
    let lower = text.to_lowercase();
    let lines: Vec<&str> = lower.lines().map(str::trim).collect();
    TABLE.iter().find(|(_, has)| has(&lines)).map(|(shape, _)| *shape)
}

/// Lines of a fenced block that are an example.
const LONGEST_EXAMPLE: usize = 12;

fn count(lines: &[&str], is: impl Fn(&str) -> bool) -> usize {
    lines.iter().filter(|line| is(line)).count()
}

fn any_starts(lines: &[&str], beginnings: &[&str]) -> bool {
    lines.iter().any(|line| beginnings.iter().any(|beginning| line.starts_with(beginning)))
}

fn any_contains(lines: &[&str], parts: &[&str]) -> bool {
    lines.iter().any(|line| parts.iter().any(|part| line.contains(part)))
}

/// A line without marks of lists, quotes, headings and emphasis before it.
fn bare(line: &str) -> &str {
    let line = line.trim_start_matches(['-', '*', '+', '>', '#', '_', '•', ' ', '\t']);
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    match line[digits..].strip_prefix(['.', ')']) {
        Some(rest) if digits > 0 => rest.trim_start(),
        _ => line,
    }
}

#[derive(PartialEq, Eq)]
enum Speaker {
    Person,
    Machine,
    Other,
}

const SPEAKERS: &[(&str, Speaker)] = &[
    ("user", Speaker::Person),
    ("human", Speaker::Person),
    ("me", Speaker::Person),
    ("用户", Speaker::Person),
    ("assistant", Speaker::Machine),
    ("agent", Speaker::Machine),
    ("ai", Speaker::Machine),
    ("bot", Speaker::Machine),
    ("model", Speaker::Machine),
    ("tool", Speaker::Machine),
    ("助手", Speaker::Machine),
    ("工具", Speaker::Machine),
    ("system", Speaker::Other),
    ("系统", Speaker::Other),
];

/// Who speaks in a line such as `**User:** …`, `[assistant] …`, `### Assistant`.
fn speaker(line: &str) -> Option<&'static Speaker> {
    let is_heading = line.starts_with('#');
    let line = bare(line);
    let (line, in_brackets) = line.strip_prefix('[').map_or((line, false), |rest| (rest, true));
    SPEAKERS.iter().find_map(|(word, speaker)| {
        let rest = line.strip_prefix(word)?;
        let says = match in_brackets {
            true => rest.starts_with(']'),
            false => {
                rest.trim_start_matches(['*', '_', ' ']).starts_with([':', '：']) || (is_heading && rest.is_empty())
            }
        };
        says.then_some(speaker)
    })
}

fn is_transcript(lines: &[&str]) -> bool {
    let speakers: Vec<_> = lines.iter().filter_map(|line| speaker(line)).collect();
    let both = speakers.contains(&&Speaker::Person) && speakers.contains(&&Speaker::Machine);
    let squeezed = |line: &&str| line.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let is_json = |line: &str| {
        let line = squeezed(&line);
        ["user", "assistant", "system", "tool"].iter().any(|role| line.contains(&format!("\"role\":\"{role}\"")))
    };
    both || speakers.len() >= 4
        || any_contains(lines, &["<|im_start|>", "<|user|>", "<|assistant|>", "<|start_header_id|>", "[/inst]"])
        || lines.iter().any(|line| is_json(line))
}

fn is_tool_output(lines: &[&str]) -> bool {
    let frames = ["[tool ", "[tool:", "[tool_", "[tool]", "<tool_", "<function_", "<stdout", "<stderr", "test result:"];
    let is_summary = |line: &str| {
        line.starts_with("==") && line.ends_with("==") && (line.contains(" passed") || line.contains(" failed"))
    };
    any_starts(lines, &frames)
        || any_contains(lines, &["\"tool_call_id\"", "\"tool_use_id\"", "\"tool_calls\""])
        || lines.iter().any(|line| is_summary(line) || is_exit_code(line))
        || count(lines, |line| is_test_line(line) || is_listing_line(line) || is_log_line(line) || is_hit(line)) >= 3
}

fn is_exit_code(line: &str) -> bool {
    let code =
        ["exit code:", "exit code", "exit status:", "exit status"].iter().find_map(|said| line.strip_prefix(said));
    code.is_some_and(|code| !code.trim().is_empty() && code.trim().bytes().all(|b| b.is_ascii_digit()))
}

/// `test a::b ... ok`, `a_test.py::test_b PASSED`, `--- PASS: TestX`, `ok 3 - it works`, `✓ it works`.
fn is_test_line(line: &str) -> bool {
    let cargo = line.starts_with("test ") && line.contains(" ... ");
    let tap = line.strip_prefix("not ").unwrap_or(line).strip_prefix("ok ");
    let tap = tap.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let go = ["--- pass:", "--- fail:", "✓ ", "✔ ", "✗ ", "pass ", "fail "].iter().any(|mark| line.starts_with(mark));
    let pytest = line.contains("::") && (line.contains(" passed") || line.contains(" failed"));
    cargo || tap || go || pytest
}

/// `drwxr-xr-x 3 …`.
fn is_listing_line(line: &str) -> bool {
    let Some(mode) = line.as_bytes().get(..10) else { return false };
    matches!(mode[0], b'-' | b'd' | b'l')
        && mode[1..].iter().all(|b| b"rwxst-".contains(b))
        && mode[1..].contains(&b'r')
}

/// `2026-11-30T09:41:43 …`, `[info] …`, `warning: …`.
fn is_log_line(line: &str) -> bool {
    let line = line.trim_start_matches('[');
    let stamp = line.as_bytes().get(..14).is_some_and(|stamp| {
        stamp.iter().zip(b"0000-00-00 00:").all(|(have, form)| match form {
            b'0' => have.is_ascii_digit(),
            b' ' => matches!(have, b' ' | b't'),
            _ => have == form,
        })
    });
    let is_level = |level: &&str| {
        line.strip_prefix(*level).is_some_and(|rest| rest.starts_with([']', ':', '[']) || rest.starts_with("  "))
    };
    stamp || ["trace", "debug", "info", "warn", "warning", "error"].iter().any(is_level)
}

/// `src/main.rs:12:  let x`, as searches and compilers write it.
fn is_hit(line: &str) -> bool {
    let mut parts = line.trim_start_matches("--> ").splitn(3, ':');
    let (path, number, rest) = (parts.next(), parts.next(), parts.next());
    let is_path = path.is_some_and(|path| path.contains(['/', '.']) && !path.contains(' '));
    is_path && rest.is_some() && number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn is_long_code(lines: &[&str]) -> bool {
    let mut open: Option<&str> = None;
    let mut inside = 0;
    for line in lines {
        let fence = ["```", "~~~"].into_iter().find(|fence| line.starts_with(fence));
        match (open, fence) {
            (None, Some(fence)) => (open, inside) = (Some(fence), 0),
            (Some(own), Some(fence)) if own == fence => open = None,
            (Some(_), _) => inside += 1,
            (None, None) => {}
        }
        if inside > LONGEST_EXAMPLE {
            return true;
        }
    }
    false
}

fn is_checklist(lines: &[&str]) -> bool {
    let is_item = |line: &str| {
        let item = bare(line);
        item.len() < line.len() && (item.starts_with("[ ]") || item.starts_with("[x]"))
    };
    lines.iter().any(|line| is_item(line) || bare(line).starts_with(['☐', '☑', '☒']))
}

fn is_task_state(lines: &[&str]) -> bool {
    let states =
        ["pending", "in_progress", "in progress", "running", "blocked", "completed", "done", "failed", "claimed"];
    let is_state = |line: &str| {
        let line = bare(line);
        let told = line.strip_prefix("status:").or_else(|| line.strip_prefix("state:")).map(str::trim);
        let marked = line.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(mark, _)| mark);
        [told, marked].into_iter().flatten().any(|word| states.contains(&word.trim_end_matches(['.', ','])))
    };
    lines.iter().any(|line| is_state(line) || has_task_id(line)) || any_contains(lines, &["<task_board"])
}

/// `task_` and at least eight letters and digits, one of them a digit.
fn has_task_id(line: &str) -> bool {
    line.match_indices("task_").any(|(at, word)| {
        let id: Vec<u8> = line[at + word.len()..].bytes().take_while(u8::is_ascii_alphanumeric).collect();
        id.len() >= 8 && id.iter().any(u8::is_ascii_digit)
    })
}

fn is_plan(lines: &[&str]) -> bool {
    let headings =
        ["plan", "goal", "approach", "steps", "milestones", "risks", "open questions", "计划", "目标", "步骤", "风险"];
    let is_heading = |line: &str| line.starts_with('#') && line.trim_start_matches('#').starts_with(' ');
    let is_plan_heading = |line: &str| is_heading(line) && headings.contains(&bare(line).trim_end_matches(':'));
    let is_step = |line: &str| {
        let step = bare(line).trim_start_matches('*').strip_prefix("step ").or_else(|| bare(line).strip_prefix('第'));
        step.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || "一二三四五六七八九十".contains(c)))
    };
    count(lines, is_heading) >= 3 || count(lines, is_plan_heading) >= 2 || count(lines, is_step) >= 3
}

fn is_diff(lines: &[&str]) -> bool {
    let pair = |pair: &[&str]| pair[0].starts_with("--- ") && pair[1].starts_with("+++ ");
    any_starts(lines, &["diff --git ", "@@ -", "*** begin patch", "<<<<<<< "]) || lines.windows(2).any(pair)
}

fn is_stack_trace(lines: &[&str]) -> bool {
    let is_frame = |line: &str| {
        let java = line.starts_with("at ") && line.contains(':') && line.contains(['(', '/']);
        let python = line.starts_with("file \"") && line.contains(", line ");
        let gdb = line.starts_with('#') && line.contains(" 0x");
        java || python || gdb
    };
    any_contains(lines, &["traceback (most recent call last)", "panicked at "])
        || any_starts(lines, &["stack backtrace:", "exception in thread ", "goroutine 1 ["])
        || count(lines, is_frame) >= 2
}
