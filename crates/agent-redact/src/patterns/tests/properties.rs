//! What holds for every text (STO-10).

use proptest::prelude::*;

use super::corpus::{PAIRS, SECRETS, SEEDS, planted};
use super::*;
use crate::testing::properties;

/// Pieces of which the scanners see too much.
const PIECES: &[&str] = &[
    "password",
    "PASSWORD",
    "token",
    "api_key",
    "secret",
    "Cookie",
    "Set-Cookie",
    "Authorization",
    "Bearer ",
    "Basic ",
    "auth",
    "_pw",
    "pwd",
    "--",
    "-",
    "=",
    ":",
    ": ",
    " = ",
    ",",
    ";",
    "&",
    "?",
    "%3D",
    "\"",
    "'",
    "`",
    "\\\"",
    "\\n",
    "\n",
    "\r\n",
    " ",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    "{",
    "}",
    "$",
    "@",
    "://",
    "/",
    ".",
    "@tcp(",
    "value:",
    "name: ",
    "login a ",
    "hunter2",
    "swordfish",
    "aB3dE9xYaB3dE9xYaB3dE9xY",
    "YTpiOmM6ZA==",
    "ghp_",
    "ghs_",
    "sk-",
    "sk-ant-",
    "eyJ",
    "xoxb-",
    "AKIA",
    "ABCDEFGHIJKLMN2P",
    "SG.",
    "sig=",
    "twilio",
    "0123456789abcdef0123456789abcdef",
    "hooks.slack.com/services/",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----END RSA PRIVATE KEY-----",
    "-----BEGIN ",
    "MIIEpAIBAAKCAQEA0123456789",
    "[redacted]",
    "[redacted github token]",
    "[redacted",
    "[secret X]",
    "[secret ",
    "é",
    "→",
    "a",
    "b=c; ",
    "x1",
    "&str = ",
];

/// The text between what was cut, put together with the markers, is what came out.
fn holds(text: &str) -> Result<(), TestCaseError> {
    let patterns = patterns();
    let cuts = patterns.cuts(text.as_bytes());
    let once = patterns.redact(text);
    let mut rest = once.text.as_ref();
    let mut done = 0;
    for cut in &cuts {
        prop_assert!(cut.range.start >= done && cut.range.start < cut.range.end, "{text:?}");
        let kept = &text[done..cut.range.start];
        rest =
            rest.strip_prefix(kept).and_then(|rest| rest.strip_prefix(cut.marker)).expect("the text between is kept");
        done = cut.range.end;
    }
    prop_assert_eq!(rest, &text[done..]);
    prop_assert_eq!(once.hit, !cuts.is_empty());
    prop_assert_eq!(matches!(once.text, Cow::Borrowed(_)), !once.hit);
    let twice = patterns.redact(&once.text);
    prop_assert!(!twice.hit, "{:?} became {:?}, then {:?}", text, once.text, twice.text);
    Ok(())
}

proptest! {
    #![proptest_config(properties())]

    /// STO-10: any text: no panic, nothing but the cuts changes, twice is once.
    #[test]
    fn any_text(text in any::<String>()) {
        holds(&text)?;
    }

    /// STO-10: the same for texts of what the scanners look for.
    #[test]
    fn any_mixture(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..24)) {
        holds(&pieces.concat())?;
    }

    /// STO-10: secrets of the corpus in any order between any pieces; none survives where it is set apart.
    #[test]
    fn planted_between_pieces(
        seed in SEEDS,
        order in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(PIECES)), 1..6),
    ) {
        let all = planted(SECRETS, seed);
        let (mut text, mut apart) = (String::new(), String::new());
        let mut secrets = Vec::new();
        for (at, piece) in &order {
            let planted = at.get(&all);
            text.push_str(&planted.text);
            text.push_str(piece);
            apart.push_str(&planted.text);
            apart.push_str("\n\n");
            secrets.extend(planted.secrets.iter().filter(|secret| secret.len() > 12));
        }
        holds(&text)?;
        holds(&apart)?;
        let shown = patterns().redact(&apart);
        for secret in secrets {
            prop_assert!(!shown.text.contains(secret.as_str()), "{:?} in {:?}", secret, shown.text);
        }
    }

    /// STO-10: cutting a text anywhere does no harm.
    #[test]
    fn cut_anywhere(seed in SEEDS, at in any::<prop::sample::Index>(), length in 0_usize..400) {
        let all = [planted(SECRETS, seed), planted(PAIRS, seed)].concat();
        let text = all.iter().map(|planted| planted.text.as_str()).collect::<Vec<_>>().join("\n");
        let from = text.floor_char_boundary(at.index(text.len()));
        let to = text.floor_char_boundary((from + length).min(text.len()));
        holds(&text[from..to])?;
    }
}
