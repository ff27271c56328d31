//! "Did you mean …?": the known name nearest to a mistyped one.

/// Names longer than this are not compared: no key of ours comes near, and the cost grows with the square.
const LONGEST: usize = 64;

/// The candidate nearest to `name`, if one is near enough to be what was meant.
///
/// Near is: the same but for case, one the beginning of the other, a part of the other (four characters or more), or few
/// edits apart (one per three characters, at least two for names of four characters and more). Among those the fewest
/// edits win, then the first.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name: Vec<char> = name.to_lowercase().chars().take(LONGEST + 1).collect();
    if name.is_empty() || name.len() > LONGEST {
        return None;
    }
    let scored = candidates.into_iter().filter_map(|candidate| {
        let known: Vec<char> = candidate.to_lowercase().chars().collect();
        let edits = strsim::generic_damerau_levenshtein(&name, &known);
        let begins = name.len() >= 3 && (known.starts_with(&name) || name.starts_with(&known));
        let part = name.len() >= 4 && known.windows(name.len()).any(|window| window == name);
        (begins || part || edits <= tolerance(name.len())).then_some((edits, candidate))
    });
    scored.min_by_key(|(edits, _)| *edits).map(|(_, candidate)| candidate)
}

fn tolerance(len: usize) -> usize {
    match len {
        0..4 => 1,
        _ => (len / 3).max(2),
    }
}

#[cfg(test)]
#[path = "nearest_tests.rs"]
mod tests;
