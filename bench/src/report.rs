//! How figures are shown.

use std::fmt::Write as _;
use std::fs;
use std::thread;

use crate::bench::Bench;
use crate::stats::Samples;

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Millis,
    Micros,
    Mebibytes,
    Kibibytes,
    Bytes,
    /// Of instructions.
    Millions,
    /// How many.
    Count,
    /// Of a hundred.
    Percent,
    /// One figure over another of the same unit.
    Ratio,
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Self::Millis => format!("{value:.2} ms"),
            Self::Micros => format!("{value:.1} µs"),
            Self::Mebibytes => format!("{value:.1} MiB"),
            Self::Kibibytes => format!("{value:.1} KiB"),
            Self::Bytes => format!("{value:.0} B"),
            Self::Millions => format!("{value:.2} M"),
            Self::Count => format!("{value:.0}"),
            Self::Percent => format!("{value:.1} %"),
            Self::Ratio => format!("{value:.3}"),
        }
    }
}

/// What a measure says about its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Within,
    Over,
    /// Over, but so is the floor: the machine is too slow or too busy now, its disk for example.
    CannotTell,
}

/// One measure.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) measure: String,
    pub(crate) unit: Unit,
    pub(crate) samples: Samples,
    /// What the median should not exceed.
    pub(crate) budget: Option<f64>,
    /// The same measure of a process that does the unavoidable part alone.
    pub(crate) floor: Option<Samples>,
}

impl Row {
    /// A measure without budget or floor.
    pub(crate) fn new(measure: impl Into<String>, unit: Unit, samples: Samples) -> Self {
        Self { measure: measure.into(), unit, samples, budget: None, floor: None }
    }

    pub(crate) fn budget(mut self, budget: f64) -> Self {
        self.budget = Some(budget);
        self
    }

    pub(crate) fn floor(mut self, floor: Samples) -> Self {
        self.floor = Some(floor);
        self
    }

    /// What the median says about the budget; `tolerance`, a share of the budget, is forgiven.
    pub(crate) fn verdict(&self, tolerance: f64) -> Verdict {
        let Some(budget) = self.budget else { return Verdict::Within };
        if self.samples.median() <= budget * (1.0 + tolerance) {
            Verdict::Within
        } else if self.floor.as_ref().is_some_and(|floor| floor.median() > budget) {
            Verdict::CannotTell
        } else {
            Verdict::Over
        }
    }

    fn cells(&self) -> [String; 7] {
        let median = self.samples.median();
        let show = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| self.unit.show(value));
        // Nothing is a multiple of a budget of zero.
        let ratio = |to: Option<f64>| {
            to.filter(|to| *to > 0.0).map_or_else(|| "-".to_owned(), |to| format!("{:.2}", median / to))
        };
        let floor = self.floor.as_ref().map(Samples::median);
        [
            self.measure.clone(),
            self.unit.show(median),
            show(self.samples.p90()),
            show(self.budget),
            ratio(self.budget),
            show(floor),
            ratio(floor),
        ]
    }
}

const HEAD: [&str; 7] = ["measure", "median", "p90", "budget", "/ budget", "floor", "/ floor"];

/// The rows as lines of a Markdown table, so that they can be kept as they are.
pub(crate) fn table(rows: &[Row]) -> String {
    let cells: Vec<_> = [HEAD.map(str::to_owned)].into_iter().chain(rows.iter().map(Row::cells)).collect();
    let widths: Vec<usize> =
        (0..HEAD.len()).map(|at| cells.iter().map(|row| row[at].chars().count()).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for (line, row) in cells.iter().enumerate() {
        for ((cell, width), at) in row.iter().zip(&widths).zip(0..) {
            let (bar, width) = (if at == 0 { "| " } else { " | " }, *width);
            let _ = if at == 0 { write!(out, "{bar}{cell:<width$}") } else { write!(out, "{bar}{cell:>width$}") };
        }
        out.push_str(" |\n");
        if line == 0 {
            let rule = |(at, width): (usize, &usize)| {
                if at == 0 { format!("|{}", "-".repeat(width + 2)) } else { format!("|{}:", "-".repeat(width + 1)) }
            };
            out.extend(widths.iter().enumerate().map(rule));
            out.push_str("|\n");
        }
    }
    out
}

/// One line on where and how the figures come about.
pub(crate) fn machine(bench: &Bench) -> String {
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().filter(|load| !load.is_empty()).unwrap_or("unknown");
    let size = fs::metadata(&bench.programs.agent).map_or(0, |meta| meta.len()) as f64 / 1024.0 / 1024.0;
    format!(
        "{} {}, {cores} cores, load {load}; soong-agent {size:.1} MiB; {} runs, protocol {}",
        std::env::consts::OS,
        std::env::consts::ARCH,
        bench.runs,
        bench.provider.protocol().provider()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(median: f64) -> Row {
        Row::new("CPU", Unit::Millis, Samples::new([median]).unwrap()).budget(10.0)
    }

    #[track_caller]
    fn check(median: f64, tolerance: f64, floor: f64, expected: Verdict) {
        let row = row(median).floor(Samples::new([floor]).unwrap());
        assert_eq!(row.verdict(tolerance), expected, "{median} {tolerance} {floor}");
    }

    /// A budget is broken only beyond what is forgiven, and never where the floor is over it as well.
    #[test]
    fn verdicts() {
        check(10.0, 0.0, 2.0, Verdict::Within);
        check(10.1, 0.0, 2.0, Verdict::Over);
        check(12.0, 0.25, 2.0, Verdict::Within);
        check(12.6, 0.25, 2.0, Verdict::Over);
        check(12.6, 0.25, 10.0, Verdict::Over);
        check(12.6, 0.25, 10.1, Verdict::CannotTell);
        assert_eq!(row(12.6).verdict(0.25), Verdict::Over);
        assert_eq!(Row::new("CPU", Unit::Millis, Samples::new([1e9]).unwrap()).verdict(0.0), Verdict::Within);
    }

    #[test]
    fn rows_are_a_table_of_ratios() {
        let rows = [
            row(5.0).floor(Samples::new([2.0]).unwrap()),
            Row::new("growth", Unit::Ratio, Samples::new([1.5]).unwrap()),
        ];
        let expected = "\
| measure |  median | p90 |   budget | / budget |   floor | / floor |
|---------|--------:|----:|---------:|---------:|--------:|--------:|
| CPU     | 5.00 ms |   - | 10.00 ms |     0.50 | 2.00 ms |    2.50 |
| growth  |   1.500 |   - |        - |        - |       - |       - |
";
        assert_eq!(table(&rows), expected);
    }
}
