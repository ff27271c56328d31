//! Files that nobody would write.

use agent_config::{Config, MAX_PROBLEMS};
use proptest::prelude::*;

use crate::{PACKAGED, SEED, read, right};

/// A piece of the packaged file replaced by something else.
fn mutated() -> impl Strategy<Value = String> {
    let cut = (0..PACKAGED.len(), 0..200usize);
    let filler = prop_oneof![
        "[\\[\\]{}=\"'#.,\n a-z0-9_-]{0,20}",
        ".{0,10}",
        Just("\n[model]\n".to_owned()),
        Just("${X}".to_owned()),
        Just("\"\"\"".to_owned()),
        Just("99999999999999999999999999999999999999999999".to_owned()),
    ];
    (cut, filler).prop_map(|((start, len), filler)| {
        let end = (start + len).min(PACKAGED.len());
        let bytes = [&PACKAGED.as_bytes()[..start], filler.as_bytes(), &PACKAGED.as_bytes()[end..]].concat();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_breaks_the_reader(text in mutated()) {
        if let Err(found) = read(&text) {
            let lines = text.split('\n').count();
            prop_assert!(!found.problems().is_empty() && found.problems().len() <= MAX_PROBLEMS);
            for problem in found.problems() {
                let position = problem.position.expect("a file has places");
                prop_assert!((1..=lines).contains(&position.line), "{problem}: {position:?}");
            }
            prop_assert!(found.problems().is_sorted_by_key(|problem| problem.position));
        }
    }

    #[test]
    fn the_order_of_sections_does_not_matter(seed in any::<u64>()) {
        // Array tables must stay behind one another.
        let text = SEED.replace("\n\n[[agents.worker_pools.workers]]", "\n[[agents.worker_pools.workers]]").replace("\n\n[[agents.worker_pools]]", "\n[[agents.worker_pools]]");
        let mut sections: Vec<_> = text.split("\n\n").collect();
        let len = sections.len();
        let mut state = seed;
        for at in (1..len).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            sections.swap(at, usize::try_from(state >> 33).expect("31 bits") % (at + 1));
        }
        prop_assert_eq!(right(&sections.join("\n\n")), Config::default());
    }
}

#[test]
fn hostile_sizes_end_soon_and_with_problems() {
    let many_keys: String = (0..60_000).map(|n| format!("key_{n} = 1\n")).collect();
    let found = read(&many_keys).expect_err("unknown keys");
    assert_eq!((found.problems().len(), found.left_out()), (MAX_PROBLEMS, 60_000 - MAX_PROBLEMS));
    for text in [
        format!("a = {}1{}", "[".repeat(200_000), "]".repeat(200_000)),
        format!("{} = 1", vec!["a"; 200_000].join(".")),
        format!("[{}]", vec!["a"; 200_000].join(".")),
        "[a]\n".repeat(100_000),
        "= \n".repeat(100_000),
        format!("{} = 1", "k".repeat(1_000_000)),
        format!("[model]\nname = \"{}\"\nx = 1", "n".repeat(1_000_000)),
    ] {
        assert!(read(&text).is_err());
    }
}
