use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use super::*;

#[track_caller]
fn check(line: &str, columns: usize, breaks: Breaks, rows: &[&str]) {
    assert_eq!(wrapped("| ", ": ", line, Width::new(columns, false), breaks), rows, "{line}");
}

/// CLI-3: every row has a border, wherever the line is broken.
#[test]
fn rows_have_borders() {
    check("", 20, Breaks::Anywhere, &["| "]);
    check("seventeen columns", 20, Breaks::Anywhere, &["| seventeen columns"]);
    check("eighteen columns..", 20, Breaks::Anywhere, &["| eighteen columns.", ": ."]);
    check(
        &format!("x{}  target  ok", " ".repeat(16)),
        20,
        Breaks::Anywhere,
        &["| x                ", ":   target  ok"],
    );
    check("the last word goes on below", 20, Breaks::AtWords, &["| the last word ", ": goes on below"]);
    check("/home/user/project/a.txt", 20, Breaks::AtWords, &["| /home/user/", ": project/a.txt"]);
    check("a-word-that-is-longer-than-a-row", 20, Breaks::AtWords, &["| a-word-that-is-lo", ": nger-than-a-row"]);
    check("narrower than the least", 3, Breaks::Anywhere, &["| narrower than the", ":  least"]);
}

/// CLI-3: columns are those of a display: wide characters take two, and so may whatever terminals do not agree on.
#[test]
fn columns_of_a_display() {
    check("中文中文中文中文中", 20, Breaks::Anywhere, &["| 中文中文中文中文", ": 中"]);
    check("éééééééééééééééééé", 20, Breaks::Anywhere, &["| ééééééééééééééééé", ": é"]);
    check("✓✓✓✓✓✓✓✓✓", 20, Breaks::Anywhere, &["| ✓✓✓✓✓✓✓✓", ": ✓"]);
    check("aaaaaaaaaaaaaaae\u{301}", 20, Breaks::Anywhere, &["| aaaaaaaaaaaaaaa", ": e\u{301}"]);
    check("+\tx\ty", 20, Breaks::Anywhere, &["| +   x   y"]);
    check("+→\tx→\tyyy→\t→\tz", 40, Breaks::Anywhere, &["| +→  x→  yyy→→   z"]);
    check("→ x→", 20, Breaks::Anywhere, &["| → x→"]);
    let cyrillic = "д".repeat(17);
    assert_eq!(wrapped("| ", ": ", &cyrillic, Width::new(20, false), Breaks::Anywhere).len(), 1);
    assert_eq!(wrapped("| ", ": ", &cyrillic, Width::new(20, true), Breaks::Anywhere).len(), 3);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// CLI-3: no row reaches the terminal's border, and together they are the line.
    #[test]
    fn nothing_is_lost(
        line in "([ -~]|    |/|中|👍|e\u{301}|[\u{300}-\u{310}]{0,40}|\\PC){0,120}",
        columns in 20_usize..200,
        words in any::<bool>(),
        wide in any::<bool>(),
    ) {
        let breaks = if words { Breaks::AtWords } else { Breaks::Anywhere };
        let rows = wrapped("  label  ", "       : ", &line, Width::new(columns, wide), breaks);
        let mut whole = String::new();
        for (at, row) in rows.iter().enumerate() {
            prop_assert!(row.width() < columns, "{row:?}");
            whole.push_str(row.strip_prefix(if at == 0 { "  label  " } else { "       : " }).unwrap());
        }
        prop_assert_eq!(whole, line);
    }
}
