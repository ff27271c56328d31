//! What goes wrong on the server's side: one clear sentence, exit 1, and the session goes on afterwards.

use std::net::TcpListener;

use agent_testkit::{Model, Protocol, Reply, ScriptedServer};

use crate::process::Ended;
use crate::support::World;

/// However often the model is asked, the run fails, says so in one error, answers nothing, and its session is usable.
/// Returns how often it was asked.
#[track_caller]
fn fails(world: &World, reply: impl Fn() -> Reply + Send + Sync + 'static, words: &[&str]) -> usize {
    let before = world.server.request_count();
    world.server.respond_with(move |_, _| reply());
    let ended = world.run(&["run", "hi"]).exits(1).one_error().says(words).answers("");
    let tries = world.server.request_count() - before;
    assert!(ended.stderr.len() < 2000 && tries <= 9, "{tries} tries: {}", ended.stderr);
    world.goes_on(&ended.session());
    tries
}

/// Another model answers in the session of a failed run.
#[track_caller]
fn another_answers(world: &World, model: &str, failed: &Ended) {
    world.configure(&format!("model.name = \"{model}\""));
    world.server.push(Reply::text("I can."));
    world.run(&["run", "--session-id", &failed.session(), "hi"]).exits(0).answers("I can.");
}

/// PRV-10: nothing listens: it says where, and what to do.
#[test]
fn server_down() {
    for world in World::each("server_down") {
        let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        world.configure_at(&format!("http://{nobody}"), "");
        let ended = world.run(&["run", "hi"]).exits(1).one_error().answers("");
        let session = ended.says(&["connection refused", &nobody.to_string(), "base_url"]).session();
        world.configure("");
        world.goes_on(&session);
    }
}

/// PRV-19: a model that is not there: it says what is.
#[test]
fn model_not_pulled() {
    for &protocol in Protocol::ALL {
        let server = ScriptedServer::builder().models([Model::new("this"), Model::new("that")]).start_blocking();
        let world = World::on(server, protocol, "model_not_pulled");
        let ended = world.run(&["run", "hi"]).exits(1).one_error().says(&["scripted", "this", "that"]).answers("");
        if protocol == Protocol::Ollama {
            ended.clone().says(&["ollama pull scripted"]);
        }
        another_answers(&world, "this", &ended);
    }
}

/// PRV-3: a model without tools: the run fails, and names it and what is missing.
#[test]
fn model_without_tools() {
    for &protocol in Protocol::ALL {
        let models = [Model::new("scripted").capabilities(["completion"]), Model::new("handy")];
        let server = ScriptedServer::builder().models(models).start_blocking();
        let world = World::on(server, protocol, "model_without_tools");
        let ended = world.run(&["run", "hi"]).exits(1).one_error().says(&["scripted", "tools"]).answers("");
        assert_eq!(world.server.request_count(), 1, "it is not asked again without tools");
        another_answers(&world, "handy", &ended);
    }
}

/// PRV-8, PRV-10: a refused key is not tried again, a server's own failure is; the server's words are shown.
#[test]
fn refusals() {
    for world in World::each("refusals") {
        let unknown_key = || Reply::error(401, "no such key");
        assert_eq!(fails(&world, unknown_key, &["401", "no such key", "model.api_key_env"]), 1);
        let broken = || Reply::error(500, "the model process died");
        assert_eq!(fails(&world, broken, &["500", "the model process died"]), 3);
        world.server.script([broken(), Reply::text("Now it works.")]);
        world.run(&["run", "hi"]).exits(0).answers("Now it works.").says(&["asking again"]);
    }
}

/// PRV-7, RUN-23, STRM-21: half a stream is asked for again, at most twice; it is never the answer, nor part of one, and
/// nobody is told of an output limit.
#[test]
fn half_a_stream() {
    for world in World::each("half_a_stream") {
        let half = || Reply::text("Half of an answer. ").chunks(3).drop_connection();
        assert_eq!(fails(&world, half, &["before the reply was complete", "the answer broke off"]), 3);
        world.server.script([half(), Reply::text("The whole answer.")]);
        let ended = world.run(&["run", "hi"]).exits(0).answers("The whole answer.");
        ended.says(&["the answer broke off", "Half of an answer."]).never_says(&["limit", "max_"]);
        // Without its end mark it is only half, however properly the connection ends.
        assert_eq!(fails(&world, || Reply::text("Nearly").without_end(), &["ended early"]), 3);
    }
}

/// PRV-7: rubbish instead of the protocol, or nothing at all, is a failure and never an answer.
#[test]
fn rubbish() {
    let rubbish: [fn() -> Reply; 6] = [
        || Reply::raw("<html><body>It works!</body></html>", "text/html"),
        || Reply::raw("It works!\n", "text/plain"),
        || Reply::raw("data: {not json}\n\n{not json}\n", "text/event-stream"),
        || Reply::raw(b"\xff\xfe\x00\n\n".to_vec(), "application/octet-stream"),
        || Reply::raw("", "application/json"),
        Reply::hang_up,
    ];
    for world in World::each("rubbish") {
        for reply in rubbish {
            fails(&world, reply, &[world.protocol.provider()]);
        }
    }
}

/// RUN-9, STRM-17: a model that says nothing is asked once more, then the run fails; it is no silent success.
#[test]
fn silence() {
    for world in World::each("silence") {
        assert_eq!(fails(&world, Reply::empty, &["neither text nor"]), 2);
        world.server.script([Reply::empty(), Reply::text("Sorry. Here.")]);
        world.run(&["run", "hi"]).exits(0).answers("Sorry. Here.");
    }
}
