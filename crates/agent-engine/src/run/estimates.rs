//! How far the estimates of a run were off (CTX-7): what calibration is worth, in numbers.

use agent_protocol::Estimates as Report;

/// The errors of a run's calls, in percent of the provider's counts.
#[derive(Debug, Default)]
pub(super) struct Estimates {
    calls: u32,
    sum: f64,
    raw_sum: f64,
    worst: f64,
    last: f64,
}

impl Estimates {
    /// A prompt was estimated, corrected by what was known, and counted.
    pub(super) fn note(&mut self, raw: u64, corrected: u64, counted: u64) {
        if counted == 0 {
            return;
        }
        let percent = |estimate: u64| 100.0 * (estimate as f64 - counted as f64).abs() / counted as f64;
        let error = percent(corrected);
        self.calls += 1;
        self.sum += error;
        self.raw_sum += percent(raw);
        self.worst = self.worst.max(error);
        self.last = error;
    }

    /// For the run's last event; nothing where the provider counted nothing.
    pub(super) fn report(&self, ratio: f64) -> Option<Report> {
        let rounded = |value: f64| (value * 10.0).round() / 10.0;
        (self.calls > 0).then(|| Report {
            calls: self.calls.into(),
            mean_error_percent: Some(rounded(self.sum / f64::from(self.calls))),
            mean_error_uncalibrated_percent: Some(rounded(self.raw_sum / f64::from(self.calls))),
            worst_error_percent: Some(rounded(self.worst)),
            last_error_percent: Some(rounded(self.last)),
            calibration: Some((ratio * 1000.0).round() / 1000.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CTX-7: the error of a run, with and without what was learned.
    #[test]
    fn errors_over_a_run() {
        let mut estimates = Estimates::default();
        assert_eq!(estimates.report(1.0), None);
        estimates.note(1000, 1000, 2000);
        estimates.note(1000, 1900, 2000);
        estimates.note(0, 10, 0);
        let report = estimates.report(1.9).unwrap();
        assert_eq!(report.calls, 2);
        assert_eq!(report.mean_error_percent, Some(27.5));
        assert_eq!(report.mean_error_uncalibrated_percent, Some(50.0));
        assert_eq!(report.last_error_percent, Some(5.0));
        assert_eq!(report.calibration, Some(1.9));
    }
}
