//! Names of modules in words: `pkg.tool`, `a::X`.

/// How many parts of such a name are looked at.
const MAX_PARTS: usize = 16;
/// How many letters of `-wMa::X` may be options before the name.
const MAX_OPTIONS: usize = 16;

/// The paths, without extensions, at which the modules may lie that a word names, and those they are in: `pkg` and
/// `pkg/tool` for `pkg.tool`.
pub(super) fn paths(word: &str) -> impl Iterator<Item = String> {
    let plain = |sign: char| sign.is_alphanumeric() || "_-./:".contains(sign);
    word.split(move |sign| !plain(sign)).flat_map(with_options_off).flat_map(|run| {
        let dotted = run.replace("::", ".");
        dotted.split(':').flat_map(prefixes).collect::<Vec<_>>()
    })
}

fn with_options_off(run: &str) -> impl Iterator<Item = &str> {
    let options = run.strip_prefix('-').unwrap_or_default();
    let letters = options.bytes().take(MAX_OPTIONS).take_while(u8::is_ascii_alphanumeric).count();
    std::iter::once(run).chain((1..=letters).map(|skipped| &options[skipped..]))
}

fn prefixes(name: &str) -> Vec<String> {
    let parts: Vec<&str> = name.split('.').take(MAX_PARTS).collect();
    // Dots in `../x`, `/a/.b` and `x.` stand between no names.
    if parts.len() < 2 || parts.iter().any(|part| part.is_empty() || part.ends_with('/')) {
        return Vec::new();
    }
    (1..=parts.len()).map(|count| parts[..count].join("/")).collect()
}

#[cfg(test)]
mod tests;
