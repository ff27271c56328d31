//! Replies far longer than any model's: what they cost.

use std::io::Read;

use agent_testkit::{Protocol, Reply};

use crate::process::Running;
use crate::replay::memory;
use crate::support::World;

const MIB: usize = 1 << 20;
/// What the reply says again and again: with line ends, quotes and letters of several bytes, as answers have.
const WORDS: &str = "He said: \"one line of an answer, no longer than others\".\nÜber alles – 好.\n";
/// So often in each piece of the stream.
const TIMES: usize = 60;

/// FND-13: a reply is in memory two and a half times at most: the text for who reads it, the node, and what is on its way into the
/// store.
#[test]
fn memory_of_a_long_reply() {
    for protocol in Protocol::ALL {
        let peak = |bytes: usize| {
            let world = World::speaking(*protocol, "memory_of_a_long_reply");
            let pieces = bytes / (WORDS.len() * TIMES);
            world.server.push(Reply::flood(pieces, WORDS.repeat(TIMES)));
            let (running, mut stdout) = Running::read_by_hand(world.agent(["run", "say much"]));
            // It waits for us to read the last of it, with the reply stored and most of it printed.
            let whole = pieces * TIMES * WORDS.len();
            let mut first = vec![0; whole - 100 * 1024];
            stdout.read_exact(&mut first).unwrap();
            let peak = memory(&running);
            let mut rest = String::new();
            stdout.read_to_string(&mut rest).unwrap();
            assert_eq!(first.len() + rest.trim_end().len() + 1, whole);
            running.ends().exits(0);
            peak
        };
        let (small, large) = (peak(256 << 10), peak(12 * MIB));
        let times = (large - small) as f64 * 1024.0 / (12 * MIB) as f64;
        assert!(times <= 2.5, "{protocol:?}: a reply is {times:.2} times in memory: {small} kB, then {large} kB");
    }
}
