//! The part of a file's name that a model chooses (MEM-5).

/// Why a name is refused. It is never put right in silence: a model that writes `../x` is not to be trusted with the rest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// There is none.
    #[error("the name is missing")]
    Empty,
    /// Bytes.
    #[error("the name has {0} bytes; at most {LONGEST} are allowed")]
    TooLong(usize),
    /// Anything but `[a-z0-9_-]`.
    #[error("the name holds {0:?}; only a-z, 0-9, _ and - are allowed")]
    Character(char),
    /// Windows takes it for a device, whatever is put behind it.
    #[error("the name {0:?} stands for a device on Windows")]
    Device(String),
}

/// Most bytes of a name.
const LONGEST: usize = 48;

/// Names of devices; `com` and `lpt` with a digit behind them, too.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul"];

/// Whether a name is one safe component.
pub(super) fn check(name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if name.len() > LONGEST {
        return Err(NameError::TooLong(name.len()));
    }
    if let Some(bad) = name.chars().find(|c| !is_safe(*c)) {
        return Err(NameError::Character(bad));
    }
    let numbered = name.strip_prefix("com").or_else(|| name.strip_prefix("lpt"));
    let is_numbered = numbered.is_some_and(|rest| rest.len() == 1 && rest.as_bytes()[0].is_ascii_digit());
    if is_numbered || DEVICES.contains(&name) {
        return Err(NameError::Device(name.to_owned()));
    }
    Ok(())
}

/// What may stand in the name of a memory's file.
pub(super) fn is_safe(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-'
}
