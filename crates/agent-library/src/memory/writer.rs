//! The only way by which what a model decided gets into files (MEM-5).

use std::{collections::BTreeSet, ffi::OsStr};

use super::{
    Action, Applied, Based, Conflicted, Decision, MemoryCategory, MemoryEntry, MemoryError, MemoryId, MemoryListing,
    MemoryStore, Misplaced, Moment, PlaceError, Refusal, Refused, Scope, SourceKind, Sources, WriteError, catalog,
    draft::Put,
    entry::hash,
    format,
    listing::{self, MOST_FILE_BYTES, MOST_FILES},
    name, refusal,
    store::Held,
};

/// Decisions of one batch.
const MOST_DECISIONS: usize = 64;

/// Characters of the caller's random part: two more tell the memories of one moment apart.
const LONGEST_RAND: usize = 30;

/// Applies decisions. It writes `MEMORY.md` and files in the three folders, nothing else.
#[derive(Clone, Copy)]
pub struct Writer<'a> {
    store: &'a MemoryStore,
    is_secret: &'a dyn Fn(&str) -> bool,
}

/// What may be written, and where: category and name of a new memory were looked at.
struct Checked<'a> {
    index: usize,
    decision: &'a Decision,
    /// Of new ones.
    place: Option<(MemoryCategory, &'a str)>,
}

impl<'a> Writer<'a> {
    /// `is_secret` says whether a text looks like it holds a secret or a credential.
    #[must_use]
    pub fn new(store: &'a MemoryStore, is_secret: &'a dyn Fn(&str) -> bool) -> Self {
        Self { store, is_secret }
    }

    /// Applies a batch. No model is waited for: `based` says what the decisions were made on, and a memory that is not
    /// that any more is left alone (MEM-07). Decisions that are refused, or name no place that is allowed, do not keep the others from
    /// being applied.
    ///
    /// # Errors
    /// When there are too many decisions, nothing at all is written. When the system refuses, what was written is
    /// whole, and the same decisions may be applied again: what is there is found and counts as duplicate.
    pub fn apply(
        &self,
        decisions: &[Decision],
        sources: &Sources,
        based: &Based,
        now: &Moment,
        rand: &str,
    ) -> Result<Applied, WriteError> {
        let (checked, misplaced) = check_batch(decisions)?;
        if rand.len() > LONGEST_RAND || MemoryId::new(now, rand).is_err() {
            return Err(WriteError::Rand { rand: rand.chars().take(60).collect(), limit: LONGEST_RAND });
        }
        let mut applied = Applied { misplaced, ..Applied::default() };
        let mut wanted = Vec::new();
        for one in checked {
            match one.decision.action {
                Action::Ignore => applied.ignored.push(one.index),
                Action::Duplicate => applied.duplicate.push(one.index),
                Action::New | Action::Update | Action::Conflict => {
                    match refusal::check(one.decision, sources, self.is_secret) {
                        Ok(()) => wanted.push(one),
                        Err(why) => applied.refused.push(Refused { index: one.index, why }),
                    }
                }
            }
        }
        if wanted.is_empty() {
            return Ok(applied);
        }
        let held = self.store.hold()?;
        // Said before anything is written.
        catalog::check(&held.memory)?;
        for category in MemoryCategory::ALL {
            held.memory.child(OsStr::new(category.as_str()), false)?;
        }
        let listing = listing::read(&held.memory);
        let touched = BTreeSet::new();
        let mut batch = Batch { held, listing, touched, sources, based, now, rand, applied };
        for one in wanted {
            let outcome = batch.one(&one)?;
            batch.note(&one, outcome);
        }
        Ok(batch.finish()?)
    }
}

/// Names and categories of everything that would be written, looked at before anything is (MEM-01, MEM-02).
fn check_batch(decisions: &[Decision]) -> Result<(Vec<Checked<'_>>, Vec<Misplaced>), WriteError> {
    if decisions.len() > MOST_DECISIONS {
        return Err(WriteError::TooMany { found: decisions.len(), limit: MOST_DECISIONS });
    }
    let (mut checked, mut misplaced) = (Vec::new(), Vec::new());
    for (index, decision) in decisions.iter().enumerate() {
        match check_place(index, decision) {
            Ok(one) => checked.push(one),
            Err(why) => misplaced.push(Misplaced { index, why }),
        }
    }
    Ok((checked, misplaced))
}

fn check_place(index: usize, decision: &Decision) -> Result<Checked<'_>, PlaceError> {
    let category = MemoryCategory::parse;
    let good_name = name::check;
    let place = match decision.action {
        Action::New => {
            let name = decision.name.as_deref().unwrap_or_default();
            good_name(name)?;
            Some((category(decision.category.as_deref().unwrap_or_default())?, name))
        }
        // Both stay as they are, but a decision with such words is not to be trusted.
        Action::Update | Action::Conflict => {
            let (name, word) = (decision.name.as_deref(), decision.category.as_deref());
            name.filter(|name| !name.is_empty()).map(good_name).transpose()?;
            word.filter(|word| !word.is_empty()).map(category).transpose()?;
            None
        }
        // Nothing is written.
        Action::Duplicate | Action::Ignore => None,
    };
    Ok(Checked { index, decision, place })
}

enum Outcome {
    Created(MemoryId),
    Replaced(MemoryId),
    Duplicate,
    Conflicted(MemoryId),
    Refused(Refusal),
}

/// Under the lock.
struct Batch<'a> {
    held: Held,
    listing: MemoryListing,
    /// What this batch wrote.
    touched: BTreeSet<MemoryId>,
    sources: &'a Sources,
    based: &'a Based,
    now: &'a Moment,
    rand: &'a str,
    applied: Applied,
}

impl Batch<'_> {
    fn one(&mut self, one: &Checked<'_>) -> Result<Outcome, MemoryError> {
        match one.place {
            Some((category, name)) => self.create(one.decision, category, name),
            None => self.replace(one.decision),
        }
    }

    fn create(&mut self, decision: &Decision, category: MemoryCategory, name: &str) -> Result<Outcome, MemoryError> {
        if self.lacks_the_user(category, decision) {
            return Ok(Outcome::Refused(Refusal::NotFromUser));
        }
        let project = match decision.scope {
            Scope::User => None,
            Scope::Project => Some(self.sources.project.clone()),
        };
        if self.is_there(decision, project.as_deref()) {
            return Ok(Outcome::Duplicate);
        }
        if self.listing.is_cut || self.listing.entries.len() + self.listing.problems.len() >= MOST_FILES {
            return Ok(Outcome::Refused(Refusal::Full(MOST_FILES)));
        }
        let folder = self.held.folder(category.as_str())?;
        for id in self.ids() {
            let file_name = format!("{name}-{}-{id}.md", self.now.date());
            let entry = self.written(
                MemoryEntry {
                    id,
                    category,
                    summary: String::new(),
                    tags: Vec::new(),
                    created_at: self.now.clone(),
                    updated_at: self.now.clone(),
                    source_session_id: String::new(),
                    source_node_ids: Vec::new(),
                    project: project.clone(),
                    path: format!("{category}/{file_name}"),
                    body: String::new(),
                    hash: String::new(),
                },
                decision,
            );
            let text = format::new_text(&entry);
            if folder.put(OsStr::new(&file_name), None, text.as_bytes())? == Put::Done {
                let id = entry.id.clone();
                self.keep(MemoryEntry { hash: hash(text.as_bytes()), ..entry });
                return Ok(Outcome::Created(id));
            }
        }
        Err(MemoryError::Restless { path: folder.path().to_owned() })
    }

    /// MEM-5: id, path, category, time of creation and project stay; content, summary, tags and sources are replaced.
    fn replace(&mut self, decision: &Decision) -> Result<Outcome, MemoryError> {
        let id = decision.memory_id.as_deref().and_then(|id| MemoryId::parse(id).ok());
        let Some((id, seen)) = id.and_then(|id| self.based.0.get(&id).map(|seen| (id, seen))) else {
            return Ok(Outcome::Refused(Refusal::UnknownMemory));
        };
        if self.touched.contains(&id) {
            return Ok(Outcome::Refused(Refusal::Twice(id)));
        }
        let Some(old) = self.listing.entries.iter().find(|entry| entry.id == id).cloned() else {
            return Ok(Outcome::Conflicted(id));
        };
        if !old.is_visible_in(&self.sources.project) {
            return Ok(Outcome::Refused(Refusal::UnknownMemory));
        }
        if old.hash != *seen {
            return Ok(Outcome::Conflicted(id));
        }
        if self.lacks_the_user(old.category, decision) {
            return Ok(Outcome::Refused(Refusal::NotFromUser));
        }
        if old.project.is_none() && decision.scope == Scope::Project {
            return Ok(Outcome::Refused(Refusal::Wider(id)));
        }
        self.rewrite(old, decision)
    }

    fn rewrite(&mut self, old: MemoryEntry, decision: &Decision) -> Result<Outcome, MemoryError> {
        let folder = self.held.folder(old.category.as_str())?;
        let file_name = old.file_name().to_owned();
        let before = folder.read(OsStr::new(&file_name), MOST_FILE_BYTES)?;
        let Some(before) = before.filter(|before| hash(before) == old.hash) else {
            return Ok(Outcome::Conflicted(old.id));
        };
        let entry = self.written(MemoryEntry { updated_at: self.now.clone(), ..old }, decision);
        let text = std::str::from_utf8(&before).ok().and_then(|before| format::updated_text(before, &entry));
        let Some(text) = text else { return Ok(Outcome::Refused(Refusal::Unwritable(entry.id))) };
        let id = entry.id.clone();
        match folder.put(OsStr::new(&file_name), Some(&before), text.as_bytes())? {
            Put::Changed => Ok(Outcome::Conflicted(id)),
            Put::Done => {
                self.keep(MemoryEntry { hash: hash(text.as_bytes()), ..entry });
                Ok(Outcome::Replaced(id))
            }
        }
    }

    /// An entry with what a decision says.
    fn written(&self, entry: MemoryEntry, decision: &Decision) -> MemoryEntry {
        let trimmed = |text: &String| text.trim().to_owned();
        MemoryEntry {
            summary: trimmed(&decision.summary),
            tags: decision.tags.iter().map(trimmed).collect(),
            source_session_id: self.sources.session_id.clone(),
            source_node_ids: self.known_sources(decision),
            body: trimmed(&decision.content),
            ..entry
        }
    }

    /// The sources that were scanned, each once.
    fn known_sources(&self, decision: &Decision) -> Vec<String> {
        let mut known: Vec<String> = Vec::new();
        for id in &decision.source_node_ids {
            if self.sources.nodes.contains_key(id) && !known.contains(id) {
                known.push(id.clone());
            }
        }
        known
    }

    fn lacks_the_user(&self, category: MemoryCategory, decision: &Decision) -> bool {
        let from_user = |id: &String| self.sources.nodes.get(id) == Some(&SourceKind::User);
        category.needs_the_user() && !decision.source_node_ids.iter().any(from_user)
    }

    /// Whether a memory says the same to everybody who would see this one.
    fn is_there(&self, decision: &Decision, project: Option<&str>) -> bool {
        self.listing.entries.iter().any(|entry| {
            let reaches = entry.project.is_none() || entry.project.as_deref() == project;
            reaches && entry.summary.trim() == decision.summary.trim() && entry.body == decision.content.trim()
        })
    }

    /// Ids of this moment that are free, as far as is known. None begins with another one, or forgetting one twice would
    /// forget two.
    fn ids(&self) -> Vec<MemoryId> {
        let numbered = (0..100).map(|n| format!("{n:02}{}", self.rand));
        let all = std::iter::once(self.rand.to_owned())
            .chain(numbered)
            .filter_map(|rand| MemoryId::new(self.now, &rand).ok());
        all.filter(|id| self.listing.entries.iter().all(|entry| entry.id != *id)).collect()
    }

    /// What was written is part of what is there.
    fn keep(&mut self, entry: MemoryEntry) {
        self.touched.insert(entry.id.clone());
        self.applied.files_changed.push(entry.path.clone());
        for id in &entry.source_node_ids {
            if !self.applied.source_node_ids.contains(id) {
                self.applied.source_node_ids.push(id.clone());
            }
        }
        self.listing.entries.retain(|other| other.id != entry.id);
        self.listing.entries.push(entry);
    }

    fn note(&mut self, one: &Checked<'_>, outcome: Outcome) {
        let index = one.index;
        match outcome {
            Outcome::Created(id) => self.applied.created.push(id),
            Outcome::Replaced(id) if one.decision.action == Action::Conflict => self.applied.conflict.push(id),
            Outcome::Replaced(id) => self.applied.updated.push(id),
            Outcome::Duplicate => self.applied.duplicate.push(index),
            Outcome::Conflicted(id) => self.applied.conflicted.push(Conflicted { index, id }),
            Outcome::Refused(why) => self.applied.refused.push(Refused { index, why }),
        }
    }

    /// The catalog comes last; it is brought up to date even if nothing was written (MEM-5).
    fn finish(mut self) -> Result<Applied, MemoryError> {
        self.listing.sort();
        if catalog::update(&self.held.memory, &self.listing.entries)? {
            self.applied.files_changed.push(catalog::NAME.to_owned());
        }
        self.applied.duplicate.sort_unstable();
        self.applied.refused.sort_by_key(|refused| refused.index);
        Ok(self.applied)
    }
}
