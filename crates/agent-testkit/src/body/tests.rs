use std::task::Waker;

use super::*;
use crate::gate::Gate;

/// A body of ten bytes in chunks of 2, 3 and 5, outside any connection.
fn body(plan: Plan) -> (ReplyBody, Arc<Flushes>, Arc<Store>) {
    let flushes = Arc::new(Flushes::default());
    let store = Arc::new(Store::new(1));
    let outcome = Outcome::new(Arc::clone(&store), 0);
    let bytes = Bytes::from_static(b"0123456789");
    (ReplyBody::scripted(bytes, vec![2, 5, 10], false, plan, Arc::clone(&flushes), outcome), flushes, store)
}

/// What the next poll yields, as text.
fn poll(body: &mut ReplyBody) -> String {
    match Pin::new(body).poll_frame(&mut Context::from_waker(Waker::noop())) {
        Poll::Pending => "pending".to_owned(),
        Poll::Ready(None) => "end".to_owned(),
        Poll::Ready(Some(Err(e))) => e.to_string(),
        Poll::Ready(Some(Ok(frame))) => String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap(),
    }
}

#[test]
fn without_a_plan_everything_goes_at_once() {
    let (mut body, ..) = body(Plan::default());
    assert_eq!([poll(&mut body), poll(&mut body)], ["0123456789", "end"]);
}

#[test]
fn a_gate_holds_whole_chunks() {
    let (gate, state) = Gate::new();
    let (mut body, ..) = body(Plan { gate: Some(state), ..Plan::default() });
    assert_eq!(poll(&mut body), "pending");
    gate.release(1);
    assert_eq!([poll(&mut body), poll(&mut body)], ["01", "pending"]);
    gate.release(2);
    assert_eq!([poll(&mut body), poll(&mut body)], ["23456789", "end"]);
}

#[test]
fn a_dropped_gate_is_open() {
    let (gate, state) = Gate::new();
    let (mut body, ..) = body(Plan { gate: Some(state), ..Plan::default() });
    assert_eq!(poll(&mut body), "pending");
    drop(gate);
    assert_eq!([poll(&mut body), poll(&mut body)], ["0123456789", "end"]);
}

#[test]
fn pieces_wait_for_the_flush_before() {
    let (mut body, flushes, _) = body(Plan { piece: Some(4), ..Plan::default() });
    assert_eq!([poll(&mut body), poll(&mut body)], ["0123", "pending"]);
    flushes.flushed();
    assert_eq!([poll(&mut body), poll(&mut body)], ["4567", "pending"]);
    flushes.flushed();
    assert_eq!([poll(&mut body), poll(&mut body)], ["89", "pending"]);
    flushes.flushed();
    assert_eq!(poll(&mut body), "end");
}

#[test]
fn a_cut_waits_until_the_bytes_before_it_are_out() {
    let (mut body, flushes, _) = body(Plan { limit: Some(3), ending: Ending::Cut, ..Plan::default() });
    assert_eq!([poll(&mut body), poll(&mut body), poll(&mut body)], ["012", "pending", "pending"]);
    flushes.flushed();
    assert_eq!(poll(&mut body), "cut by the script");
}

#[test]
fn a_stall_never_ends() {
    let (mut body, flushes, _) = body(Plan { limit: Some(3), ending: Ending::Stall, ..Plan::default() });
    assert_eq!(poll(&mut body), "012");
    flushes.flushed();
    assert_eq!([poll(&mut body), poll(&mut body)], ["pending", "pending"]);
}

#[test]
fn a_gate_counts_the_pieces_of_a_cut_body() {
    let (gate, state) = Gate::new();
    let plan = Plan { gate: Some(state), piece: Some(3), limit: Some(7), ending: Ending::Cut };
    let (mut body, flushes, _) = body(plan);
    gate.release(3);
    for expected in ["012", "345", "6"] {
        assert_eq!([poll(&mut body), poll(&mut body)], [expected, "pending"]);
        flushes.flushed();
    }
    assert_eq!(poll(&mut body), "pending");
    flushes.flushed();
    assert_eq!(poll(&mut body), "cut by the script");
}
