//! `soong-agent sessions move`.

use std::path::Path;

use agent_core::runtime::RunMode;
use agent_core::text::{quote_argv, shown_path};

use crate::exit::{Exit, Failure, Outcome};
use crate::lines::whole_line;
use crate::output::Output;
use crate::stored::{self, Which, below_home, nothing_yet};

pub(super) fn run(session: &str, path: &Path, output: &mut Output) -> Outcome {
    let which = Which::parse("SESSION", session)?;
    if which == Which::Last {
        return Err(Failure::usage("SESSION: name the session; `soong-agent sessions` lists them"));
    }
    if !path.exists() {
        let wanted = "name the folder that the project lies in now";
        return Err(Failure::usage(format!("PATH: {} does not exist; {wanted}", shown_path(path))));
    }
    let project = stored::project_folder(Some(path))?;
    let nothing = |path: &Path, _: &mut Output| Err(nothing_yet(path));
    stored::look(output, nothing, async |archive, output| {
        let id = which.find(archive, None).await?;
        let listing = archive.session(&id).await?;
        let before = listing.summary.session.cwd;
        if before == project {
            output.note(&format!("{id} belongs to {} already", whole_line(&below_home(&project))));
            return Ok(Exit::Completed);
        }
        archive.move_session(&id, &project).await?;
        let mode = (listing.mode == Some(RunMode::Orchestrator)).then_some("--orchestrator");
        let words = ["soong-agent", "run", "--path", &project].into_iter().chain(mode);
        let words: Vec<_> = words.chain(["--session-id", id.as_str()]).map(str::to_owned).collect();
        output.note(&format!(
            "{id} belongs to {} now, no longer to {}; go on with: {} \"…\"",
            whole_line(&below_home(&project)),
            whole_line(&below_home(&before)),
            quote_argv(&words)
        ));
        Ok(Exit::Completed)
    })
}
