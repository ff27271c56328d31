//! Who belongs to a call: the session, and what left it.
//!
//! A group is signalled by its id, but a process can leave the group (`set -m` in a shell) and the session (`setsid`).
//! The census reads the process table for those: members of the session, carriers of the call's marker, descendants of
//! either while the chain of parents still stands, and whoever was found before. A process that leaves the session,
//! clears its environment and loses its parent before any census is taken escapes, unless orphans are adopted.

use crate::{
    marker::Marker,
    orphans,
    process_table::{self, Process},
};
use std::collections::HashMap;

/// Finds the processes of one call.
#[derive(Debug, Clone)]
pub(crate) struct Census {
    /// The process id of the program, which is the id of its session and group too.
    leader: i32,
    marker: Marker,
    /// Pid and start of the members seen last, for when the tie that they were found by is gone.
    known: HashMap<i32, u64>,
    /// How to read the process table.
    table: fn() -> Option<Vec<Process>>,
}

impl Census {
    pub(crate) fn new(leader: i32, marker: Marker) -> Self {
        Self { leader, marker, known: HashMap::new(), table: process_table::table }
    }

    /// A census as on a system without a process table.
    #[cfg(test)]
    pub(crate) fn blind(leader: i32) -> Self {
        Self { table: || None, ..Self::new(leader, Marker::new()) }
    }

    /// The members of the call that run, the leader included. `None` if the process table cannot be read here. Blocks
    /// for some milliseconds. The leader must not be collected yet.
    pub(crate) fn take(&mut self) -> Option<Vec<Process>> {
        let table = (self.table)()?;
        let marker = &self.marker;
        let orphans = orphans::of_call(self.leader, &table, process_table::carries);
        let members =
            self.select(&table, |process| orphans.contains(&process.pid) || process_table::carries(process, marker));
        self.known = members.iter().map(|member| (member.pid, member.started)).collect();
        Some(members)
    }

    fn select(&self, table: &[Process], marked: impl Fn(&Process) -> bool) -> Vec<Process> {
        // No descendant is older than the leader. That also spares reading the environments of all the others.
        let since = table.iter().find(|process| process.pid == self.leader).map_or(0, |leader| leader.started);
        let (mut members, mut others): (Vec<&Process>, Vec<&Process>) =
            table.iter().filter(|process| process.alive && process.started >= since).partition(|process| {
                process.session == self.leader
                    || process.group == self.leader
                    || self.known.get(&process.pid) == Some(&process.started)
                    || marked(process)
            });
        let mut parents = 0;
        while let Some(parent) = members.get(parents).map(|member| member.pid) {
            let (children, rest) = others.into_iter().partition(|process| process.parent == parent);
            members.extend::<Vec<_>>(children);
            others = rest;
            parents += 1;
        }
        members.into_iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests;
