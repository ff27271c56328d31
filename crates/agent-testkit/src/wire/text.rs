//! A reply's text in pieces.

use crate::reply::Text;

impl Text {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Whole(text) => text.len(),
            Self::Flood { count, delta } => count * delta.len(),
        }
    }

    /// The deltas of the text; none if it is empty.
    pub(super) fn deltas(&self, chunks: usize) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::Whole(text) => Box::new(split(text, chunks)),
            Self::Flood { count, delta } => Box::new(std::iter::repeat_n(delta.as_str(), *count)),
        }
    }
}

/// Up to `n` pieces of about the same number of characters, none empty.
pub(super) fn split(text: &str, n: usize) -> impl Iterator<Item = &str> {
    let total = text.chars().count();
    let pieces = n.clamp(1, total.max(1));
    let border = move |i: usize| total * i / pieces;
    let mut rest = text;
    (0..pieces).map_while(move |i| {
        let length: usize = rest.chars().take(border(i + 1) - border(i)).map(char::len_utf8).sum();
        let (piece, after) = rest.split_at(length);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn text_splits_into_even_pieces_between_characters() {
        let cases: [(&str, usize, &[&str]); 6] = [
            ("abcdef", 3, &["ab", "cd", "ef"]),
            ("abcde", 2, &["ab", "cde"]),
            ("äöü", 3, &["ä", "ö", "ü"]),
            ("ab", 9, &["a", "b"]),
            ("ab", 0, &["ab"]),
            ("", 4, &[]),
        ];
        for (text, n, expected) in cases {
            assert_eq!(split(text, n).collect::<Vec<_>>(), expected, "{text:?} in {n}");
        }
    }
}
