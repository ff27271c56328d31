//! A small hash that is the same in every build: memo keys, shortened names and ids depend on it.

/// FNV-1a over parts, with a separator so that `["ab", "c"]` and `["a", "bc"]` differ.
pub(crate) fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    parts.into_iter().fold(OFFSET, |hash, part| step(part.iter().copied().fold(hash, step), 0xff))
}

/// The first `chars` (at most 12) characters of a hash in base 32: lower-case letters and digits.
pub(crate) fn short(hash: u64, chars: u32) -> String {
    const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    (0..chars.min(12)).map(|i| char::from(DIGITS[(hash >> (5 * i)) as usize % 32])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wire names and ids must not change between builds, or a stored conversation would change its bytes.
    #[test]
    fn the_hash_is_fixed() {
        assert_eq!(short(digest([&b"code.read_file"[..]]), 10), "6brrrtqj37");
        assert_ne!(digest([&b"ab"[..], b"c"]), digest([&b"a"[..], b"bc"]));
    }
}
