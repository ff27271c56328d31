//! What comes back in a random world: of tools, the model, the user, and things that were never asked for.

use agent_protocol::{
    ContentBlock, ErrorPayload, ModelFault, ModelMessage, Object, Reply, Role, StopKind, StopReason, ToolCall,
    ToolCallId, Usage,
};

use super::testing::sources_of;
use super::world_testing::{Pending, World, error};
use super::*;
use crate::{AfterNode, ContextMark};

/// A call in the words of an answer.
pub(super) const WRITTEN_CALL: &str = "<tool_call>{\"name\": \"write\", \"arguments\": {\"n\": 1}}</tool_call>";

impl World {
    pub(super) fn complete(&mut self, pending: Pending) -> Input {
        match pending {
            Pending::Sources => Input::Sources(Box::new(self.sources())),
            Pending::Model(request) => self.model(request),
            Pending::Prepare(call) => {
                let result = if self.dice.one_in(6) { Err(error("bad arguments")) } else { Ok("a line".to_owned()) };
                Input::Prepared { call, result }
            }
            Pending::Authorize(call) => {
                let denied = self.dice.one_in(6);
                let verdict = if denied { Verdict::Deny { error: error("no") } } else { Verdict::Allow };
                Input::Authorized { call, verdict }
            }
            Pending::Execute(call) => {
                let aborted = self.aborted.contains(&format!("{:?}", Target::Call(call.clone())));
                let outcome = Box::new(self.outcome(aborted));
                Input::CallDone { call, outcome }
            }
            Pending::Compaction(job) => Input::CompactionDone { job, result: self.summary() },
            Pending::DrainExpired => Input::DrainExpired,
        }
    }

    /// Mostly what they were before.
    fn sources(&mut self) -> Sources {
        if self.dice.one_in(20) {
            self.settings.fixed = 1 - self.settings.fixed;
        }
        if self.dice.one_in(20) {
            self.settings.messages = 1800 - self.settings.messages;
        }
        if self.dice.one_in(20) {
            self.settings.tenths = self.dice.roll(11);
        }
        let mut sources = sources_of(self.settings.fixed, self.settings.messages);
        let tenths = self.settings.tenths;
        sources.model.temperature = (tenths > 0).then_some(tenths as f64 / 10.0);
        sources.model.provider_options = Object::from_iter([("top_k".to_owned(), tenths.into())]);
        sources.budgets.output = 300;
        sources.compacting = self.settings.compacting.clone();
        sources.in_system = self.settings.in_system.clone().into();
        sources.tail = (0..self.dice.roll(3)).map(|n| board(n, self.dice.roll(9)).into()).collect();
        sources
    }

    /// Mostly a good one.
    fn summary(&mut self) -> Result<Box<Compacted>, ErrorPayload> {
        let words = "word ".repeat(self.dice.roll(200) as usize);
        let text = match self.dice.roll(8) {
            0 => return Err(error("no answer")),
            1 => String::new(),
            2 => "I cannot help with that".to_owned(),
            _ => format!("## Goal\nbuild it\n## Progress\n{words}"),
        };
        let mut content = vec![ContentBlock::text(text)];
        if self.dice.one_in(10) {
            content.push(ContentBlock::ToolCall(self.call()));
        }
        let stop = StopReason::new(StopKind::EndTurn);
        let reply = Reply { content, usage: Usage::default(), stop, metadata: Object::new() };
        Ok(Box::new(Compacted { reply, details: Object::new() }))
    }

    fn outcome(&mut self, aborted: bool) -> Outcome {
        let kind = match self.dice.roll(6) {
            _ if aborted => ResultKind::Aborted,
            0 => ResultKind::Failed,
            _ => ResultKind::Ok,
        };
        let words = "word ".repeat(self.dice.roll(300) as usize);
        Outcome {
            kind,
            content: vec![ContentBlock::text(words)],
            error: (kind != ResultKind::Ok).then(|| error("failed")),
            metadata: Object::new(),
            summary: None,
            after: if self.dice.one_in(8) { vec![self.context_node()] } else { Vec::new() },
        }
    }

    fn context_node(&mut self) -> AfterNode {
        let types = [NodeType::PlanInstruction, NodeType::SkillContext, NodeType::InstructionContext];
        let key = format!("thing {}", self.dice.roll(3));
        let call = ToolCallId::parse(&format!("c{}", self.dice.roll(4))).ok();
        AfterNode {
            node_type: types[self.dice.roll(3) as usize],
            content: vec![ContentBlock::text("how to do it")],
            metadata: ContextMark { items: vec![(key, "hash".into())], call }.metadata(),
        }
    }

    fn model(&mut self, request: RequestNo) -> Input {
        let aborted = self.aborted.contains(&format!("{:?}", Target::Model(request)));
        let failed = |fault, partial| Input::ModelFailed { request, fault, error: error("broken"), partial };
        if aborted && !self.dice.one_in(4) {
            let partial = self.dice.one_in(2).then(|| self.reply());
            return failed(ModelFault::Aborted, partial);
        }
        if self.dice.one_in(self.rates.overflow) {
            return failed(ModelFault::Overflow, None);
        }
        if self.dice.one_in(self.rates.broken_stream) {
            let partial = self.dice.one_in(2).then(|| self.reply());
            let fault = if self.dice.one_in(3) { ModelFault::Fatal } else { ModelFault::Retryable };
            return failed(fault, partial);
        }
        Input::ModelDone { request, reply: self.reply() }
    }

    fn reply(&mut self) -> Reply {
        let mut content = Vec::new();
        if self.dice.one_in(2) {
            let written = self.dice.one_in(10);
            content.push(ContentBlock::text(if written { WRITTEN_CALL } else { "some text" }));
        }
        if !self.dice.one_in(4) {
            for _ in 0..self.dice.roll(5) {
                let call = self.call();
                content.push(ContentBlock::ToolCall(call));
            }
        }
        let stop = match self.dice.roll(self.rates.cut) {
            0 => StopKind::MaxTokens,
            1 => StopKind::ContentFilter,
            _ => StopKind::EndTurn,
        };
        Reply {
            content,
            usage: Usage { input_tokens: Some(self.dice.roll(900)), ..Usage::default() },
            stop: StopReason::new(stop),
            metadata: Object::new(),
        }
    }

    fn call(&mut self) -> ToolCall {
        // Few ids and few arguments, so that ids repeat and calls are equal.
        let id = format!("c{}", self.dice.roll(4));
        let name = self.tools[self.dice.roll(6) as usize];
        let mut metadata = Object::new();
        if self.dice.one_in(12) {
            metadata.insert(ToolCall::ARGUMENTS_ERROR.to_owned(), "broken".into());
        }
        ToolCall {
            tool_call_id: ToolCallId::parse(&id).unwrap(),
            name: name.to_owned(),
            arguments: Object::from_iter([("n".to_owned(), self.dice.roll(2).into())]),
            metadata,
        }
    }

    /// Something late, foreign or impossible.
    pub(super) fn stale(&mut self) -> Input {
        let call = ToolCallId::parse(&format!("c{}", self.dice.roll(9) + 100)).unwrap();
        match self.dice.roll(8) {
            0 => Input::ModelDone { request: RequestNo(9999), reply: self.reply() },
            1 => Input::ModelFailed {
                request: RequestNo(9999),
                fault: ModelFault::Retryable,
                error: error("late"),
                partial: None,
            },
            2 => Input::Prepared { call, result: Ok("a line".into()) },
            3 => Input::Authorized { call, verdict: Verdict::Allow },
            4 => Input::CallDone { call, outcome: Box::new(self.outcome(false)) },
            5 => Input::CompactionDone { job: JobNo(9999), result: self.summary() },
            6 => Input::StoreFailed { commit: CommitNo(9999), error: error("late") },
            _ => Input::Start { content: vec![ContentBlock::text("again")] },
        }
    }
}

fn board(n: u64, step: u64) -> ModelMessage {
    let text = format!("<task_board>\nstep {step} runs\n</task_board>");
    let mut message = ModelMessage::new(Role::User, vec![ContentBlock::text(text)]);
    message.metadata.insert("n".to_owned(), n.into());
    message
}
