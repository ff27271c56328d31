//! The form in which lines are written, read without a parser of JSON: replay reads little else.
//!
//! Only the frame is read so; the payload stays text here, and is parsed as JSON where it is used. What has any other form (another
//! order of the fields, blanks, escapes) gives `None`, and goes the general way.

use std::borrow::Cow;

use agent_protocol::Timestamp;
use agent_protocol::task::Moment;

use super::Read;

impl<'a> Read<'a> {
    /// The line, where it has the form in which [`Line::write`](super::Line::write) writes it. What its texts are is for the caller to
    /// check, as it is for a line of any form; none of those that pass holds a byte that JSON would have escaped.
    pub(crate) fn as_written(text: &'a str) -> Option<Self> {
        let mut rest = Rest(text);
        let wal_seq = rest.after("{\"wal_seq\":")?.number()?;
        let session_id = rest.after(",\"session_id\":\"")?.string()?;
        let event_id = rest.after(",\"event_id\":\"")?.string()?;
        let event_type = rest.after(",\"event_type\":\"")?.string()?;
        let actor_agent_id = rest.after(",\"actor_agent_id\":")?.string_or_null()?;
        let actor_run_id = rest.after(",\"actor_run_id\":")?.string_or_null()?;
        let task_id = rest.after(",\"task_id\":\"")?.string()?;
        let step_id = rest.after(",\"step_id\":")?.string_or_null()?;
        let (frame, rest) = text.split_at_checked(text.len() - rest.after(",\"payload\":{")?.0.len() - 1)?;
        // A moment has a fixed length, so the end of the payload need not be looked for.
        let (payload, end) = rest.split_at_checked(rest.len().checked_sub(END)?)?;
        let created_at = moment(end.strip_prefix(",\"created_at\":\"")?.strip_suffix("\"}")?)?;
        // Quotes were taken for ends.
        if memchr::memchr(b'\\', frame.as_bytes()).is_some() {
            return None;
        }
        Some(Self {
            wal_seq,
            session_id,
            event_id,
            event_type,
            actor_agent_id,
            actor_run_id,
            task_id,
            step_id,
            payload,
            created_at,
        })
    }
}

fn moment(text: &str) -> Option<Moment> {
    let millis = Timestamp::unix_millis_of(text)?;
    Some(Moment::from_millis(millis)).filter(|moment| moment.millis() == millis)
}

/// `,"created_at":"2026-11-30T09:41:43.120Z"}`
const END: usize = 15 + 24 + 2;

/// What is left of a line.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn after(&mut self, literal: &str) -> Option<&mut Self> {
        self.0 = self.0.strip_prefix(literal)?;
        Some(self)
    }

    fn number(&mut self) -> Option<u64> {
        let digits = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.0.split_at_checked(digits)?;
        // JSON has no leading zeros.
        if number.len() > 1 && number.starts_with('0') {
            return None;
        }
        self.0 = rest;
        number.parse().ok()
    }

    /// A text up to its quote.
    fn string(&mut self) -> Option<Cow<'a, str>> {
        let (text, rest) = self.0.split_at_checked(memchr::memchr(b'"', self.0.as_bytes())?)?;
        self.0 = &rest[1..];
        Some(Cow::Borrowed(text))
    }

    fn string_or_null(&mut self) -> Option<Option<Cow<'a, str>>> {
        match self.0.strip_prefix('"') {
            Some(rest) => {
                self.0 = rest;
                self.string().map(Some)
            }
            None => self.after("null").map(|_| None),
        }
    }
}
