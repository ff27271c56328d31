//! Several machines in one session in random worlds ([`super::session_world_testing`]).

use super::session_figures_testing::SessionFigures;
use super::session_world_testing::SessionWorld;

/// Says which world it was that failed.
struct Number(u64);

impl Drop for Number {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("session world {0} failed; SOONG_AGENT_SESSION_WORLD={0} runs it alone", self.0);
        }
    }
}

/// RUN-20, RUN-21, STO-7, STO-8, AGT-1, AGT-2, CTX-5: a root agent works off messages while children, with conversations of their
/// own or inherited ones, live beside it. Whatever is cancelled, fails to be stored or is cut short by the end of the process: every run
/// ends, and its end is stored unless nothing can be; each machine's path is what is stored of its agent; only the root agent moves
/// the user's conversation; a child's end is reported to its parent once, as completed only where it is; and the next owner of the
/// session goes on.
#[test]
fn random_sessions() {
    let one: Option<u64> = std::env::var("SOONG_AGENT_SESSION_WORLD").ok().map(|number| number.parse().unwrap());
    let mut figures = SessionFigures::default();
    for number in one.map_or(0..2_000, |number| number..number + 1) {
        let named = Number(number);
        figures = SessionWorld::new(number, figures).live();
        drop(named);
    }
    println!("{figures:?}");
    if one.is_some() {
        return;
    }
    let SessionFigures { machines, .. } = &figures;
    let happened = [
        ("fresh children", figures.fresh),
        ("inherited children", figures.inherited),
        ("children refused", figures.refused),
        ("first requests compared", figures.compared),
        ("children's answers", figures.answers),
        ("children's failures", figures.failures),
        ("late ends", figures.late),
        ("cancels", figures.cancels),
        ("children stopped with their parent", figures.stopped_with_parent),
        ("children stopped alone", figures.stopped_alone),
        ("children left behind", figures.left_behind),
        ("crashes", figures.crashes),
        ("runs ended by a later owner", figures.ended_by_owner),
        ("lost children told of", figures.lost),
        ("stores gone for good", figures.store_gone),
        ("stores that came back", figures.store_back),
        ("failed commits", machines.failed_commits),
        ("failed commits that were two", machines.failed_merged),
        ("the root's summaries", figures.summaries_of_root),
        ("children's summaries", figures.summaries_of_children),
        ("adopted summaries", machines.adopted),
    ];
    for (what, times) in happened {
        assert!(times >= 10, "too tame: {times} {what}");
    }
    assert!(figures.at_once >= 3, "too few children at once");
}
