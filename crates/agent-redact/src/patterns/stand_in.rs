//! What stands where a secret would: placeholders, variables, names and calls of source code.

use super::bytes::{is_word, looked_at};
use super::extent::Value;
use super::shape::Shape;

/// Stands for a value that is put in later, or was taken out before: `${VAR}`, `<your-key>`, `changeme`, `****`.
pub(super) fn is_stand_in(text: &[u8]) -> bool {
    looked_at(text.len());
    is_variable(text) || Shape::of(text).is_monotonous() || is_filler(text) || holds_filler(text)
}

fn is_variable(text: &[u8]) -> bool {
    match text {
        [] | [b'<' | b'{' | b'[' | b'(', ..] => true,
        // `$2b$…` and the like are hashes, not variables.
        [b'$', next, rest @ ..] => {
            (next.is_ascii_alphabetic() && !rest.contains(&b'$'))
                || matches!(next, b'_' | b'{' | b'(' | b'@' | b'*' | b'?')
                || (next.is_ascii_digit() && rest.is_empty())
        }
        [b'%', inside @ .., b'%'] => inside.iter().all(|&byte| is_word(byte)),
        [b'%', b'(' | b'{', ..] | [b'%', _] => true,
        // Parameters of SQL, tags of YAML, references of Rust.
        [b'@' | b'!' | b'&' | b'*' | b':' | b'?', name @ ..] => {
            name.iter().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'\'' | b'.'))
        }
        _ => false,
    }
}

fn holds_filler(text: &[u8]) -> bool {
    const PARTS: &str = "${ {{ $( #{ <% %{ ... … xxxx **** example placeholder changeme change-me change_me \
        redacted process.env getenv environ";
    PARTS.split(' ').any(|part| contains(text, part))
}

fn is_filler(text: &[u8]) -> bool {
    const WORDS: &str = "true false yes no on off none null nil undefined todo tbd unset masked removed omitted \
        dummy sample foo bar baz foobar value string str abc xxx self this password passwd secret token apikey";
    const STARTS: &str = "your insert replace enter dummy change-this change_this put-";
    let starts =
        |start: &str| text.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start.as_bytes()));
    let letters: Vec<u8> = text.iter().take(16).filter(|byte| byte.is_ascii_alphanumeric()).copied().collect();
    STARTS.split(' ').any(starts) || (text.len() <= 16 && is_one_of(WORDS, &letters))
}

/// A path, a URL, a name or a call in source code.
pub(super) fn is_code(value: &Value<'_>) -> bool {
    const SCOPES: &str = "os. env. env: self. this. config. settings. options. opts. args. secrets. vars. var. \
        local. data. req. request. ctx. params. props. state. process. vault: file: arn: ref: op: ssm: keychain: \
        keyring:";
    let text = value.sample;
    looked_at(text.len());
    let of_words = text.iter().all(|&byte| is_word(byte) || b".:>/-".contains(&byte));
    if !value.is_quoted() && of_words && matches!(value.next, Some(b'(' | b'[' | b'{' | b'<')) {
        return true;
    }
    // `self.token`, `config::TOKEN`, `secrets/token`.
    let joined = text.iter().any(|byte| matches!(byte, b'.' | b'/')) || contains(text, "->");
    let path = of_words && ((joined && !text.iter().any(u8::is_ascii_digit)) || contains(text, "::"));
    // `OPENAI_API_KEY`.
    let variable = text.contains(&b'_') && text.iter().all(|&byte| is_word(byte) && !byte.is_ascii_lowercase());
    path || (variable && !Shape::of(text).is_random())
        || is_place(text)
        || SCOPES.split(' ').any(|scope| text.starts_with(scope.as_bytes()))
}

/// A file or a URL.
fn is_place(text: &[u8]) -> bool {
    let file = match text {
        [b'/', ..] | [b'.' | b'~', b'/', ..] | [b'.', b'.', b'/', ..] | [b'\\', b'\\', ..] => true,
        [drive, b':', b'\\' | b'/', ..] => drive.is_ascii_alphabetic(),
        _ => false,
    };
    (file && !Shape::of(text).is_random()) || contains(text, "://")
}

/// `X509HardwareKeyUsageFlags`, `ed25519.Ed25519PrivateKey`: what stands behind a name in a declaration. A number in it is
/// one that algorithms and types are named by, so `Summer2031Holiday` is none.
pub(super) fn is_type_name(text: &[u8]) -> bool {
    const NUMBERS: &str = "1 2 3 8 16 32 64 128 160 192 224 256 384 448 509 512 521 2048 4096 25519";
    looked_at(text.len());
    let name = text.iter().rposition(|&byte| byte == b'.').map_or(text, |dot| &text[dot + 1..]);
    let modules = &text[..text.len() - name.len()];
    let number = |digits: &[u8]| is_one_of(NUMBERS, digits);
    let of_words = name.chunk_by(|_, next| !next.is_ascii_uppercase()).all(|word| {
        let [first, rest @ ..] = word else { return false };
        let small = rest.iter().filter(|byte| byte.is_ascii_lowercase()).count();
        let mut digits = rest.split(|byte| !byte.is_ascii_digit()).filter(|digits| !digits.is_empty());
        let alone = digits.next().is_none_or(number) && digits.next().is_none();
        // `aB` alternates as in no word.
        first.is_ascii_uppercase()
            && rest.iter().all(u8::is_ascii_alphanumeric)
            && alone
            && (small != 1 || rest.len() > 1)
    });
    let module = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'.');
    of_words && name.iter().filter(|byte| byte.is_ascii_lowercase()).count() >= 6 && modules.iter().all(module)
}

/// Whether a list of words, with a blank between them, has this one in upper or lower case.
pub(super) fn is_one_of(words: &str, text: &[u8]) -> bool {
    words.split(' ').any(|word| word.as_bytes().eq_ignore_ascii_case(text))
}

pub(super) fn contains(text: &[u8], word: &str) -> bool {
    text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}
