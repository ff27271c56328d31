//! Entries for the fuzz targets and the parser benchmarks: whatever bytes come in whatever pieces, what is made of them is the
//! same as of the whole, memory is bounded, and nothing panics. Not part of the library's interface.

use std::sync::Arc;

use agent_protocol::{ModelEvent, ModelRequest, Object, Permission, Reply, ToolCallId, ToolChoice, ToolDefinition};
use serde_json::json;

use crate::dialect::{Dialect, Flow, StreamFault, Unfinished};
use crate::framing::{LineEnds, Lines, Sse, TooLong};
use crate::names::NameTable;
use crate::reply::{About, CallPiece, CallSlots, ReplyBuilder};
use crate::{LimitSettings, ProviderSettings, anthropic, ollama, openai};

/// Bounds that small inputs reach, too.
const LIMITS: LimitSettings = LimitSettings { event_bytes: 1 << 10, reply_bytes: 1 << 11, error_bytes: 1 << 10 };

/// Bytes in pieces of these lengths, one after another, each at least one byte; the rest is one piece.
fn pieces<'a>(mut bytes: &'a [u8], cuts: &[u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for cut in cuts {
        let (piece, rest) = bytes.split_at(usize::from((*cut).max(1)).min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces.push(bytes);
    pieces
}

/// Server-sent events: the same in any cut.
///
/// # Panics
/// If they are not.
pub fn sse(bytes: &[u8], cuts: &[u8]) {
    let read = |pieces: Vec<&[u8]>| {
        let mut sse = Sse::new(LIMITS.event_bytes);
        let mut events: Vec<(String, String)> = Vec::new();
        let mut result: Result<(), TooLong> = Ok(());
        for piece in pieces {
            result = result.and_then(|()| {
                sse.push(piece, |event| {
                    events.push((event.name.to_owned(), event.data.to_owned()));
                    Ok(())
                })
            });
            // Name, data and line are bounded each by itself.
            assert!(sse.held() <= 3 * LIMITS.event_bytes, "{} bytes are held", sse.held());
        }
        let result = result.and_then(|()| {
            sse.finish(|event| {
                events.push((event.name.to_owned(), event.data.to_owned()));
                Ok(())
            })
        });
        (events, result)
    };
    assert_eq!(read(pieces(bytes, cuts)), read(vec![bytes]));
}

/// Lines: the same in any cut.
///
/// # Panics
/// If they are not.
pub fn ndjson(bytes: &[u8], cuts: &[u8]) {
    let read = |pieces: Vec<&[u8]>| {
        let mut lines = Lines::new(LineEnds::Lf, LIMITS.event_bytes);
        let mut found: Vec<String> = Vec::new();
        let mut result: Result<(), TooLong> = Ok(());
        for piece in pieces {
            result = result.and_then(|()| {
                lines.push(piece, |line| {
                    found.push(line.to_owned());
                    Ok(())
                })
            });
            assert!(lines.held() <= LIMITS.event_bytes, "{} bytes are held", lines.held());
        }
        let result = result.and_then(|()| {
            lines.finish(|line| {
                found.push(line.to_owned());
                Ok(())
            })
        });
        (found, result)
    };
    assert_eq!(read(pieces(bytes, cuts)), read(vec![bytes]));
}

/// The arguments of a call: the same in any number of fragments.
///
/// # Panics
/// If they are not.
pub fn arguments(fragments: &[&str]) {
    let names = NameTable::new(["f"]);
    let read = |fragments: &[&str]| {
        let mut slots = CallSlots::default();
        let mut out = Vec::new();
        let begin = CallPiece { index: Some(0), id: Some("c"), name: Some("f"), ..CallPiece::default() };
        let mut result = slots.add(begin, &names, &mut out);
        for fragment in fragments {
            let piece = CallPiece { index: Some(0), arguments: (*fragment).into(), ..CallPiece::default() };
            result = result.and_then(|_| slots.add(piece, &names, &mut out));
        }
        let assign = |ids: &[Option<String>]| {
            ids.iter().flatten().filter_map(|id| ToolCallId::parse(id).ok()).collect::<Vec<_>>()
        };
        (result.map(|_| ()), slots.finish(false, &names, assign, &mut out))
    };
    let whole = fragments.concat();
    assert_eq!(read(fragments), read(&[&whole]));
}

/// The body of an answer: the same in any cut, and no longer than its bound. `provider` chooses the adapter.
///
/// # Panics
/// If they are not.
pub fn reply(provider: u8, bytes: &[u8], cuts: &[u8]) {
    let Some(dialect) = dialect(provider, LIMITS) else { return };
    let whole = run(&*dialect, LIMITS, [bytes]);
    assert_eq!(run(&*dialect, LIMITS, pieces(bytes, cuts)), whole);
    let told: usize = whole.0.iter().map(told).sum();
    assert!(told <= LIMITS.reply_bytes, "{told} bytes are told");
}

/// Reads an answer in pieces of so many bytes; how many events it gave, and whether it was a reply.
#[must_use]
pub fn read(provider: u8, body: &[u8], piece: usize) -> (usize, bool) {
    let limits = LimitSettings::default();
    let Some(dialect) = dialect(provider, limits) else { return (0, false) };
    let mut decoder = dialect.decoder(builder(&*dialect, limits));
    let mut events = Vec::new();
    let mut count = 0;
    let mut flow = Ok(Flow::More);
    for piece in body.chunks(piece.max(1)) {
        flow = decoder.feed(piece, &mut events);
        count += events.len();
        events.clear();
        if flow != Ok(Flow::More) {
            break;
        }
    }
    if flow == Ok(Flow::More) {
        flow = decoder.end(&mut events).map(|()| Flow::Done);
    }
    let whole = flow.is_ok() && decoder.finish(&mut events).is_ok();
    (count + events.len(), whole)
}

fn dialect(provider: u8, limits: LimitSettings) -> Option<Box<dyn Dialect>> {
    let mut settings = ProviderSettings::new("http://127.0.0.1:1");
    settings.context_window = 1000;
    settings.limits = limits;
    Some(match provider % 3 {
        0 => Box::new(ollama::Ollama::new(&settings).ok()?),
        1 => Box::new(openai::OpenAi::new(&settings, "127.0.0.1").ok()?),
        _ => Box::new(anthropic::Anthropic::new(&settings, "").ok()?),
    })
}

fn builder(dialect: &dyn Dialect, limits: LimitSettings) -> ReplyBuilder {
    let request = Arc::new(request());
    let names = Arc::new(dialect.names(&request.tools));
    let about = About { provider: dialect.key(), request, names, metadata: Object::new(), limit: limits.reply_bytes };
    ReplyBuilder::new(about)
}

fn request() -> ModelRequest {
    let tool = ToolDefinition {
        name: "code.read_file".to_owned(),
        description: "reads".to_owned(),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        permission: Permission::Readonly,
        tags: Vec::new(),
        metadata: Object::new(),
    };
    ModelRequest {
        model: "m".to_owned(),
        system: Arc::default(),
        messages: Vec::new(),
        tools: Arc::new(vec![tool].into()),
        tool_choice: ToolChoice::Auto,
        temperature: None,
        max_output_tokens: 1000,
        provider_options: Object::new(),
        metadata: Object::new(),
    }
}

type Outcome = (Vec<ModelEvent>, Result<Reply, (StreamFault, Option<Reply>)>);

/// What becomes of a body that comes in these pieces and then ends.
fn run<'a>(dialect: &dyn Dialect, limits: LimitSettings, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let mut decoder = dialect.decoder(builder(dialect, limits));
    let mut events = Vec::new();
    let mut flow = Ok(Flow::More);
    for piece in pieces {
        flow = decoder.feed(piece, &mut events);
        if flow != Ok(Flow::More) {
            break;
        }
    }
    if flow == Ok(Flow::More) {
        flow = decoder.end(&mut events).map(|()| Flow::Done);
    }
    let end = match flow {
        Ok(_) => decoder.finish(&mut events).map_err(|unfinished| {
            let Unfinished { fault, partial } = *unfinished;
            (fault, partial)
        }),
        Err(fault) => Err((fault, decoder.partial())),
    };
    (events, end)
}

fn told(event: &ModelEvent) -> usize {
    match event {
        ModelEvent::TextDelta { text } | ModelEvent::ReasoningDelta { text } => text.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Fixture, properties};

    fn fixtures() -> Vec<(u8, Vec<u8>)> {
        let of = |provider: u8, list: Vec<Fixture>| list.into_iter().map(move |f| (provider, f.body));
        of(0, ollama::tests::quirks::fixtures())
            .chain(of(1, openai::tests::quirks::fixtures()))
            .chain(of(2, anthropic::tests::quirks::fixtures()))
            .collect()
    }

    proptest! {
        #![proptest_config(proptest::test_runner::Config { cases: properties().cases.max(600), ..properties() })]

        /// TST-4, PRV-16: bodies of servers, damaged anywhere and doubled, in any cut.
        #[test]
        fn damaged_bodies_do_not_depend_on_cuts(
            which in any::<prop::sample::Index>(), other in any::<prop::sample::Index>(),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 0..4),
            cuts in prop::collection::vec(any::<u8>(), 0..12),
        ) {
            let all = fixtures();
            let (provider, mut body) = all[which.index(all.len())].clone();
            body.extend(&all[other.index(all.len())].1);
            for (place, byte, how) in damage {
                let at = place.index(body.len() + 1);
                match how {
                    0 if at < body.len() => body[at] = byte,
                    1 if at < body.len() => drop(body.remove(at)),
                    2 => body.insert(at, byte),
                    _ => body.truncate(at.max(1)),
                }
            }
            reply(provider, &body, &cuts);
            sse(&body, &cuts);
            ndjson(&body, &cuts);
        }

        /// TST-4, PRV-6: fragments of arguments, JSON or not.
        #[test]
        fn arguments_do_not_depend_on_fragments(fragments in prop::collection::vec("[{}\\[\\]\":,a1\\\\ ]{0,6}", 0..6)) {
            arguments(&fragments.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }

    /// PRV-16: an event longer than the bound ends the reply, in any cut.
    #[test]
    fn bounds_do_not_depend_on_cuts() {
        let long = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", "x".repeat(2000));
        let after = format!("data: [DONE]\n\n{long}");
        for body in [long, after] {
            for provider in 0..3 {
                reply(provider, body.as_bytes(), &[7, 200, 255, 255, 1, 255]);
            }
        }
        assert_eq!(
            read(1, b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: [DONE]\n\n", 5),
            (2, true)
        );
    }
}
