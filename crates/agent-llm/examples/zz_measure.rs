#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]
use agent_llm::*;
use agent_protocol::*;
use futures::StreamExt;
use std::io::{Read, Write};
use std::time::Instant;
use tokio_util::sync::CancellationToken;
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    s.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e6
}
fn rss() -> String {
    std::fs::read_to_string("/proc/self/status")
        .unwrap()
        .lines()
        .filter(|l| l.starts_with("VmRSS") || l.starts_with("VmHWM") || l.starts_with("Threads"))
        .collect::<Vec<_>>()
        .join(" ")
}
fn main() {
    let n: usize = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1);
    let proto = std::env::args().nth(2).unwrap_or("ollama".into());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let p2 = proto.clone();
    std::thread::spawn(move || {
        let (mut s, _) = listener.accept().unwrap();
        let mut buf = vec![0; 65536];
        let mut body = String::new();
        for _ in 0..n {
            if p2 == "ollama" {
                body.push_str("{\"model\":\"gemma4\",\"created_at\":\"2026-09-01T10:00:00Z\",\"message\":{\"role\":\"assistant\",\"content\":\"word \"},\"done\":false}\n")
            } else {
                body.push_str("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"},\"finish_reason\":null}]}\n\n")
            }
        }
        if p2 == "ollama" {
            body.push_str("{\"message\":{\"content\":\"\"},\"done\":true}\n")
        } else {
            body.push_str("data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
        }
        let resp = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.len(), body);
        loop {
            let k = s.read(&mut buf).unwrap();
            if k == 0 {
                break;
            }
            let _ = s.write_all(resp.as_bytes());
        }
    });
    std::thread::sleep(std::time::Duration::from_millis(50));
    println!("before: {}", rss());
    let (t0, c0) = (Instant::now(), cpu());
    let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let c1 = cpu();
    let url = if proto == "ollama" { format!("http://{addr}") } else { format!("http://{addr}/v1") };
    let a = ProviderRegistry::with_builtin().build(&proto, ProviderSettings::new(url)).unwrap();
    let c2 = cpu();
    let req = || ModelRequest {
        model: "m".into(),
        system: Default::default(),
        messages: vec![std::sync::Arc::new(ModelMessage::new(Role::User, vec![ContentBlock::text("hi")]))],
        tools: Default::default(),
        tool_choice: ToolChoice::Auto,
        temperature: None,
        max_output_tokens: 10,
        provider_options: Object::new(),
        metadata: Object::new(),
    };
    for round in 0..3 {
        let (t, c) = (Instant::now(), cpu());
        let mut first = None;
        let mut deltas = 0;
        rt.block_on(async {
            let mut s = a.stream(req(), CancellationToken::new());
            while let Some(e) = s.next().await {
                if first.is_none() {
                    first = Some((t.elapsed(), cpu() - c));
                }
                if let ModelEvent::TextDelta { .. } = e {
                    deltas += 1
                } else if let ModelEvent::Failed { error, .. } = e {
                    println!("{error}")
                }
            }
        });
        println!(
            "round {round}: deltas {deltas} first {:?} total wall {:?} cpu {:.2} ms",
            first,
            t.elapsed(),
            cpu() - c
        );
    }
    println!("runtime {:.2} ms, build adapter {:.2} ms, all {:?}", c1 - c0, c2 - c1, t0.elapsed());
    println!("after: {}", rss());
    let c = cpu();
    let _a = ProviderRegistry::with_builtin().build("openai", ProviderSettings::new("https://127.0.0.1:1/v1")).unwrap();
    rt.block_on(async {
        let _ = _a.stream(req(), CancellationToken::new()).next().await;
    });
    println!("https client set-up {:.2} ms; {}", cpu() - c, rss());
}
