mod corpus;
mod json;
mod own_source_tests;
mod properties;
mod work;

use super::*;

fn patterns() -> SecretPatterns {
    SecretPatterns::new().unwrap()
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let redacted = patterns().redact(text);
    assert_eq!((redacted.text.as_ref(), redacted.hit), (expected, text != expected));
    assert_eq!(matches!(redacted.text, Cow::Borrowed(_)), text == expected, "clean text is not copied");
}

/// STO-10: the marker says what it was, and what stands around stays.
#[test]
fn markers_keep_their_surroundings() {
    let token = format!("ghp_{}", "aB3dE9xY".repeat(5));
    check(&format!("use {token}, please"), "use [redacted github token], please");
    check(&format!("{token}{}", "é"), "[redacted github token]é");
    check("DB_PASSWORD=swordfish make", "DB_PASSWORD=[redacted] make");
    check("nothing here", "nothing here");
    check("", "");
}

/// STO-10: several on one line, the first of two that overlap.
#[test]
fn the_first_wins() {
    let token = format!("ghp_{}", "aB3dE9xY".repeat(5));
    check(&format!("TOKEN={token} {token}"), "TOKEN=[redacted] [redacted github token]");
    check(&format!("x {token} password=hunter2 y"), "x [redacted github token] password=[redacted] y");
}

/// STO-10: the markers of known secrets stay, and what stands beside them is looked at.
#[test]
fn known_markers_stay() {
    check("TOKEN=[secret A] PASSWORD=x1y", "TOKEN=[secret A] PASSWORD=[redacted]");
    check("Cookie: a=[secret A]; b=cdef", "Cookie: a=[secret A]; b=[redacted]");
    check("[secret PASSWORD=x1y", "[secret PASSWORD=[redacted]");
}

/// STO-10: a key that is cut off ends where it ends; its last line is told from a word.
#[test]
fn keys_that_are_cut_off() {
    let (begin, line) = ("-----BEGIN PRIVATE KEY-----\n", "aB3dE9xY".repeat(8));
    check(&format!("{begin}{line}\n{line}\naB3d"), &format!("{begin}[redacted private key]"));
    check(&format!("{begin}{line}\naB3d\nDone\n"), &format!("{begin}[redacted private key]\nDone\n"));
    check(&format!("{begin}{line}\nThe end"), &format!("{begin}[redacted private key]\nThe end"));
    check(&format!("{line}\naB3d\n-----END PRIVATE KEY-----"), "[redacted private key]\n-----END PRIVATE KEY-----");
    check(
        &format!("The end\n{line}\n-----END CERTIFICATE-----"),
        &format!("The end\n{line}\n-----END CERTIFICATE-----"),
    );
}

#[test]
fn debug_is_short() {
    assert_eq!(format!("{:?}", patterns()), "SecretPatterns { .. }");
}
