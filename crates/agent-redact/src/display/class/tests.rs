use super::*;

/// PRM-6: what nobody sees has a class of its own, also where Unicode counts it among letters, symbols or spaces.
#[test]
fn what_is_not_seen() {
    for c in
        "\u{a0}\u{1680}\u{2003}\u{202f}\u{205f}\u{3000}\u{2800}\u{1d159}\u{16fe4}\u{13430}\u{1345f}\u{2d7f}\u{1107f}"
            .chars()
    {
        assert_eq!(class(c), Class::Blank, "{c:?}");
    }
    for c in "\u{ad}\u{200b}\u{202e}\u{2066}\u{3164}\u{feff}\u{e0041}".chars() {
        assert_eq!(class(c), Class::Hidden, "{c:?}");
    }
    for c in "aé中\u{301}א✓👍\u{1f3fd}⠿".chars() {
        assert_eq!(class(c), Class::Plain, "{c:?}");
    }
    // Every space Unicode knows but ours.
    let spaces = ('\u{a0}'..=char::MAX).filter(|c| c.is_whitespace());
    for c in spaces {
        assert!(matches!(class(c), Class::Blank | Class::Hidden), "{c:?}");
    }
}

#[test]
fn marks_are_drawn_onto_what_precedes() {
    for (c, mark) in [
        ('\u{301}', true),
        ('\u{20e3}', true),
        ('\u{5b0}', true),
        ('\u{93f}', true),
        ('a', false),
        ('é', false),
        ('中', false),
        ('👍', false),
        ('\u{1f3fd}', false),
    ] {
        assert_eq!(is_mark(c), mark, "{c:?}");
    }
}
