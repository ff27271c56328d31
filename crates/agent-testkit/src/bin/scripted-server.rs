//! Serves a script in every protocol until it is killed: to try a client by hand, and for benches.

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs, thread};

use agent_testkit::{Protocol, ScriptFile};

const HELP: &str = "\
Usage: scripted-server --script FILE.json [--port N] [--no-checks]

Serves the script on a loopback port, in Ollama's, OpenAI's and Anthropic's protocols, until it is killed.
The first line it prints is `ollama=URL openai=URL anthropic=URL`, the base URLs for a client's
configuration.

  --script FILE  the replies, as JSON:
                   {\"after\": \"cycle\", \"replies\": [
                     {\"message\": {\"text\": \"Let me look.\",
                                  \"calls\": [{\"name\": \"code.read_file\", \"arguments\": {\"path\": \"a.txt\"}}]}},
                     {\"message\": {\"text\": \"It says hello.\", \"chunks\": 3}}]}
                 The whole format is described at agent_testkit::ScriptFile.
  --port N       listen there instead of on a free port
  --no-checks    answer from the script whatever is asked: without it, requests no real
                 server would take are answered 400 with the reasons
";

fn main() -> ExitCode {
    match run(env::args_os().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&*error);
            ExitCode::FAILURE
        }
    }
}

/// The error and its causes on one line. Where there is no standard error there is nobody to tell.
fn report(error: &dyn Error) {
    let mut text = format!("scripted-server: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    let _ = writeln!(io::stderr(), "{text}");
}

fn run(arguments: impl Iterator<Item = OsString>) -> Result<(), Box<dyn Error>> {
    let Some(options) = Options::parse(arguments)? else {
        io::stdout().write_all(HELP.as_bytes())?;
        return Ok(());
    };
    let text = fs::read_to_string(&options.script).map_err(|e| format!("read {}: {e}", options.script.display()))?;
    let script = ScriptFile::parse(&text)?;
    // Nobody asks this process what it saw, so nothing is kept.
    let mut builder = script.builder().port(options.port).keep_requests(0);
    if !options.checks {
        builder = builder.without_checks();
    }
    let mut server = builder.try_start_blocking().map_err(|e| format!("listen on port {}: {e}", options.port))?;
    server.tolerate_invalid();
    script.install(&server);

    let urls: Vec<String> = Protocol::ALL
        .iter()
        .map(|protocol| format!("{}={}", protocol.provider(), server.base_url(*protocol)))
        .collect();
    writeln!(io::stdout(), "{}", urls.join(" "))?;
    io::stdout().flush()?;
    loop {
        thread::park();
    }
}

struct Options {
    script: PathBuf,
    port: u16,
    checks: bool,
}

impl Options {
    /// `None` asks for help.
    fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Option<Self>, Box<dyn Error>> {
        let (mut script, mut port, mut checks) = (None, 0, true);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{} needs a value", argument.display()));
            match argument.to_str() {
                Some("--script") => script = Some(PathBuf::from(value()?)),
                Some("--port") => {
                    let text = value()?;
                    port = text
                        .to_str()
                        .and_then(|text| text.parse().ok())
                        .ok_or_else(|| format!("--port {}: not a port", text.display()))?;
                }
                Some("--no-checks") => checks = false,
                Some("--help" | "-h") => return Ok(None),
                _ => return Err(format!("unknown argument {}; see --help", argument.display()).into()),
            }
        }
        let script = script.ok_or("--script FILE is missing; see --help")?;
        Ok(Some(Self { script, port, checks }))
    }
}
