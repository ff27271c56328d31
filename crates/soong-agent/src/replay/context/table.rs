//! A request as a row of columns.

use agent_core::archive::RequestReport;

/// What the columns are.
pub(super) const LEGEND: [(&str, &str); 5] = [
    ("in, out", "messages that went in, and those that did not"),
    ("gone, sum", "turns that were left out, and turns that stand in a summary"),
    ("cut", "results that were shortened"),
    ("tokens", "as estimated before, and as counted by the provider; off: the estimate's error"),
    ("window", "how much of the context window the request takes"),
];

/// Above the rows of an epoch.
pub(super) const HEADER: &str = "turn    in   out  gone   sum  cut  estimated  counted      off  window";

/// The row behind its time; `window` is the size of the context window. Nothing in it is text of others.
pub(super) fn row(request: &RequestReport, window: Option<u64>) -> String {
    let context = &request.context;
    let off = request.error_percent().map(|off| format!("{off:+.1}%")).unwrap_or_default();
    // The numbers of requests are those of turns as long as nothing is asked for again.
    let again = context.request.filter(|_| request.again);
    let again = again.map(|number| format!("  again: request {number}")).unwrap_or_default();
    format!(
        "{:>4} {:>5} {:>5} {:>5} {:>5} {:>4} {:>10} {:>8} {off:>8} {:>7}{again}",
        known(context.turn.map(u64::from)),
        count(context.nodes_in),
        count(context.nodes_out),
        count(context.turns_gone()),
        count(Some(context.turns_summarised)),
        count(context.results_shortened),
        known(context.request_tokens),
        known(request.counted()),
        share(request.counted().or(context.request_tokens), window),
    )
}

/// A sign for none: zeros would hide what is worth seeing.
fn count(count: Option<u64>) -> String {
    match count {
        Some(0) => "-".to_owned(),
        other => known(other),
    }
}

fn known(count: Option<u64>) -> String {
    count.map_or_else(|| "?".to_owned(), |count| count.to_string())
}

fn share(tokens: Option<u64>, window: Option<u64>) -> String {
    match (tokens, window.filter(|window| *window > 0)) {
        (Some(tokens), Some(window)) => format!("{:.0}%", 100.0 * tokens as f64 / window as f64),
        _ => "?".to_owned(),
    }
}
