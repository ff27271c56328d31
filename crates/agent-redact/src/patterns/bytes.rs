//! Classes of bytes, runs of them, and the count of the bytes that were looked at.

/// The end of the run of bytes of a class from `from` on.
pub(super) fn run(text: &[u8], from: usize, class: impl Fn(u8) -> bool) -> usize {
    let length = text.get(from..).map_or(0, |rest| rest.iter().take_while(|&&byte| class(byte)).count());
    looked_at(length + 1);
    from + length
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(super) fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

pub(super) fn is_base64_url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

pub(super) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

#[cfg(test)]
thread_local! {
    /// How many bytes rules have looked at, so that tests can tell linear work from quadratic.
    pub(super) static LOOKED_AT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts work, in tests only.
pub(super) fn looked_at(_bytes: usize) {
    #[cfg(test)]
    LOOKED_AT.with(|count| count.set(count.get() + _bytes));
}
