//! What the model was asked in a past turn (STO-11): the report names the nodes and the hashes, the machine's own composer puts
//! them together again.

use agent_engine::{FixedParts, Path, RebuildError, RequestNo, check_report, rebuild};
use agent_protocol::{
    ContextBuilt, EventPayload, FieldError, ModelRequest, Object, PromptBlock, SessionId, SystemPrompt, ToolList,
};
use agent_store::{ContentHash, RunInfo};
use serde::Deserialize;
use std::sync::Arc;

use crate::archive::Archive;
use crate::error::{ArchiveError, not_rebuilt};
use crate::inspect::TurnReport;
use crate::missing::Missing;

/// What stands in `fixed_part` (STO-13).
#[derive(Deserialize)]
struct Fixed {
    system_blocks: Vec<FixedBlock>,
    tools: FixedTools,
}

#[derive(Deserialize)]
struct FixedBlock {
    block_id: String,
    source: String,
    tokens: u64,
    hash: String,
    #[serde(default)]
    dynamic: bool,
    #[serde(default)]
    facts: Object,
}

#[derive(Deserialize)]
struct FixedTools {
    hash: String,
}

impl Archive {
    /// `holders` are the reports of the run that hold what is the same throughout an epoch.
    pub(super) async fn rebuild(
        &self,
        run: &RunInfo,
        report: &TurnReport,
        holders: &[Object],
    ) -> Result<ModelRequest, ArchiveError> {
        let missing = |missing: Missing| not_rebuilt(&run.run_id, report.turn, missing);
        let built = self.read_report(&report.context).map_err(missing)?;
        let holder = self.holder(&built, holders).map_err(missing)?;
        check_report(&built, &holder).map_err(|error| missing(error.into()))?;
        let fixed = match &holder.epoch_part {
            Some(part) => self.fixed_parts(&run.session_id, &part.fixed_part).await?.map_err(missing)?,
            None => return Err(missing(RebuildError::NoEpochPart { request: RequestNo(holder.request) }.into())),
        };
        let path = match &built.last_node_id {
            Some(last) => Path::from_nodes(self.told(self.store.load_path(&run.session_id, last).await)?),
            None => Path::new(),
        };
        rebuild(&path, &built, &holder, &fixed).map_err(|error| missing(error.into()))
    }

    fn holder(&self, built: &ContextBuilt, holders: &[Object]) -> Result<ContextBuilt, Missing> {
        let wanted = built.epoch_part_in();
        let named =
            |payload: &&Object| payload.get("request").and_then(serde_json::Value::as_u64) == Some(wanted.into());
        let payload = holders.iter().find(named).ok_or(RebuildError::NoEpochPart { request: RequestNo(wanted) })?;
        self.read_report(payload)
    }

    /// A report that cannot be read is quoted by the error that says so.
    fn read_report(&self, payload: &Object) -> Result<ContextBuilt, Missing> {
        ContextBuilt::read(payload).map_err(|error| {
            let message = self.screen.words(error.message);
            RebuildError::from(FieldError { message, ..error }).into()
        })
    }

    /// The fixed part behind its hashes.
    async fn fixed_parts(
        &self,
        session: &SessionId,
        named: &Object,
    ) -> Result<Result<FixedParts, Missing>, ArchiveError> {
        let fixed = match Fixed::deserialize(named) {
            Ok(fixed) => fixed,
            Err(error) => return Ok(Err(Missing::FixedPart(self.screen.words(error.to_string())))),
        };
        let mut blocks = Vec::with_capacity(fixed.system_blocks.len());
        for (priority, block) in (0..).zip(fixed.system_blocks) {
            let FixedBlock { block_id, source, tokens, hash, dynamic, facts } = block;
            let bytes = self.blob(session, &hash).await?;
            let Some(content) = bytes.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok()) else {
                return Ok(Err(Missing::Blob { part: format!("system block {block_id}"), hash }));
            };
            blocks.push(PromptBlock {
                block_id,
                source,
                content,
                priority,
                dynamic,
                token_count: tokens,
                metadata: facts,
            });
        }
        let hash = fixed.tools.hash;
        let list = self.blob(session, &hash).await?;
        let Some(tools) = list.and_then(|bytes| serde_json::from_slice::<ToolList>(&bytes).ok()) else {
            return Ok(Err(Missing::Blob { part: "the tool list".to_owned(), hash }));
        };
        Ok(Ok(FixedParts { system: Arc::new(SystemPrompt::from(blocks)), tools: Arc::new(tools) }))
    }

    async fn blob(&self, session: &SessionId, hash: &str) -> Result<Option<Arc<[u8]>>, ArchiveError> {
        let Ok(hash) = ContentHash::parse(hash) else { return Ok(None) };
        let bytes = self.told(self.store.blob(session, &hash).await)?;
        Ok(bytes.filter(|bytes| ContentHash::of(bytes) == hash))
    }
}
