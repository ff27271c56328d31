//! A past request, made again from nodes and its report (STO-11), the way [`crate::compose()`] made it.

use std::borrow::Cow;
use std::sync::Arc;

use agent_protocol::{
    ContextBuilt, EpochPart, FieldError, ModelRequest, ModelSettings, NodeId, SystemPrompt, ToolCallId, ToolList,
};

use crate::budget::Budgets;
use crate::compose::{Build, Marker, Parts, request_metadata};
use crate::numbers::RequestNo;
use crate::path::Path;
use crate::rebuild_error::RebuildError;
use crate::selection::{Rules, Selection};
use crate::window::Window;

/// What stands behind the hashes of `fixed_part` (STO-13).
#[derive(Debug, Clone)]
pub struct FixedParts {
    /// The system blocks.
    pub system: Arc<SystemPrompt>,
    /// The tools.
    pub tools: Arc<ToolList>,
}

/// Makes the request that a report is about once more.
///
/// `path` is the path to the report's `last_node_id`; it may have been continued since. `holder` is the report of the request
/// that [`ContextBuilt::epoch_part_in`] names, of the same run; often the report itself. Both as they were stored: where
/// secrets were taken out for showing, they are missing in the request too.
///
/// # Errors
/// [`RebuildError`], rather than a request that was never sent.
pub fn rebuild(
    path: &Path,
    built: &ContextBuilt,
    holder: &ContextBuilt,
    fixed: &FixedParts,
) -> Result<ModelRequest, RebuildError> {
    let Needed { epoch_part, results_limit, model, max_output_tokens, call_id_prefix } = Needed::of(built, holder)?;
    let path = path_then(path, built)?;
    let window = window(&path, built)?;
    let parts = Parts {
        rules: Rules {
            window,
            results_limit,
            pinned_limit: window.pinned(Budgets::pinned_of(epoch_part.budgets.messages)),
            in_system: &epoch_part.in_system,
            edition: epoch_part.edition,
        },
        marker: Marker::Then(epoch_part.marker.as_deref()),
        system: &fixed.system,
        tools: &fixed.tools,
        model,
        max_output_tokens,
        tail: &built.tail,
    };
    let build = Build::choose(&Selection::new(&path, parts.rules), parts.marker);
    same_counts(built, &build, path.omitted().nodes + path.len())?;
    let mut request = build.request(&parts);
    request.metadata = request_metadata(call_id_prefix);
    Ok(request)
}

/// Whether a request can be made again from its report: older builds left out what that takes. `holder` as for [`rebuild`].
///
/// # Errors
/// [`RebuildError`] names what is missing.
pub fn check_report(built: &ContextBuilt, holder: &ContextBuilt) -> Result<(), RebuildError> {
    Needed::of(built, holder).map(drop)
}

/// What older builds left out of reports, and no request is made again without.
struct Needed<'a> {
    epoch_part: &'a EpochPart,
    results_limit: u64,
    model: &'a ModelSettings,
    max_output_tokens: u64,
    call_id_prefix: &'a ToolCallId,
}

impl<'a> Needed<'a> {
    fn of(built: &'a ContextBuilt, holder: &'a ContextBuilt) -> Result<Self, RebuildError> {
        let epoch_part = epoch_part(built, holder)?;
        Ok(Self {
            epoch_part,
            results_limit: of_epoch(epoch_part.results_limit, "results_limit")?,
            model: of_epoch(epoch_part.model.as_ref(), "model")?,
            max_output_tokens: of_epoch(epoch_part.max_output_tokens, "max_output_tokens")?,
            call_id_prefix: built.call_id_prefix.as_ref().ok_or_else(|| FieldError::missing("call_id_prefix"))?,
        })
    }
}

fn of_epoch<T>(field: Option<T>, name: &'static str) -> Result<T, RebuildError> {
    let missing = || FieldError { field: Some("epoch_part".to_owned()), ..FieldError::missing(name) };
    field.ok_or_else(|| missing().into())
}

fn epoch_part<'a>(built: &ContextBuilt, holder: &'a ContextBuilt) -> Result<&'a EpochPart, RebuildError> {
    let (wanted, given) = (RequestNo(built.epoch_part_in()), RequestNo(holder.request));
    if given != wanted {
        return Err(RebuildError::OtherReport { of: RequestNo(built.request), wanted, given });
    }
    holder.epoch_part.as_ref().ok_or(RebuildError::NoEpochPart { request: wanted })
}

/// The path as it was then.
fn path_then<'a>(path: &'a Path, built: &ContextBuilt) -> Result<Cow<'a, Path>, RebuildError> {
    if path.tip() == built.last_node_id.as_ref() {
        return Ok(Cow::Borrowed(path));
    }
    let Some(last) = &built.last_node_id else { return Ok(Cow::Owned(Path::new())) };
    path.up_to(last).map(Cow::Owned).ok_or_else(|| not_on_path(built, last))
}

fn window(path: &Path, built: &ContextBuilt) -> Result<Window, RebuildError> {
    let squeeze = built.squeeze;
    let Some(first) = &built.first_kept_node_id else { return Ok(Window { first_kept: 0, squeeze }) };
    let first_kept = path.position(first).ok_or_else(|| not_on_path(built, first))?;
    Ok(Window { first_kept, squeeze })
}

fn not_on_path(built: &ContextBuilt, node: &NodeId) -> RebuildError {
    RebuildError::NotOnPath { request: RequestNo(built.request), node_id: node.clone() }
}

fn same_counts(built: &ContextBuilt, now: &Build, nodes: usize) -> Result<(), RebuildError> {
    let counts = [
        ("nodes_in", built.nodes_in, now.nodes_in),
        ("nodes_out", built.nodes_out, nodes - now.nodes_in),
        ("turns_out", built.turns_out, now.turns_out),
        ("turns_summarised", built.turns_summarised, now.turns_summarised),
        ("results_shortened", built.results_shortened, now.shortened),
    ];
    match counts.into_iter().find(|(_, then, now)| then != now) {
        Some((field, then, now)) => Err(RebuildError::Differs { request: RequestNo(built.request), field, then, now }),
        None => Ok(()),
    }
}
