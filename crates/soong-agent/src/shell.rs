//! Words that can be typed into a shell.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use agent_core::text::quote_argv;

/// A command as it can be typed. Bytes that are not UTF-8, as a path may hold, are written as numbers in `$'…'`, which bash, zsh
/// and ksh read.
pub(crate) fn typed<'w>(words: impl IntoIterator<Item = &'w OsStr>) -> String {
    words.into_iter().enumerate().map(|(at, word)| self::word(word, at == 0)).collect::<Vec<_>>().join(" ")
}

/// One word behind others.
pub(crate) fn argument(word: &OsStr) -> String {
    self::word(word, false)
}

fn word(word: &OsStr, first: bool) -> String {
    if let Some(text) = word.to_str() {
        // As any shell reads it; `$'…'` is for what a person would not see for what it is.
        if text.contains('\'') && text.chars().all(|c| matches!(c, ' '..='~')) {
            return format!("'{}'", text.replace('\'', r"'\''"));
        }
        // Only a first word with a `=` is quoted otherwise.
        return match first {
            true => quote_argv(&[text.to_owned()]),
            false => quote_argv(&[String::from("x"), text.to_owned()]).split_off("x ".len()),
        };
    }
    let mut quoted = "$'".to_owned();
    for chunk in word.as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\'' | '\\' => quoted.extend(['\\', c]),
                ' '..='~' => quoted.push(c),
                // A letter's bytes: the number of the letter means nothing to a shell of another locale.
                other => other.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| push_byte(&mut quoted, byte)),
            }
        }
        chunk.invalid().iter().for_each(|byte| push_byte(&mut quoted, *byte));
    }
    quoted.push('\'');
    quoted
}

fn push_byte(quoted: &mut String, byte: u8) {
    // Always two digits, so that a digit behind them is no third.
    quoted.push_str(&format!("\\x{byte:02x}"));
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    fn typed_by(words: &[Vec<u8>]) -> String {
        let words: Vec<OsString> = words.iter().cloned().map(OsString::from_vec).collect();
        typed(words.iter().map(OsString::as_os_str))
    }

    /// FND-72: a path that is no UTF-8 comes out as something that can be typed.
    #[test]
    fn bytes_can_be_typed() {
        assert_eq!(argument(OsStr::new("/a b")), "'/a b'");
        assert_eq!(argument(OsStr::new("a=b")), "a=b");
        assert_eq!(argument(OsStr::from_bytes(b"/caf\xe9/it's")), "$'/caf\\xe9/it\\'s'");
        assert_eq!(typed_by(&[b"run".to_vec(), b"\xff\n1".to_vec()]), "run $'\\xff\\x0a1'");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 24, ..ProptestConfig::default() })]

        /// FND-72: a shell reads the very bytes back, whatever they are.
        #[test]
        fn a_shell_reads_them_back(words in prop::collection::vec(prop::collection::vec(1_u8.., 0..20), 1..4)) {
            let script = format!("printf '%s\\0' {}", typed_by(&words));
            let output = Command::new("bash").arg("-c").arg(script).env("LC_ALL", "C").output().unwrap();
            let mut wanted = Vec::new();
            words.iter().for_each(|word| { wanted.extend(word); wanted.push(0) });
            prop_assert_eq!(output.stdout, wanted);
        }
    }
}
