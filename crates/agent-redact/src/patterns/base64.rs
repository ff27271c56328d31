//! Just enough of base64 to look into `Basic` credentials.

/// Whether the text before the first colon that `encoded` holds is printable ASCII, as a user's name is. Looks at the
/// first `max` bytes.
pub(super) fn holds_user(encoded: &[u8], max: usize) -> bool {
    let sixes: Vec<u8> = encoded.iter().take(max).map_while(|&byte| value(byte)).collect();
    let bytes = sixes.chunks(4).flat_map(|four| {
        let bits = four.iter().fold(0_u32, |bits, &six| (bits << 6) | u32::from(six)) << (6 * (4 - four.len()));
        let [_, bytes @ ..] = bits.to_be_bytes();
        bytes.into_iter().take(four.len() - 1)
    });
    for byte in bytes {
        match byte {
            b':' => return true,
            b' '..=b'~' => {}
            _ => return false,
        }
    }
    false
}

fn value(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}
