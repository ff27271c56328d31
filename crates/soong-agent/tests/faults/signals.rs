//! Ctrl-C and its kin at random moments: an end in order, or at least none that costs anything (RUN-18, RUN-19,
//! STRM-09).

use agent_testkit::Protocol;
use rustix::process::Signal;

use crate::dice::Dice;
use crate::rounds::{BEYOND, Loop};
use crate::tally::rounds;

const WAYS: &[&[Signal]] = &[
    &[Signal::INT],
    &[Signal::TERM],
    &[Signal::HUP],
    &[Signal::INT, Signal::INT],
    &[Signal::QUIT],
    &[Signal::INT, Signal::KILL],
];

/// RUN-18, RUN-19, CLI-4, DEC-27, STRM-09 (1, 4): whenever the signal comes, the exit code says so, nothing is left
/// at work (only SIGKILL may leave something), what was shown is stored, and the session takes the next message at
/// once.
#[test]
fn cancelled_at_any_moment() {
    let mut dice = Dice::new("signals");
    let count = rounds(18);
    let mut cancels = Loop::new("signals", Protocol::Anthropic);
    cancels.measure();
    for (at, part) in dice.spread(count).into_iter().enumerate() {
        let signals = WAYS[at % WAYS.len()];
        let round = cancels.round(&mut dice, part * BEYOND, signals);
        let numbers = signals.iter().map(|signal| signal.as_raw());
        // One that comes before anybody listens, or after the end, is as good as any.
        let mut codes: Vec<i32> = numbers.flat_map(|number| [128 + number, -number]).collect();
        codes.push(0);
        let (code, orphans) = (round.ended.code, round.orphans);
        cancels.tally.holds(codes.contains(&code), || format!("{signals:?} give exit code {code}: {:#?}", round.ended));
        if !signals.contains(&Signal::KILL) {
            cancels.tally.holds(orphans == 0, || format!("{signals:?} leave {orphans} processes at work"));
        }
        if let Some(session) = round.session {
            let told = code < 128 || signals[0] == Signal::QUIT || round.ended.stderr.contains(&session);
            cancels.tally.holds(told, || format!("{signals:?}: nobody says how to go on: {:#?}", round.ended));
            if dice.one_in(2) {
                cancels.goes_on(&session);
            }
        }
    }
    cancels.end(&dice);
}
