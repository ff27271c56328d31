//! `soong-agent sessions repair`.

use agent_core::archive::{self, Repaired};
use agent_core::config::Location;
use agent_core::error::BuildError;
use agent_core::text::shown_path;

use crate::exit::{Exit, Failure, Outcome};
use crate::limits;
use crate::lines::{counted, one_line};
use crate::output::Output;
use crate::signals::survive_file_size_limit;
use crate::stored::{below_home, nothing_yet};

pub(super) fn run(output: &mut Output) -> Outcome {
    let repaired = limits::runtime()?.block_on(async {
        survive_file_size_limit();
        archive::repair(&Location::default()).await
    });
    let repaired = match repaired {
        Ok(repaired) => repaired,
        Err(BuildError::NothingStored { path }) => return Err(nothing_yet(&path)),
        Err(error) => return Err(error.into()),
    };
    report(&repaired, output)
}

fn report(repaired: &Repaired, output: &mut Output) -> Outcome {
    let Repaired { set_aside, sessions, copied, lost, lost_commits, mended } = repaired;
    output.page(&format!("{} copied; {} there now\n", counted(*copied, "row"), counted_are(*sessions)));
    for line in mended {
        output.page(&format!("changed: {}\n", one_line(line)));
    }
    for (table, rows) in lost {
        output.page(&format!("lost: {} of {table}, at least\n", counted(*rows, "row")));
    }
    if *lost_commits > 0 {
        output.page(&format!("lost: {} behind damage of the log\n", counted(*lost_commits, "commit")));
    }
    output.note(&format!("the old database is kept, unchanged: {}", below_home(&shown_path(set_aside))));
    match repaired.is_whole() {
        true => Ok(Exit::Completed),
        false => Err(Failure::failed("not everything could be saved; what is lost is listed above")),
    }
}

fn counted_are(sessions: u64) -> String {
    if sessions == 1 { "1 session is".to_owned() } else { format!("{sessions} sessions are") }
}
