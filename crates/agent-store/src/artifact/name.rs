//! File names made safe.

/// Longest name, in bytes: well below what file systems take, since people also see it inside paths.
const MAX_LEN: usize = 100;
/// Longest ending that is kept when a name is shortened, in bytes with its dot.
const MAX_EXTENSION: usize = 16;

/// A name that is one path component, harmless to a terminal and to a shell.
pub(super) fn safe(hint: &str) -> String {
    let name: String = hint.chars().take(1_000).map(|c| if is_safe(c) { c } else { '_' }).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "artifact".to_owned() } else { shorten(name) }
}

fn is_safe(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// Cuts the stem, so that the ending still says what the file is.
fn shorten(name: &str) -> String {
    if name.len() <= MAX_LEN {
        return name.to_owned();
    }
    let extension = match name.rfind('.') {
        Some(dot) if name.len() - dot <= MAX_EXTENSION => &name[dot..],
        _ => "",
    };
    let stem = &name[..name.floor_char_boundary(MAX_LEN - extension.len())];
    format!("{stem}{extension}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// ART-1: the name is sanitised.
    #[test]
    fn names_are_made_safe() {
        for (hint, name) in [
            ("stdout.log", "stdout.log"),
            ("Übersicht-2_a.txt", "Übersicht-2_a.txt"),
            ("日本.txt", "日本.txt"),
            ("../../etc/passwd", "_.._etc_passwd"),
            ("/abs", "_abs"),
            (".bashrc", "bashrc"),
            ("..", "artifact"),
            ("", "artifact"),
            ("a b\n\u{1b}[31m.txt", "a_b___31m.txt"),
            ("$(rm -rf).sh", "__rm_-rf_.sh"),
            ("a\u{202e}gpj.exe", "a_gpj.exe"),
            ("a\0b", "a_b"),
        ] {
            assert_eq!(safe(hint), name, "{hint:?}");
        }
    }

    #[test]
    fn long_names_keep_their_ending() {
        let name = safe(&format!("{}.jsonl", "é".repeat(300)));
        assert!(name.len() <= MAX_LEN && name.starts_with("éé") && name.ends_with("é.jsonl"), "{name}");
        assert_eq!(safe(&"x".repeat(300)).len(), MAX_LEN);
        assert_eq!(safe(&format!("a.{}", "x".repeat(300))).len(), MAX_LEN);
    }

    proptest! {
        /// ART-1: whatever the hint, the result is one path component of bounded length.
        #[test]
        fn any_hint_gives_a_safe_name(hint in any::<String>()) {
            let name = safe(&hint);
            prop_assert!(!name.is_empty() && name.len() <= MAX_LEN && !name.starts_with('.'), "{:?}", name);
            prop_assert!(name.chars().all(is_safe), "{:?}", name);
        }
    }
}
