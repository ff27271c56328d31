//! The work is linear in the text, whatever the text (STO-10).

use super::*;
use crate::patterns::bytes::LOOKED_AT;

const BYTES: usize = 60_000;
/// How often rules may look at a byte.
const MOST_PER_BYTE: f64 = 120.0;

/// Rules' work per byte, for a text of about `bytes` bytes that repeats a unit.
fn work([start, unit, end]: [&str; 3], bytes: usize) -> f64 {
    let text = start.to_owned() + &unit.repeat(bytes / unit.len()) + end;
    LOOKED_AT.with(|count| count.set(0));
    let _ = patterns().redact(&text);
    LOOKED_AT.with(std::cell::Cell::get) as f64 / text.len() as f64
}

#[track_caller]
fn check(text: [&str; 3]) {
    let (few, many) = (work(text, BYTES / 10), work(text, BYTES));
    assert!(many <= MOST_PER_BYTE, "{many:.0} looks at each byte of {text:?}");
    assert!(many <= few * 1.1 + 1.0, "{few:.1} looks at a byte become {many:.1} in a longer text of {text:?}");
}

/// STO-10: no text makes rules look far from every one of many keywords.
#[test]
fn hostile_texts_take_linear_work() {
    for unit in [
        "key",
        "key=",
        "api_key=",
        "api_key: ",
        "api_key:a=",
        "token",
        "token=",
        "password=$",
        "password=a(",
        "PASSWORD=$",
        "\"password\": \"$",
        "\"password\": \"a ",
        "password: \"",
        "--password ",
        "login a password ",
        "name\n value:",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----A:b: ",
        "-----BEGIN PRIVATE KEY-----\n1:",
        "-----END PRIVATE KEY-----",
        "abc\n-----END PRIVATE KEY-----",
        "Private-Lines: ",
        "eyJ",
        "eyJ.",
        "eyJa.eyJ",
        "\\neyJ",
        "%3DeyJ",
        "sk-",
        "sk-a ",
        "ghs_",
        "ghs_.",
        "ghp_aA1",
        "xoxb-%",
        "SG.",
        "SG.a.",
        "://",
        "://a:",
        "://a@",
        "://a:b@",
        "a:b@tcp(",
        "@tcp(",
        "bearer ",
        "Bearer aaaaaaa1",
        "basic ",
        "basic YTp",
        "Cookie:",
        "Cookie: a=",
        "Cookie:a=$",
        "Cookie:a=b;",
        "Cookie:a=;",
        "Cookie:a=x[redacted]",
        "Cookie:a=[redacted];",
        "a=;",
        "[redacted",
        "[redacted ",
        "[secret ",
        "[secret a",
        "[secret a]",
        "twilio",
        "twilio ",
        "sig=",
        "&sig=a",
        ":AA",
        "1:AAa",
        "AKIA",
        "AKIA ",
        "hooks.slack.com/a/",
        "/api/webhooks/1/",
        "pass",
        "_pw",
        "auth",
        "credential: ",
        "secret=a;b",
        "PASSWORD=a,b",
        "TOKEN='",
        "token:'a",
        "\\\"token\\\":\\\"",
    ] {
        check(["", unit, ""]);
    }
}

/// STO-10: also where something stands before or after it.
#[test]
fn hostile_texts_between_others() {
    let token = format!("ghp_{}=abcdef; ", "aB3dE9xY".repeat(5));
    for text in [
        ["", "password=a", "(b"],
        ["", "Cookie:a=", "[redacted]"],
        ["", "token=\"a", " \""],
        ["", "://a:", "@b"],
        ["Cookie: ", "token=abcdef; ", ""],
        ["Cookie: ", &token, ""],
        ["Cookie: ", "cookie=abc; ", "d=efgh"],
        ["-----BEGIN PRIVATE KEY-----", "cookie: a=bcde; ", ""],
        ["\"", "\\", "password\": \"x"],
    ] {
        check(text);
    }
}
