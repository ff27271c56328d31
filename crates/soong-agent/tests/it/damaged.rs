//! Damage of what is stored (FND-09, FND-16).

use std::fs;

use agent_testkit::Reply;
use rusqlite::Connection;
use serde_json::Value;

use crate::support::{World, calls, read};

fn database(world: &World) -> Connection {
    Connection::open(world.home.home.join("sessions.sqlite")).unwrap()
}

/// FND-09: one damaged session is named as such, in lists for people and scripts; the others are shown; a search says what it could
/// not search.
#[test]
fn one_damaged_session() {
    let world = World::new("one_damaged");
    let (bad, good) = (world.session("Find the mango.", "Here."), world.session("Find the mango too.", "There."));
    for (sql, listed) in [
        ("UPDATE sessions SET metadata_json = '[' WHERE session_id = ?1", false),
        ("UPDATE runs SET usage_json = 'x' WHERE session_id = ?1", false),
        ("UPDATE nodes SET content_json = 'x' WHERE session_id = ?1", false),
        ("UPDATE events SET payload_json = 'x' WHERE session_id = ?1", true),
    ] {
        let whole = fs::read(world.home.home.join("sessions.sqlite")).unwrap();
        assert!(database(&world).execute(sql, [&bad]).unwrap() > 0);
        let list = world.run(&["sessions"]);
        assert!(list.stdout.contains(&format!("{good}\t")) && list.stdout.contains(&format!("{bad}\t")), "{list:?}");
        assert_eq!(list.stdout.contains("\tdamaged\t"), !listed, "{sql}: {list:?}");
        list.exits(i32::from(!listed));
        let found = world.run(&["sessions", "--search", "mango"]);
        assert!(found.stdout.contains(&format!("{good}\t")), "{sql}: {found:?}");
        assert_eq!(found.code == 0, listed, "{sql}: {found:?}");
        if !listed {
            assert!(format!("{}{}", found.stdout, found.stderr).contains(&bad), "{sql}: {found:?}");
        }
        assert!(world.run(&["replay", &good]).exits(0).stdout.contains("There."), "{sql}");
        fs::write(world.home.home.join("sessions.sqlite"), whole).unwrap();
    }
}

/// FND-09: a replay goes on behind a row that cannot be read, names it, and does not call what it showed whole.
#[test]
fn replay_goes_on() {
    let world = World::new("replay_goes_on");
    world.home.write("project/a.txt", "a");
    world.server.script([calls(read("a.txt")), Reply::text("Read.")]);
    let session = world.run(&["run", "Read it."]).exits(0).session();
    for (table, id) in [("nodes", "node_id"), ("events", "event_id")] {
        let whole = fs::read(world.home.home.join("sessions.sqlite")).unwrap();
        let conn = database(&world);
        let place = if table == "nodes" { "node_seq" } else { "seq" };
        let row: String = conn
            .query_row(&format!("SELECT {id} FROM {table} ORDER BY {place} LIMIT 1 OFFSET 2"), [], |row| row.get(0))
            .unwrap();
        conn.execute(&format!("UPDATE {table} SET created_at = 'x' WHERE {id} = ?1"), [&row]).unwrap();
        drop(conn);
        for more in [&[][..], &["--debug"], &["--context"]] {
            let shown = world.run(&[&["replay", &session][..], more].concat()).exits(1);
            assert!(shown.stdout.contains(&row) && shown.stdout.contains("damage"), "{table} {more:?}: {shown:?}");
            assert!(shown.stdout.contains("completed"), "{table} {more:?}: {shown:?}");
        }
        fs::write(world.home.home.join("sessions.sqlite"), whole).unwrap();
    }
    world.run(&["replay", &session]).exits(0);
}

/// All numbers of a value, by their places.
fn numbers(value: &Value, place: &str, out: &mut Vec<String>) {
    match value {
        Value::Number(_) => out.push(place.to_owned()),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| numbers(item, &format!("{place}/{at}"), out))
        }
        Value::Object(fields) => fields.iter().for_each(|(key, item)| numbers(item, &format!("{place}/{key}"), out)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// FND-09: whatever numbers stand in what is stored, nothing that shows them panics.
#[test]
fn huge_numbers() {
    let world = World::new("huge_numbers");
    world.home.write("project/a.txt", "a");
    world.server.script([calls(read("a.txt")), Reply::text("Read.")]);
    let session = world.run(&["run", "Read it."]).exits(0).session();
    let conn = database(&world);
    let rows = |sql: &str| -> Vec<(String, String)> {
        let mut statement = conn.prepare(sql).unwrap();
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
    };
    let events = rows("SELECT event_id, payload_json FROM events ORDER BY seq");
    let huge: Vec<Value> = ["18446744073709551615", "9223372036854775807", "1e308", "-1", "0"]
        .into_iter()
        .map(|number| serde_json::from_str(number).unwrap())
        .collect();
    let show = |what: &str| {
        for more in [&[][..], &["--debug"], &["--context"]] {
            let shown = world.run(&[&["replay", &session][..], more].concat());
            assert!(shown.code < 2 && !shown.stderr.contains("panicked"), "{what}: {shown:?}");
        }
        let list = world.run(&["sessions"]);
        assert!(list.code < 2 && !list.stderr.contains("panicked"), "{what}: {list:?}");
    };
    // All at once.
    for number in &huge {
        for (id, payload) in &events {
            let mut payload: Value = serde_json::from_str(payload).unwrap();
            let mut places = Vec::new();
            numbers(&payload, "", &mut places);
            for place in places {
                *payload.pointer_mut(&place).unwrap() = number.clone();
            }
            conn.execute("UPDATE events SET payload_json = ?2 WHERE event_id = ?1", (id, payload.to_string())).unwrap();
        }
        show(&format!("all {number}"));
    }
    // One of a report at a time: sums and differences with what is small.
    let mut tried = 0;
    for (id, good) in events.iter().filter(|(_, payload)| payload.contains("request_tokens")).take(1) {
        let mut places = Vec::new();
        numbers(&serde_json::from_str(good).unwrap(), "", &mut places);
        for (id, payload) in &events {
            conn.execute("UPDATE events SET payload_json = ?2 WHERE event_id = ?1", (id, payload)).unwrap();
        }
        for place in places {
            let mut payload: Value = serde_json::from_str(good).unwrap();
            *payload.pointer_mut(&place).unwrap() = huge[0].clone();
            conn.execute("UPDATE events SET payload_json = ?2 WHERE event_id = ?1", (id, payload.to_string())).unwrap();
            let shown = world.run(&["replay", &session, "--context"]);
            assert!(shown.code < 2 && !shown.stderr.contains("panicked"), "{place}: {shown:?}");
            tried += 1;
        }
    }
    assert!(tried > 10, "{tried} numbers of a report");
    for sql in [
        "UPDATE runs SET turn_count = 4294967295, usage_json = '{\"input_tokens\": 18446744073709551615, \"output_tokens\": 18446744073709551615}'",
        "UPDATE events SET created_at = '9999-99-99T99:99:99.999Z' WHERE seq % 2 = 0",
        "UPDATE sessions SET updated_at = '9999-99-99T99:99:99.999Z', created_at = '0000-00-00T00:00:00.000Z'",
        "UPDATE nodes SET token_count = 9223372036854775807",
    ] {
        assert!(conn.execute(sql, []).unwrap() > 0);
        show(sql);
    }
}

/// FND-16: a damaged database is named with the command that saves what can be read; that command does, says what is lost, keeps the
/// old one, and the rest is there as it was.
#[test]
fn repair_saves_what_can_be_read() {
    let world = World::new("repair");
    let sessions: Vec<_> = (0..12).map(|n| world.session(&format!("Question {n}."), &format!("Answer {n}."))).collect();
    let path = world.home.home.join("sessions.sqlite");
    let good = fs::read(&path).unwrap();
    let (mut saved, mut refused) = (0, 0);
    for page in (1..good.len() / 4096).step_by(3) {
        let mut bytes = good.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0xa5);
        fs::write(&path, &bytes).unwrap();
        let ended = world.run(&["sessions", "repair"]);
        assert!(ended.code < 2 && !ended.stderr.contains("panicked"), "page {page}: {ended:?}");
        let aside = world.left_in_home().into_iter().find(|name| name.contains(".damaged-"));
        let Some(aside) = aside else {
            assert_eq!(fs::read(&path).unwrap(), bytes, "page {page}: {ended:?}");
            refused += 1;
            continue;
        };
        assert_eq!(fs::read(world.home.home.join(&aside)).unwrap(), bytes, "page {page}");
        assert!(ended.stderr.contains(&aside), "page {page}: {ended:?}");
        let list = world.run(&["sessions", "--all"]).exits(0);
        let listed = sessions.iter().filter(|id| list.stdout.contains(id.as_str())).count();
        assert!(listed == sessions.len() || ended.code == 1, "page {page}: {listed}: {ended:?}");
        saved += listed;
        fs::remove_file(world.home.home.join(aside)).unwrap();
    }
    assert!(saved > 60 && refused < 3, "{saved} sessions saved, {refused} refused");
    // A whole one, and one that a tool copied, lose nothing.
    fs::write(&path, &good).unwrap();
    world.run(&["sessions", "repair"]).exits(0).never_says(&["lost"]);
    database(&world).execute_batch("PRAGMA application_id = 0").unwrap();
    world.run(&["sessions"]).exits(1).one_error().says(&["sessions repair"]);
    world.run(&["sessions", "repair"]).exits(0);
    for session in &sessions {
        world.run(&["replay", session]).exits(0);
    }
    world.goes_on(&sessions[3]);
}

/// FND-16: a row that cannot be read is left out, or what others need of it is set to a neutral value; both are listed, and the
/// session goes on from what is left.
#[test]
fn repair_names_what_is_lost() {
    let world = World::new("repair_rows");
    let session = world.session("Remember the word mango.", "I shall.");
    world.goes_on(&session);
    let conn = database(&world);
    let last: String = conn.query_row("SELECT active_node_id FROM sessions", [], |row| row.get(0)).unwrap();
    conn.execute("UPDATE nodes SET content_json = 'x' WHERE node_id = ?1", [&last]).unwrap();
    conn.execute("UPDATE sessions SET metadata_json = '['", []).unwrap();
    drop(conn);
    world.run(&["sessions"]).exits(1).says(&["sessions repair"]);
    let ended = world.run(&["sessions", "repair"]).exits(1).says(&["not everything could be saved"]);
    for words in ["lost: 1 row of nodes", "metadata_json could not be read", "goes on from node"] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
    world.run(&["sessions"]).exits(0);
    world.goes_on(&session);
}

/// A session whose row is lost is there again with all that was said, without its project, and `sessions move` brings it back.
#[test]
fn repair_makes_a_session_anew() {
    let world = World::new("repair_anew");
    let session = world.session("Remember the word mango.", "I shall.");
    database(&world)
        .execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM sessions; DELETE FROM runs; DELETE FROM agents")
        .unwrap();
    let ended = world.run(&["sessions", "repair"]).exits(1);
    assert!(ended.stdout.contains("changed: ") && ended.stdout.contains("/unknown-project"), "{ended:?}");
    let again = world.run(&["sessions", "repair"]).exits(0);
    assert!(!again.stdout.contains("changed") && !again.stdout.contains("lost"), "{again:?}");
    assert!(world.run(&["replay", &session]).exits(0).stdout.contains("mango"));
    let project = world.home.project.to_string_lossy().into_owned();
    world.run(&["sessions", "move", &session, &project]).exits(0);
    world.goes_on(&session);
}

/// A repair that can do nothing does not advise itself as before, and leaves the file as it is.
#[test]
fn beyond_repair_says_what_is_left_to_try() {
    let world = World::new("beyond_repair");
    world.session("hi", "Hello.");
    let path = world.home.home.join("sessions.sqlite");
    let good = fs::read(&path).unwrap();
    let mut damaged = good.clone();
    damaged[..4096].fill(0xa5);
    for bytes in [&damaged[..], &good[..4096]] {
        fs::write(&path, bytes).unwrap();
        world.run(&["sessions", "repair"]).exits(1).says(&["cannot repair", ".recover"]).never_says(&["to repair it:"]);
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
}

/// Folders of sessions without their database are no new home.
#[test]
fn a_missing_database_is_named() {
    let world = World::new("missing_database");
    world.run(&["sessions"]).exits(0).never_says(&["warning"]);
    let session = world.session("hi", "Hello.");
    let path = world.home.home.join("sessions.sqlite");
    for end in ["-wal", "-shm"] {
        let _ = fs::remove_file(world.home.home.join(format!("sessions.sqlite{end}")));
    }
    for empty in [true, false] {
        if empty {
            fs::write(&path, "").unwrap()
        } else {
            fs::remove_file(&path).unwrap()
        }
        world.run(&["sessions"]).exits(0).says(&["warning: ", "one session folder", "missing or empty"]);
        world.run(&["sessions", "repair"]).exits(1).says(&["one session folder", "missing or empty"]);
        world.run(&["replay", &session]).exits(1).says(&["missing or empty"]);
    }
}

/// FND-16: what a removal that was broken off has left goes with the same command, again.
#[test]
fn a_broken_off_removal() {
    let world = World::new("broken_off_removal");
    let session = world.session("hi", "Hello.");
    let folder = world.home.home.join("sessions").join(&session);
    fs::create_dir_all(folder.join("artifacts/art_1")).unwrap();
    fs::write(folder.join("artifacts/art_1/out.txt"), "left").unwrap();
    // As if it had been killed between its rows and its files.
    let kept = world.home.root.join("kept");
    fs::rename(&folder, &kept).unwrap();
    world.run(&["cleanup", "session", &session, "--yes"]).exits(0);
    fs::rename(&kept, &folder).unwrap();
    world.run(&["cleanup", "session", &session, "--yes"]).exits(0).says(&["was removed before"]);
    assert!(!folder.exists());
    world.run(&["cleanup", "session", &session, "--yes"]).exits(2).one_error().says(&["there is no session"]);
}

/// FND-16: an empty database is one that holds nothing, not one that is missing.
#[test]
fn an_empty_database() {
    let world = World::new("empty_database");
    fs::write(world.home.home.join("sessions.sqlite"), "").unwrap();
    world.run(&["replay", "last"]).exits(2).one_error().says(&["nothing is stored"]).never_says(&["does not exist"]);
}
