//! Server-sent events, as the standard has them and as servers send them.

use super::{LineEnds, Lines, TooLong};

/// One event with data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SseEvent<'a> {
    /// Its name; empty if it has none.
    pub(crate) name: &'a str,
    /// Its data lines, joined by LF.
    pub(crate) data: &'a str,
}

/// A parser of `text/event-stream`. Comments and events without data give nothing.
#[derive(Debug)]
pub(crate) struct Sse {
    lines: Lines,
    event: Pending,
}

/// The event whose blank line has not come.
#[derive(Debug)]
struct Pending {
    name: String,
    data: String,
    has_data: bool,
    limit: usize,
}

impl Sse {
    pub(crate) fn new(limit: usize) -> Self {
        let event = Pending { name: String::new(), data: String::new(), has_data: false, limit };
        Self { lines: Lines::new(LineEnds::Any, limit), event }
    }

    /// Takes a chunk and calls `each` for every event that ends in it.
    pub(crate) fn push<E: From<TooLong>>(
        &mut self,
        chunk: &[u8],
        mut each: impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let event = &mut self.event;
        self.lines.push(chunk, |line| event.line(line, &mut each))
    }

    /// How many bytes wait for the end of their line or event.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn held(&self) -> usize {
        self.lines.held() + self.event.name.len() + self.event.data.len()
    }

    /// The body has ended: hands on an event whose blank line is missing. The standard drops it; servers rely on more.
    pub(crate) fn finish<E: From<TooLong>>(
        &mut self,
        mut each: impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let event = &mut self.event;
        self.lines.finish(|line| event.line(line, &mut each))?;
        event.dispatch(&mut each)
    }
}

impl Pending {
    fn line<E: From<TooLong>>(
        &mut self,
        line: &str,
        each: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if line.is_empty() {
            return self.dispatch(each);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => self.add(value)?,
            "event" => {
                self.name.clear();
                self.name.push_str(value);
            }
            // Old llama.cpp builds send errors under a field of their own, and their end mark right below it: what the field
            // holds is an event by itself.
            "error" => {
                self.dispatch(each)?;
                self.name.push_str("error");
                self.add(value)?;
                self.dispatch(each)?;
            }
            // Comments (an empty field name), `id`, `retry`, and what nobody knows.
            _ => {}
        }
        Ok(())
    }

    fn add<E: From<TooLong>>(&mut self, value: &str) -> Result<(), E> {
        if self.data.len() + value.len() > self.limit {
            return Err(TooLong { limit: self.limit }.into());
        }
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push('\n');
        }
        self.data.push_str(value);
        Ok(())
    }

    fn dispatch<E>(&mut self, each: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>) -> Result<(), E> {
        let result = if self.data.is_empty() { Ok(()) } else { each(SseEvent { name: &self.name, data: &self.data }) };
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        result
    }
}
