//! What a process knows of itself. Only Linux says so; elsewhere there is nothing.

use std::fs;

/// The number in a field of `/proc/self/status`: `VmRSS` and `VmHWM` in KiB, `Threads`.
///
/// (The usual call for the peak would count what the program that started this one had peaked at.)
pub(crate) fn field(name: &str) -> Option<u64> {
    in_status(&fs::read_to_string("/proc/self/status").ok()?, name)
}

fn in_status(status: &str, name: &str) -> Option<u64> {
    let mut fields = status.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = fields.find(|(field, _)| *field == name)?;
    value.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn a_process_knows_itself() {
        assert!(field("VmHWM") > Some(100));
        // Of one moment: other threads take memory between two.
        let status = fs::read_to_string("/proc/self/status").unwrap();
        assert!(in_status(&status, "VmHWM") >= in_status(&status, "VmRSS"));
        assert!(field("Threads") >= Some(1));
        assert_eq!(field("NoSuchField"), None);
    }
}
