//! What 10,000 sessions cost those who list them, search them, or begin another one (DB-14).

use std::ffi::OsString;

use agent_testkit::TestHome;

use crate::bench::Bench;
use crate::error::BenchError;
use crate::launch;
use crate::report::{Row, Unit};
use crate::stage::Stage;
use crate::stored::{Many, RARE_WORD};
use crate::suite::series::Series;

/// DB-14, to the first request.
const START_MS: f64 = 300.0;

/// The same commands in a home with many sessions, and, as their floor, in one with a single session.
pub(super) fn measure(bench: &Bench) -> Result<Vec<Row>, BenchError> {
    let stage = Stage::new(bench.provider, 0);
    let (full, small) = (stage.home("many_sessions", ""), stage.home("one_session", ""));
    super::threads()?.block_on(Many::lay(&full))?;
    stage.agent(&small, &bench.programs.agent)?;

    let mut indexing = Series::default();
    indexing.spent.push(launch::measure(&full, &bench.programs.agent, &search())?);
    let (mut many, mut one) = (Uses::default(), Uses::default());
    for _ in 0..bench.runs.min(20) {
        many.add(bench, &stage, &full)?;
        one.add(bench, &stage, &small)?;
    }
    full.remove();
    small.remove();
    let row = |measure: &str, series: &Series| Ok::<_, BenchError>(Row::new(measure, Unit::Millis, series.wall()?));
    let started = many.begin.to_first_request()?;
    Ok(vec![
        row("sessions, of 10,000", &many.list)?.floor(one.list.wall()?),
        row("sessions --search, the first time, of 10,000", &indexing)?,
        row("sessions --search, of 10,000", &many.find)?.floor(one.find.wall()?),
        Row::new("a new session, to its first request, beside 10,000", Unit::Millis, started)
            .budget(START_MS)
            .floor(one.begin.to_first_request()?),
    ])
}

/// What is done in a home.
#[derive(Default)]
struct Uses {
    list: Series,
    find: Series,
    begin: Series,
}

impl Uses {
    fn add(&mut self, bench: &Bench, stage: &Stage, home: &TestHome) -> Result<(), BenchError> {
        let agent = bench.programs.agent.as_path();
        self.begin.add(&stage.agent(home, agent)?);
        self.list.spent.push(launch::measure(home, agent, &["sessions".into()])?);
        self.find.spent.push(launch::measure(home, agent, &search())?);
        Ok(())
    }
}

fn search() -> [OsString; 3] {
    ["sessions".into(), "--search".into(), RARE_WORD.into()]
}
