//! Sizes of files, as people read and write them.

use std::fmt;
use std::str::FromStr;

use crate::moment::split;

/// What a size can be written in: thousands, or the powers of two that memory is counted in.
const UNITS: [(&str, u64); 9] = [
    ("b", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
];

/// A size for people: `1.5 MB`.
pub(crate) fn readable(bytes: u64) -> String {
    if bytes < 1_000 {
        return format!("{bytes} B");
    }
    let rounded = |step: u64| (u128::from(bytes) * 10 + u128::from(step) / 2) / u128::from(step);
    let steps = [("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000)];
    let tenths = steps.map(|(unit, step)| (unit, rounded(step)));
    // Once rounded: 999 999 bytes are 1.0 MB, and no 1000.0 kB.
    let [.., largest] = tenths;
    let (unit, tenths) = tenths.into_iter().find(|(_, tenths)| *tenths < 10_000).unwrap_or(largest);
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

/// A size as it is written on the command line: `500MB`, `1GiB`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Size {
    written: String,
    pub(crate) bytes: u64,
}

impl FromStr for Size {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        let wanted = || "write a whole number and a unit: 500MB, 1GiB, 20kB, 0B".to_owned();
        let (count, unit) = split(written).ok_or_else(wanted)?;
        let unit = unit.to_ascii_lowercase();
        let unit = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wanted)?.1;
        let count: u64 = count.parse().map_err(|_| wanted())?;
        let bytes = count.checked_mul(unit).ok_or("that is more than any disk holds")?;
        Ok(Self { written: written.to_owned(), bytes })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CLI-5: sizes are a number and a unit, and what is wrong with others is said.
    #[test]
    fn sizes() {
        for (written, bytes) in [
            ("500MB", 500_000_000),
            ("1GiB", 1 << 30),
            ("20kB", 20_000),
            ("20KB", 20_000),
            ("0B", 0),
            ("3 mib", 3 << 20),
        ] {
            let size: Size = written.parse().unwrap();
            assert_eq!((size.bytes, size.to_string().as_str()), (bytes, written));
        }
        for bad in ["", "500", "MB", "-1MB", "1.5GB", "1 M B", "12 apples", "99999999999999999999B"] {
            let said = bad.parse::<Size>().unwrap_err();
            assert!(said.contains("500MB, 1GiB"), "{bad}: {said}");
        }
        assert!("99999999999TB".parse::<Size>().unwrap_err().contains("more than any disk"));
    }

    #[test]
    fn readable_sizes() {
        for (bytes, shown) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (1_049, "1.0 kB"),
            (1_050, "1.1 kB"),
            (348_894, "348.9 kB"),
            (999_949, "999.9 kB"),
            (999_950, "1.0 MB"),
            (1_500_000, "1.5 MB"),
            (999_950_000_000, "1.0 TB"),
            (u64::MAX, "18446744.1 TB"),
        ] {
            assert_eq!(readable(bytes), shown);
        }
    }
}
