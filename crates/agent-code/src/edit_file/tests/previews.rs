//! What a person sees of a change.

use proptest::prelude::*;

use super::*;
use crate::{
    edit_file::{apply::apply, diff::patch},
    preview::{Regions, diff_at},
};

/// FND-28: edits far apart in a big file are shown as what they are, all of them, however alike its lines are.
#[test]
fn edits_far_apart_are_shown() {
    let tree = Tree::new("edit-far-apart");
    let line = |n: usize| if n % 10_000 == 5_000 { format!("mark {n}\n") } else { "the same line again\n".to_owned() };
    let text: String = (0..80_000).map(line).collect();
    assert!(text.len() > 1_300_000);
    tree.file("big", &text);
    let places = [5_000, 35_000, 75_000];
    let edits: Vec<Value> =
        places.map(|n| json!({"old": format!("mark {n}\n"), "new": format!("changed {n}\n")})).into();
    let facts = tree.facts(EditFile, json!({"path": "big", "edits": edits}));
    assert!(facts.preview.starts_with("+3 −3\n--- a/big\n+++ b/big\n@@ -4998,7 +4998,7 @@\n"), "{}", facts.preview);
    for n in places {
        assert!(facts.preview.contains(&format!("\n-mark {n}\n+changed {n}\n")), "{}", facts.preview);
    }
    assert_eq!(facts.preview.lines().count(), 3 + 3 * 9, "{}", facts.preview);
}

proptest! {
    #![proptest_config(crate::testing::cases(512))]

    /// FND-28: the diff of known places leads from the old text to the new one, and its numbers are those of its lines.
    #[test]
    fn a_diff_leads_from_old_to_new(
        text in "([ab]{0,2}\n){0,30}[ab]{0,2}",
        steps in prop::collection::vec((any::<prop::sample::Index>(), 0usize..5, "[cd\n]{0,5}"), 1..6),
    ) {
        let old = text.clone().into_bytes();
        let (mut new, mut regions) = (old.clone(), Regions::default());
        for (at, length, with) in steps {
            let at = at.index(new.len() + 1);
            let length = length.min(new.len() - at);
            new.splice(at..at + length, with.bytes());
            regions.replace(&[(at..at + length, with.len())]);
        }
        prop_assume!(new != old);
        for regions in [Some(&regions), None] {
            let shown = diff_at("f", Some(&old), &new, regions);
            let (numbers, diff) = shown.split_once('\n').unwrap();
            let count = |mark: &str| diff.lines().skip(2).filter(|line| line.starts_with(mark)).count();
            prop_assert_eq!(numbers, format!("+{} −{}", count("+"), count("-")));
            let patched = patch(Some(&old), &Names::new([&b"f"[..]]), diff, Numbers::Count, &KnownSecrets::none());
            prop_assert_eq!(patched.map(|patched| patched.text), Ok(new.clone()), "{}", diff);
        }
    }

    /// FND-28: so it is for edits as they are applied.
    #[test]
    fn edits_know_their_places(text in "[ab\n]{1,40}", old in "[ab]{1,3}", new in "[abc\n]{0,3}", again in "[c]{1,2}") {
        let edits = [Edit { old, new, replace_all: true }, Edit { old: again, new: "d\n".to_owned(), replace_all: true }];
        if let Ok(applied) = apply(text.as_bytes(), &edits, &KnownSecrets::none()) {
            let known = diff_at("f", Some(text.as_bytes()), &applied.text, Some(&applied.regions));
            let diff = known.split_once('\n').unwrap().1;
            let patched = patch(Some(text.as_bytes()), &Names::new([&b"f"[..]]), diff, Numbers::Count, &KnownSecrets::none());
            prop_assert_eq!(patched.map(|patched| patched.text), Ok(applied.text), "{}", diff);
        }
    }
}
