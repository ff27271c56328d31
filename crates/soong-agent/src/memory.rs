//! `soong-agent memory list|show|forget`.

use agent_core::config::Location;
use agent_core::error::{MemoryError, with_causes};
use agent_core::event::Timestamp;
use agent_core::memory::{Memories, MemoryEntry, MemoryId, MemoryListing, Moment};
use agent_core::text::{escape_for_terminal, shown_path};

use crate::cli::{MemoryCommand, MemoryListArguments};
use crate::exit::{Exit, Failure, Outcome};
use crate::lines::{counted, one_line, whole_line};
use crate::moment;
use crate::output::{Columns, GAP, Look, Output, Width, widest};
use crate::stored::{self, below_home};

/// What is remembered for all projects.
const EVERYWHERE: &str = "everywhere";
/// Ids on a terminal have at least so many characters.
const SHOWN: usize = "mem_20261130".len() + 4;
/// The summary gets at least this much room; where it would not, other columns give way.
const WORDS: usize = 24;

pub(crate) fn run(command: MemoryCommand, output: &mut Output) -> Outcome {
    let memories = Memories::open(&Location::default())?;
    match command {
        MemoryCommand::List(arguments) => list(&memories, &arguments, output),
        MemoryCommand::Show { id } => show(&memories, &id, output),
        MemoryCommand::Forget { ids } => forget(&memories, &ids, output),
    }
}

fn list(memories: &Memories, arguments: &MemoryListArguments, output: &mut Output) -> Outcome {
    let listing = memories.list().map_err(failure)?;
    let project = match stored::project_folder(arguments.path.as_deref()) {
        // Where the current folder is gone, what holds everywhere is left.
        Err(_) if arguments.path.is_none() => String::new(),
        project => project?,
    };
    let is_wanted = |entry: &&MemoryEntry| arguments.all || entry.is_visible_in(&project);
    let shown: Vec<_> = listing.entries.iter().filter(is_wanted).collect();
    if let Some(path) = arguments.path.as_deref().filter(|path| !path.exists())
        && !listing.entries.iter().any(|entry| entry.project.as_ref() == Some(&project))
    {
        let path = whole_line(&shown_path(path));
        return Err(Failure::usage(format!("--path: {path} does not exist, and nothing is remembered of it")));
    }
    let text = page(&shown, &listing, output.page_look());
    output.page(&text);
    for problem in &listing.problems {
        output.note(&format!("left out: {}", whole_line(&problem.to_string())));
    }
    let elsewhere = listing.entries.len() - shown.len();
    if shown.is_empty() {
        let how = if memories.is_enabled() { "; tell the agent: \"remember that …\"" } else { "" };
        output.note(&format!("nothing is remembered here yet{how}"));
    }
    if elsewhere > 0 {
        output.note(&format!("{} more of other projects; --all shows them", elsewhere));
    }
    if !memories.is_enabled() {
        output.note("memory.enabled is false: runs neither use nor make memories");
    }
    Ok(Exit::Completed)
}

fn page(shown: &[&MemoryEntry], listing: &MemoryListing, look: Look) -> String {
    match look.width {
        Some(width) => for_people(shown, listing, width, look),
        None => shown.iter().map(|entry| for_scripts(entry)).collect(),
    }
}

/// All there is, as it is; columns can be cut with `cut -f`.
fn for_scripts(entry: &MemoryEntry) -> String {
    let columns = [
        entry.id.as_str(),
        entry.category.as_str(),
        entry.updated_at.as_str(),
        &project(entry, false),
        &one_line(&entry.summary),
    ];
    format!("{}\n", columns.join("\t"))
}

fn for_people(shown: &[&MemoryEntry], listing: &MemoryListing, width: Width, look: Look) -> String {
    let now = moment::now();
    let row = |entry: &&MemoryEntry| {
        let when = moment::ago(&timestamp(&entry.updated_at), now);
        let columns = [short(&entry.id, listing), entry.category.to_string(), when, project(entry, true)];
        (columns, one_line(&entry.summary))
    };
    let rows: Vec<_> = shown.iter().map(row).collect();
    let mut columns = [0, 1, 2, 3].map(|at| widest(rows.iter().map(|(row, _)| row[at].as_str()), width));
    let room = |columns: &[usize]| {
        let taken = columns.iter().filter(|columns| **columns > 0).map(|columns| columns + GAP).sum();
        width.usable().saturating_sub(taken)
    };
    let wanted = WORDS.min(widest(rows.iter().map(|(_, words)| words.as_str()), width));
    columns[3] = columns[3].min(width.usable() / 4);
    for gives_way in [3, 2, 1] {
        if room(&columns) < wanted {
            columns[gives_way] = 0;
        }
    }
    let line = |(row, words): &([String; 4], String)| {
        let mut line = Columns::new(width, look);
        let shown = [row[0].clone(), row[1].clone(), row[2].clone(), width.path_tail(&row[3], columns[3]).into_owned()];
        for (text, columns) in shown.iter().zip(columns).filter(|(_, columns)| *columns > 0) {
            line.add(text, columns, None);
        }
        line.add(words, line.room(), None);
        line.line()
    };
    rows.iter().map(line).collect()
}

fn project(entry: &MemoryEntry, for_people: bool) -> String {
    match &entry.project {
        None => EVERYWHERE.to_owned(),
        Some(project) if for_people => whole_line(&below_home(project)),
        Some(project) => whole_line(project),
    }
}

/// The beginning of an id with which no other memory begins.
fn short(id: &MemoryId, listing: &MemoryListing) -> String {
    let shared = |other: &MemoryId| id.as_str().bytes().zip(other.as_str().bytes()).take_while(|(a, b)| a == b).count();
    let others = listing.entries.iter().map(|entry| &entry.id).filter(|other| *other != id);
    let length = others.map(|other| shared(other) + 1).max().unwrap_or(0).max(SHOWN);
    // Ids are ASCII.
    id.as_str().get(..length).unwrap_or(id.as_str()).to_owned()
}

fn timestamp(moment: &Moment) -> Timestamp {
    Timestamp::from_stored(moment.to_string())
}

fn show(memories: &Memories, id: &str, output: &mut Output) -> Outcome {
    let listing = memories.list().map_err(failure)?;
    let entry = listing.find(id).map_err(failure)?;
    let path = memories.folder().join(&entry.path);
    let facts = [
        ("id", entry.id.to_string()),
        ("category", entry.category.to_string()),
        ("summary", one_line(&entry.summary)),
        ("tags", one_line(&entry.tags.join(", "))),
        ("project", project(entry, false)),
        ("created", entry.created_at.to_string()),
        ("updated", entry.updated_at.to_string()),
        ("session", one_line(&entry.source_session_id)),
        ("messages", one_line(&entry.source_node_ids.join(", "))),
        ("file", whole_line(&shown_path(&path))),
    ];
    let mut text: String =
        facts.iter().map(|(name, value)| format!("{name:9} {value}").trim_end().to_owned() + "\n").collect();
    text.push_str(&format!("\n{}\n", escape_for_terminal(&entry.body)));
    let text = output.page_look().page(&text);
    output.page(&text);
    Ok(Exit::Completed)
}

/// All of them are found before one goes.
fn forget(memories: &Memories, ids: &[String], output: &mut Output) -> Outcome {
    let listing = memories.list().map_err(failure)?;
    let mut wanted: Vec<MemoryId> = Vec::new();
    for id in ids {
        let id = &listing.find(id).map_err(failure)?.id;
        if !wanted.contains(id) {
            wanted.push(id.clone());
        }
    }
    let mut forgotten = 0;
    for id in &wanted {
        match memories.forget(id.as_str()) {
            Ok(entry) => {
                forgotten += 1;
                output.page(&for_scripts(&entry));
            }
            Err(error) => output.error(&format!("not forgotten: {id}: {}", with_causes(&error))),
        }
    }
    output.note(&format!("forgot {}", counted(forgotten, "memory").replace("memorys", "memories")));
    Ok(if forgotten == wanted.len() as u64 { Exit::Completed } else { Exit::Failed })
}

fn failure(error: MemoryError) -> Failure {
    match &error {
        MemoryError::NotFound { .. } => {
            let short = "an id, or a beginning of it with 8 characters or more behind mem_, is needed";
            Failure::usage(format!("{error}; {short}; `soong-agent memory list --all` lists them"))
        }
        MemoryError::Ambiguous { .. } => Failure::usage(error.to_string()),
        _ => Failure::failed(with_causes(&error)),
    }
}
