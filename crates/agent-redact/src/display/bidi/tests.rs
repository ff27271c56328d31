use super::*;

/// PRM-6: lines that a terminal could show in another order, among lines in the same scripts that it could not.
#[test]
fn order() {
    for (line, moves) in [
        ("mv a b", false),
        ("mv א", false),
        ("mv 'שלום' b.txt", false),
        ("mv 'שלום.txt' 'b'", false),
        ("mv 'א' then 'ב'", false),
        ("mv 'é' '中' 1", false),
        ("mv א ב", true),
        ("mv 'א' 'ב'", true),
        ("/t/א/ב", true),
        ("/t/א/b/ג", false),
        ("chmod א 600", true),
        ("chmod 600 א", false),
        ("א1", true),
        ("سلام ٣", true),
        ("א (ב", true),
        ("א\u{5b0}ב", false),
        // Neither of these letters is surely one that holds the order.
        ("א\u{374}ב", true),
        ("א\u{a788}ב", true),
    ] {
        assert_eq!(reorders(line), moves, "{line}");
    }
}
