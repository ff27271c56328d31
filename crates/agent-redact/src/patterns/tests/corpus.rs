//! The made-up secrets and harmless look-alikes of `src/patterns/corpus`.

use serde_json::json;

use super::*;

/// Secrets that are known by themselves.
pub(super) const SECRETS: &str = include_str!("../corpus/secrets.txt");
/// Secrets that are known by what stands before them.
pub(super) const PAIRS: &str = include_str!("../corpus/pairs.txt");
const HARMLESS: &str = include_str!("../corpus/harmless.txt");

/// How often each line is filled with other random characters.
const FILLS: u64 = 8;

/// The fills that are tried where only a few texts are.
pub(super) const SEEDS: std::ops::Range<u64> = 1..400;

/// A simple generator of random characters; the same every time.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    pub(super) fn text(&mut self, alphabet: &str, length: usize) -> String {
        let letters = alphabet.as_bytes();
        (0..length).map(|_| char::from(letters[self.next() as usize % letters.len()])).collect()
    }
}

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const BASE62: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

pub(super) fn alphabet(kind: &str) -> String {
    match kind {
        "b62" => BASE62.to_owned(),
        "b64" => format!("{BASE62}+/"),
        "b64u" => format!("{BASE62}_-"),
        "hex" => "0123456789abcdef".to_owned(),
        "HEX" => "0123456789ABCDEF".to_owned(),
        "up" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".to_owned(),
        "upd" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".to_owned(),
        "dig" => "0123456789".to_owned(),
        "low" => LOWER.to_owned(),
        other => panic!("no alphabet {other}"),
    }
}

/// Fills the braces of a template.
pub(super) fn fill(template: &str, random: &mut Random) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let known = after.split_once('}').and_then(|(word, tail)| Some((filling(word, random)?, tail)));
        out.push_str(before);
        rest = if let Some((text, tail)) = known {
            out.push_str(&text);
            tail
        } else {
            out.push('{');
            after
        };
    }
    out + rest
}

fn filling(word: &str, random: &mut Random) -> Option<String> {
    match word {
        "lf" => Some("\n".to_owned()),
        "cr" => Some("\r".to_owned()),
        "tab" => Some("\t".to_owned()),
        "esc" => Some("\u{1b}".to_owned()),
        "uuid" => Some([8, 4, 4, 4, 12].map(|length| random.text(&alphabet("hex"), length)).join("-")),
        _ => {
            let (kind, length) = word.split_once(':')?;
            let length = length.parse().ok().filter(|_| !kind.contains([' ', '"', '\\']))?;
            Some(random.text(&alphabet(kind), length))
        }
    }
}

/// A line with its secrets, without them, and the secrets.
#[derive(Clone)]
pub(super) struct Planted {
    pub(super) text: String,
    pub(super) expected: String,
    pub(super) secrets: Vec<String>,
}

pub(super) fn planted(corpus: &str, seed: u64) -> Vec<Planted> {
    let mut random = Random::new(seed);
    let (mut all, mut marker) = (Vec::new(), "");
    for line in corpus.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
        if let Some(new) = line.strip_prefix("== ") {
            marker = new;
            continue;
        }
        let filled = fill(line, &mut random);
        let mut planted = Planted { text: String::new(), expected: String::new(), secrets: Vec::new() };
        for (at, part) in filled.split(['«', '»']).enumerate() {
            planted.text.push_str(part);
            planted.expected.push_str(if at % 2 == 1 { marker } else { part });
            planted.secrets.extend((at % 2 == 1).then(|| part.to_owned()));
        }
        all.push(planted);
    }
    all
}

/// Where a text may stand.
fn embeddings(text: &str) -> Vec<String> {
    vec![
        text.to_owned(),
        format!("{text}\n"),
        format!("first line\r\n{text}\r\nlast line"),
        format!("2026-01-01T00:00:00Z DEBUG [worker-1] {text}"),
        format!("é ü → {text} → ü é"),
        format!("\u{feff}{text}"),
        json!({ "text": text }).to_string(),
        json!({ "body": json!([text, 1]).to_string() }).to_string(),
    ]
}

/// STO-10: every secret of the corpus is replaced wherever it stands, and nothing else.
#[test]
fn planted_secrets_are_found() {
    let patterns = patterns();
    let mut wrong = Vec::new();
    for (seed, corpus) in (1..=FILLS).flat_map(|seed| [(seed, SECRETS), (seed, PAIRS)]) {
        for planted in planted(corpus, seed) {
            let pairs = embeddings(&planted.text).into_iter().zip(embeddings(&planted.expected));
            wrong.extend(pairs.into_iter().find_map(|(text, expected)| {
                let shown = patterns.redact(&text).text.into_owned();
                (shown != expected).then(|| format!("{text}\n  became {shown}\n  not    {expected}"))
            }));
        }
    }
    assert!(wrong.is_empty(), "{} wrong, for example:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

/// STO-10: what only looks like a secret stays, borrowed.
#[test]
fn look_alikes_stay() {
    let patterns = patterns();
    let mut wrong = Vec::new();
    for line in HARMLESS.lines().filter(|line| !line.starts_with("# ")) {
        let line = fill(line, &mut Random::new(1));
        wrong.extend(embeddings(&line).into_iter().find_map(|text| {
            let redacted = patterns.redact(&text);
            let kept = !redacted.hit && matches!(redacted.text, Cow::Borrowed(_));
            (!kept).then(|| format!("{text}\n  became {}", redacted.text))
        }));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

/// STO-10: with any random characters; so many fills that a rule that relies on luck would show.
#[test]
fn tokens_are_found_whatever_their_characters() {
    let patterns = patterns();
    for planted in SEEDS.flat_map(|seed| planted(SECRETS, seed)) {
        assert_eq!(patterns.redact(&planted.text).text, planted.expected, "{}", planted.text);
    }
}

/// How many of 2000 random values of a kind a name such as `api_key` does not give away.
fn missed(kind: &str, length: usize) -> usize {
    let (patterns, mut random, alphabet) = (patterns(), Random::new(7), alphabet(kind));
    (0..2000).filter(|_| !patterns.redact(&format!("api_key: \"{}\"", random.text(&alphabet, length))).hit).count()
}

/// STO-10: generic keys are told from words by their mixture, so a few are missed; the figures say how many.
#[test]
fn few_random_keys_are_missed() {
    for (kind, length, most) in
        [("b62", 16, 200), ("b62", 20, 100), ("b62", 32, 10), ("hex", 32, 10), ("b64", 40, 10), ("low", 32, 40)]
    {
        let missed = missed(kind, length);
        println!("{kind} of {length}: {missed} of 2000 missed");
        assert!(missed <= most, "{kind} of {length}: {missed} of 2000 missed");
    }
}
