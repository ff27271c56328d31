//! When a session is looked through: its runs, the one job beside them, and the clock that waits for quiet (MEM-09).

use super::trigger::Tried;

/// What stands at one session. `T` says where to work, `C` is a clock that stops when it is dropped.
#[derive(Debug)]
pub(super) struct ExtractionSchedule<T, C> {
    /// A run is at work there.
    running: bool,
    /// A job is.
    at_work: bool,
    /// A run ended while the job was at work.
    again: Option<T>,
    clock: Option<C>,
    pub(super) tried: Tried,
}

impl<T, C> Default for ExtractionSchedule<T, C> {
    fn default() -> Self {
        Self { running: false, at_work: false, again: None, clock: None, tried: Tried::default() }
    }
}

/// What a look, or a job, came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Round {
    /// Something was done: there may be more.
    More,
    /// There is something that quiet is waited for with.
    Wait,
    /// There is nothing to do.
    Rest,
}

/// What comes after it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<T> {
    /// Another look, there or where a run ended meanwhile.
    Look(Option<T>),
    /// The clock is to be set.
    SetClock,
    /// Nothing.
    Rest,
}

impl<T, C> ExtractionSchedule<T, C> {
    /// A run begins: it is not quiet any more.
    pub(super) fn run_begins(&mut self) {
        self.running = true;
        self.clock = None;
    }

    /// A run has ended; gives the place back if somebody has to begin to work there.
    pub(super) fn run_ended(&mut self, place: T) -> Option<T> {
        self.running = false;
        self.clock = None;
        if self.at_work {
            self.again = Some(place);
            return None;
        }
        self.at_work = true;
        Some(place)
    }

    /// A round is over.
    pub(super) fn after(&mut self, round: Round) -> Next<T> {
        if let Some(place) = self.again.take() {
            return Next::Look(Some(place));
        }
        match round {
            Round::More => return Next::Look(None),
            Round::Wait if !self.running => {
                self.at_work = false;
                return Next::SetClock;
            }
            // The run's end brings the next look.
            Round::Wait | Round::Rest => {}
        }
        self.at_work = false;
        Next::Rest
    }

    pub(super) fn set_clock(&mut self, clock: C) {
        self.clock = Some(clock);
    }

    /// The clock has run out; whether somebody has to begin to work.
    pub(super) fn quiet(&mut self) -> bool {
        let begins = self.clock.take().is_some() && !self.running && !self.at_work;
        self.at_work |= begins;
        begins
    }

    pub(super) fn is_at_work(&self) -> bool {
        self.at_work
    }

    /// Nothing would be lost with it.
    pub(super) fn is_empty(&self) -> bool {
        !self.running && !self.at_work && self.clock.is_none() && self.tried.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type TestSchedule = ExtractionSchedule<u32, ()>;

    /// MEM-09: ten quick turns, one job; what they said is looked at after it, once.
    #[test]
    fn one_job_at_a_time() {
        let mut schedule = TestSchedule::default();
        let mut begun = 0;
        for turn in 0..10 {
            schedule.run_begins();
            begun += u32::from(schedule.run_ended(turn).is_some());
        }
        assert_eq!(begun, 1);
        assert_eq!(schedule.after(Round::More), Next::Look(Some(9)));
        assert_eq!(schedule.after(Round::More), Next::Look(None));
        assert_eq!(schedule.after(Round::Rest), Next::Rest);
        assert!(schedule.is_empty());
    }

    /// MEM-3: the next run stops the clock; during a run none is set.
    #[test]
    fn quiet_ends_with_the_next_run() {
        let mut schedule = TestSchedule::default();
        schedule.run_begins();
        assert_eq!(schedule.run_ended(0), Some(0));
        assert_eq!(schedule.after(Round::Wait), Next::SetClock);
        schedule.set_clock(());
        schedule.run_begins();
        assert!(!schedule.quiet(), "a clock that fires late finds a run at work");
        assert_eq!(schedule.run_ended(1), Some(1));
        schedule.run_begins();
        assert_eq!(schedule.after(Round::Wait), Next::Rest, "a run is at work");
        assert_eq!(schedule.run_ended(2), Some(2));
        assert_eq!(schedule.after(Round::Wait), Next::SetClock);
        schedule.set_clock(());
        assert!(schedule.quiet() && schedule.is_at_work());
        assert!(!schedule.quiet(), "once");
    }
}
