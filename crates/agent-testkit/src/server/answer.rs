//! From a request to its answer.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Request, Response, StatusCode};
use serde_json::{Value, json};

use super::probes;
use super::site::Site;
use crate::body::{Outcome, ReplyBody};
use crate::flush::Flushes;
use crate::protocol::Protocol;
use crate::record::{Delivery, Probe, RecordedRequest};
use crate::reply::{Content, Fault, Reply};
use crate::validate::validate_with;
use crate::view;
use crate::wire;

/// More than any model's context; a client that sends more has lost its way.
const MAX_BODY: usize = 64 << 20;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

type Answer = Response<ReplyBody>;

/// # Errors
/// Where the script wants no answer: hyper then closes the connection.
pub(crate) async fn answer(request: Request<Incoming>, site: Arc<Site>, flushes: Arc<Flushes>) -> io::Result<Answer> {
    let (head, body) = request.into_parts();
    let raw = match Limited::new(body, MAX_BODY).collect().await {
        Ok(body) => body.to_bytes(),
        Err(e) => return Ok(plain(413, &json!({"error": format!("reading the body: {e}")}))),
    };
    match Protocol::of_path(head.uri.path()) {
        Some(protocol) if head.method == hyper::Method::POST => {
            let request = record(&head, raw, protocol, &site);
            model_answer(request, &site, flushes).await
        }
        Some(_) => Ok(plain(405, &json!({"error": "method not allowed"}))),
        None => {
            let (status, body) = probes::answer(&head, &raw, &site.models);
            site.store.add_probe(Probe {
                method: head.method.to_string(),
                path: head.uri.to_string(),
                headers: headers(&head.headers),
                raw,
            });
            Ok(match body {
                Value::String(text) => {
                    respond(status, HeaderValue::from_static("text/plain"), &[], ReplyBody::plain(text))
                }
                body => plain(status, &body),
            })
        }
    }
}

fn record(head: &Parts, raw: Bytes, protocol: Protocol, site: &Site) -> RecordedRequest {
    let body: Value = serde_json::from_slice(&raw).unwrap_or_default();
    let mut request = RecordedRequest {
        method: head.method.to_string(),
        path: head.uri.to_string(),
        headers: headers(&head.headers),
        view: if protocol == Protocol::Anthropic { view::of_request(&body) } else { Vec::new() },
        body,
        raw,
        protocol,
        at: 0,
        delivery: Delivery::Open,
    };
    site.store.add(&mut request);
    request
}

fn headers(map: &HeaderMap) -> Vec<(String, String)> {
    map.iter().map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())).collect()
}

/// What a real server would check first, then the script.
async fn model_answer(request: RecordedRequest, site: &Site, flushes: Arc<Flushes>) -> io::Result<Answer> {
    let outcome = Outcome::new(Arc::clone(&site.store), request.at);
    let reply = refusal(&request, site).unwrap_or_else(|| scripted(&request, site));
    perform(reply, &request, site, flushes, outcome).await
}

/// The script's reply; without one, an error that no client tries again.
fn scripted(request: &RecordedRequest, site: &Site) -> Reply {
    let reply = panic::catch_unwind(AssertUnwindSafe(|| site.script.next(request)));
    let fault = match reply {
        Ok(Some(reply)) => return reply,
        Ok(None) => format!("the script has no reply for request {}", request.at),
        Err(_) => format!("the responder panicked on request {}", request.at),
    };
    site.store.add_fault(fault.clone());
    Reply::error(400, fault)
}

/// The reply to a request that does not get as far as the script.
fn refusal(request: &RecordedRequest, site: &Site) -> Option<Reply> {
    if site.checks
        && let Err(violations) = validate_with(request.protocol, &request.body, &site.extra_fields)
    {
        for violation in &violations {
            site.store.add_fault(format!("request {}: {violation}", request.at));
        }
        return Some(Reply::error(400, violations.join("; ")));
    }
    let name = request.model().to_owned();
    let fault = match site.models.iter().find(|model| model.is(&name)) {
        None => Fault::ModelMissing(name),
        Some(model) if !request.tools().is_empty() && !model.can("tools") => Fault::CannotUseTools(name),
        Some(model) if asks_to_think(request) && !model.can("thinking") => Fault::CannotThink(name),
        Some(_) => return None,
    };
    Some(Reply::fault(fault))
}

/// Ollama accepts `false` from every model.
fn asks_to_think(request: &RecordedRequest) -> bool {
    request.protocol == Protocol::Ollama
        && request.body.get("think").is_some_and(|think| *think == true || think.is_string())
}

async fn perform(
    reply: Reply,
    request: &RecordedRequest,
    site: &Site,
    flushes: Arc<Flushes>,
    mut outcome: Outcome,
) -> io::Result<Answer> {
    let Reply { content, headers, delivery } = reply;
    let body = |bytes: Bytes, ends, announced, outcome| {
        ReplyBody::scripted(bytes, ends, announced, delivery, flushes, outcome)
    };
    match content {
        Content::Message(message) => {
            let context = wire::Context { request, mapping: &*site.mapping };
            let wire::Rendered { bytes, ends } = wire::message(&message, &context);
            let body = body(bytes.into(), ends, false, outcome);
            Ok(respond(200, HeaderValue::from_static(request.protocol.stream_type()), &headers, body))
        }
        Content::Fault(fault) => {
            let (status, value) = wire::fault(request.protocol, &fault);
            let body = body(value.to_string().into(), Vec::new(), true, outcome);
            Ok(respond(status, JSON, &headers, body))
        }
        Content::Exact { status, content_type, body: bytes, streamed } => {
            let body = body(bytes, Vec::new(), !streamed, outcome);
            Ok(respond(status, content_type, &headers, body))
        }
        Content::Hang => std::future::pending().await,
        Content::HangUp => {
            outcome.tell(Delivery::Cut);
            Err(io::Error::new(io::ErrorKind::ConnectionAborted, "hung up by the script"))
        }
    }
}

fn plain(status: u16, body: &Value) -> Answer {
    respond(status, JSON, &[], ReplyBody::plain(body.to_string()))
}

fn respond(status: u16, content_type: HeaderValue, headers: &[(HeaderName, HeaderValue)], body: ReplyBody) -> Answer {
    let mut response = Response::new(body);
    // Replies were checked when they were made.
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    for (name, value) in headers {
        response.headers_mut().append(name, value.clone());
    }
    response
}
