//! Whether bytes look as if a machine had made them up.

/// What a value consists of.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Shape {
    pub(super) length: usize,
    pub(super) lower: usize,
    pub(super) upper: usize,
    pub(super) digits: usize,
    /// `_`, `-` and `.`, which also join words.
    pub(super) joints: usize,
    /// Other visible ASCII.
    pub(super) symbols: usize,
    /// Blanks and control characters.
    pub(super) blanks: usize,
    /// Bytes of other characters than ASCII.
    pub(super) foreign: usize,
    /// How often a letter or digit is followed by one of another kind: lower case, upper case, digit.
    changes: usize,
    /// How many different ASCII bytes there are.
    distinct: usize,
}

impl Shape {
    pub(super) fn of(bytes: &[u8]) -> Self {
        super::bytes::looked_at(bytes.len());
        let mut shape = Self { length: bytes.len(), ..Self::default() };
        let (mut seen, mut before) = (0_u128, Kind::Other);
        for &byte in bytes {
            let kind = shape.count(byte);
            let both = kind != Kind::Other && before != Kind::Other;
            shape.changes += usize::from(both && kind != before);
            seen |= 1_u128.checked_shl(u32::from(byte)).unwrap_or(0);
            before = kind;
        }
        shape.distinct = seen.count_ones() as usize;
        shape
    }

    fn count(&mut self, byte: u8) -> Kind {
        let (counter, kind) = match byte {
            b'a'..=b'z' => (&mut self.lower, Kind::Lower),
            b'A'..=b'Z' => (&mut self.upper, Kind::Upper),
            b'0'..=b'9' => (&mut self.digits, Kind::Digit),
            b'_' | b'-' | b'.' => (&mut self.joints, Kind::Other),
            0x80.. => (&mut self.foreign, Kind::Other),
            b'!'..=b'~' => (&mut self.symbols, Kind::Other),
            _ => (&mut self.blanks, Kind::Other),
        };
        *counter += 1;
        kind
    }

    pub(super) fn letters(&self) -> usize {
        self.lower + self.upper
    }

    /// The same byte again and again, joints aside: `xxxx-xxxx`, `****`.
    pub(super) fn is_monotonous(&self) -> bool {
        self.length >= 3 && self.distinct <= 1 + usize::from(self.joints > 0 && self.joints < self.length)
    }

    /// Letters whose case changes as in no name.
    pub(super) fn is_jumbled(&self) -> bool {
        self.letters() == self.length
            && self.length >= 8
            && self.lower >= 2
            && self.upper >= 3
            && self.changes * 5 >= self.length * 2
    }

    /// Random letters and digits change their kind every second time, words with numbers hardly ever.
    pub(super) fn is_random(&self) -> bool {
        let alnum = self.letters() + self.digits;
        if self.blanks > 0 || self.distinct < 6.max(self.length.min(16) / 2) {
            return false;
        }
        let mixed = self.digits >= 2 && self.letters() >= 3 && self.changes >= alnum.div_ceil(5).min(5);
        let cases = self.lower >= 2 && self.upper >= 2;
        let cased = cases && self.digits >= 1 && self.changes * 3 >= alnum;
        // One in twenty has no digit.
        let lettered = alnum >= 16 && self.lower >= 3 && self.upper >= 3 && self.changes * 3 >= alnum;
        let spiced =
            self.length >= 12 && self.symbols >= 2 && self.digits >= 1 && self.letters() >= 3 && self.changes >= 2;
        mixed || cased || lettered || spiced
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lower,
    Upper,
    Digit,
    Other,
}

/// For the body of a token, whose first letters say enough: anything but words and placeholders.
pub(super) fn is_generated(body: &[u8]) -> bool {
    let shape = Shape::of(body);
    shape.distinct >= 6 && (shape.digits > 0 || (shape.lower > 0 && shape.upper > 1))
}
