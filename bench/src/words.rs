//! Made-up text that is the same each time.

/// Words as sources have them, by a small generator of its own: the figures shall be about the same text everywhere.
pub(crate) struct Words(pub(crate) u64);

impl Words {
    pub(crate) fn next_word(&mut self) -> &'static str {
        const WORDS: [&str; 32] = [
            "let ",
            "self.",
            "value ",
            "= ",
            "match ",
            "{ ",
            "} ",
            "fn ",
            "-> ",
            "Result<",
            "Option<",
            "String",
            "> ",
            "( ",
            ") ",
            "iter()",
            ".map(",
            "|x| ",
            "error ",
            "path ",
            "ABC12345 ",
            "0x1f ",
            "return ",
            "if ",
            "else ",
            "pub ",
            "struct ",
            "Needle ",
            "hay ",
            "/// what ",
            "&mut ",
            "usize ",
        ];
        WORDS[(self.next() >> 59) as usize]
    }

    /// Any number below `end`.
    pub(crate) fn number(&mut self, end: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or(0) % end
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0
    }
}
