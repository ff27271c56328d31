//! Any Markdown file: it is parted into frontmatter and body without loss, what YAML there is is read or refused, and nothing
//! a catalog shows of it is more than one line.
#![no_main]

use libfuzzer_sys::fuzz_target;

/// A file as people write them, or one that is nothing but bytes.
#[derive(Debug, arbitrary::Arbitrary)]
enum Case<'a> {
    Raw(&'a str),
    File { mark: bool, crlf: bool, block: &'a str, closed: bool, body: &'a str },
}

fuzz_target!(|case: Case<'_>| match case {
    Case::Raw(text) => agent_library::fuzzing::frontmatter(text),
    Case::File { mark, crlf, block, closed, body } => {
        let mark = if mark { "\u{feff}" } else { "" };
        let end = if crlf { "\r\n" } else { "\n" };
        let fence = if closed { "---" } else { "..." };
        agent_library::fuzzing::frontmatter(&format!("{mark}---{end}{block}{end}{fence}{end}{body}"));
    }
});
