//! The report of a request, `context_built` (CTX-1): with the nodes, and the bytes behind the hashes of the fixed part, all that
//! is needed to make the request again (STO-11).

use agent_protocol::{EpochPart, WindowBudgets};

use crate::budget::Budgets;
use crate::compose::Parts;
use crate::sources::Sources;
use crate::window::Window;

/// What the requests of an epoch have in common.
pub(crate) fn epoch_part(sources: &Sources, window: Window, marker: Option<&String>, because: &str) -> EpochPart {
    let parts = Parts::of(sources, window);
    EpochPart {
        epoch_because: because.to_owned(),
        model: Some(parts.model.clone()),
        max_output_tokens: Some(parts.max_output_tokens),
        results_limit: Some(parts.rules.results_limit),
        budgets: sources.budgets.into(),
        fixed_part: sources.fingerprint.clone(),
        in_system: sources.in_system.to_vec(),
        marker: marker.cloned(),
        edition: parts.rules.edition,
    }
}

/// Whether it says of these sources what there is to say. The two limits follow from the budgets.
pub(crate) fn is_of(part: &EpochPart, sources: &Sources, marker: Option<&String>) -> bool {
    part.budgets == sources.budgets.into()
        && part.model.as_ref() == Some(&sources.model)
        && part.fixed_part == sources.fingerprint
        && *part.in_system == *sources.in_system
        && part.marker.as_ref() == marker
}

impl From<Budgets> for WindowBudgets {
    fn from(budgets: Budgets) -> Self {
        let Budgets { window, fixed, output, dynamic, messages, compact_at, summary, keep_recent, catalogs, .. } =
            budgets;
        Self {
            window,
            fixed,
            output,
            dynamic,
            messages,
            compact_at,
            summary: Some(summary),
            keep_recent: Some(keep_recent),
            catalogs: Some(catalogs),
        }
    }
}
