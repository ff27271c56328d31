//! Throw-away.
use crate::support::*;
use agent_protocol::*;
use agent_store::*;
use serde_json::json;
/// CPU time of the process.
#[derive(Clone, Copy)]
struct Instant(u64);
impl Instant {
    fn now() -> Self {
        Self(std::fs::read_dir("/proc/self/task").unwrap().filter_map(|t| std::fs::read_to_string(t.unwrap().path().join("schedstat")).ok()).map(|s| s.split(' ').next().unwrap().parse::<u64>().unwrap()).sum())
    }
    fn elapsed(self) -> std::time::Duration { std::time::Duration::from_nanos(Self::now().0.saturating_sub(self.0)) }
}

#[tokio::test]
async fn perf_replay() {
    let place = Place::new("perf");
    let store = place.open().await;
    let w = Writing::begin(&store, "1").await;
    let t = Instant::now();
    for n in 0..2_000u64 {
        let mut writes = vec![w.node(n + 1, n)];
        for k in 0..50u64 {
            let d = EventDraft::new(if k % 2 == 0 { EventType::ToolStarted } else { EventType::ModelCompleted });
            let d = if k % 5 == 0 { d.node(&w.run.node(n + 1)) } else { d };
            let d = d
                .with("tool", "code.read_file")
                .with("duration_ms", 17)
                .with("usage", json!({"input_tokens": 1200, "output_tokens": 30}))
                .with("path", "src/sqlite/decode.rs");
            writes.push(Write::Event(d));
        }
        store.commit(&w.lease, w.commit(writes)).await.unwrap();
    }
    println!("100k events stored in {:?}", t.elapsed());
    for scope in [
        ReplayScope::Session { session_id: w.session().clone(), from_seq: None, to_seq: None, agent_id: None },
        ReplayScope::Run(w.run.clone()),
    ] {
        for _ in 0..3 {
            let t = Instant::now();
            let (mut at, mut n, mut pages) = (ReplayCursor::default(), 0, 0);
            loop {
                let page = store.replay(&scope, at).await.unwrap();
                n += page.events.len();
                pages += 1;
                match page.next {
                    Some(next) => at = next,
                    None => break,
                }
            }
            let e = t.elapsed();
            println!("{n} events, {pages} pages in {e:?}: {:.0}/s", n as f64 / e.as_secs_f64());
        }
    }
    let t = Instant::now();
    let scope =
        ReplayScope::Session { session_id: w.session().clone(), from_seq: Some(99_000), to_seq: None, agent_id: None };
    store.replay(&scope, ReplayCursor::default()).await.unwrap();
    println!("from 99000: {:?}", t.elapsed());
    let t = Instant::now();
    let d = store.delete_session(w.lease).await.unwrap();
    println!("deleted {} events in {:?}", d.events, t.elapsed());
}

#[tokio::test]
async fn perf_commit() {
    let place = Place::new("perf-commit");
    let store = place.open().await;
    let w = Writing::begin(&store, "1").await;
    for _ in 0..3 {
        let t = Instant::now();
        let base = store.events(w.session(), 0, u32::MAX).await.unwrap().len() as u64;
        for n in base + 1..=base + 3_000 {
            store.commit(&w.lease, w.turn(n)).await.unwrap();
        }
        println!("commit {:?}", t.elapsed() / 3_000);
    }
}

#[tokio::test]
async fn perf_search() {
    let place = Place::new("perf-search");
    let store = place.open().await;
    let t = Instant::now();
    let mut seed = 88172645463325252u64;
    let mut rnd = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 33) as f64 / (1u64 << 31) as f64
    };
    for n in 0..10_000u64 {
        let w = Writing::begin(&store, &n.to_string()).await;
        let texts: Vec<String> = (0..6)
            .map(|_| {
                (0..60)
                    .map(|_| {
                        let x = (rnd() * (50_000f64).ln()).exp() as u64;
                        format!("{}{x} ", ["ab", "ce", "log", "mi", "so", "tr", "wx"][(x % 7) as usize])
                    })
                    .collect()
            })
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        w.say(&store, 1, &texts).await;
    }
    println!("10k sessions made in {:?}", t.elapsed());
    let all = SessionFilter::default();
    for words in ["ce1", "ce1", "ce1 mi17", "so4404 ce1", "a*", "log4* tr5*", "nothing", "ab7 ce1 log2 mi3 so4 tr5"] {
        let t = Instant::now();
        let hits = store.search(words, &all, 20, 0).await.unwrap();
        println!("search {words}: {} hits {:?}", hits.len(), t.elapsed());
    }
    let t = Instant::now();
    store.list_sessions(&all, 50, 0).await.unwrap();
    println!("list 50: {:?}", t.elapsed());
    let t = Instant::now();
    store.list_sessions(&all, 50, 9_900).await.unwrap();
    println!("list 50 at 9900: {:?}", t.elapsed());
    let t = Instant::now();
    println!("strays {} {:?}", store.stray_files(None).await.unwrap().len(), t.elapsed());
    for n in [5, 5000, 9999] {
        let (_, lease) = store.claim_session(&session_id(&format!("sess_{n}"))).await.unwrap();
        let t = Instant::now();
        store.delete_session(lease).await.unwrap();
        println!("delete {:?}", t.elapsed());
    }
    let t = Instant::now();
    let w = Writing::begin(&store, "new").await;
    println!("begin {:?}", t.elapsed());
    drop(w);
    println!("db {} MB", std::fs::metadata(place.database()).unwrap().len() >> 20);
}
