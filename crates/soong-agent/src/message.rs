//! The message: an argument, or stdin for `-` or nothing (CLI-8).

use std::ffi::OsString;
use std::io::{IsTerminal, Read};

use crate::exit::Failure;

/// More than any model's window, and less than what would hurt: what is longer is cut short before it is read whole.
const MAX_BYTES: u64 = 64 << 20;

/// The message and where it came from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) text: String,
    /// Then stdin is not the place where permission questions are answered.
    pub(crate) from_stdin: bool,
}

pub(crate) fn read(argument: Option<OsString>) -> Result<Message, Failure> {
    match argument {
        Some(text) if text != "-" => {
            let text = text.into_string().map_err(|_| not_utf8("the message"))?;
            checked(Message { text, from_stdin: false })
        }
        _ => from_stdin(),
    }
}

fn from_stdin() -> Result<Message, Failure> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Err(Failure::usage(
            "there is no message. Say what to do: soong-agent run \"What does this project do?\"",
        ));
    }
    let mut bytes = Vec::new();
    let read = stdin.lock().take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::failed(format!("the message cannot be read from stdin: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::failed("the message on stdin is longer than 64 MiB: put it into a file of the project"));
    }
    let text = String::from_utf8(bytes).map_err(|_| not_utf8("the message on stdin"))?;
    checked(Message { text, from_stdin: true })
}

fn checked(message: Message) -> Result<Message, Failure> {
    if message.text.trim().is_empty() {
        return Err(Failure::usage("the message is empty: say what is to be done"));
    }
    Ok(message)
}

fn not_utf8(what: &str) -> Failure {
    Failure::usage(format!("{what} is not valid UTF-8: convert it first, for example with iconv"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn arguments() {
        assert_eq!(read(Some("do it".into())).unwrap(), Message { text: "do it".into(), from_stdin: false });
        for (bad, said) in [(OsString::from(" \n"), "empty"), (OsString::from_vec(vec![b'a', 0xFF]), "UTF-8")] {
            let failure = read(Some(bad)).unwrap_err();
            assert_eq!(failure.exit.number(), 2);
            assert!(failure.message.contains(said), "{}", failure.message);
        }
    }
}
