use super::*;

/// Which characters of a text stay.
#[track_caller]
fn check(text: &str, stays: &str) {
    let mut letter = Letter::default();
    let mut kept = String::new();
    for c in text.chars() {
        match letter.takes(c) {
            true => kept.push(c),
            false => letter.end(),
        }
    }
    assert_eq!(kept, stays, "{text:?}");
}

/// PRM-6: composed text stays as it is; of the other spelling the part that gives it away does not.
#[test]
fn one_spelling_stays() {
    for text in ["résumé", "Việt Nam", "한글", "q\u{323}\u{301}", "नमस्ते", "שלום", "中文", "ก็"]
    {
        check(text, text);
    }
    check("e\u{301}", "e");
    check("é\u{323}", "é");
    check("q\u{301}\u{323}", "q\u{301}");
    check("\u{1112}\u{1161}\u{11ab}", "\u{1112}\u{11ab}");
    check("\u{212b}\u{2126}\u{37e}\u{f900}", "");
    check("\u{958}", "");
}

/// A letter with accents without end is not looked at as a whole.
#[test]
fn letters_are_bounded() {
    check(&format!("q{}", "\u{302}".repeat(31)), &format!("q{}", "\u{302}".repeat(31)));
    let mut letter = Letter::default();
    let long = std::iter::once('q').chain(std::iter::repeat_n('\u{302}', 40));
    assert_eq!(long.filter(|c| letter.takes(*c)).count(), MAX_RUN);
}
