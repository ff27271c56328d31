//! Lists for the model that keep to a room.

/// A list for the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The whole block with its frame; empty if there is nothing to list or no room at all.
    pub text: String,
    /// Entries in it.
    pub shown: usize,
    /// Entries that there was no room for.
    pub left_out: usize,
}

/// The longest beginning of the entries whose text fits. `text` makes the whole block of the first so many of them.
///
/// What is handed out was counted as it is: however `count` counts, it is never more than `room`.
pub(crate) fn fit(entries: usize, room: u64, count: &dyn Fn(&str) -> u64, text: &dyn Fn(usize) -> String) -> Rendered {
    let try_with = |shown: usize| {
        let text = text(shown);
        (count(&text) <= room).then_some(Rendered { text, shown, left_out: entries - shown })
    };
    if entries == 0 {
        return Rendered::default();
    }
    // All of them at once, mostly.
    let fitted = try_with(entries).or_else(|| largest(entries - 1, try_with));
    fitted.unwrap_or(Rendered { left_out: entries, ..Rendered::default() })
}

/// What comes of the greatest number up to `most` for which something does, as far as halving finds it.
pub(crate) fn largest<T>(most: usize, try_with: impl Fn(usize) -> Option<T>) -> Option<T> {
    let (mut best, mut low, mut high) = (None, 0, most + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        match try_with(middle) {
            Some(found) => {
                best = Some(found);
                low = middle + 1;
            }
            None => high = middle,
        }
    }
    best
}
