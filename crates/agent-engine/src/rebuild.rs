//! A past request, made again from nodes and its report (STO-11), the way [`crate::compose()`] made it.

use std::borrow::Cow;
use std::sync::Arc;

use agent_protocol::{ModelRequest, NodeId, SystemPrompt, ToolList};

use crate::compose::{Build, Marker, Parts, Window, request_metadata};
use crate::path::Path;
use crate::report::{ContextBuilt, EpochPart};
use crate::run::RequestNo;
use crate::selection::{Rules, Selection};

/// What stands behind the hashes of `fixed_part` (STO-13).
#[derive(Debug, Clone)]
pub struct FixedParts {
    /// The system blocks.
    pub system: Arc<SystemPrompt>,
    /// The tools.
    pub tools: Arc<ToolList>,
}

/// Why a past request cannot be made again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RebuildError {
    /// The payload is no report of this version.
    #[error("the context_built report cannot be read at \"{at}\": {message}")]
    Report {
        /// Where in the payload; "." is the payload itself.
        at: String,
        /// What is missing or wrong there.
        message: String,
    },
    /// The report that should hold the epoch's part is another one.
    #[error(
        "the report of request {} has its epoch's part in that of request {}, and was read with that of request {}",
        of.0, wanted.0, given.0
    )]
    OtherReport {
        /// The request that is made again.
        of: RequestNo,
        /// Whose report is needed besides.
        wanted: RequestNo,
        /// Whose report was given.
        given: RequestNo,
    },
    /// Neither the epoch's part nor where to find it.
    #[error("the report of request {} has no epoch_part; without it the request cannot be made again", request.0)]
    NoEpochPart {
        /// The request.
        request: RequestNo,
    },
    /// The path is of another branch, or incomplete.
    #[error("node {node_id}, which the report of request {} names, is not on this path; load the path to its last_node_id", request.0)]
    NotOnPath {
        /// The request.
        request: RequestNo,
        /// The node.
        node_id: NodeId,
    },
    /// The nodes are not those of then, or this version composes differently.
    #[error("request {} had {field} = {then}, and made again it has {now}: not the same request", request.0)]
    Differs {
        /// The request.
        request: RequestNo,
        /// What differs, as the report names it.
        field: &'static str,
        /// In the report.
        then: usize,
        /// Made again.
        now: usize,
    },
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
    let epoch_part = epoch_part(built, holder)?;
    let path = path_then(path, built)?;
    let window = window(&path, built)?;
    let parts = Parts {
        rules: Rules {
            window,
            results_limit: epoch_part.results_limit,
            pinned_limit: window.pinned(epoch_part.budgets.pinned()),
            in_system: &epoch_part.in_system,
        },
        marker: Marker::Then(epoch_part.marker.as_deref()),
        system: &fixed.system,
        tools: &fixed.tools,
        model: &epoch_part.model,
        max_output_tokens: epoch_part.max_output_tokens,
        tail: &built.tail,
    };
    let build = Build::choose(&Selection::new(&path, parts.rules), parts.marker);
    same_counts(built, &build, path.omitted().nodes + path.len())?;
    let mut request = build.request(&parts);
    request.metadata = request_metadata(&built.call_id_prefix);
    Ok(request)
}

fn epoch_part<'a>(built: &ContextBuilt, holder: &'a ContextBuilt) -> Result<&'a EpochPart, RebuildError> {
    let wanted = built.epoch_part_in();
    if holder.request != wanted {
        return Err(RebuildError::OtherReport { of: built.request, wanted, given: holder.request });
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
    RebuildError::NotOnPath { request: built.request, node_id: node.clone() }
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
        Some((field, then, now)) => Err(RebuildError::Differs { request: built.request, field, then, now }),
        None => Ok(()),
    }
}
