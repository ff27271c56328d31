//! Model servers that hang, hang up and do not stop talking, and a kill on top (STRM-06, STRM-09, RUN-23).

use std::thread;
use std::time::Duration;

use agent_core::session::Role;
use agent_testkit::{Call, Protocol, Reply};
use rustix::process::Signal;
use serde_json::json;

use crate::dice::Dice;
use crate::ledger::{Ledger, read};
use crate::model;
use crate::record::text;
use crate::tally::{Tally, rounds};
use crate::world::World;

/// A server's way to be no use: in words, what it sends, and whether somebody must lose patience. From a server on
/// this machine the first content may take ten minutes (PRV-9), and Ollama's calls as long.
type Useless = (&'static str, fn() -> Reply, Patience);

#[derive(Clone, Copy, PartialEq)]
enum Patience {
    NotNeeded,
    ForOllama,
    Needed,
}

fn long() -> Reply {
    Reply::text("Half of an answer, word by word. ".repeat(40)).chunks(60)
}

fn half_a_call() -> Reply {
    let content = "half ".repeat(200);
    let call = Call::new("code.write_file", json!({"path": CUT, "content": content}));
    Reply::empty().calls([call]).chunks(20).cut_after(900)
}

/// What a call would write that never came whole.
const CUT: &str = "cut.txt";

/// A session that does not outgrow the context window shows its whole history.
const RUNS_OF_A_SESSION: usize = 20;

const USELESS: &[Useless] = &[
    ("says nothing", Reply::hang, Patience::Needed),
    ("falls silent at once", || long().stall_after(0), Patience::Needed),
    ("falls silent", || long().stall_after(700), Patience::ForOllama),
    ("hangs up", Reply::hang_up, Patience::NotNeeded),
    ("cuts its reply", || long().cut_after(900), Patience::NotNeeded),
    ("cuts its reply at its end", || long().drop_connection(), Patience::NotNeeded),
    ("cuts a call", half_a_call, Patience::NotNeeded),
    ("talks on and on", || Reply::flood(100_000, "word "), Patience::Needed),
];

/// PRV-8, PRV-9, RUN-18, RUN-23, STRM-06: a server that is no use ends the run with one error, or by the user's
/// losing patience; nothing of a call that was cut takes place, and the session goes on.
#[test]
fn useless_servers() {
    let mut tally = Tally::new("useless servers");
    for protocol in [Protocol::OpenAi, Protocol::Ollama, Protocol::Anthropic] {
        let world = World::new("faults-servers", protocol);
        world.configure("model.timeout_ms = 150");
        let session = world.session();
        let mut ledger = Ledger::default();
        for (what, reply, patience) in USELESS {
            tally.round();
            tally.fault();
            let asked = world.server.request_count();
            world.server.respond_with(|_, _| reply());
            let mut running = world.start(Some(&session), &format!("Round of a server that {what}."));
            world.server.wait_for_request_blocking(asked);
            let cancelled =
                *patience == Patience::Needed || (*patience == Patience::ForOllama && protocol == Protocol::Ollama);
            if cancelled {
                running.signal(Signal::INT);
            }
            let ended = running.ends();
            let wrong = match cancelled {
                true => (ended.code != 130).then(|| format!("{ended:#?}")),
                false => ended.unlike_a_failure(&[]),
            };
            tally.holds(wrong.is_none(), || format!("{protocol:?}, {what}: {}", wrong.unwrap_or_default()));
        }
        model::works(&world.server);
        let ended = world.run(Some(&session), "Round 2.");
        tally.holds(ended.code == 0, || format!("{protocol:?}: the session does not go on: {ended:#?}"));
        tally.lost(ledger.said(Some(&session), &ended));
        tally.lost(ledger.all_losses(&world));
        tally.holds(!world.home.project.join(CUT).exists(), || "a call that was cut took place".to_owned());
    }
    tally.end("");
}

/// RUN-20, RUN-23, STRM-06: the same servers, and a kill at any moment: of what was half said nothing is taken for
/// said, and the session goes on.
#[test]
fn useless_servers_and_a_kill() {
    let mut dice = Dice::new("useless servers and kill -9");
    let mut tally = Tally::new("useless servers and kill -9");
    let world = World::new("faults-servers-kill", Protocol::OpenAi);
    world.configure("model.timeout_ms = 100");
    let mut session = world.session();
    let mut ledger = Ledger::default();
    for (at, part) in dice.spread(rounds(16)).into_iter().enumerate() {
        tally.round();
        if at % RUNS_OF_A_SESSION == RUNS_OF_A_SESSION - 1 {
            tally.lost(ledger.all_losses(&world));
            session = world.session();
        }
        let (what, reply, _) = USELESS[at % USELESS.len()];
        let asked = world.server.request_count();
        world.server.respond_with(move |_, _| reply());
        let mut running = world.start(Some(&session), &format!("Round {at}."));
        world.server.wait_for_request_blocking(asked);
        thread::sleep(Duration::from_millis(120).mul_f64(part));
        if running.signal(Signal::KILL) {
            tally.fault();
        }
        running.ends();
        model::works(&world.server);
        let ended = world.run(Some(&session), &format!("Round {at} again."));
        tally.holds(ended.code == 0, || format!("after a server that {what} it does not go on: {ended:#?}"));
        tally.lost(ledger.said(Some(&session), &ended));
        tally.lost(ledger.losses(&world, Some(&session)));
        let stored = read(&world, &session);
        // Core's note may quote what was seen of it (FND-65); as the assistant's words it is on no path.
        let said = stored.path.iter().filter(|node| node.role == Role::Assistant);
        let half = said.filter(|node| text(node).contains("Half of an answer")).count();
        tally.holds(half == 0, || format!("{half} halves of answers are on the path"));
    }
    tally.end(&format!("seed {}", dice.seed));
}
