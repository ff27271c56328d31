//! Samples and what is said about them.

use crate::error::BenchError;

/// Measurements of the same thing, in one unit; at least one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Samples {
    /// In order of size.
    sorted: Vec<f64>,
}

impl Samples {
    /// Puts them in order; without a single number there is nothing to say.
    pub(crate) fn new(values: impl IntoIterator<Item = f64>) -> Result<Self, BenchError> {
        let mut sorted: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        if sorted.is_empty() { Err(BenchError::Nothing) } else { Ok(Self { sorted }) }
    }

    /// Half of them are not above it. What else runs on the machine moves a mean, but hardly this.
    pub(crate) fn median(&self) -> f64 {
        let n = self.sorted.len();
        f64::midpoint(self.sorted[(n - 1) / 2], self.sorted[n / 2])
    }

    /// Nine of ten are not above it; `None` where there are too few to say so.
    pub(crate) fn p90(&self) -> Option<f64> {
        let n = self.sorted.len();
        (n >= 10).then(|| self.sorted[(n * 9).div_ceil(10) - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[f64], median: f64, p90: Option<f64>) {
        let samples = Samples::new(values.iter().copied()).unwrap();
        assert_eq!((samples.median(), samples.p90()), (median, p90), "{values:?}");
    }

    #[test]
    fn medians_and_p90() {
        check(&[3.0], 3.0, None);
        check(&[3.0, 1.0], 2.0, None);
        check(&[3.0, 1.0, 9.0], 3.0, None);
        check(&[10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0], 5.5, Some(9.0));
        let eleven: Vec<f64> = (1..=11).map(f64::from).collect();
        check(&eleven, 6.0, Some(10.0));
    }

    #[test]
    fn what_is_no_number_does_not_count() {
        assert!(Samples::new([]).is_err());
        assert!(Samples::new([f64::NAN]).is_err());
        assert_eq!(Samples::new([f64::INFINITY, 1.0]).unwrap().median(), 1.0);
    }
}
