use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use super::*;

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// FND-72: that nothing follows the beginning of an answer is said after ten seconds, once, and again only where more came meanwhile;
/// never before the answer begins, or behind its end.
#[test]
fn silence_in_an_answer_is_said() {
    for on_terminal in [true, false] {
        let said = Sink::default();
        let mut output = Output::to(io::sink(), said.clone(), on_terminal);
        let mut view = View::new(&mut output);
        let times =
            || String::from_utf8(said.0.lock().unwrap().clone()).unwrap().matches("sent nothing to show").count();
        let long_ago = || Instant::now().checked_sub(SILENT);
        view.say_if_silent();
        assert_eq!(times(), 0, "no answer has begun");
        view.delta("I think");
        view.say_if_silent();
        assert_eq!(times(), 0, "it has just come");
        view.said_at = long_ago();
        view.say_if_silent();
        view.say_if_silent();
        assert_eq!(times(), 1);
        view.delta(" that");
        view.said_at = long_ago();
        view.say_if_silent();
        assert_eq!(times(), 2);
        view.delta(".");
        view.said_at = long_ago();
        let tool_calls = Some(0);
        view.message_completed(&MessageCompleted { tool_calls, ..MessageCompleted::default() }, None);
        view.say_if_silent();
        assert_eq!(times(), 2, "it has ended");
    }
}
