//! The steps of a Task with what must be found fast: by id, by state, by lease, and what is due.
//!
//! Every change goes through [`Graph::put`], which keeps all indexes; so taking back a change is putting the step of before.

mod slots;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::step::Step;
use agent_protocol::task::{Moment, StepCounts, StepId, StepStatus};

pub(crate) use slots::Slot;
use slots::Slots;

/// One place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Seat {
    /// The step; none where it was deleted.
    step: Option<Arc<Step>>,
    /// The steps that depend on it. Their order says nothing.
    dependents: Vec<Slot>,
    /// How many of those it depends on are not completed.
    unmet: u32,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Graph {
    seats: Vec<Seat>,
    by_id: HashMap<StepId, Slot>,
    /// Steps that depend on an id which no step has: only in the middle of an update.
    awaiting: HashMap<StepId, Vec<Slot>>,
    by_status: [Slots; 8],
    /// Pending steps that wait for nothing.
    due: Slots,
    leases: BTreeSet<(Moment, Slot)>,
    /// Required steps that are not completed.
    required_open: usize,
}

impl Graph {
    pub(crate) fn slot(&self, id: &StepId) -> Option<Slot> {
        self.by_id.get(id).copied()
    }

    pub(crate) fn get(&self, slot: Slot) -> Option<&Arc<Step>> {
        self.seats.get(slot as usize)?.step.as_ref()
    }

    pub(crate) fn find(&self, id: &StepId) -> Option<(Slot, &Arc<Step>)> {
        let slot = self.slot(id)?;
        Some((slot, self.get(slot)?))
    }

    /// The same by the text of its id.
    pub(crate) fn find_text(&self, id: &str) -> Option<(Slot, &Arc<Step>)> {
        let slot = self.by_id.get(id).copied()?;
        Some((slot, self.get(slot)?))
    }

    /// All steps in the order in which they were added.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Slot, &Arc<Step>)> {
        (0..).zip(&self.seats).filter_map(|(slot, seat)| Some((slot, seat.step.as_ref()?)))
    }

    /// The steps in one state, in the order in which they were added.
    pub(crate) fn in_status(&self, status: StepStatus) -> &Slots {
        &self.by_status[status as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(crate) fn counts(&self) -> StepCounts {
        let count = |status: StepStatus| self.in_status(status).len();
        StepCounts {
            pending: count(StepStatus::Pending),
            ready: count(StepStatus::Ready),
            claimed: count(StepStatus::Claimed),
            running: count(StepStatus::Running),
            blocked: count(StepStatus::Blocked),
            completed: count(StepStatus::Completed),
            failed: count(StepStatus::Failed),
            cancelled: count(StepStatus::Cancelled),
        }
    }

    /// The first pending step that waits for nothing.
    pub(crate) fn first_due(&self) -> Option<Slot> {
        self.due.first()
    }

    /// The held step whose lease ends first.
    pub(crate) fn first_lease(&self) -> Option<(Moment, Slot)> {
        self.leases.first().copied()
    }

    pub(crate) fn required_open(&self) -> usize {
        self.required_open
    }

    /// How many of the steps that this one depends on are not completed.
    pub(crate) fn unmet(&self, slot: Slot) -> u32 {
        self.seats.get(slot as usize).map_or(0, |seat| seat.unmet)
    }

    /// The steps that depend on this one, in the order in which they were added.
    pub(crate) fn dependents(&self, slot: Slot) -> Vec<Slot> {
        let mut dependents = self.seats.get(slot as usize).map(|seat| seat.dependents.clone()).unwrap_or_default();
        dependents.sort_unstable();
        dependents
    }

    /// An id that a step depends on and no step has.
    pub(crate) fn unknown_dependency(&self) -> Option<(&StepId, &Arc<Step>)> {
        let (id, slots) = self.awaiting.iter().min()?;
        Some((id, self.get(*slots.first()?)?))
    }

    /// Adds a step behind all others.
    pub(crate) fn add(&mut self, step: Step) -> Slot {
        let slot = Slot::try_from(self.seats.len()).unwrap_or(Slot::MAX);
        self.seats.push(Seat::default());
        self.put(slot, Some(Arc::new(step)));
        slot
    }

    /// Takes back an [`add`](Self::add), the last one first.
    pub(crate) fn pop(&mut self, slot: Slot) {
        self.put(slot, None);
        self.seats.truncate(slot as usize);
    }

    /// Puts a step, or none, in a place, and gives what was there.
    pub(crate) fn put(&mut self, slot: Slot, new: Option<Arc<Step>>) -> Option<Arc<Step>> {
        let old = self.seats.get_mut(slot as usize)?.step.take();
        let same_status = matches!((&old, &new), (Some(old), Some(new)) if old.status == new.status);
        let same_edges = matches!((&old, &new), (Some(old), Some(new))
            if Arc::ptr_eq(&old.content, &new.content) || old.content.depends_on == new.content.depends_on);
        if let Some(old) = &old {
            self.unlist(slot, old, same_status);
            if !same_edges {
                self.unlink(slot, old);
            }
        }
        let was_met = old.as_ref().is_some_and(|step| step.status == StepStatus::Completed);
        let is_met = new.as_ref().is_some_and(|step| step.status == StepStatus::Completed);
        if let Some(new) = &new {
            if old.is_none() {
                self.by_id.insert(new.id.clone(), slot);
                let waiting = self.awaiting.remove(&new.id).unwrap_or_default();
                self.seats[slot as usize].dependents.extend(waiting);
            }
            if !same_edges {
                self.link(slot, new);
            }
        } else if let Some(old) = &old {
            self.by_id.remove(&old.id);
            let left = std::mem::take(&mut self.seats[slot as usize].dependents);
            if !left.is_empty() {
                self.awaiting.insert(old.id.clone(), left);
            }
        }
        self.seats[slot as usize].step.clone_from(&new);
        if was_met != is_met {
            self.count_again(slot, is_met, old.as_deref().or(new.as_deref()));
        }
        if let Some(new) = &new {
            self.list(slot, new, same_status);
        }
        old
    }

    /// A step is completed now, or no longer: those that depend on it wait for one less, or one more.
    fn count_again(&mut self, slot: Slot, met: bool, step: Option<&Step>) {
        let waiting = step.filter(|_| !self.awaiting.is_empty()).and_then(|step| self.awaiting.get(&step.id)).cloned();
        // Nothing here changes who depends on it.
        let lent = waiting.is_none();
        let dependents = waiting.unwrap_or_else(|| std::mem::take(&mut self.seats[slot as usize].dependents));
        for &dependent in &dependents {
            let seat = &mut self.seats[dependent as usize];
            seat.unmet = if met { seat.unmet.saturating_sub(1) } else { seat.unmet + 1 };
            let due = seat.unmet == 0 && seat.step.as_ref().is_some_and(|step| step.status == StepStatus::Pending);
            if due {
                self.due.insert(dependent);
            } else {
                self.due.remove(dependent);
            }
        }
        if lent {
            self.seats[slot as usize].dependents = dependents;
        }
    }

    fn link(&mut self, slot: Slot, step: &Step) {
        let mut unmet = 0;
        for id in &step.content.depends_on {
            let met = match self.by_id.get(id).copied() {
                Some(on) => {
                    let seat = &mut self.seats[on as usize];
                    seat.dependents.push(slot);
                    seat.step.as_ref().is_some_and(|step| step.status == StepStatus::Completed)
                }
                None => {
                    self.awaiting.entry(id.clone()).or_default().push(slot);
                    false
                }
            };
            unmet += u32::from(!met);
        }
        self.seats[slot as usize].unmet = unmet;
    }

    fn unlink(&mut self, slot: Slot, step: &Step) {
        for id in &step.content.depends_on {
            let list = match self.by_id.get(id).copied() {
                Some(on) => &mut self.seats[on as usize].dependents,
                None => {
                    let Some(list) = self.awaiting.get_mut(id) else { continue };
                    list
                }
            };
            if let Some(at) = list.iter().position(|dependent| *dependent == slot) {
                list.swap_remove(at);
            }
            if self.awaiting.get(id).is_some_and(Vec::is_empty) {
                self.awaiting.remove(id);
            }
        }
        self.seats[slot as usize].unmet = 0;
    }

    fn list(&mut self, slot: Slot, step: &Step, same_status: bool) {
        if !same_status {
            self.by_status[step.status as usize].insert(slot);
        }
        if step.status == StepStatus::Pending && self.seats[slot as usize].unmet == 0 {
            self.due.insert(slot);
        }
        if let Some(lease) = step.lease() {
            self.leases.insert((lease, slot));
        }
        self.required_open += usize::from(step.content.required && step.status != StepStatus::Completed);
    }

    fn unlist(&mut self, slot: Slot, step: &Step, same_status: bool) {
        if !same_status {
            self.by_status[step.status as usize].remove(slot);
        }
        self.due.remove(slot);
        if let Some(lease) = step.lease() {
            self.leases.remove(&(lease, slot));
        }
        self.required_open -= usize::from(step.content.required && step.status != StepStatus::Completed);
    }

    /// A way from a step back to itself along what it depends on, where there is one: the ids on it, the first one again at the end.
    pub(crate) fn cycle(&self, from: impl IntoIterator<Item = Slot>) -> Option<Vec<StepId>> {
        /// Not seen, on the way that is walked, done.
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; self.seats.len()];
        for start in from {
            // The way, and how many of its steps' dependencies were looked at. A list of our own: the depth may be 10,000.
            let mut way: Vec<(Slot, usize)> = Vec::new();
            if marks[start as usize] == Mark::New {
                marks[start as usize] = Mark::Open;
                way.push((start, 0));
            }
            while let Some((slot, looked_at)) = way.last_mut() {
                let next = self.get(*slot).and_then(|step| step.content.depends_on.get(*looked_at));
                let Some(id) = next else {
                    marks[*slot as usize] = Mark::Done;
                    way.pop();
                    continue;
                };
                *looked_at += 1;
                let Some(on) = self.slot(id) else { continue };
                match marks[on as usize] {
                    Mark::Done => {}
                    Mark::New => {
                        marks[on as usize] = Mark::Open;
                        way.push((on, 0));
                    }
                    Mark::Open => {
                        let mut ids: Vec<StepId> = way
                            .iter()
                            .skip_while(|(slot, _)| *slot != on)
                            .filter_map(|(slot, _)| Some(self.get(*slot)?.id.clone()))
                            .collect();
                        ids.push(id.clone());
                        return Some(ids);
                    }
                }
            }
        }
        None
    }

    /// Whether each index says what the steps say. For tests.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        let mut again = Self { seats: vec![Seat::default(); self.seats.len()], ..Self::default() };
        for (slot, step) in self.iter() {
            again.put(slot, Some(Arc::clone(step)));
        }
        assert_eq!(self.by_id, again.by_id);
        assert_eq!(self.by_status, again.by_status);
        assert_eq!(self.due, again.due);
        assert_eq!(self.leases, again.leases);
        assert_eq!(self.required_open, again.required_open);
        assert_eq!(self.awaiting.len(), again.awaiting.len());
        for (slot, _) in self.iter() {
            assert_eq!(self.unmet(slot), again.unmet(slot));
            assert_eq!(self.dependents(slot), again.dependents(slot));
        }
    }
}

/// Two graphs are the same where their steps and places are; the indexes follow from them.
impl PartialEq for Graph {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().map(|(_, step)| step).eq(other.iter().map(|(_, step)| step))
    }
}
