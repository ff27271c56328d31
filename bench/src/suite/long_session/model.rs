//! The model of a long session: it reads files as dice fall, counts tokens by a tokenizer of its own, looks at every request it
//! gets, and summarises well or badly.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use agent_testkit::{Call, RecordedRequest, Reply};
use serde_json::{Value, json};

use super::size::skewed;
use super::user::CONSTRAINT;
use crate::clock;
use crate::words::Words;

/// Of the contract's configuration.
const WINDOW: u64 = 8192;
/// Bytes that make a token here; the agent takes four for one.
const BYTES_PER_TOKEN: f64 = 3.2;
/// How much counts of like texts differ, in percent to each side.
const NOISE: usize = 3;
/// What a late summary takes, which is longer than most runs.
const LATE: Duration = Duration::from_millis(300);
const FILES: usize = 20;
const LINES: usize = 400;

/// What summaries are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Summaries {
    Good,
    /// Every other one fails, refuses, is rubbish or late.
    HalfBad,
}

/// A request for a reply of the conversation, not for a summary.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// Which process asked.
    pub(super) process: u32,
    /// What it had spent on the CPU by then.
    pub(super) spent: Option<Duration>,
    pub(super) first_of_run: bool,
    /// Whether a summary was asked for since the one before.
    pub(super) after_summary: bool,
}

/// What the server has seen so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) asked: Vec<Asked>,
    pub(super) runs: usize,
    pub(super) requests: usize,
    /// Requests for a summary, those that were made again included.
    pub(super) summaries: usize,
    pub(super) bad_summaries: usize,
    /// In tokens as they are counted here.
    pub(super) biggest_prompt: u64,
    /// The same with the room for the answer.
    pub(super) biggest_whole: u64,
    /// Requests that fit, but not together with the longest answer they allow.
    pub(super) tight_turns: usize,
    pub(super) tight_summaries: usize,
    /// The newest prompt that was no request for a summary.
    pub(super) last: String,
    pub(super) broken: Vec<String>,
}

/// The model and its memory of what it was asked.
#[derive(Clone)]
pub(super) struct Model(Arc<Mutex<State>>);

struct State {
    dice: Words,
    summaries: Summaries,
    process: u32,
    /// Turns of the present run that call tools; `None` before its first one.
    left: Option<usize>,
    summary_since: bool,
    seen: Seen,
}

impl Model {
    pub(super) fn new(summaries: Summaries) -> Self {
        let (dice, seen) = (Words(7), Seen::default());
        Self(Arc::new(Mutex::new(State { dice, summaries, process: 0, left: None, summary_since: false, seen })))
    }

    /// Whose CPU is looked at from now on.
    pub(super) fn watch(&self, process: u32) {
        self.state().process = process;
    }

    pub(super) fn turns(&self) -> usize {
        self.state().seen.asked.len()
    }

    pub(super) fn seen(&self) -> Seen {
        self.state().seen.clone()
    }

    pub(super) fn responder(&self) -> impl Fn(&RecordedRequest, usize) -> Reply + Send + Sync + 'static {
        let model = self.clone();
        move |request, _| model.state().answer(request)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Counters are never half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn answer(&mut self, request: &RecordedRequest) -> Reply {
        let counted = self.count(request);
        self.look(request, counted);
        if counted > WINDOW {
            return Reply::context_overflow(counted, WINDOW);
        }
        if asks_for_a_summary(request) {
            self.seen.summaries += 1;
            self.summary_since = true;
            return self.summary(counted);
        }
        self.turn(request, counted)
    }

    /// Prompts as another tokenizer would count them.
    fn count(&mut self, request: &RecordedRequest) -> u64 {
        let texts: usize = request.messages().iter().chain(request.tools()).map(bytes_of).sum();
        let noise = 100 + self.dice.number(2 * NOISE + 1) - NOISE;
        (texts as f64 / BYTES_PER_TOKEN * noise as f64 / 100.0) as u64
    }

    fn look(&mut self, request: &RecordedRequest, counted: u64) {
        self.seen.requests += 1;
        let whole = counted + answer_room(&request.body);
        self.seen.biggest_prompt = self.seen.biggest_prompt.max(counted);
        self.seen.biggest_whole = self.seen.biggest_whole.max(whole);
        if counted <= WINDOW && whole > WINDOW {
            let is_summary = asks_for_a_summary(request);
            self.seen.tight_summaries += usize::from(is_summary);
            self.seen.tight_turns += usize::from(!is_summary);
        }
        let number = self.seen.requests;
        if counted > WINDOW {
            self.seen.broken.push(format!("request {number} has {counted} tokens"));
        }
        let held = request.raw.windows(CONSTRAINT.len()).any(|window| window == CONSTRAINT.as_bytes());
        if !held {
            self.seen.broken.push(format!("request {number} does not hold the user's first words"));
        }
    }

    fn turn(&mut self, request: &RecordedRequest, counted: u64) -> Reply {
        let first_of_run = self.left.is_none();
        let left = self.left.unwrap_or_else(|| 1 + self.dice.number(10));
        self.seen.asked.push(Asked {
            process: self.process,
            spent: clock::spent_by(self.process).ok(),
            first_of_run,
            after_summary: std::mem::take(&mut self.summary_since),
        });
        self.seen.last = String::from_utf8_lossy(&request.raw).into_owned();
        if left == 0 {
            self.left = None;
            self.seen.runs += 1;
            let text = self.text(40, 1_200);
            return Reply::text(format!("That is what it says: {text}")).usage(counted, text.len() as u64 / 3);
        }
        self.left = Some(left - 1);
        let calls: Vec<_> = (0..1 + self.dice.number(8) / 7).map(|_| self.call()).collect();
        Reply::text("I look.").calls(calls).usage(counted, 40)
    }

    fn call(&mut self) -> Call {
        match self.dice.number(12) {
            0 => Call::new("code.read_file", json!({"path": format!("data/gone-{}.rs", self.dice.number(1_000_000))})),
            1 => Call::new("code.search", json!({"query": format!("line {}", self.dice.number(LINES)), "limit": 20})),
            _ => {
                let (file, start) = (self.dice.number(FILES), 1 + self.dice.number(LINES - 1));
                let lines = skewed(&mut self.dice, 2, 160);
                Call::new("code.read_file", json!({"path": name(file), "start_line": start, "max_lines": lines}))
            }
        }
    }

    fn summary(&mut self, counted: u64) -> Reply {
        if self.summaries == Summaries::Good || self.dice.number(2) == 0 {
            return self.good_summary(counted);
        }
        self.seen.bad_summaries += 1;
        match self.dice.number(16) {
            0 => Reply::error(500, "something broke"),
            1..=2 => Reply::error(400, "no"),
            3 => Reply::text("## Goal\n- re").drop_connection(),
            4..=6 => Reply::text("I'm sorry, but I cannot help with that.").usage(counted, 10),
            7..=8 => Reply::text("{\"ok\": true}").usage(counted, 5),
            9 => Reply::empty().usage(counted, 0),
            10 => Reply::text("I look.").calls([self.call()]).usage(counted, 20),
            11 => Reply::text(self.text(20_000, 40_000)).usage(counted, 8_000),
            _ => {
                let (late, gate) = self.good_summary(counted).gated();
                thread::spawn(move || {
                    thread::sleep(LATE);
                    gate.release_all();
                });
                late
            }
        }
    }

    /// Not a word of it is the user's: whether those are kept is core's part.
    fn good_summary(&mut self, counted: u64) -> Reply {
        let mut text = String::new();
        for section in agent_engine::SECTIONS {
            text.push_str(&format!("## {section}\n- {}\n\n", self.text(30, 400)));
        }
        let tokens = text.len() as u64 / 3;
        Reply::text(text).usage(counted, tokens)
    }

    fn text(&mut self, least: usize, most: usize) -> String {
        let bytes = skewed(&mut self.dice, least, most);
        let mut text = String::new();
        while text.len() < bytes {
            text.push_str(self.dice.next_word());
        }
        text
    }
}

fn asks_for_a_summary(request: &RecordedRequest) -> bool {
    request.messages().last().is_some_and(|message| message.to_string().contains("# Write the summary now"))
}

/// Text in a message or a tool, keys included.
fn bytes_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(bytes_of).sum(),
        Value::Object(fields) => fields.iter().map(|(key, value)| key.len() + 2 + bytes_of(value)).sum(),
        _ => 4,
    }
}

/// The most tokens of the answer, as each protocol says it.
fn answer_room(body: &Value) -> u64 {
    let places = ["/options/num_predict", "/max_completion_tokens", "/max_tokens"];
    places.iter().find_map(|place| body.pointer(place)?.as_u64()).unwrap_or(0)
}

/// What there is to read.
pub(super) fn files() -> Vec<(String, String)> {
    let mut words = Words(3);
    let file = |number| {
        let mut text = String::new();
        for line in 0..LINES {
            text.push_str(&format!("line {line}: "));
            for _ in 0..2 + words.number(12) {
                text.push_str(words.next_word());
            }
            text.push('\n');
        }
        (name(number), text)
    };
    (0..FILES).map(file).collect()
}

fn name(file: usize) -> String {
    format!("data/part-{file:02}.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text is what is counted, wherever it stands.
    #[test]
    fn texts_are_counted() {
        assert_eq!(bytes_of(&json!({"role": "user", "content": "hello"})), 6 + 4 + 9 + 5);
        assert_eq!(bytes_of(&json!([{"text": "ab"}, {"text": "c"}])), 6 + 2 + 6 + 1);
        assert_eq!(answer_room(&json!({"options": {"num_predict": 7}})), 7);
        assert_eq!(answer_room(&json!({"max_tokens": 8})), 8);
    }

    /// The dice reach both ends, small numbers as often as big ones.
    #[test]
    fn sizes_are_skewed() {
        let mut dice = Words(1);
        let sizes: Vec<_> = (0..2_000).map(|_| skewed(&mut dice, 2, 200)).collect();
        assert!(sizes.iter().all(|size| (2..=200).contains(size)));
        let small = sizes.iter().filter(|size| **size < 20).count();
        assert!((900..1_100).contains(&small), "{small}");
    }
}
