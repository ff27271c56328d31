//! The first of many things, in words.

use std::fmt::Display;

/// At most so many, one after the other, and how many there are more.
pub(crate) fn some_of<T: Display>(all: impl IntoIterator<Item = T>, most: usize) -> String {
    let mut all = all.into_iter().map(|one| one.to_string());
    let named: Vec<_> = all.by_ref().take(most).collect();
    let named = named.join(", ");
    match all.count() {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ERR-5: a list in a message has an end, and says how much it leaves out.
    #[test]
    fn the_first_of_many() {
        for (most, words) in [(3, "a, b, c"), (4, "a, b, c"), (2, "a, b and 1 more"), (1, "a and 2 more")] {
            assert_eq!(some_of(["a", "b", "c"], most), words);
        }
        assert_eq!(some_of::<&str>([], 2), "");
    }
}
