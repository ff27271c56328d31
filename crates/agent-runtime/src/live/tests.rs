use agent_protocol::{EventId, EventType, Level, Object, RuntimeEvent, SessionId, Timestamp};

use super::Live;
use super::state::{State, TAIL};
use agent_protocol::RunId;

impl Live {
    /// As if somebody debugged from the beginning.
    pub(crate) fn debugged(self) -> Self {
        self.state().debug = true;
        self
    }

    pub(crate) fn debug_deltas(&self) -> Vec<(EventType, Object)> {
        self.state().debug_deltas.iter().map(|placed| placed.what.clone()).collect()
    }

    pub(crate) fn pending_text(&self) -> String {
        self.state().messages.iter().map(|message| message.text.as_str()).collect()
    }
}

fn event(run_seq: u64) -> RuntimeEvent {
    let run_id = RunId::parse("run_t").unwrap();
    RuntimeEvent {
        event_id: EventId::parse(&format!("evt_t_{run_seq}")).unwrap(),
        seq: Some(run_seq),
        run_seq: Some(run_seq),
        session_id: SessionId::parse("sess_t").unwrap(),
        agent_id: None,
        run_id: Some(run_id),
        level: Level::Info,
        event_type: EventType::ToolCompleted,
        node_id: None,
        tool_call_id: None,
        payload: Object::new(),
        created_at: Timestamp::from_unix_millis(0),
    }
}

fn tail(numbers: &[u64]) -> (Vec<u64>, u64) {
    let mut state = State::new(true);
    for number in numbers {
        state.keep(&event(*number));
    }
    (state.tail.iter().filter_map(|event| event.run_seq).collect(), state.newest)
}

/// EVT-2, EVT-4: the tail has no gap and only moves forward. A stored event that was never published makes it begin anew,
/// so that a consumer reads the gap from the store; one that comes late or twice changes nothing.
#[test]
fn the_tail_has_no_gap() {
    assert_eq!(tail(&[1, 2, 3]), (vec![1, 2, 3], 3));
    assert_eq!(tail(&[1, 2, 4, 5]), (vec![4, 5], 5));
    assert_eq!(tail(&[1, 3, 2, 3, 4]), (vec![3, 4], 4));
    let many: Vec<_> = (1..=1000).collect();
    assert_eq!(tail(&many).0, (1000 - TAIL as u64 + 1..=1000).collect::<Vec<_>>());
}

impl State {
    /// How much is kept: events, messages, views, debug deltas.
    pub(super) fn kept(&self) -> (usize, usize, usize, usize) {
        (self.tail.len(), self.messages.len(), self.views.len(), self.debug_deltas.len())
    }
}
