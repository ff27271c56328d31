//! Ordinary source code comes through nearly untouched: measured on this project's own.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

/// Hits in a megabyte of source. Tests of this project hold made-up secrets, which count.
const MOST_PER_MB: f64 = 10.0;

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// STO-10: source code is not what the redactor is for.
#[test]
fn own_source_is_nearly_untouched() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/patterns");
    let mut files = Vec::new();
    sources(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap(), &mut files);
    let patterns = patterns();
    let (mut bytes, mut hits) = (0, Vec::new());
    for file in files.iter().filter(|file| !file.starts_with(&own)) {
        let text = fs::read_to_string(file).unwrap();
        bytes += text.len();
        hits.extend(patterns.cuts(text.as_bytes()).into_iter().map(|cut| {
            let line = text[..cut.range.start].rfind('\n').map_or(0, |at| at + 1);
            let line = text[line..].lines().next().unwrap_or_default();
            format!("{}: {} {}", file.file_name().unwrap().display(), &text[cut.range], line.trim())
        }));
    }
    let per_mb = hits.len() as f64 / (bytes as f64 / 1e6);
    println!("{} hits in {bytes} bytes: {per_mb:.1} a MB\n{}", hits.len(), hits.join("\n"));
    assert!(bytes > 1_000_000, "only {bytes} bytes of source were found");
    assert!(per_mb <= MOST_PER_MB, "{per_mb:.1} hits a MB:\n{}", hits.join("\n"));
}
