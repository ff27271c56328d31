use std::path::Path;

use super::reference_markdown;
use crate::config::{Config, rows};

/// `docs/config.md` is what the declarations say. To write it anew: `UPDATE_DOCS=1 cargo test -p agent-config reference`.
#[test]
fn the_reference_on_disk_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    let text = reference_markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().expect("parent")).expect("docs");
        std::fs::write(&path, &text).expect("write");
    }
    let on_disk = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(on_disk == text, "docs/config.md is stale: run UPDATE_DOCS=1 cargo test -p agent-config reference");
}

#[test]
fn every_key_is_in_the_reference_and_has_a_meaning() {
    let text = reference_markdown();
    for row in rows(&Config::default()).iter().filter(|row| !row.key.is_empty()) {
        // Elements of lists and named entries are explained by the list or table they are in.
        if !row.key.ends_with("[]") && !row.key.ends_with(".NAME") {
            assert!(!row.doc.meaning.trim().is_empty(), "{} has no doc comment", row.key);
        }
        let last = row.key.rsplit('.').next().expect("split yields one");
        assert!(
            row.table || text.contains(&format!("| `{last}` |")) || text.contains(&format!("[{last}.NAME]")),
            "{} is missing",
            row.key
        );
    }
}
