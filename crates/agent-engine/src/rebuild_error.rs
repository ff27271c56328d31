//! Why a past request is not made again.

use agent_protocol::{FieldError, NodeId};

use crate::numbers::RequestNo;

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

impl From<FieldError> for RebuildError {
    fn from(error: FieldError) -> Self {
        Self::Report { at: error.field.unwrap_or_else(|| ".".to_owned()), message: error.message }
    }
}
