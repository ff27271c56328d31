//! Programs whose words are never names: they print what the words say, or nothing.

use std::path::Path;

/// None of them opens a file that a word names, whatever its options.
const PRINTERS: [&str; 17] = [
    "arch", "basename", "dirname", "echo", "expr", "factor", "false", "hostid", "logname", "nproc", "printf", "pwd",
    "seq", "sleep", "true", "whoami", "yes",
];

/// Programs that are many, each under a name of its own.
const MANY_IN_ONE: [&str; 5] = ["busybox", "coreutils", "single-binary", "toybox", "uutils"];

/// Whether a program, called by this word, only prints. `program` is the file itself, links resolved, which the caller knows to be
/// none of the model's making.
pub(super) fn only_prints(called: &str, program: &Path) -> bool {
    let called = called.rsplit('/').next().unwrap_or(called);
    let name = program.file_name().and_then(|name| name.to_str());
    PRINTERS.contains(&called) && name.is_some_and(|name| name == called || MANY_IN_ONE.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PRM-6: what counts is both the word it is called by and the file behind it.
    #[test]
    fn a_printer_is_one_by_both_its_names() {
        for (called, program, expected) in [
            ("echo", "/usr/bin/echo", true),
            ("/usr/bin/echo", "/usr/bin/echo", true),
            ("echo", "/bin/busybox", true),
            ("echo", "/usr/bin/coreutils", true),
            ("echo", "/usr/bin/sh", false),
            ("cat", "/usr/bin/echo", false),
            ("cat", "/bin/busybox", false),
            ("echo2", "/usr/bin/echo2", false),
            ("", "/usr/bin/echo", false),
        ] {
            assert_eq!(only_prints(called, Path::new(program)), expected, "{called} {program}");
        }
    }
}
