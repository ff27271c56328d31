//! `docs/providers.md` lists the options as the adapters' own documentation does.

use std::path::Path;

/// CFG-5: every option is on the page for users, in the very words of the adapter that reads it.
#[test]
fn the_page_lists_every_option() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/providers.md");
    let page = std::fs::read_to_string(page).unwrap();
    let adapters = [
        ("ollama", include_str!("ollama.rs"), crate::ollama::OPTIONS),
        ("openai", include_str!("openai.rs"), crate::openai::OPTIONS),
        ("anthropic", include_str!("anthropic.rs"), crate::anthropic::OPTIONS),
    ];
    for (provider, source, options) in adapters {
        let head = format!("`model.provider_options.{provider}`\n");
        let section = page.split(&head).nth(1).and_then(|rest| rest.split("\n## ").next());
        let section = section.unwrap_or_else(|| panic!("no section on {provider}"));
        for option in options {
            let row = source
                .lines()
                .find_map(|line| line.strip_prefix("//! ").filter(|row| row.starts_with(&format!("| `{option}` |"))));
            let row = row.unwrap_or_else(|| panic!("{provider} does not document {option}"));
            assert!(section.contains(row), "docs/providers.md, {provider}: {row}");
        }
    }
}
