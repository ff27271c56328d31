//! What is measured. Another suite is a module with a [`Suite`] of its own and a line in [`SUITES`].

mod children;
mod definition;
mod instructions;
mod long_session;
mod perf_1;
mod perf_2;
mod perf_3;
mod perf_4;
mod perf_5;
mod perf_6;
mod perf_7;
mod redactor;
mod redactor_hits;
mod scan;
mod scan_home;
mod series;
mod writer;

pub(crate) use definition::{ALL, Suite};

/// All there are, in the order of the rule book.
pub(crate) const SUITES: &[Suite] = &[
    perf_1::SUITE,
    perf_2::SUITE,
    perf_3::SUITE,
    perf_4::SUITE,
    perf_5::SUITE,
    perf_6::SUITE,
    perf_6::CALLS,
    perf_7::SUITE,
    children::SUITE,
    scan::SUITE,
    scan_home::SUITE,
    long_session::SUITE,
    writer::SUITE,
    redactor::SUITE,
    redactor_hits::SUITE,
    instructions::SUITE,
];
