use std::fs;

use agent_testkit::scratch;
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::{InstructionBody, Level, read_body};
use super::{Fitted, Loaded, share_room};

fn body(text: &str) -> InstructionBody {
    InstructionBody {
        text: text.into(),
        hash: String::new(),
        bytes: text.len() as u64,
        cut: false,
        unread: 0,
        first_line: 1,
    }
}

fn loaded<'a>(shown: &'a str, depth: usize, body: &'a InstructionBody) -> Loaded<'a> {
    Loaded { shown, level: Level::Project, depth, body }
}

fn bytes(text: &str) -> u64 {
    text.len() as u64
}

/// INST-04: the nearest file is whole, the big one is cut between characters and says so and how to go on.
#[test]
fn nearest_first() {
    let (root, near) = (body(&"é".repeat(50_000)), body(&"x".repeat(1000)));
    let fitted = share_room(&[loaded("AGENTS.md", 0, &root), loaded("sub/AGENTS.md", 1, &near)], 8000, &bytes);
    assert_eq!(fitted[1], Fitted { text: near.text.clone(), cut: None });
    let cut = fitted[0].cut.unwrap();
    let (kept, note) = fitted[0].text.split_once('\n').unwrap();
    assert!(kept.chars().all(|c| c == 'é') && kept.len() == cut.kept && cut.kept > 6500, "{cut:?}");
    assert_eq!(cut.left_out, 100_000 - cut.kept as u64);
    assert_eq!(
        note,
        format!(
            "[Cut here: {} bytes are left out. Read on with code.read_file, path `AGENTS.md`, start_line 1.]",
            cut.left_out
        )
    );
    assert!(fitted.iter().map(|one| bytes(&one.text)).sum::<u64>() <= 8000);
}

/// INST-04: a cut moves back to the end of a line, and reading goes on with the line after it.
#[test]
fn cut_between_lines() {
    let text: String = (1..=500).map(|line| format!("line {line}\n")).collect();
    let body = InstructionBody { first_line: 11, ..body(&text) };
    let fitted = share_room(&[loaded("A.md", 0, &body)], 1000, &bytes);
    let cut = fitted[0].cut.unwrap();
    let kept = &fitted[0].text[..cut.kept];
    let lines = kept.lines().count();
    assert!(kept.ends_with(&format!("line {lines}\n")) && lines > 80, "{kept}");
    assert_eq!(cut.next_line, 11 + lines);
    assert!(fitted[0].text.ends_with(&format!("start_line {}.]", 11 + lines)));
}

/// INST-04: no file starves: neither a small one behind a huge one nor the user's behind the project's. What has no room
/// at all is a line that says so.
#[test]
fn nobody_starves() {
    let (huge, small) = (body(&"h".repeat(100_000)), body(&"s".repeat(300)));
    let files = [
        Loaded { level: Level::User, ..loaded("~/CLAUDE.md", 0, &small) },
        loaded("a/AGENTS.md", 1, &huge),
        loaded("AGENTS.md", 0, &small),
    ];
    let fitted = share_room(&files, 8000, &bytes);
    assert_eq!([fitted[0].cut, fitted[2].cut], [None, None]);
    assert!(fitted[1].cut.unwrap().kept > 6000);

    let fitted = share_room(&[loaded("a/AGENTS.md", 1, &huge), loaded("AGENTS.md", 0, &huge)], 1000, &bytes);
    assert!(fitted[0].cut.unwrap().kept > 0);
    let fitted = share_room(&[loaded("AGENTS.md", 0, &huge)], 99, &bytes);
    assert_eq!(fitted[0].cut.unwrap().kept, 0);
    assert!(fitted[0].text.starts_with("[No room: 100000 bytes"), "{}", fitted[0].text);
    let fitted = share_room(&[loaded("AGENTS.md", 0, &huge)], 10, &bytes);
    assert_eq!((fitted[0].text.as_str(), fitted[0].cut.unwrap().left_out), ("", 100_000));
    assert_eq!(share_room(&[], 10, &bytes), []);
}

/// INST-01, INST-04, INST-09: a body is what is behind the frontmatter, cut between characters, with the hash of all.
#[test]
fn bodies() {
    let file = scratch("library-bodies").join("AGENTS.md");
    let content = "\u{feff}---\r\nname: x\r\n---\r\nfirst\n---\nééé";
    fs::write(&file, content).unwrap();
    let whole = read_body(&file, 1000).unwrap();
    assert_eq!((whole.text.as_str(), whole.cut, whole.first_line), ("first\n---\nééé", false, 4));
    assert_eq!(whole.hash, blake3::hash(content.as_bytes()).to_hex().to_string());
    assert_eq!((whole.bytes, whole.unread), (content.len() as u64, 0));
    let part = read_body(&file, 13).unwrap();
    assert_eq!((part.text.as_str(), part.cut, part.unread), ("first\n---\né", true, 4));
    // What was cut when it was read says so wherever it fits.
    let fitted = share_room(&[loaded("AGENTS.md", 0, &part)], 1000, &bytes);
    assert!(
        fitted[0].text.ends_with(
            "[Cut here: 4 bytes are left out. Read on with code.read_file, path `AGENTS.md`, start_line 6.]"
        )
    );
    assert_eq!(fitted[0].cut.unwrap().kept, part.text.len());

    fs::write(&file, "---\nunclosed: é".repeat(20_000)).unwrap();
    let part = read_body(&file, 100_015).unwrap();
    assert!(
        part.text.starts_with("---\nunclosed: é---\n") && part.text.len() == 100_014 && part.cut,
        "{}",
        part.text.len()
    );
    fs::write(&file, b"a\xffb").unwrap();
    assert_eq!(read_body(&file, 100).unwrap().text, "a\u{fffd}b");
}

proptest! {
    /// INST-04: whatever is loaded, the room is kept, the beginning of each body is what is kept of it, and whatever is
    /// missing is said.
    #[test]
    fn any_bodies(
        texts in vec(("[a-zé\n]{0,3000}", 0..4_usize, any::<bool>(), any::<bool>()), 0..6),
        room in 0..6000_u64,
    ) {
        let bodies: Vec<_> = texts.iter().map(|(text, _, _, cut)| {
            InstructionBody { cut: *cut, unread: u64::from(*cut) * 7, ..body(text) }
        }).collect();
        let files: Vec<_> = bodies.iter().zip(&texts).map(|(body, (_, depth, user, _))| Loaded {
            level: if *user { Level::User } else { Level::Project },
            ..loaded("a/AGENTS.md", *depth, body)
        }).collect();
        let fitted = share_room(&files, room, &bytes);
        prop_assert!(fitted.iter().map(|one| bytes(&one.text)).sum::<u64>() <= room);
        for (body, one) in bodies.iter().zip(&fitted) {
            match one.cut {
                None => prop_assert!(one.text == body.text && !body.cut),
                Some(cut) => {
                    prop_assert!(one.text.starts_with(&body.text[..cut.kept]));
                    let note = format!("start_line {}.]", cut.next_line);
                    prop_assert!(one.text.is_empty() || one.text.ends_with(&note));
                    prop_assert_eq!(cut.left_out, (body.text.len() - cut.kept) as u64 + body.unread);
                }
            }
        }
    }
}
