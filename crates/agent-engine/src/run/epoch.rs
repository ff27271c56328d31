//! The epoch a request belongs to, and its report.

use agent_protocol::{ContextBuilt, EpochPart, ToolCallId};

use super::counts::Counts;
use crate::compose::ContextReport;
use crate::numbers::RequestNo;
use crate::report;
use crate::sources::Sources;
use crate::tokens::Calibration;
use crate::window::Window;

/// Which stretch of append-only requests this is, and why it began (PRV-15).
#[derive(Debug, Default)]
pub(super) struct Epoch {
    pub(super) number: u32,
    because: &'static str,
    /// What was last reported of it in full, and with which request.
    reported: Option<(RequestNo, EpochPart)>,
}

impl Epoch {
    pub(super) fn begin(&mut self, because: &'static str) {
        *self = Self { number: self.number + 1, because, reported: None };
    }

    pub(super) fn has_requests(&self) -> bool {
        self.reported.is_some()
    }

    /// The report of the request that has just been counted. What its epoch has in common it says in full once, and again
    /// only where something changed.
    pub(super) fn report(
        &mut self,
        sources: &Sources,
        window: Window,
        report: ContextReport,
        calibration: Calibration,
        counts: &Counts,
        call_id_prefix: ToolCallId,
    ) -> ContextBuilt {
        let reported = self
            .reported
            .as_ref()
            .filter(|(_, part)| report::is_of(part, sources, report.marker.as_ref()))
            .map(|(request, _)| *request);
        let epoch_part =
            reported.is_none().then(|| report::epoch_part(sources, window, report.marker.as_ref(), self.because));
        if let Some(part) = &epoch_part {
            self.reported = Some((counts.request, part.clone()));
        }
        ContextBuilt {
            turn: counts.turns,
            request: counts.request.0,
            epoch: self.number,
            epoch_part,
            epoch_part_of_request: reported.map(|request| request.0),
            compaction_node_id: report.compaction,
            first_kept_node_id: report.first_kept,
            squeeze: window.squeeze,
            pinned_node_ids: report.pinned,
            last_node_id: report.last,
            nodes_in: report.nodes_in,
            nodes_out: report.nodes_out,
            turns_out: report.turns_out,
            turns_summarised: report.turns_summarised,
            results_shortened: report.results_shortened,
            message_tokens: report.message_tokens,
            system_tokens: Some(report.system_tokens),
            request_tokens: report.request_tokens,
            calibration: calibration.ratio(),
            window_learned: calibration.window(),
            count_level: calibration.level(),
            call_id_prefix: Some(call_id_prefix),
            tail: sources.tail.clone(),
        }
    }
}
