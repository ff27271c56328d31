//! Past requests, made again (STO-11).

use agent_protocol::{ContentBlock, ContextBuilt, EventPayload, EventType, Object};
use serde_json::json;

use super::script_testing::Script;
use super::testing::fixed;
use super::world_testing::{Dice, Figures, Rates, World};
use super::*;
use crate::{Path, RebuildError, rebuild};

/// The path to a node, as it comes from the store: through its text, root first.
fn path_to(node: &NodeId, stored: &std::collections::HashMap<NodeId, NodeDraft>) -> Path {
    let mut nodes = vec![&stored[node]];
    while let Some(parent) = &nodes[nodes.len() - 1].parent_id {
        nodes.push(&stored[parent]);
    }
    let mut path = Path::new();
    for node in nodes.into_iter().rev() {
        let content: Vec<ContentBlock> = through_text(&*node.content);
        path.push(&NodeDraft { content: content.into(), metadata: through_text(&node.metadata), ..node.clone() });
    }
    path
}

fn through_text<T: serde::de::DeserializeOwned>(value: &(impl serde::Serialize + ?Sized)) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

/// STO-11, STO-13: in random worlds, every request that was sent can be made again from stored nodes and reports, when it is sent
/// (checked there) and after the path went on, in this run and in the next.
#[test]
fn every_request_can_be_made_again() {
    let mut figures = Figures::default();
    let (mut epochs, mut references, mut tails, mut shortened, mut left_out) = (0, 0, 0, 0, 0);
    for number in 0..2_000 {
        let mut dice = Dice::of_world(number);
        let rates = Rates { cancel: 20 + dice.roll(60), failed_commit: 60, ..Rates::CALM };
        let mut first = World::new(dice, Path::new(), number, rates);
        first.live(&mut figures);
        let stored = first.stored.clone();
        let World { run, dice, .. } = &first;
        let mut path = Path::new();
        run.path().nodes().iter().for_each(|node| path.push(&stored[&node.node_id]));
        let mut second = World::new(dice.clone(), path, number + 2_000, Rates::CALM);
        second.live(&mut figures);
        for sent in &first.sent {
            let built = &sent.built;
            assert_eq!(first.rebuilt(sent, second.run.path()), sent.request, "world {number}, continued");
            let loaded = path_to(built.last_node_id.as_ref().unwrap(), &stored);
            assert_eq!(first.rebuilt(sent, &loaded), sent.request, "world {number}, loaded");
            epochs = epochs.max(built.epoch);
            references += usize::from(built.epoch_part.is_none());
            tails += usize::from(!built.tail.is_empty());
            shortened += built.results_shortened;
            left_out += built.turns_out;
        }
    }
    assert!(epochs > 3, "{epochs}");
    assert!([references, tails, shortened, left_out].iter().all(|n| *n > 100), "the worlds are too tame");
}

/// A run of three requests, and their reports.
fn three_reports() -> (Script, Vec<ContextBuilt>) {
    let mut script = Script::new();
    script.play("start hi; sources");
    for n in 0..2 {
        script.play(&format!("calls look:r{n}={n}; ready r{n}; allow r{n}; done r{n} x; sources"));
    }
    let built = script.events.iter().filter(|event| event.event_type == EventType::ContextBuilt);
    let reports = built.map(|event| ContextBuilt::read(&event.payload).unwrap()).collect();
    (script, reports)
}

/// STO-11: a field that is missing or of another kind is an error that names it; one that is unknown is passed over.
#[test]
fn reports_that_cannot_be_read() {
    let (script, reports) = three_reports();
    let read = |payload: &Object| {
        let built = ContextBuilt::read(payload)?;
        rebuild(script.run.path(), &built, &built, &fixed(0))
    };
    let whole = reports[0].clone().into_object();
    for field in whole.keys().filter(|field| !["epoch_part", "system_tokens"].contains(&field.as_str())) {
        let mut payload = whole.clone();
        payload.remove(field);
        let error = read(&payload).unwrap_err().to_string();
        assert!(error.contains(&format!("missing field `{field}`")), "{error}");
        payload.insert(field.clone(), json!([true]));
        let error = read(&payload).unwrap_err().to_string();
        assert!(error.contains(&format!("at \"{field}")), "{error}");
    }
    for field in ["epoch_because", "model", "max_output_tokens", "results_limit", "budgets", "fixed_part"] {
        let mut payload = whole.clone();
        payload["epoch_part"].as_object_mut().unwrap().remove(field);
        let error = read(&payload).unwrap_err().to_string();
        assert!(error.contains("at \"epoch_part\"") && error.contains(&format!("missing field `{field}`")), "{error}");
    }
    for field in ["name", "temperature", "tool_choice", "provider_options"] {
        let mut payload = whole.clone();
        payload["epoch_part"]["model"].as_object_mut().unwrap().remove(field);
        let error = read(&payload).unwrap_err().to_string();
        assert!(error.contains("epoch_part.model") && error.contains(field), "{error}");
    }
    let mut later = whole.clone();
    later.insert("of_a_later_version".to_owned(), json!(1));
    later["epoch_part"]["model"]["of_a_later_version"] = json!({});
    assert_eq!(ContextBuilt::read(&later).unwrap(), reports[0]);
}

/// STO-11: what would give another request gives an error instead.
#[test]
fn nothing_is_made_that_was_never_sent() {
    let (script, reports) = three_reports();
    let path = script.run.path();
    let [first, second, third] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(rebuild(path, third, first, &fixed(0)).unwrap(), script.last_request.clone().unwrap());

    let given = RebuildError::OtherReport { of: RequestNo(3), wanted: RequestNo(1), given: RequestNo(2) };
    assert_eq!(rebuild(path, third, second, &fixed(0)).unwrap_err(), given);

    let bare = ContextBuilt { epoch_part: None, ..first.clone() };
    let nothing = RebuildError::NoEpochPart { request: RequestNo(1) };
    assert_eq!(rebuild(path, &bare, &bare, &fixed(0)).unwrap_err(), nothing);

    let elsewhere = rebuild(&Path::new(), third, first, &fixed(0)).unwrap_err();
    let last = third.last_node_id.clone().unwrap();
    assert_eq!(elsewhere, RebuildError::NotOnPath { request: RequestNo(3), node_id: last.clone() });
    assert!(elsewhere.to_string().contains(last.as_str()), "{elsewhere}");

    let other = ContextBuilt { nodes_in: 9, ..third.clone() };
    let differs = RebuildError::Differs { request: RequestNo(3), field: "nodes_in", then: 9, now: 5 };
    assert_eq!(rebuild(path, &other, first, &fixed(0)).unwrap_err(), differs);
}
