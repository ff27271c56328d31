use super::*;
use proptest::prelude::*;

fn said(n: usize, text: &str) -> (NodeId, String) {
    (NodeId::parse(&format!("node_{n}")).unwrap(), text.to_owned())
}

fn keep(sayings: &[(NodeId, String)], room: u64) -> Sayings {
    Sayings::default().and(sayings.iter().cloned(), room)
}

fn texts(sayings: &Sayings) -> Vec<&str> {
    sayings.kept.iter().map(|saying| saying.text.as_str()).collect()
}

/// CMPT-07: the first words and what sounds like a rule are kept before chatter, in the order in which they were said.
#[test]
fn rules_are_kept_before_chatter() {
    let mut all = vec![said(0, "build a parser"), said(1, "never touch vendor/")];
    all.extend((2..60).map(|n| said(n, &format!("ok, go on with part {n}"))));
    all.push(said(60, "that is wrong, wait for approval"));
    let kept = keep(&all, 60);
    let texts = texts(&kept);
    assert_eq!(texts[..2], ["build a parser", "never touch vendor/"]);
    assert_eq!(*texts.last().unwrap(), "that is wrong, wait for approval");
    assert_eq!(kept.left_out, all.len() - texts.len());
    assert!(kept.listed("Said").contains(&format!("({} more messages", kept.left_out)));
}

/// A long message keeps its head and its tail, and never swallows the room of the others.
#[test]
fn long_words_are_cut_in_the_middle() {
    let all =
        [said(0, &format!("goal {} end", "x".repeat(4000))), said(1, &format!("always {} 你好", "字".repeat(900)))];
    let kept = keep(&all, 200);
    assert_eq!(kept.kept.len(), 2);
    assert!(kept.kept.iter().all(|saying| saying.cut));
    assert!(kept.kept[0].text.starts_with("goal xx") && kept.kept[0].text.ends_with("x end"));
    assert!(kept.kept[1].text.starts_with("always ") && kept.kept[1].text.ends_with("你好"));
}

/// Whether something is a rule is asked of all of it, not of what is left of it: one in the middle is kept before chatter.
#[test]
fn a_rule_in_the_middle_is_kept_before_chatter() {
    let report = |rule: &str| format!("Goal. {}{rule} {}", "It says this. ".repeat(400), "And so on. ".repeat(400));
    for rule in ["Don’t touch prod.yml.", "Ask me first.", "Avoid prod.yml.", "Make sure it builds."] {
        let mut all = vec![said(0, "build a parser"), said(1, &report(rule))];
        all.extend((2..60).map(|n| said(n, &format!("ok, go on with part {n}"))));
        for room in [160, 400] {
            let kept = keep(&all, room);
            assert!(texts(&kept).iter().any(|text| text.contains(rule)), "{rule} {room}: {:?}", texts(&kept));
            let again = kept.and((60..90).map(|n| said(n, &format!("ok, go on with part {n}"))), room);
            assert!(texts(&again).iter().any(|text| text.contains(rule)), "{rule} {room}: {:?}", texts(&again));
        }
    }
}

/// Words that make a rule, in any letters and with any apostrophe.
#[test]
fn words_of_rules() {
    for text in [
        "Don’t touch prod.yml",
        "Don't touch it",
        "DON\u{2bc}T",
        "ask me first",
        "tell me before you push",
        "prod.yml is off limits",
        "avoid it",
        "only ever use make",
        "Make sure it builds",
        "can’t be changed",
    ] {
        assert!(is_wish(text), "{text}");
    }
    for text in ["go on", "İİİ the log", "build a parser"] {
        assert!(!is_wish(text), "{text}");
    }
}

proptest! {
    /// Whatever is said, and however often it is condensed: within the room, in order, the first words always there, nothing
    /// uncounted.
    #[test]
    fn words_stay_within_their_room(
        said_before in prop::collection::vec(".{0,80}", 0..20),
        said_later in prop::collection::vec(".{0,600}", 0..20),
        room in 24_u64..600,
    ) {
        let all: Vec<_> = said_before.iter().chain(&said_later).enumerate().map(|(n, text)| said(n, text)).collect();
        let (before, later) = all.split_at(said_before.len());
        let first = keep(before, room);
        let both = first.and(later.iter().cloned(), room);
        let cost: u64 = both.kept.iter().map(|saying| TokenCounter.text(&saying.text) + PER_SAYING).sum();
        prop_assert!(cost <= room);
        let spoken = all.iter().filter(|(_, text)| !text.trim().is_empty()).count();
        prop_assert_eq!(both.kept.len() + both.left_out, spoken);
        let ids: Vec<_> = both.kept.iter().map(|saying| all.iter().position(|(id, _)| *id == saying.node_id).unwrap()).collect();
        prop_assert!(ids.is_sorted());
        if let Some((id, _)) = all.iter().find(|(_, text)| !text.trim().is_empty()) {
            prop_assert_eq!(&both.kept[0].node_id, id);
        }
    }
}
