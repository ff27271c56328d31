//! `soong-agent sessions`.

mod moving;
mod repair;

use std::path::Path;

use agent_core::archive::{Archive, DamagedSession, SessionFilter, SessionHit, SessionListing};
use agent_core::session::Role;
use agent_core::text::shown_path;

use crate::cli::{SessionsArguments, SessionsCommand};
use crate::exit::{Exit, Failure, Outcome};
use crate::lines::{counted, one_line, whole_line};
use crate::moment;
use crate::output::{Colour, Columns, GAP, Look, Output, Width, widest};
use crate::standing;
use crate::stored::{self, BEGIN, REPAIR, below_home};

/// So many are read, and lined up with each other, at a time.
const PAGE: u32 = 100;
/// The first words get at least this much room; where they would not, the project gives way, and who is at work.
const WORDS: usize = 24;
/// How a session stands of which something cannot be read.
const DAMAGED: &str = "damaged";
/// Where they would not even get this much, other columns give way.
const FEW: usize = 16;

pub(crate) fn run(arguments: SessionsArguments, output: &mut Output) -> Outcome {
    match &arguments.command {
        Some(SessionsCommand::Move { session, path }) => return moving::run(session, path, output),
        Some(SessionsCommand::Repair) => return repair::run(output),
        None => {}
    }
    if !arguments.search.is_empty() && arguments.search.iter().all(|words| words.trim().is_empty()) {
        return Err(Failure::usage(
            "--search: there is no word to search for; without --search all sessions are listed",
        ));
    }
    let project = arguments.path.as_deref().map(|path| stored::project_folder(Some(path))).transpose()?;
    let nothing = |path: &Path, output: &mut Output| {
        if let Some(lost) = stored::lost_database(path) {
            output.marked("warning:", Colour::Yellow, &lost);
            return Ok(Exit::Completed);
        }
        if let (Some(folder), Some(project)) = (&arguments.path, &project) {
            must_exist(folder, project)?;
        }
        output.note(&format!("there are no sessions yet; {BEGIN}"));
        Ok(Exit::Completed)
    };
    stored::look(output, nothing, async |archive, output| list(archive, &arguments, project.clone(), output).await)
}

async fn list(
    archive: &Archive,
    arguments: &SessionsArguments,
    project: Option<String>,
    output: &mut Output,
) -> Outcome {
    let shortens = output.page_look().width.is_some();
    let wanted =
        Wanted { archive, words: arguments.search.join(" "), filter: SessionFilter { cwd: project }, shortens };
    let limit = if arguments.all { u32::MAX } else { arguments.limit };
    let (mut shown, mut full) = (0, true);
    let (mut damaged, mut unsearched) = (0, Vec::new());
    while full && shown < limit && !output.is_gone() {
        let asked = PAGE.min(limit - shown);
        let (found, left) = wanted.some(asked, shown).await?;
        damaged += found.iter().filter(|found| found.listing.is_none()).count() as u64;
        unsearched = left;
        let count = u32::try_from(found.len()).unwrap_or(u32::MAX);
        (full, shown) = (count >= asked, shown + count);
        let text = page(&found, arguments.path.is_none(), output.page_look());
        output.page(&text);
    }
    if shown == 0 && unsearched.is_empty() {
        wanted.has_a_project(arguments.path.as_deref()).await?;
        output.note(&none_found(arguments));
    } else if full && shown == limit && !wanted.some(1, shown).await?.0.is_empty() {
        output.note(&format!("these are the latest {shown}; --limit {} or --all shows more", u64::from(limit) * 5));
    }
    all_of_it(damaged, &unsearched, output)
}

/// Whether what was shown is all there is. What is missing is said.
fn all_of_it(damaged: u64, unsearched: &[DamagedSession], output: &mut Output) -> Outcome {
    for DamagedSession { session, error } in unsearched {
        let id = whole_line(session);
        output.error(&format!("{id} could not be searched to its end: {}", one_line(&error.payload().message)));
    }
    match (damaged, unsearched) {
        (0, []) => Ok(Exit::Completed),
        (0, _) => Err(Failure::failed(format!("not everything could be searched; {REPAIR}"))),
        _ => Err(Failure::failed(format!("{} damaged, as marked; {REPAIR}", counted_is(damaged)))),
    }
}

fn counted_is(sessions: u64) -> String {
    if sessions == 1 { "one session is".to_owned() } else { format!("{sessions} sessions are") }
}

/// A project that is gone may have sessions; one that has none may be misspelt. `project` is how sessions name it.
fn must_exist(folder: &Path, project: &str) -> Result<(), Failure> {
    if folder.exists() {
        return Ok(());
    }
    let all = "without --path those of all projects are listed";
    Err(Failure::usage(format!("--path: {} does not exist, and there is no session of it; {all}", whole_line(project))))
}

fn none_found(arguments: &SessionsArguments) -> String {
    match (&arguments.path, arguments.search.is_empty()) {
        (None, true) => format!("there are no sessions yet; {BEGIN}"),
        (Some(path), true) => {
            format!("there are no sessions of {}; without --path those of all projects are listed", shown_path(path))
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
    /// Ids are shown as short as they are known by.
    shortens: bool,
}

/// A session, and what stands at the ends of its line.
struct Found {
    /// None where it cannot be read; `words` then says why.
    listing: Option<SessionListing>,
    id: String,
    words: String,
}

impl Wanted<'_> {
    /// Sessions, and those that could not be searched to their end.
    async fn some(&self, limit: u32, offset: u32) -> Result<(Vec<Found>, Vec<DamagedSession>), Failure> {
        let mut found = Vec::new();
        if self.words.is_empty() {
            for listing in self.archive.list_sessions(&self.filter, limit, offset).await? {
                found.push(match listing {
                    Ok(listing) => {
                        let words = listing.summary.first_message.clone().unwrap_or_default();
                        self.found(listing, words).await?
                    }
                    Err(damaged) => Found::damaged(damaged),
                });
            }
            return Ok((found, Vec::new()));
        }
        let searched = self.archive.search_sessions(&self.words, &self.filter, limit, offset).await?;
        for hit in searched.hits {
            found.push(match hit {
                Ok(hit) => {
                    let words = excerpt(&hit);
                    self.found(hit.listing, words).await?
                }
                Err(damaged) => Found::damaged(damaged),
            });
        }
        Ok((found, searched.unsearched))
    }

    async fn found(&self, listing: SessionListing, words: String) -> Result<Found, Failure> {
        let id = &listing.summary.session.session_id;
        let id = if self.shortens { stored::short(self.archive, id).await? } else { id.to_string() };
        Ok(Found { listing: Some(listing), id, words })
    }

    /// Whether the project that is asked for has sessions or could get some.
    async fn has_a_project(&self, folder: Option<&Path>) -> Result<(), Failure> {
        let (Some(folder), Some(project)) = (folder, &self.filter.cwd) else { return Ok(()) };
        if self.archive.list_sessions(&self.filter, 1, 0).await?.is_empty() {
            must_exist(folder, project)?;
        }
        Ok(())
    }
}

impl Found {
    fn damaged(damaged: DamagedSession) -> Self {
        let DamagedSession { session, error } = damaged;
        Self { listing: None, id: whole_line(&session), words: error.payload().message }
    }
}

fn excerpt(hit: &SessionHit) -> String {
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
    let Found { listing, id, words } = found;
    let Some(listing) = listing else {
        return format!("{}\n", [id.as_str(), "-", "-", DAMAGED, "-", &one_line(words)].join("\t"));
    };
    let session = &listing.summary.session;
    let question = standing::question(listing).map(|question| format!(": {question}")).unwrap_or_default();
    let columns = [
        id,
        session.updated_at.as_str(),
        &listing.summary.runs.to_string(),
        &format!("{}{question}", standing::words(listing)),
        &whole_line(&session.cwd),
        &one_line(words),
    ];
    format!("{}\n", columns.join("\t"))
}

/// Columns that are as wide as their widest; what is left is for the project and the words.
fn for_people(found: &[Found], with_project: bool, width: Width, look: Look) -> String {
    let now = moment::now();
    let rows: Vec<_> = found.iter().map(|found| Row::of(found, now)).collect();
    let widths = Widths::of(&rows, with_project, width);
    rows.iter().map(|row| row.line(&widths, width, look)).collect()
}

struct Row {
    id: String,
    used: String,
    runs: String,
    state: String,
    /// The same, without who is at work.
    short_state: String,
    colour: Option<Colour>,
    project: String,
    words: String,
}

/// How wide columns are; nothing is no column.
struct Widths {
    id: usize,
    used: usize,
    runs: usize,
    state: usize,
    short_state: usize,
    project: usize,
}

impl Widths {
    fn of(rows: &[Row], with_project: bool, width: Width) -> Self {
        let of = |column: fn(&Row) -> &str| widest(rows.iter().map(column), width);
        let mut widths = Self {
            id: of(|row| &row.id),
            used: of(|row| &row.used),
            runs: of(|row| &row.runs),
            state: of(|row| &row.state),
            short_state: 0,
            project: 0,
        };
        let words = of(|row| &row.words);
        let room = |widths: &Self| width.usable().saturating_sub(widths.all());
        if room(&widths) < WORDS.min(words) {
            (widths.state, widths.short_state) = (0, of(|row| &row.short_state));
        }
        // By a session's words people know it. The rest gives way in this order.
        for gives_way in [|it: &mut Self| it.runs = 0, |it: &mut Self| it.short_state = 0, |it: &mut Self| it.used = 0]
        {
            if widths.all() > width.usable() + GAP || room(&widths) < FEW.min(words) {
                gives_way(&mut widths);
            }
        }
        let left = room(&widths);
        let project = of(|row| &row.project).min(left / 3);
        if with_project && left >= project + GAP + WORDS {
            widths.project = project;
        }
        widths
    }

    /// What they take, with the gaps behind them.
    fn all(&self) -> usize {
        let columns = [self.id, self.used, self.runs, self.state, self.short_state, self.project];
        columns.iter().filter(|columns| **columns > 0).map(|columns| columns + GAP).sum()
    }
}

impl Row {
    fn of(found: &Found, now: u64) -> Self {
        let Found { listing, id, words } = found;
        let Some(listing) = listing else {
            return Self {
                id: id.clone(),
                used: String::new(),
                runs: String::new(),
                state: DAMAGED.to_owned(),
                short_state: DAMAGED.to_owned(),
                colour: Some(Colour::Red),
                project: String::new(),
                words: one_line(words),
            };
        };
        let session = &listing.summary.session;
        let (short_state, colour) = standing::word(listing);
        let question = standing::question(listing).map(|question| format!("{question}? ")).unwrap_or_default();
        Self {
            id: id.clone(),
            used: moment::ago(&session.updated_at, now),
            runs: counted(listing.summary.runs, "run"),
            state: standing::words(listing),
            short_state: short_state.to_owned(),
            colour,
            project: whole_line(&below_home(&session.cwd)),
            words: format!("{question}{}", one_line(words)),
        }
    }

    fn line(&self, widths: &Widths, width: Width, look: Look) -> String {
        let mut line = Columns::new(width, look);
        let project = width.path_tail(&self.project, widths.project);
        let columns = [
            (&*self.id, widths.id, None),
            (&self.used, widths.used, None),
            (&self.runs, widths.runs, None),
            (&self.state, widths.state, self.colour),
            (&self.short_state, widths.short_state, self.colour),
            (&project, widths.project, None),
        ];
        for (text, columns, colour) in columns.into_iter().filter(|(_, columns, _)| *columns > 0) {
            line.add(text, columns, colour);
        }
        line.add(&self.words, line.room(), None);
        line.line()
    }
}

#[cfg(test)]
mod tests;
