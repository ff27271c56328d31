use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use super::*;

#[track_caller]
fn check(line: &str, columns: usize, rows: &[&str]) {
    assert_eq!(wrapped("| ", ": ", line, Width::new(columns, false)), rows, "{line}");
}

/// CLI-3, FND-73: every row has a border, and no word is broken that fits on a row.
#[test]
fn rows_have_borders() {
    check("", 20, &["| "]);
    check("seventeen columns", 20, &["| seventeen columns"]);
    check("eighteen columns..", 20, &["| eighteen ", ": columns.."]);
    check(&format!("x{}  target  ok", " ".repeat(16)), 20, &["| x                ", ":   target  ok"]);
    check("the last word goes on below", 20, &["| the last word ", ": goes on below"]);
    // A blank stays behind its word.
    check("fourteen chars and so on", 20, &["| fourteen chars ", ": and so on"]);
    check("fifteen charss and", 20, &["| fifteen charss ", ": and"]);
    check("sixteen charsss!! and", 20, &["| sixteen ", ": charsss!! and"]);
    check("/home/user/project/a.txt", 20, &["| /home/user/", ": project/a.txt"]);
    check("a-word-that-is-longer-than-a-row", 20, &["| a-word-that-is-", ": longer-than-a-row"]);
    check("see averyveryverylongwordindeed", 20, &["| see averyveryvery", ": longwordindeed"]);
    check("id sess_0123456789ab", 20, &["| id ", ": sess_0123456789ab"]);
    check("some other averyveryverylongwordindeed", 20, &["| some other ", ": averyveryverylong", ": wordindeed"]);
    let width = Width::new(40, false);
    let id = format!("sess_{}", "0123456789abcdef".repeat(2));
    assert_eq!(wrapped("session ", "  ", &id, width), ["session ", &format!("  {id}")]);
    check("narrower than the least", 3, &["| narrower than ", ": the least"]);
}

/// CLI-3: columns are those of a display: wide characters take two, and so may whatever terminals do not agree on.
#[test]
fn columns_of_a_display() {
    check("中文中文中文中文中", 20, &["| 中文中文中文中文", ": 中"]);
    check("ab 中文中文中文中文中", 20, &["| ab 中文中文中文中", ": 文中"]);
    check("éééééééééééééééééé", 20, &["| ééééééééééééééééé", ": é"]);
    check("✓✓✓✓✓✓✓✓✓", 20, &["| ✓✓✓✓✓✓✓✓", ": ✓"]);
    check("aaaaaaaaaaaaaaae\u{301}", 20, &["| aaaaaaaaaaaaaaa", ": e\u{301}"]);
    check("+\tx\ty", 20, &["| +   x   y"]);
    check("+→\tx→\tyyy→\t→\tz", 40, &["| +→  x→  yyy→→   z"]);
    check("→ x→", 20, &["| → x→"]);
    let cyrillic = "д".repeat(17);
    assert_eq!(wrapped("| ", ": ", &cyrillic, Width::new(20, false)).len(), 1);
    assert_eq!(wrapped("| ", ": ", &cyrillic, Width::new(20, true)).len(), 3);
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
        wide in any::<bool>(),
    ) {
        let rows = wrapped("  label  ", "       : ", &line, Width::new(columns, wide));
        let mut whole = String::new();
        for (at, row) in rows.iter().enumerate() {
            prop_assert!(row.width() < columns, "{row:?}");
            whole.push_str(row.strip_prefix(if at == 0 { "  label  " } else { "       : " }).unwrap());
        }
        prop_assert_eq!(whole, line);
    }

    /// FND-73: no row ends in the middle of a word that fits on a row.
    #[test]
    fn words_stay_whole(
        line in "([a-z/=_-]{1,50}|sess_[0-9a-f]{32}|中文[中文]{0,30}| {1,4}){0,40}",
        columns in 40_usize..=200,
    ) {
        let width = Width::new(columns, false);
        let rows = wrapped("note   ", "       ", &line, width);
        let room = width.usable() - 7;
        let mut end = 0;
        for row in &rows[..rows.len() - 1] {
            end += row.len() - 7;
            let word: String = line[..end].rsplit(' ').next().unwrap().to_owned() + line[end..].split(' ').next().unwrap();
            let parted = !line[..end].ends_with(' ') && !line[end..].starts_with(' ');
            prop_assert!(!parted || width.of_all(&word) > room, "{word:?} in {rows:#?}");
        }
    }
}
