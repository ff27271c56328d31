//! A session of two thousand turns in a small window, with a summariser that is as bad as they come.

use super::script_testing::Script;
use super::testing::sources;
use super::world_testing::Dice;
use super::*;
use crate::{BudgetConfig, Budgets, Path};

/// The contract's own defaults.
fn budgets() -> Budgets {
    let config = BudgetConfig {
        context_window: 8192,
        max_output_tokens: 4096,
        reserve_output_tokens: 4096,
        dynamic_system: 12_000,
        compact_reserve: 8000,
        keep_recent: 16_000,
        max_summary: 2048,
    };
    Budgets::derive(&config, &[("fixed".into(), 1500)]).unwrap()
}

/// How summaries go.
#[derive(Debug, Clone, Copy)]
enum Summaries {
    /// They come at once.
    Good,
    /// They come late, or not at all, or are none.
    Bad,
}

struct Session {
    script: Script,
    dice: Dice,
    summaries: Summaries,
    /// Turns, summaries asked for, and requests sent.
    figures: (usize, usize, usize),
}

const RULE: &str = "Build the importer. Never touch the folder vendor.";

impl Session {
    fn step(&mut self, line: &str) {
        self.script.trace.clear();
        self.script.play(line);
        self.look();
    }

    /// After each request: it fits, and what was said first is in it word for word.
    fn look(&mut self) {
        let trace = self.script.trace.join("\n");
        assert!(!trace.contains("finish failed") && !trace.contains("prompt_too_long"), "{trace}");
        self.figures.1 += trace.matches("compact ").count();
        if !trace.contains("ask(") {
            return;
        }
        self.figures.2 += 1;
        let request = self.script.last_request.as_ref().unwrap();
        let text: Vec<_> = request.messages.iter().flat_map(|message| message.content.iter()).collect();
        let said = text.iter().filter_map(|block| block.as_text()).any(|text| text.contains(RULE));
        assert!(said, "the first rule is gone after {} turns", self.figures.0);
        let tokens: u64 = request.messages.iter().map(|message| TokenCounter.message(&message.content)).sum();
        assert!(tokens <= budgets().messages, "{tokens}");
    }

    fn sources(&mut self) {
        self.step("sources");
        if self.script.run.open_compaction().is_none() {
            return;
        }
        let waits = !self.script.trace.join("\n").contains("ask(");
        let answer = match self.summaries {
            Summaries::Good => "summary it goes on",
            Summaries::Bad if !waits && self.dice.one_in(2) => return,
            Summaries::Bad => ["no-summary", "summarised I cannot", "summary lost"][self.dice.roll(3) as usize],
        };
        self.step(answer);
        if self.script.trace[0].contains("gather") {
            self.sources();
        }
    }

    /// One run: a message, some turns, an answer.
    fn run(&mut self, number: usize, path: Path) -> Path {
        let id = RunId::parse(&format!("run_s{number}")).unwrap();
        self.script.run = Run::new(Limits::default(), id, path, Calibration::default());
        let said = if number == 0 { RULE.to_owned() } else { format!("go on with part {number}") };
        self.step(&format!("start {said}"));
        self.sources();
        for turn in 0..self.dice.roll(12) {
            let (id, words) = (format!("c{number}_{turn}"), "word ".repeat(self.dice.roll(400) as usize));
            self.step(&format!("calls look:{id}={turn}; ready {id}; allow {id}; done {id} {number} {turn} {words}"));
            self.sources();
            self.figures.0 += 1;
        }
        self.step("text done");
        self.figures.0 += 1;
        let idle = Run::new(Limits::default(), RunId::parse("run_x").unwrap(), Path::new(), Calibration::default());
        std::mem::replace(&mut self.script.run, idle).into_path().0
    }
}

/// CMP-1, CMP-5, CMPT-02, CMPT-07: two thousand turns in a window of 8k: the session never stops, is not summarised all the time,
/// and what the user said first stands word for word in every request, whatever the summariser says.
#[test]
fn two_thousand_turns() {
    for summaries in [Summaries::Good, Summaries::Bad] {
        for background in [false, true] {
            let mut script = Script::new();
            script.budgets = Some(budgets());
            script.compacting = Compacting {
                background,
                recovery: Recovery::Summary,
                request: "summarise in {max_words} words".into(),
                ..Compacting::default()
            };
            let mut session = Session { script, dice: Dice::of_world(7), summaries, figures: (0, 0, 0) };
            let (mut path, mut number) = (Path::new(), 0);
            while session.figures.0 < 2_000 {
                path = session.run(number, path);
                number += 1;
            }
            let (turns, compactions, requests) = session.figures;
            println!(
                "{summaries:?}, background {background}: {number} runs, {turns} turns, {compactions} summaries asked for, {requests} requests"
            );
            assert!(compactions > 20 && compactions * 3 < turns, "{compactions}");
        }
    }
    assert!(sources(1).compacting.recovery == Recovery::Slide, "the default is none");
}
