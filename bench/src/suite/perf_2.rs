//! PERF-2: runs with many tool turns, and what a turn costs as the session grows.

use std::ops::RangeInclusive;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::definition::Suite;
use super::series::{Series, millis};
use crate::bench::Bench;
use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::stage::{Bodies, Seeing, Stage};
use crate::stats::Samples;

pub(super) const SUITE: Suite =
    Suite { name: "perf-2", about: "many turns, each of which reads a file of 1 KB", by_name_only: false, measure };

const WINDOW: &str = "model.context_window = 131072";
const TURNS: usize = 20;
const CPU_MS: f64 = 25.0;
const PEAK_MIB: f64 = 16.0;

/// A turn alone takes little more than the clocks resolve; its neighbours cost the same.
const EARLY: RangeInclusive<usize> = 3..=7;
const LATE: RangeInclusive<usize> = 48..=52;
const LONG_TURNS: usize = *LATE.end();
/// Turn 50 over turn 5.
const GROWTH: f64 = 1.3;

fn measure(bench: &Bench) -> Result<Vec<Row>, BenchError> {
    let mut rows = whole_runs(bench)?;
    rows.extend(turns(bench)?);
    Ok(rows)
}

fn whole_runs(bench: &Bench) -> Result<Vec<Row>, BenchError> {
    let stage = Stage::new(bench.provider, TURNS);
    let home = stage.home("turns", WINDOW);
    let bodies = Bodies::keep(&home, &stage.agent(&home, &bench.programs.agent)?.requests);
    let (mut agent, mut floor) = (Series::default(), Series::default());
    for _ in 0..bench.runs {
        agent.add(&stage.agent(&home, &bench.programs.agent)?);
        floor.add(&stage.floor(&home, &bench.programs.floor, &bodies)?);
    }
    home.remove();
    Ok(vec![
        Row::new(format!("CPU, {TURNS} turns"), Unit::Millis, agent.cpu()?).budget(CPU_MS).floor(floor.cpu()?),
        Row::new(format!("peak memory, {TURNS} turns"), Unit::Mebibytes, agent.peak()?)
            .budget(PEAK_MIB)
            .floor(floor.peak()?),
        Row::new(format!("start to exit, {TURNS} turns"), Unit::Millis, agent.wall()?).floor(floor.wall()?),
    ])
}

fn turns(bench: &Bench) -> Result<Vec<Row>, BenchError> {
    let stage = Stage::new(bench.provider, LONG_TURNS);
    let home = stage.home("growth", WINDOW);
    let requests = stage.watched(&home, &bench.programs.agent)?;
    let (mut early, mut late) = (Vec::new(), Vec::new());
    for _ in 0..bench.runs {
        let requests = stage.watched(&home, &bench.programs.agent)?;
        early.extend(EARLY.filter_map(|turn| cost(&requests, turn)));
        late.extend(LATE.filter_map(|turn| cost(&requests, turn)));
    }
    home.remove();
    let (early, late) = (Samples::new(early)?, Samples::new(late)?);
    let growth = Samples::new([late.median() / early.median()])?;
    let mut rows = vec![
        Row::new("CPU of a turn, around turn 5", Unit::Millis, early),
        Row::new("CPU of a turn, around turn 50", Unit::Millis, late),
        Row::new("turn 50 over turn 5", Unit::Ratio, growth).budget(GROWTH),
    ];
    rows.extend(bytes(&requests)?);
    Ok(rows)
}

/// What the process spent from the server's receipt of a turn's request (from 1) to that of the next, in milliseconds.
fn cost(requests: &[Seeing], turn: usize) -> Option<f64> {
    let spent = |at: usize| requests.get(at).and_then(|request| request.spent);
    Some(millis(spent(turn)?.saturating_sub(spent(turn - 1)?)))
}

/// How much of each request was not in the one before, beside the size of the messages that were added.
fn bytes(requests: &[Seeing]) -> Result<Vec<Row>, BenchError> {
    let (mut changed, mut added) = (Vec::new(), Vec::new());
    for pair in requests.windows(2) {
        let [before, after] = pair else { continue };
        changed.push(changed_bytes(&before.body, &after.body) as f64);
        added.push(added_bytes(&before.body, &after.body)? as f64);
    }
    let ratios = Samples::new(changed.iter().zip(&added).map(|(changed, added)| changed / added))?;
    Ok(vec![
        Row::new("new bytes of a request", Unit::Bytes, Samples::new(changed)?).floor(Samples::new(added)?),
        Row::new("new bytes over those of the new messages", Unit::Ratio, ratios).budget(1.0),
    ])
}

/// Bytes of `after` between the beginning and the end it has in common with `before`.
fn changed_bytes(before: &[u8], after: &[u8]) -> usize {
    let start = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let end = before[start..].iter().rev().zip(after[start..].iter().rev()).take_while(|(a, b)| a == b).count();
    after.len() - start - end
}

/// The size of the messages that only `after` has, with a comma for each.
fn added_bytes(before: &[u8], after: &[u8]) -> Result<usize, BenchError> {
    #[derive(Deserialize)]
    struct Request<'a> {
        #[serde(borrow)]
        messages: Vec<&'a RawValue>,
    }
    let read = |body| serde_json::from_slice::<Request<'_>>(body).map_err(|source| BenchError::Body { source });
    let known = read(before)?.messages.len();
    Ok(read(after)?.messages.iter().skip(known).map(|message| message.get().len() + 1).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, changed: usize, added: usize) {
        let (before, after) = (before.as_bytes(), after.as_bytes());
        assert_eq!((changed_bytes(before, after), added_bytes(before, after).unwrap()), (changed, added));
    }

    /// PERF-2: what is new in a request, and what had to be.
    #[test]
    fn new_bytes_are_told_from_old_ones() {
        let before = r#"{"model":"m","messages":[{"a":1}],"tools":[]}"#;
        check(before, before, 0, 0);
        check(before, r#"{"model":"m","messages":[{"a":1},{"b":22}],"tools":[]}"#, 9, 9);
        // The first message is written differently: everything from there to the end of the new message counts.
        check(before, r#"{"model":"m","messages":[{"A":1},{"b":22}],"tools":[]}"#, 13, 9);
    }

    /// Turns count from 1: the first one's cost lies between the first two requests.
    #[test]
    fn a_turn_lies_between_two_requests() {
        let at = |ms| Seeing { at: None, spent: Some(std::time::Duration::from_millis(ms)), body: bytes::Bytes::new() };
        let requests = [at(10), at(13), at(14)];
        assert_eq!(cost(&requests, 1), Some(3.0));
        assert_eq!(cost(&requests, 2), Some(1.0));
        assert_eq!(cost(&requests, 3), None);
    }
}
