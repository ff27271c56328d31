//! Whether somebody asks to be remembered (MEM-3). A hit costs one question to a model, which then decides; a miss waits for
//! the backlog. So what is told apart here is only told apart roughly.

/// Words that are a wish, and words right before them with which they are none.
struct Phrase {
    words: &'static str,
    not_after: &'static [&'static str],
    not_before: &'static [&'static str],
}

const fn phrase(words: &'static str) -> Phrase {
    Phrase { words, not_after: &[], not_before: &[] }
}

const fn unless_after(words: &'static str, not_after: &'static [&'static str]) -> Phrase {
    Phrase { words, not_after, not_before: &[] }
}

/// Of these only whole words count.
const WORDS: &[Phrase] = &[
    Phrase {
        words: "remember",
        not_after: &[
            "i", "we", "they", "you", "he", "she", "not", "don't", "doesn't", "didn't", "can't", "cannot", "couldn't",
            "won't", "wouldn't", "who",
        ],
        // What a box on a login page says.
        not_before: &["me"],
    },
    phrase("can you remember"),
    phrase("could you remember"),
    phrase("will you remember"),
    phrase("would you remember"),
    phrase("should remember"),
    phrase("must remember"),
    phrase("from now on"),
    phrase("from here on"),
    phrase("going forward"),
    phrase("henceforth"),
    phrase("in future"),
    phrase("in the future"),
    phrase("next time"),
    phrase("don't forget"),
    phrase("do not forget"),
    phrase("never forget"),
    phrase("keep in mind"),
    phrase("bear in mind"),
    phrase("make a note"),
    phrase("take note"),
    phrase("note for later"),
    phrase("memorize"),
    phrase("memorise"),
    phrase("save this to memory"),
    phrase("save that to memory"),
    phrase("save to memory"),
    phrase("add this to memory"),
    phrase("add to memory"),
    // German, French, Spanish, Portuguese, Russian.
    phrase("merk dir"),
    phrase("denk daran"),
    phrase("merke dir"),
    phrase("vergiss nicht"),
    phrase("ab jetzt"),
    phrase("von jetzt an"),
    phrase("in zukunft"),
    phrase("souviens-toi"),
    phrase("souvenez-vous"),
    phrase("n'oublie pas"),
    phrase("désormais"),
    phrase("dorénavant"),
    phrase("à partir de maintenant"),
    phrase("recuerda"),
    phrase("ricorda"),
    phrase("ricordati"),
    phrase("no olvides"),
    phrase("de ahora en adelante"),
    phrase("a partir de ahora"),
    phrase("lembre-se"),
    phrase("a partir de agora"),
    phrase("запомни"),
    phrase("запомните"),
    phrase("отныне"),
];

/// Writing that has no blanks between words.
const RUNS: &[Phrase] = &[
    unless_after("记住", &["不", "没"]),
    unless_after("記住", &["不", "沒"]),
    unless_after("记得", &["不", "没", "还", "是否"]),
    unless_after("記得", &["不", "沒", "還", "是否"]),
    phrase("牢记"),
    phrase("牢記"),
    phrase("谨记"),
    phrase("记下"),
    phrase("記下"),
    phrase("别忘"),
    phrase("別忘"),
    phrase("不要忘"),
    phrase("从现在起"),
    phrase("从现在开始"),
    phrase("從現在起"),
    phrase("從現在開始"),
    phrase("从今以后"),
    phrase("從今以後"),
    phrase("从今天起"),
    phrase("今后"),
    phrase("今後"),
    phrase("往后"),
    phrase("以后都"),
    phrase("以后请"),
    phrase("以后不"),
    phrase("以后别"),
    phrase("以后每"),
    phrase("以后要"),
    phrase("以后用"),
    phrase("以后就"),
    phrase("以后一律"),
    phrase("以後都"),
    phrase("以後請"),
    phrase("以後不"),
    phrase("以後別"),
    phrase("以後要"),
    phrase("以後用"),
    phrase("下次"),
    // Japanese, Korean.
    phrase("覚えて"),
    phrase("忘れないで"),
    phrase("これからは"),
    phrase("기억해"),
    phrase("잊지 마"),
    phrase("앞으로"),
];

/// Whether the words of a message hold such a wish.
pub(super) fn is_wish(text: &str) -> bool {
    let text = text.to_lowercase().replace('’', "'");
    WORDS.iter().any(|phrase| phrase.is_said_in(&text, true))
        || RUNS.iter().any(|phrase| phrase.is_said_in(&text, false))
}

impl Phrase {
    fn is_said_in(&self, text: &str, whole_words: bool) -> bool {
        text.match_indices(self.words).any(|(at, words)| {
            let (before, after) = (&text[..at], &text[at + words.len()..]);
            let is_whole = !whole_words || !(before.ends_with(is_of_word) || after.starts_with(is_of_word));
            is_whole
                && !self.not_after.iter().any(|word| ends_with(before, word, whole_words))
                && !self.not_before.iter().any(|word| starts_with(after, word))
        })
    }
}

/// `remember_token` and `remember-me` are names of something.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

fn ends_with(text: &str, word: &str, whole_words: bool) -> bool {
    let before = text.trim_end_matches([' ', '\t']).strip_suffix(word);
    before.is_some_and(|before| !whole_words || !before.ends_with(is_of_word))
}

fn starts_with(text: &str, word: &str) -> bool {
    let after = text.trim_start_matches([' ', '\t']).strip_prefix(word);
    after.is_some_and(|after| !after.starts_with(is_of_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MEM-3: an explicit wish, in several languages.
    #[test]
    fn wishes() {
        for text in [
            "Remember: I use tabs.",
            "remember that the staging server is called blue",
            "Please REMEMBER my name is Ana",
            "I want you to remember this.",
            "Could you remember the word mango?",
            "ok, and from now on answer in French",
            "Don’t forget to run the linter",
            "don't forget that we ship on Fridays",
            "Next time run the tests first.",
            "记住我喜欢用制表符",
            "请你记住:不要用 npm",
            "从现在开始用中文回答",
            "以后都用 pnpm",
            "請記住我的名字",
            "Merk dir bitte, dass ich vi benutze.",
            "À partir de maintenant, réponds en français",
            "これからは日本語で答えて",
        ] {
            assert!(is_wish(text), "{text}");
        }
    }

    #[test]
    fn no_wishes() {
        for text in [
            "Read the README and summarise it.",
            "I don't remember how this works",
            "Do you remember what we did?",
            "Fix the \"remember me\" box of the login page",
            "rename remember_token to session_token",
            "the user is remembered by a cookie",
            "I always forget: what does -x do? You forget nothing.",
            "你还记得昨天的问题吗",
            "我不记得了",
            "三天以后再看",
            "",
        ] {
            assert!(!is_wish(text), "{text}");
        }
    }
}
