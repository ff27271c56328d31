//! Decisions as text: a script of inputs in, the effects of each step out.
//!
//! Script lines: `start WORDS`, `sources`, `text WORDS`, `cut WORDS` (text cut at the output limit), `empty`, `filtered`,
//! `only-thinks` (up to the output limit), `counted N WORDS` (text, with N tokens of prompt), `calls NAME:ID[=ARG] …` (`+` in
//! front: with text), `cut-calls …`, `filtered-calls …`, `ready ID`, `unready ID`, `allow ID`, `deny ID`,
//! `done ID WORDS`, `fails ID WORDS`, `stopped ID`, `breaks`, `dies`, `overflow`, `aborts WORDS`, `summary WORDS` (a
//! good one), `summarised WORDS` (whatever it is), `no-summary` (asking for it failed), `cancel`,
//! `expired`, `disk-full` (the last commit), `disk-full N` (the one N before it and all after).

use super::testing::sources;
use super::*;
use crate::Calibration;
use agent_protocol::{
    ErrorCode, ErrorPayload, EventType, ModelFault, ModelMessage, ModelRequest, Reply, StopKind, StopReason, ToolCall,
};

pub(super) struct Script {
    pub(super) run: Run,
    pub(super) trace: Vec<String>,
    pub(super) last_request: Option<ModelRequest>,
    pub(super) last_compaction: Option<ModelRequest>,
    /// Every event that was to be stored.
    pub(super) events: Vec<EventDraft>,
    pub(super) messages: u64,
    /// What comes last and is no history.
    pub(super) tail: Vec<std::sync::Arc<ModelMessage>>,
    pub(super) compacting: Compacting,
    /// Instead of those for `messages`.
    pub(super) budgets: Option<crate::Budgets>,
}

fn error(text: &str) -> ErrorPayload {
    ErrorPayload::new(ErrorCode::ProviderError, text)
}

impl Script {
    pub(super) fn new() -> Self {
        Self::on(Path::new(), "run_t")
    }

    pub(super) fn on(path: Path, run: &str) -> Self {
        let limits = Limits { max_turns: 30, ..Limits::default() };
        let run = Run::new(limits, RunId::parse(run).unwrap(), path, Calibration::default());
        Self {
            run,
            trace: Vec::new(),
            last_request: None,
            last_compaction: None,
            events: Vec::new(),
            messages: 2000,
            tail: Vec::new(),
            compacting: Compacting::default(),
            budgets: None,
        }
    }

    pub(super) fn play(&mut self, script: &str) -> &mut Self {
        for line in script.split(['\n', ';']).map(str::trim).filter(|line| !line.is_empty()) {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let input = self.input(word, rest);
            let effects = self.run.step(input);
            let shown: Vec<_> = effects.into_iter().filter_map(|effect| self.show(effect)).collect();
            self.trace.push(format!("{line} -> {}", shown.join(", ")));
        }
        self
    }

    pub(super) fn input(&self, word: &str, rest: &str) -> Input {
        let request = self.run.counts.request;
        let id = |text: &str| ToolCallId::parse(text.split(' ').next().unwrap()).unwrap();
        let tail = rest.split_once(' ').map_or("", |(_, tail)| tail);
        let outcome = |kind| {
            Box::new(Outcome {
                kind,
                content: vec![ContentBlock::text(tail)],
                error: (kind != ResultKind::Ok).then(|| error(tail)),
                metadata: Object::new(),
                summary: None,
                after: Vec::new(),
            })
        };
        let failed = |fault, partial: Option<&str>| Input::ModelFailed {
            request,
            fault,
            error: error("broken"),
            partial: partial.map(|text| reply(vec![ContentBlock::text(text)], StopKind::Error)),
        };
        let done = |content, stop| Input::ModelDone { request, reply: reply(content, stop) };
        match word {
            "start" => Input::Start { content: vec![ContentBlock::text(rest)] },
            "sources" => {
                let compacting = self.compacting.clone();
                let mut sources = Sources { compacting, tail: self.tail.clone(), ..sources(self.messages) };
                if sources.compacting.recovery != Recovery::Slide {
                    sources.budgets.output = 300;
                }
                sources.budgets = self.budgets.unwrap_or(sources.budgets);
                Input::Sources(Box::new(sources))
            }
            "text" => done(vec![ContentBlock::text(rest)], StopKind::EndTurn),
            "cut" => done(vec![ContentBlock::text(rest)], StopKind::MaxTokens),
            "empty" => done(vec![ContentBlock::text(" \n")], StopKind::EndTurn),
            "filtered" => done(vec![], StopKind::ContentFilter),
            "calls" => done(calls(rest), StopKind::ToolUse),
            "cut-calls" => done(calls(rest), StopKind::MaxTokens),
            "filtered-calls" => done(calls(rest), StopKind::ContentFilter),
            "counted" => {
                let mut reply = reply(vec![ContentBlock::text(tail)], StopKind::EndTurn);
                reply.usage.input_tokens = rest.split(' ').next().and_then(|count| count.parse().ok());
                Input::ModelDone { request, reply }
            }
            "only-thinks" => {
                let mut reply = reply(vec![], StopKind::MaxTokens);
                reply.metadata.insert(ModelMessage::REASONING.into(), "hm".into());
                Input::ModelDone { request, reply }
            }
            "ready" => Input::Prepared { call: id(rest), result: Ok("a line".into()) },
            "unready" => Input::Prepared { call: id(rest), result: Err(error("bad arguments")) },
            "allow" => Input::Authorized { call: id(rest), verdict: Verdict::Allow },
            "deny" => Input::Authorized { call: id(rest), verdict: Verdict::Deny { error: error("no") } },
            "done" => Input::CallDone { call: id(rest), outcome: outcome(ResultKind::Ok) },
            "fails" => Input::CallDone { call: id(rest), outcome: outcome(ResultKind::Failed) },
            "stopped" => Input::CallDone { call: id(rest), outcome: outcome(ResultKind::Aborted) },
            "breaks" => failed(ModelFault::Retryable, Some("half")),
            "dies" => failed(ModelFault::Fatal, None),
            "overflow" => failed(ModelFault::Overflow, None),
            "aborts" => failed(ModelFault::Aborted, Some(rest)),
            "summary" => self.compacted(&format!("## Goal\n{rest}\n## Progress\nhalfway")),
            "summarised" => self.compacted(rest),
            "no-summary" => Input::CompactionDone { job: self.run.counts.job, result: Err(error("no answer")) },
            "cancel" => Input::Cancel,
            "expired" => Input::DrainExpired,
            "disk-full" => Input::StoreFailed {
                commit: CommitNo(self.run.commits.last().0 - rest.parse().unwrap_or(0)),
                error: ErrorPayload::new(ErrorCode::StorageError, "disk full"),
            },
            other => panic!("no such line: {other}"),
        }
    }

    fn compacted(&self, text: &str) -> Input {
        let reply = reply(vec![ContentBlock::text(text)], StopKind::EndTurn);
        let result = Ok(Box::new(Compacted { reply, details: Object::new() }));
        Input::CompactionDone { job: self.run.counts.job, result }
    }

    fn show(&mut self, effect: Effect) -> Option<String> {
        Some(match effect {
            Effect::Commit { writes, .. } => {
                self.events.extend(writes.iter().filter_map(|write| match write {
                    Write::Event(event) => Some(event.clone()),
                    _ => None,
                }));
                let shown: Vec<_> = writes.iter().filter_map(show_write).collect();
                if shown.is_empty() {
                    return None;
                }
                format!("[{}]", shown.join(" "))
            }
            Effect::Gather { fresh: false } => "gather".into(),
            Effect::Gather { fresh: true } => "gather anew".into(),
            Effect::CallModel { body, .. } => {
                let shown = format!("ask({})", body.messages.len());
                self.last_request = Some(*body);
                shown
            }
            Effect::Prepare { call } => format!("prepare {}", call.tool_call_id),
            Effect::Authorize(call) => format!("authorize {call}"),
            Effect::Execute(call) => format!("execute {call}"),
            Effect::Compact { mode, request, .. } => {
                let shown = format!("compact {}({})", mode.as_str(), request.messages.len());
                self.last_compaction = Some(*request);
                shown
            }
            Effect::Abort(target) => match target {
                Target::Model(_) => "abort model".into(),
                Target::Call(call) => format!("abort {call}"),
                Target::Job(_) => "abort job".into(),
            },
            Effect::ArmDrain => "arm".into(),
            Effect::Finish { end, error } => {
                let kind = error.and_then(|e| e.details.get("kind").and_then(|k| k.as_str().map(str::to_owned)));
                format!("finish {}{}", end.as_str(), kind.map(|kind| format!("/{kind}")).unwrap_or_default())
            }
        })
    }

    /// The last request's messages, one line each.
    pub(super) fn request(&self) -> Vec<String> {
        self.last_request.as_ref().unwrap().messages.iter().map(|message| show_message(message)).collect()
    }
}

fn show_write(write: &Write) -> Option<String> {
    match write {
        Write::Node(node) => {
            let mark = if node.metadata.contains_key("partial") { "partial " } else { "" };
            Some(format!("{mark}{}", show_message(&ModelMessage::new(node.role, node.content.clone()))))
        }
        // The rest of the timeline has its own tests.
        Write::Event(event) => match event.event_type {
            EventType::ToolStarted => Some("tool_started".into()),
            EventType::RunCancelled => Some("run_cancelled".into()),
            EventType::CancelTimeout => Some("cancel_timeout".into()),
            EventType::CompactCompleted if event.payload["kind"] == "window_slide" => {
                Some(format!("slid {} turns", event.payload["turns_left_out"]))
            }
            EventType::CompactFailed => {
                let kind = event.payload["error"]["details"]["kind"].as_str().unwrap_or("error");
                Some(format!("no summary: {kind}"))
            }
            _ => None,
        },
        Write::Activate(_) | Write::Run(_) => None,
    }
}

fn show_message(message: &ModelMessage) -> String {
    let words = |text: &str| text.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
    let blocks: Vec<_> = message
        .content
        .iter()
        .map(|block| match block {
            ContentBlock::ToolCall(call) => format!("call {}", call.tool_call_id),
            ContentBlock::ToolResult(result) => {
                let mark = if result.is_error { "error" } else { "ok" };
                let text: Vec<_> =
                    result.content.iter().filter_map(ContentBlock::to_model_text).map(|t| words(&t)).collect();
                format!("{mark} {}: {}", result.tool_call_id, text.join(" + "))
            }
            other => words(&other.to_model_text().unwrap()),
        })
        .collect();
    format!("{}<{}>", message.role.as_str(), blocks.join(" | "))
}

fn reply(content: Vec<ContentBlock>, stop: StopKind) -> Reply {
    Reply { content, usage: Usage::default(), stop: StopReason::new(stop), metadata: Object::new() }
}

fn calls(text: &str) -> Vec<ContentBlock> {
    let mut content = Vec::new();
    for word in text.split(' ') {
        if word == "+" {
            content.push(ContentBlock::text("let me see"));
            continue;
        }
        let (name, id) = word.split_once(':').unwrap();
        let (id, argument) = id.split_once('=').unwrap_or((id, "0"));
        let mut metadata = Object::new();
        if argument == "broken" {
            metadata.insert(ToolCall::ARGUMENTS_ERROR.into(), "line 1 column 3".into());
        }
        content.push(ContentBlock::ToolCall(ToolCall {
            tool_call_id: ToolCallId::parse(id).unwrap(),
            name: name.into(),
            arguments: Object::from_iter([("n".into(), argument.into())]),
            metadata,
        }));
    }
    content
}

#[track_caller]
pub(super) fn check(script: &str, expected: &[&str]) {
    let mut played = Script::new();
    played.play("start hi; sources").trace.clear();
    played.play(script);
    assert_eq!(played.trace, expected, "\n{:#?}", played.trace);
}
