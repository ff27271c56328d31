//! Closing tags in spellings that a reader, or a model, takes for the same (CTX-3).

/// Longest closing tag that is looked for, in characters.
const LONGEST: usize = 80;

/// Where the slash stands of the first closing tag of this name: in any case, with blanks, hyphens or invisible characters in
/// between, of letters that look alike.
pub(crate) fn closing_slash(text: &str, tag: &str) -> Option<usize> {
    let name: String = tag.chars().filter_map(letter).collect();
    let opens = text.char_indices().filter(|(_, c)| matches!(c, '<' | '＜' | '﹤' | '‹' | '〈'));
    for (at, open) in opens {
        let behind = &text[at + open.len_utf8()..];
        let Some((slash, c)) = behind.char_indices().take(LONGEST).find(|(_, c)| is_something(*c)) else { continue };
        if matches!(c, '/' | '／' | '∕' | '⁄' | '⧸') && begins_with(&behind[slash + c.len_utf8()..], &name) {
            return Some(at + open.len_utf8() + slash);
        }
    }
    None
}

fn begins_with(text: &str, name: &str) -> bool {
    let mut said = text.chars().take(LONGEST).take_while(|c| !matches!(c, '>' | '<' | '＞' | '/')).filter_map(letter);
    name.chars().all(|c| said.next() == Some(c))
}

/// Whether a character is more than a blank, or than what is not seen.
fn is_something(c: char) -> bool {
    let unseen = matches!(c, '\u{ad}' | '\u{34f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    !(c.is_whitespace() || c.is_control() || unseen)
}

/// The small Latin letter that a letter is, or looks like; nothing where it is no letter.
fn letter(c: char) -> Option<char> {
    if c.is_ascii() {
        return c.is_ascii_alphabetic().then_some(c.to_ascii_lowercase());
    }
    Some(match c {
        'Ａ'..='Ｚ' => latin(u32::from(c) - u32::from('Ａ')),
        'ａ'..='ｚ' => latin(u32::from(c) - u32::from('ａ')),
        '\u{1d400}'..='\u{1d6a3}' => latin((u32::from(c) - 0x1d400) % 26),
        'а' | 'А' | 'α' | 'Α' => 'a',
        'В' | 'Β' => 'b',
        'с' | 'С' => 'c',
        'ԁ' => 'd',
        'е' | 'Е' | 'ε' | 'Ε' | 'ё' | 'Ё' => 'e',
        'ɡ' => 'g',
        'Н' | 'Η' | 'һ' => 'h',
        'і' | 'І' | 'ι' | 'Ι' | 'ı' => 'i',
        'ј' | 'Ј' => 'j',
        'к' | 'К' | 'κ' | 'Κ' => 'k',
        'ⅼ' | 'Ӏ' => 'l',
        'м' | 'М' | 'Μ' => 'm',
        'Ν' => 'n',
        'о' | 'О' | 'ο' | 'Ο' => 'o',
        'р' | 'Р' | 'ρ' | 'Ρ' => 'p',
        'ѕ' | 'Ѕ' => 's',
        'Т' | 'т' | 'τ' | 'Τ' => 't',
        'υ' => 'u',
        'ν' | 'ѵ' => 'v',
        'ѡ' => 'w',
        'х' | 'Х' | 'χ' | 'Χ' => 'x',
        'у' | 'У' | 'Υ' | 'γ' => 'y',
        'Ζ' => 'z',
        c if c.is_alphabetic() => c,
        _ => return None,
    })
}

/// Letters of those blocks come by their place in the alphabet.
fn latin(place: u32) -> char {
    u8::try_from(place % 26).map_or('?', |place| char::from(b'a' + place))
}
