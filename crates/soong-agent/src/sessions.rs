//! `soong-agent sessions`.

use agent_core::{Archive, Role, SearchHit, SessionFilter, SessionListing};

use crate::Outcome;
use crate::cli::SessionsArguments;
use crate::exit::{Exit, Failure};
use crate::lines::{counted, one_line};
use crate::moment;
use crate::output::{Colour, Columns, GAP, Look, Output, Width, widest};
use crate::standing;
use crate::stored::{self, BEGIN, below_home};

/// So many are read, and lined up with each other, at a time.
const PAGE: u32 = 100;
/// The first words get at least this much room; where they would not, the project gives way.
const WORDS: usize = 24;

pub(crate) fn run(arguments: SessionsArguments, output: &mut Output) -> Outcome {
    let nothing = |_: &std::path::Path, output: &mut Output| {
        output.note(&format!("there are no sessions yet; {BEGIN}"));
        Ok(Exit::Completed)
    };
    stored::look(output, nothing, async |archive, output| list(archive, &arguments, output).await)
}

async fn list(archive: &Archive, arguments: &SessionsArguments, output: &mut Output) -> Outcome {
    let cwd = arguments.path.as_deref().map(|path| stored::project_folder(Some(path))).transpose()?;
    let wanted = Wanted { archive, words: arguments.search.join(" "), filter: SessionFilter { cwd } };
    let limit = if arguments.all { u32::MAX } else { arguments.limit };
    let (mut shown, mut full) = (0, true);
    while full && shown < limit && !output.is_gone() {
        let asked = PAGE.min(limit - shown);
        let found = wanted.some(asked, shown).await?;
        let count = u32::try_from(found.len()).unwrap_or(u32::MAX);
        (full, shown) = (count >= asked, shown + count);
        let text = page(&found, arguments.path.is_none(), output.page_look());
        output.page(&text);
    }
    if shown == 0 {
        output.note(&none_found(arguments));
    } else if full && shown == limit && !wanted.some(1, shown).await?.is_empty() {
        output.note(&format!("these are the latest {shown}; --limit {} or --all shows more", u64::from(limit) * 5));
    }
    Ok(Exit::Completed)
}

fn none_found(arguments: &SessionsArguments) -> String {
    match (&arguments.path, arguments.search.is_empty()) {
        (None, true) => format!("there are no sessions yet; {BEGIN}"),
        (Some(path), true) => {
            format!("there are no sessions of {}; without --path those of all projects are listed", path.display())
        }
        (_, false) => "no session has all of these words; `migrat*` also finds what only begins so".to_owned(),
    }
}

/// What is asked for.
struct Wanted<'a> {
    archive: &'a Archive,
    /// To search for, if there are any.
    words: String,
    filter: SessionFilter,
}

/// A session, and what stands at the end of its line.
struct Found {
    listing: SessionListing,
    words: String,
}

impl Wanted<'_> {
    async fn some(&self, limit: u32, offset: u32) -> Result<Vec<Found>, Failure> {
        if self.words.is_empty() {
            let listings = self.archive.list_sessions(&self.filter, limit, offset).await?;
            return Ok(listings.into_iter().map(Found::listed).collect());
        }
        let hits = self.archive.search_sessions(&self.words, &self.filter, limit, offset).await?;
        let mut found = Vec::with_capacity(hits.len());
        for hit in hits {
            let words = excerpt(&hit);
            found.push(Found { listing: self.archive.session(&hit.summary.session.session_id).await?, words });
        }
        Ok(found)
    }
}

impl Found {
    fn listed(listing: SessionListing) -> Self {
        let words = listing.summary.first_message.clone().unwrap_or_default();
        Self { listing, words }
    }
}

fn excerpt(hit: &SearchHit) -> String {
    let who = match hit.role {
        Role::User => "you",
        Role::Assistant => "model",
        other => other.as_str(),
    };
    format!("{who}: {}", hit.excerpt)
}

fn page(found: &[Found], with_project: bool, look: Look) -> String {
    match look.width {
        Some(width) => for_people(found, with_project, width, look),
        None => found.iter().map(for_scripts).collect(),
    }
}

/// All there is, as it is; columns can be cut with `cut -f`.
fn for_scripts(found: &Found) -> String {
    let Found { listing, words } = found;
    let session = &listing.summary.session;
    let columns = [
        session.session_id.as_str(),
        session.updated_at.as_str(),
        &listing.summary.runs.to_string(),
        &standing::words(listing).0,
        &one_line(&session.cwd),
        &one_line(words),
    ];
    format!("{}\n", columns.join("\t"))
}

/// Columns that are as wide as their widest; what is left is for the project and the words.
fn for_people(found: &[Found], with_project: bool, width: Width, look: Look) -> String {
    let now = moment::now();
    let rows: Vec<_> = found.iter().map(|found| Row::of(found, now)).collect();
    let of = |column: fn(&Row) -> &str| widest(rows.iter().map(column), width);
    let fixed = [of(|row| &row.id), of(|row| &row.used), of(|row| &row.runs), of(|row| &row.state.0)];
    let left = width.usable().saturating_sub(fixed.iter().map(|column| column + GAP).sum());
    let project = of(|row| &row.project).min(left / 3);
    let project = Some(project).filter(|project| with_project && left >= project + GAP + WORDS);
    rows.iter().map(|row| row.line(fixed, project, width, look)).collect()
}

struct Row {
    id: String,
    used: String,
    runs: String,
    state: (String, Option<Colour>),
    project: String,
    words: String,
}

impl Row {
    fn of(found: &Found, now: u64) -> Self {
        let Found { listing, words } = found;
        let session = &listing.summary.session;
        Self {
            id: session.session_id.to_string(),
            used: moment::ago(&session.updated_at, now),
            runs: counted(listing.summary.runs, "run"),
            state: standing::words(listing),
            project: one_line(&below_home(&session.cwd)),
            words: one_line(words),
        }
    }

    fn line(&self, [id, used, runs, state]: [usize; 4], project: Option<usize>, width: Width, look: Look) -> String {
        let mut line = Columns::new(width, look);
        line.add(&self.id, id, None);
        line.add(&self.used, used, None);
        line.add(&self.runs, runs, None);
        line.add(&self.state.0, state, self.state.1);
        if let Some(columns) = project {
            line.add(&width.tail(&self.project, columns), columns, None);
        }
        line.add(&self.words, line.room(), None);
        line.line()
    }
}
