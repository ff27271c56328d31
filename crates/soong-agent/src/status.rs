//! The line that says what is happening now and for how long.

use std::time::{Duration, Instant};

/// A wait shorter than this is not worth a line.
pub(crate) const PATIENCE: Duration = Duration::from_millis(400);
const FRAMES: [&str; 4] = ["-", "\\", "|", "/"];

/// What is happening now.
#[derive(Debug)]
pub(crate) struct Status {
    what: Option<(String, Instant)>,
    /// What it has to show for itself.
    lines: Vec<String>,
    drawn: bool,
    frame: usize,
}

/// What is to be drawn.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown<'a> {
    pub(crate) what: String,
    pub(crate) seconds: u64,
    pub(crate) lines: &'a [String],
}

impl Status {
    pub(crate) fn new() -> Self {
        Self { what: None, lines: Vec::new(), drawn: false, frame: 0 }
    }

    /// Something begins.
    pub(crate) fn begin(&mut self, what: impl Into<String>, now: Instant) {
        self.what = Some((what.into(), now));
        self.lines.clear();
    }

    /// It has something to show.
    pub(crate) fn shows(&mut self, lines: Vec<String>) {
        self.lines = lines;
    }

    /// It is over.
    pub(crate) fn end(&mut self) {
        self.what = None;
    }

    /// What to draw, if something has been going on for long enough.
    pub(crate) fn shown(&mut self, now: Instant) -> Option<Shown<'_>> {
        let (what, since) = self.what.as_ref().filter(|(_, since)| now.duration_since(*since) >= PATIENCE)?;
        self.drawn = true;
        self.frame = (self.frame + 1) % FRAMES.len();
        let what = format!("{} {what}", FRAMES[self.frame]);
        Some(Shown { what, seconds: now.duration_since(*since).as_secs(), lines: &self.lines })
    }

    /// Something else is drawn in its place.
    pub(crate) fn gives_way(&mut self) {
        self.drawn = true;
    }

    /// Whether something is drawn.
    pub(crate) fn is_drawn(&self) -> bool {
        self.drawn
    }

    /// Whether something was drawn that has to be wiped away.
    pub(crate) fn wipe(&mut self) -> bool {
        std::mem::take(&mut self.drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_waits_show_nothing() {
        let start = Instant::now();
        let mut status = Status::new();
        assert_eq!(status.shown(start), None);
        status.begin("waiting for the model", start);
        assert_eq!(status.shown(start + Duration::from_millis(100)), None);
        assert!(!status.wipe());
        let what = "\\ waiting for the model".to_owned();
        assert_eq!(status.shown(start + Duration::from_secs(3)), Some(Shown { what, seconds: 3, lines: &[] }));
        status.end();
        assert_eq!(status.shown(start + Duration::from_secs(4)), None);
        assert!(status.wipe());
        assert!(!status.wipe());
    }
}
