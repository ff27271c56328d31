//! `code.read_file` (COD-2).

mod lines;
mod page;

use std::{
    fs::File,
    io::{self, Cursor, Read},
    os::unix::fs::FileExt,
};

use agent_policy::{Access, Facts};
use agent_protocol::{ErrorPayload, Permission, path_text};
use agent_tool::{CallContext, FileVersion, Prepared, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::{
    artifact, fail,
    place::{OpenFile, stamp},
    second_names::SecondNames,
    tool::{self, CodeTool, blocking_call},
    version::{HASHED_MAX, hash},
    workspace::Workspace,
};
use page::{Page, Wanted};

/// Reads lines of a text file. If there are more, go on from next_start_line.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Relative to the project, absolute, or ~/...
    path: String,
    /// First line, from 1.
    #[serde(default = "first")]
    #[schemars(range(min = 1))]
    start_line: u64,
    /// Lines are cut at 4096 bytes.
    #[serde(default = "some")]
    #[schemars(range(min = 1, max = 1000))]
    max_lines: u64,
}

fn first() -> u64 {
    1
}

fn some() -> u64 {
    200
}

pub(crate) struct ReadFile(pub(crate) Workspace);

impl CodeTool for ReadFile {
    type Input = Input;
    const NAME: &'static str = "code.read_file";
    const PERMISSION: Permission = Permission::Readonly;
    const TAGS: &'static [&'static str] = &["code", "filesystem", "readonly"];

    fn prepare(&self, input: Input, context: CallContext) -> Result<Prepared, ErrorPayload> {
        let file = self.0.open_file(&artifact::real_path(&self.0, &context.session_id, &input.path))?;
        let names = SecondNames::near(&self.0, file.path().parent().unwrap_or(file.path()));
        let facts = Facts {
            targets: vec![names.target(&input.path, file.path(), Access::Read, &file.stat)],
            preview: format!("read {} from line {}", input.path, input.start_line),
            session: Some(context.session_id.clone()),
            ..Facts::default()
        };
        let shown = self.0.show(file.path());
        let wanted = Wanted { start_line: input.start_line, max_lines: input.max_lines };
        let note = names.note();
        let call = blocking_call(move || {
            let output = read(&file, shown, wanted, &context)?;
            Ok(match note {
                Some(note) => output.with("second_names", note),
                None => output,
            })
        });
        Ok(Prepared { facts, call })
    }
}

fn read(file: &OpenFile, shown: String, wanted: Wanted, context: &CallContext) -> Result<ToolOutput, ErrorPayload> {
    let failed = |error: io::Error| match error.get_ref() {
        Some(inner) if inner.is::<Stopped>() => fail::cancelled(),
        _ => fail::os("read", &shown, &error),
    };
    let small = read_small(file).map_err(failed)?;
    let (page, version) = match small {
        Some(content) => {
            let version = FileVersion::Content(hash(&content));
            (Page::read(Cursor::new(content), wanted, &context.secrets).map_err(failed)?, version)
        }
        None => {
            let source = FromStart { file: &file.file, offset: 0, end: end(file), cancel: &context.cancel };
            (Page::read(source, wanted, &context.secrets).map_err(failed)?, FileVersion::Stamp(stamp(&file.stat)))
        }
    };
    context.versions.read(file.path(), version);
    let summary = page.summary();
    let output = tool::output(&page.shown(shown, file.size()))?.summary(summary);
    let output = output.with("resolved_path", path_text(file.path()));
    Ok(match version {
        FileVersion::Content(hash) => output.with("content_hash", blake3::Hash::from_bytes(hash).to_string()),
        FileVersion::Stamp(_) => output,
    })
}

/// The whole of a file that is small enough, so that what is shown and what is remembered are the same bytes. What the
/// system says of the size is not relied on: files of `/proc` have none.
fn read_small(file: &OpenFile) -> io::Result<Option<Vec<u8>>> {
    if file.size() > HASHED_MAX {
        return Ok(None);
    }
    let mut content = Vec::with_capacity(usize::try_from(file.size()).unwrap_or(0) + 1);
    (&file.file).take(HASHED_MAX + 1).read_to_end(&mut content)?;
    Ok((content.len() as u64 <= HASHED_MAX).then_some(content))
}

/// Where reading ends: a file that grows is read as it was, or there would be no end to looking for a line of it. Of small
/// sizes the system says nothing reliable.
fn end(file: &OpenFile) -> u64 {
    if file.size() > HASHED_MAX { file.size() } else { u64::MAX }
}

/// A file from its first byte on, for as long as anybody wants it.
struct FromStart<'a> {
    file: &'a File,
    offset: u64,
    end: u64,
    cancel: &'a CancellationToken,
}

/// The call was cancelled in the middle of a file.
#[derive(Debug, thiserror::Error)]
#[error("cancelled")]
struct Stopped;

impl Read for FromStart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other(Stopped));
        }
        let most = usize::try_from(self.end - self.offset).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read_at(&mut buffer[..most], self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
