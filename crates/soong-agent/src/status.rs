//! The line that says what is happening now and for how long.

use std::time::{Duration, Instant};

/// A wait shorter than this is not worth a line.
const PATIENCE: Duration = Duration::from_millis(400);
const FRAMES: [&str; 4] = ["-", "\\", "|", "/"];

/// What is happening now.
#[derive(Debug)]
pub(crate) struct Status {
    what: Option<(String, Instant)>,
    drawn: bool,
    frame: usize,
}

impl Status {
    pub(crate) fn new() -> Self {
        Self { what: None, drawn: false, frame: 0 }
    }

    /// Something begins.
    pub(crate) fn begin(&mut self, what: impl Into<String>, now: Instant) {
        self.what = Some((what.into(), now));
    }

    /// It is over.
    pub(crate) fn end(&mut self) {
        self.what = None;
    }

    /// The line to draw, if there is one to draw or to wipe away.
    pub(crate) fn line(&mut self, now: Instant) -> Option<String> {
        match &self.what {
            Some((what, since)) if now.duration_since(*since) >= PATIENCE => {
                self.drawn = true;
                self.frame = (self.frame + 1) % FRAMES.len();
                let seconds = now.duration_since(*since).as_secs();
                Some(format!("{} {what} {seconds} s", FRAMES[self.frame]))
            }
            _ => self.wipe(),
        }
    }

    /// An empty line, if one was drawn.
    pub(crate) fn wipe(&mut self) -> Option<String> {
        std::mem::take(&mut self.drawn).then(String::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_waits_show_nothing() {
        let start = Instant::now();
        let mut status = Status::new();
        assert_eq!(status.line(start), None);
        status.begin("waiting for the model", start);
        assert_eq!(status.line(start + Duration::from_millis(100)), None);
        assert_eq!(status.line(start + Duration::from_secs(3)).as_deref(), Some("\\ waiting for the model 3 s"));
        status.end();
        assert_eq!(status.line(start + Duration::from_secs(4)).as_deref(), Some(""));
        assert_eq!(status.line(start + Duration::from_secs(5)), None);
    }
}
