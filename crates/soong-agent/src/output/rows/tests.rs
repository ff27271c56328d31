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

/// CLI-5: of a path that is cut whole parts are shown, where one fits.
#[test]
fn ends_of_paths() {
    let width = Width::new(80, false);
    for (path, columns, shown) in [
        ("~/a/b.txt", 9, "~/a/b.txt"),
        ("~/sessions/art_0123/out.txt", 19, "…/art_0123/out.txt"),
        ("~/sessions/art_0123/out.txt", 18, "…/out.txt"),
        ("~/sessions/art_0123/out.txt", 6, "….txt"),
        ("~/sessions/art_0123/", 8, "…_0123/"),
        ("…/a", 9, "…/a"),
    ] {
        assert_eq!(width.path_tail(path, columns), shown, "{path} {columns}");
    }
}

/// CLI-02: what does not fit gives way to an ellipsis, at the border of a character as people see it.
#[test]
fn parts_of_a_line() {
    let width = Width::new(80, false);
    for (line, columns, head, tail) in [
        ("short", 5, "short", "short"),
        ("", 0, "", ""),
        ("/home/user/project", 9, "/home/u…", "…project"),
        ("中文中文", 6, "中文…", "…中文"),
        // How wide a family is no two terminals agree on: it may take ten columns, and is shown whole or not at all.
        ("👩‍👩‍👧👩‍👩‍👧", 13, "👩‍👩‍👧…", "…👩‍👩‍👧"),
        ("ab", 1, "…", "…"),
    ] {
        assert_eq!((&*width.head(line, columns), &*width.tail(line, columns)), (head, tail), "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// CLI-02: never too wide, whatever the line.
    #[test]
    fn parts_fit(line in "([ -~]|中|👍|e\u{301}|👩\u{200d}👧|\\PC){0,60}", columns in 2_usize..60, wide in any::<bool>()) {
        let width = Width::new(80, wide);
        let (head, tail) = (width.head(&line, columns), width.tail(&line, columns));
        prop_assert!(head.width() <= columns && tail.width() <= columns, "{head:?} {tail:?}");
        prop_assert!(line.starts_with(head.trim_end_matches(ELLIPSIS)) && line.ends_with(tail.trim_start_matches(ELLIPSIS)));
    }

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
