//! What a long session came to.

use std::ops::RangeInclusive;

use agent_testkit::TestHome;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::model::Seen;
use super::user::{CONSTRAINT, User};
use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::stats::Samples;
use crate::suite::series::millis;
use crate::talk::Talked;

/// Around turn 150 and around turn 1,850: a turn alone says little, and beside most of them something else is done.
const EARLY: RangeInclusive<usize> = 25..=275;
const LATE: RangeInclusive<usize> = 1_725..=1_975;
/// As PERF-2 has it of shorter sessions.
const GROWTH: f64 = 1.3;
const WINDOW: f64 = 8192.0;

/// All that is said about a session.
pub(super) struct Figures {
    seen: Seen,
    stored: Stored,
    peaks: Vec<u64>,
    processes: usize,
    rules: usize,
    rules_held: usize,
    /// What should never have happened.
    pub(super) broken: Vec<String>,
}

/// What the events of the session say.
#[derive(Debug, Default)]
struct Stored {
    written: usize,
    slides: usize,
    /// Where nothing was left to leave out, and what is kept was shortened.
    squeezes: usize,
    /// Summaries that failed, were refused or came too late.
    unwritten: usize,
    estimates: Vec<Estimates>,
}

/// Of a run: its calls, and mean errors in percent.
#[derive(Debug, Clone, Copy)]
struct Estimates {
    calls: f64,
    mean: f64,
    uncalibrated: f64,
    worst: f64,
}

impl Figures {
    pub(super) fn of(
        home: &TestHome,
        seen: &Seen,
        user: &User,
        told: &[Talked],
        invalid: Option<String>,
    ) -> Result<Self, BenchError> {
        let mut broken = seen.broken.clone();
        broken.extend(told.iter().flat_map(|talked| talked.failures.clone()));
        broken.extend(invalid.map(|report| format!("invalid requests: {report}")));
        if !seen.last.contains(CONSTRAINT) {
            broken.push("the last request does not hold the user's first words".to_owned());
        }
        Ok(Self {
            stored: Stored::read(home)?,
            peaks: told.iter().map(|talked| talked.peak_kib).collect(),
            processes: told.len(),
            rules: user.rules.len(),
            rules_held: user.rules.iter().filter(|rule| seen.last.contains(rule.as_str())).count(),
            seen: seen.clone(),
            broken,
        })
    }

    pub(super) fn rows(&self, world: &str) -> Result<Vec<Row>, BenchError> {
        let mut rows = self.happened()?;
        rows.extend(self.grew()?);
        rows.extend(self.errors()?);
        for row in &mut rows {
            row.measure = format!("{world}: {}", row.measure);
        }
        Ok(rows)
    }

    fn happened(&self) -> Result<Vec<Row>, BenchError> {
        let Self { seen, stored, .. } = self;
        let count = |measure: &str, value: usize| one(measure, Unit::Count, value as f64);
        Ok(vec![
            count("promises broken", self.broken.len())?.budget(0.0),
            count("turns", seen.asked.len())?,
            count("runs", seen.runs)?,
            count("processes", self.processes)?,
            count("requests", seen.requests)?,
            count("of them for summaries", seen.summaries)?,
            count("of those answered badly", seen.bad_summaries)?,
            count("summaries written", stored.written)?,
            count("summaries that failed", stored.unwritten)?,
            count("window slides", stored.slides)?,
            count("times that what is kept was shortened", stored.squeezes)?,
            one("biggest prompt over the window", Unit::Ratio, seen.biggest_prompt as f64 / WINDOW)?.budget(1.0),
            one("the same with its answer", Unit::Ratio, seen.biggest_whole as f64 / WINDOW)?,
            count("turns whose longest answer would not fit", seen.tight_turns)?,
            count("summaries whose longest answer would not fit", seen.tight_summaries)?,
            count("the user's rules in the last request", self.rules_held)?.floor(Samples::new([self.rules as f64])?),
        ])
    }

    /// What late turns cost beside early ones.
    fn grew(&self) -> Result<Vec<Row>, BenchError> {
        let mut rows = self.growth("of a turn", false)?;
        rows.extend(self.growth("from a run to the next", true)?);
        for (which, peak) in [("first", self.peaks.first()), ("last", self.peaks.last())] {
            if let Some(kib) = peak {
                let measure = format!("peak memory, the {which} process");
                rows.push(one(measure, Unit::Mebibytes, *kib as f64 / 1024.0)?);
            }
        }
        Ok(rows)
    }

    /// Nothing where there are no such turns beside which nothing else was done.
    fn growth(&self, what: &str, of_a_start: bool) -> Result<Vec<Row>, BenchError> {
        let (early, late) = (self.costs(&EARLY, of_a_start), self.costs(&LATE, of_a_start));
        if early.is_empty() || late.is_empty() {
            return Ok(Vec::new());
        }
        let (early, late) = (Samples::new(early)?, Samples::new(late)?);
        let growth = late.median() / early.median();
        Ok(vec![
            Row::new(format!("CPU {what}, around turn 150"), Unit::Millis, early),
            Row::new(format!("CPU {what}, around turn 1,850"), Unit::Millis, late),
            one(format!("CPU {what}, late over early"), Unit::Ratio, growth)?.budget(GROWTH),
        ])
    }

    /// How far the estimates were off, beside what they would have been off without calibration.
    fn errors(&self) -> Result<Vec<Row>, BenchError> {
        let runs = &self.stored.estimates;
        let calls: f64 = runs.iter().map(|run| run.calls).sum();
        let mean = |of: fn(&Estimates) -> f64| runs.iter().map(|run| of(run) * run.calls).sum::<f64>() / calls;
        let worst = runs.iter().skip(1).map(|run| run.worst).fold(0.0, f64::max);
        let uncalibrated = Samples::new([mean(|run| run.uncalibrated)])?;
        Ok(vec![
            one("mean error of estimates, beside that without calibration", Unit::Percent, mean(|run| run.mean))?
                .floor(uncalibrated),
            one("worst error after the first run", Unit::Percent, worst)?,
        ])
    }

    /// CPU from one request to the next in milliseconds: of turns within a run, or from the end of a run to the next one's first
    /// request. Those beside which a summary was asked for are left out.
    fn costs(&self, turns: &RangeInclusive<usize>, of_a_start: bool) -> Vec<f64> {
        let pairs = self.seen.asked.windows(2).enumerate().filter(|(at, _)| turns.contains(at));
        let cost = |(_, pair): (usize, &[super::model::Asked])| {
            let [before, after] = pair else { return None };
            let counts = before.process == after.process
                && after.first_of_run == of_a_start
                && !before.after_summary
                && !after.after_summary;
            Some(millis(after.spent?.saturating_sub(before.spent?))).filter(|_| counts)
        };
        pairs.filter_map(cost).collect()
    }
}

fn one(measure: impl Into<String>, unit: Unit, value: f64) -> Result<Row, BenchError> {
    Ok(Row::new(measure, unit, Samples::new([value])?))
}

impl Stored {
    fn read(home: &TestHome) -> Result<Self, BenchError> {
        const EVENTS: &str = "
            SELECT event_type, payload_json FROM events
            WHERE event_type IN ('compact_completed', 'compact_failed', 'loop_completed') ORDER BY seq";
        let access = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database = Connection::open_with_flags(home.home.join("sessions.sqlite"), access)?;
        let mut statement = database.prepare(EVENTS)?;
        let mut rows = statement.query([])?;
        let mut stored = Self::default();
        while let Some(row) = rows.next()? {
            let (event, payload): (String, String) = (row.get(0)?, row.get(1)?);
            let payload: Value = serde_json::from_str(&payload).map_err(|source| BenchError::Body { source })?;
            match event.as_str() {
                "compact_completed" => match payload["kind"].as_str() {
                    Some("summary") => stored.written += 1,
                    Some("window_slide") => stored.slides += 1,
                    _ => stored.squeezes += 1,
                },
                "compact_failed" => stored.unwritten += 1,
                _ => stored.estimates.extend(Estimates::of(&payload["estimates"])),
            }
        }
        Ok(stored)
    }
}

impl Estimates {
    fn of(told: &Value) -> Option<Self> {
        let number = |key| told.get(key).and_then(Value::as_f64);
        Some(Self {
            calls: number("calls")?,
            mean: number("mean_error_percent")?,
            uncalibrated: number("mean_error_uncalibrated_percent")?,
            worst: number("worst_error_percent")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::Asked;
    use super::*;
    use std::time::Duration;

    /// A turn's cost lies between two requests of one process and run, beside which nothing else was done.
    #[test]
    fn what_a_turn_costs() {
        let asked = |ms, process, first_of_run, after_summary| Asked {
            process,
            spent: Some(Duration::from_millis(ms)),
            first_of_run,
            after_summary,
        };
        let asked = vec![
            asked(1, 1, true, false),
            asked(3, 1, false, false),
            asked(4, 1, true, false),
            asked(9, 1, false, true),
            asked(10, 1, false, false),
            asked(2, 2, true, false),
        ];
        let figures = Figures {
            seen: Seen { asked, ..Seen::default() },
            stored: Stored::default(),
            peaks: Vec::new(),
            processes: 2,
            rules: 0,
            rules_held: 0,
            broken: Vec::new(),
        };
        assert_eq!(figures.costs(&(0..=9), false), [2.0]);
        assert_eq!(figures.costs(&(0..=9), true), [1.0]);
    }
}
