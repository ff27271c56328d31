//! What a search says besides what it found.

use std::path::Path;

use agent_redact::KnownSecrets;

use super::{
    collect::Readings,
    pass::Passed,
    query::{Query, escaped, looks_like_code},
};

/// How the query was read, where that may not be how it was meant.
pub(super) fn readings(query: &Query, text: &str, found: Readings) -> Option<String> {
    if query.note.is_some() || query.readings.is_none() {
        return query.note.clone();
    }
    let is_text = found.text || found.both;
    let note = match found {
        Readings { text: true, both: false, pattern: false } => {
            "no match as a regular expression; these are matches as plain text".to_owned()
        }
        Readings { pattern: true, .. } if is_text => {
            format!(
                "lines that hold the query as plain text come first, then those it matches as a regular expression; for the text \
                 alone: {}",
                escaped(text)
            )
        }
        Readings { pattern: true, .. } if looks_like_code(text) => {
            format!(
                "read as a regular expression, as no line holds it as plain text; for the text alone: {}",
                escaped(text)
            )
        }
        _ => return None,
    };
    Some(note)
}

/// What was not searched, in words, with the way to it.
pub(super) fn skipped(
    passed: &Passed,
    secrets: &KnownSecrets,
    show: &dyn Fn(&Path) -> String,
    is_named: bool,
) -> Option<String> {
    let counts = &passed.state.counts;
    let sensitive = passed.sensitive + counts.second_names;
    let named_way = |way: &'static str| if is_named { way } else { "" };
    let kinds = [
        counts.binary.named("binary", secrets, show).map(|kind| {
            format!("{kind}{}", named_way(" (code.run_command [\"grep\",\"-a\",…] searches it all the same)"))
        }),
        counts.too_big.named("larger than 256 MiB, unless named", secrets, show),
        counts.long_line.named(
            if is_named {
                "behind a line of more than 64 MiB (code.run_command [\"grep\",\"-ob\",…] searches it)"
            } else {
                "behind a line of more than 16 MiB, unless named"
            },
            secrets,
            show,
        ),
        counts.unreadable.named("unreadable", secrets, show),
        passed.links.named("behind links, unless named", secrets, show),
        (sensitive > 0).then(|| format!("{sensitive} sensitive")),
    ];
    let kinds: Vec<String> = kinds.into_iter().flatten().collect();
    (!kinds.is_empty()).then(|| format!("not searched: {}", kinds.join("; ")))
}
