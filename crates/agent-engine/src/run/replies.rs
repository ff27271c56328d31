//! What the model said: an answer, calls, nothing, half of something.

use std::borrow::Cow;

use agent_protocol::{
    ContentBlock, EndReason, ErrorCode, ErrorPayload, EventDraft, Level, MessageCompleted, ModelCompleted, ModelFailed,
    ModelFault, ModelMessage, NodeId, NodeType, Object, Reply, Role, StopKind, ToolCall, ToolClass, bounded_name,
};

use super::answer_rule::AnswerRule;
use super::errors::OutputLimit;
use super::prompt_counts::{Prompt, Verdict};
use super::said::has_text;
use super::tools::Called;
use super::{Out, Phase, RequestNo, Run, Sources, Target, Write, errors};
use crate::batch::{Batch, Slot, SlotState};
use crate::budget::OutputBound;
use crate::compose::{Overflow, dynamic_tokens};
use crate::loops::LoopWindow;
use crate::notes;
use crate::tokens::TokenCounter;
use crate::written_calls::WrittenCall;

impl Run {
    pub(super) fn on_reply(&mut self, request: RequestNo, reply: Reply, out: &mut Out) {
        if self.counts.request != request {
            return;
        }
        match self.phase {
            Phase::Streaming { estimated } => {
                self.usage.add(&reply.usage);
                let verdict = self.judge_count(estimated, &reply);
                let prompt = self.calibration.apply(estimated);
                self.spent.add(prompt, verdict != Verdict::Odd, &reply, self.limits.price.as_ref());
                if verdict == Verdict::Halved && self.cut_prompt(estimated, &reply, out) {
                    return;
                }
                if verdict == Verdict::Plausible {
                    let corrected = self.calibration.apply(estimated);
                    self.estimates.note(estimated, corrected, reply.usage.input_tokens.unwrap_or(0));
                    self.calibration.observe(estimated, reply.usage.input_tokens);
                }
                self.shown = None;
                self.counts.model_retries = 0;
                self.counts.overflows = 0;
                self.counts.recoveries = 0;
                let expected = (verdict != Verdict::Plausible).then(|| self.calibration.apply(estimated));
                out.event(model_completed(&reply, expected));
                self.judge_reply(reply, out);
            }
            // The whole reply came just as the user stopped it: it counts as what was there when it was stopped.
            Phase::Draining(_) => self.on_partial(request, Some(reply), out),
            _ => {}
        }
    }

    /// Whether the server has read the whole prompt, as far as its count tells (PRV-12).
    fn judge_count(&mut self, estimated: u64, reply: &Reply) -> Verdict {
        let window = self.sources.as_ref().map_or(u64::MAX, |sources| sources.budgets.window);
        let expected = self.calibration.apply(estimated);
        let prompt = Prompt { epoch: self.epoch.number, estimated, expected };
        self.prompt_counts.judge(prompt, reply.usage.input_tokens, window, &mut self.calibration)
    }

    /// The server answered half of the prompt: room is made and the whole asked again. False where there is no room to make;
    /// then the answer stands, since a count alone ends no run.
    fn cut_prompt(&mut self, estimated: u64, reply: &Reply, out: &mut Out) -> bool {
        let Some(keep) = self.sources.as_ref().map(|sources| self.below(sources, estimated).1) else { return false };
        if self.counts.overflows >= self.limits.overflows || self.slide_plan(keep).is_none() {
            return false;
        }
        let error = errors::prompt_cut(reply.usage.input_tokens.unwrap_or_default(), self.calibration.apply(estimated));
        self.store_partial(Some(reply.clone()), "partial", out);
        self.on_overflow(estimated, &error, out);
        true
    }

    fn judge_reply(&mut self, reply: Reply, out: &mut Out) {
        let has_calls = reply.tool_calls().next().is_some();
        match (has_calls, has_text(&reply.content)) {
            (false, false) => self.on_empty_reply(&reply, out),
            (true, _) => self.on_calls(reply, out),
            (false, true) => self.on_text(reply, out),
        }
    }

    /// RUN-9: one reminder, then a clear error; never a silent success.
    fn on_empty_reply(&mut self, reply: &Reply, out: &mut Out) {
        if reply.stop.kind == StopKind::ContentFilter {
            return self.conclude(EndReason::Failed, Some(errors::filtered()), out);
        }
        if self.counts.empty_replies >= self.limits.empty_retries {
            if let Some(node) = self.said_beside_last_calls() {
                self.answer.push(node);
                return self.conclude(EndReason::Completed, None, out);
            }
            let only_thoughts = reply.metadata.contains_key(ModelMessage::REASONING);
            let error = match reply.stop.kind {
                _ if reply.metadata.contains_key(Reply::UNCLOSED_THINKING) => errors::unclosed_thoughts(),
                StopKind::MaxTokens if only_thoughts => errors::only_thoughts(&self.output_limit(reply)),
                _ => errors::empty(&reply.stop),
            };
            return self.conclude(EndReason::Failed, Some(error), out);
        }
        self.counts.empty_replies += 1;
        self.note(notes::EMPTY_REPLY, out);
        self.gather(out);
    }

    fn on_text(&mut self, reply: Reply, out: &mut Out) {
        let stop = reply.stop.kind;
        self.counts.empty_replies = 0;
        if let Some(call) = self.written_call(&reply) {
            return self.on_written_call(reply, &call, out);
        }
        if std::mem::take(&mut self.answer_is_off) {
            self.answer.clear();
        }
        let limit = self.output_limit(&reply);
        if stop != StopKind::MaxTokens
            && stop != StopKind::ContentFilter
            && let Some(fault) = self.fault_of_answer(&reply)
        {
            return self.on_off_answer(reply, &fault, out);
        }
        let node = self.append_reply(reply, out);
        match stop {
            StopKind::MaxTokens => {
                self.answer.push(node);
                self.go_on(&limit, out);
            }
            StopKind::ContentFilter => self.conclude(EndReason::Failed, Some(errors::filtered()), out),
            StopKind::EndTurn | StopKind::ToolUse | StopKind::StopSequence | StopKind::Error => {
                self.answer.push(node);
                self.conclude(EndReason::Completed, None, out);
            }
        }
    }

    /// RUN-9: a call in the words of the answer is never run. The model may make it again as one, then it is a clear error.
    fn on_written_call(&mut self, reply: Reply, call: &WrittenCall, out: &mut Out) {
        self.answer.clear();
        self.append_reply_as(reply, Some(notes::WRITTEN_CALL), out);
        if self.counts.written_calls >= self.limits.empty_retries {
            let error = errors::written_call(&call.tool, call.form);
            return self.conclude(EndReason::Failed, Some(error), out);
        }
        self.counts.written_calls += 1;
        self.note(&notes::written_call(&call.tool), out);
        self.gather(out);
    }

    /// What is wrong with the answer that ends with this reply, where it can still be put right (AGT-5).
    fn fault_of_answer(&self, reply: &Reply) -> Option<String> {
        let rule = self.answer_rule.as_ref().filter(|_| self.counts.off_answers < AnswerRule::CORRECTIONS)?;
        let mut answer = self.answer().unwrap_or_default();
        answer.push_str(&reply.text());
        rule.fault_of(&answer)
    }

    /// The answer is sent back. It stays what there is of one until the next reply.
    fn on_off_answer(&mut self, reply: Reply, fault: &str, out: &mut Out) {
        let node = self.append_reply_as(reply, Some(notes::OFF_SCHEMA), out);
        self.answer.push(node);
        self.answer_is_off = true;
        self.counts.off_answers += 1;
        self.counts.continuations = 0;
        self.note(&notes::off_schema(fault), out);
        self.gather(out);
    }

    /// RUN-7: ask the model to go on, but not for ever.
    fn go_on(&mut self, limit: &OutputLimit, out: &mut Out) {
        if self.counts.continuations >= self.limits.continuations {
            let error = errors::output_limit(limit);
            return self.conclude(EndReason::MaxOutputTokensRecovery, Some(error), out);
        }
        self.counts.continuations += 1;
        self.note(notes::CUT_REPLY, out);
        self.gather(out);
    }

    fn on_calls(&mut self, reply: Reply, out: &mut Out) {
        let stop = reply.stop.kind;
        self.counts.empty_replies = 0;
        self.counts.written_calls = 0;
        self.answer_is_off = false;
        self.answer.clear();
        let reply = self.with_own_ids(reply);
        let slots: Vec<_> = reply.tool_calls().map(|call| self.slot(call)).collect();
        let limit = self.output_limit(&reply);
        let node = self.append_reply(reply, out);
        let batch = Batch::new(node, slots);
        match stop {
            StopKind::MaxTokens => return self.refuse_cut_calls(batch, &limit, out),
            StopKind::ContentFilter => return self.refuse_filtered_calls(&batch, out),
            StopKind::EndTurn | StopKind::ToolUse | StopKind::StopSequence | StopKind::Error => {}
        }
        self.counts.continuations = 0;
        self.phase = Phase::Tools(batch);
        self.advance(out);
    }

    /// No call of a cut reply runs; each is told why (RUN-7).
    fn refuse_cut_calls(&mut self, batch: Batch, limit: &OutputLimit, out: &mut Out) {
        let asked = limit.asked;
        let error = ErrorPayload::new(ErrorCode::Cancelled, notes::cut_call(asked))
            .detail("kind", "max_output_tokens")
            .detail("limit", asked);
        for slot in &batch.slots {
            self.write_result(&Called::of(slot), &super::tools::failed(error.clone()), out);
        }
        if self.counts.continuations >= self.limits.continuations {
            let error = errors::output_limit_in_call(limit);
            return self.conclude(EndReason::MaxOutputTokensRecovery, Some(error), out);
        }
        self.counts.continuations += 1;
        self.gather(out);
    }

    /// No call of a withheld reply runs: what the filter left out may have been the half that mattered.
    fn refuse_filtered_calls(&mut self, batch: &Batch, out: &mut Out) {
        let error = ErrorPayload::new(ErrorCode::Cancelled, notes::FILTERED_CALL).detail("kind", "filtered");
        for slot in &batch.slots {
            self.write_result(&Called::of(slot), &super::tools::failed(error.clone()), out);
        }
        self.conclude(EndReason::Failed, Some(errors::filtered()), out);
    }

    /// The limit at which this reply was cut, if it was.
    fn output_limit(&self, reply: &Reply) -> OutputLimit {
        let (asked, bound) = self
            .sources
            .as_ref()
            .map_or((0, OutputBound::default()), |sources| (sources.budgets.output, sources.budgets.output_bound));
        let counted = reply.usage.output_tokens.unwrap_or(0);
        let written = match counted {
            // Of thoughts not all may be shown.
            0 if reply.content.is_empty() => asked,
            _ => counted.max(TokenCounter.reply(reply)),
        };
        OutputLimit { asked, bound, written }
    }

    fn slot(&self, call: &ToolCall) -> Slot {
        let classes = self.sources.as_ref().map(|sources| &sources.tools.classes);
        // A tool that does not exist is answered at once; it has no class that could hold anything up.
        let class = classes.and_then(|classes| classes.get(&call.name)).copied().unwrap_or(ToolClass::Readonly);
        // Arguments that could not be read are compared as they came.
        let key = match call.metadata.get(ToolCall::INVALID_ARGUMENTS) {
            Some(raw) => {
                let raw = Object::from_iter([(ToolCall::INVALID_ARGUMENTS.to_owned(), raw.clone())]);
                LoopWindow::call_key(&call.name, &raw)
            }
            None => LoopWindow::call_key(&call.name, &call.arguments),
        };
        Slot { id: call.tool_call_id.clone(), key, call: call.clone(), class, state: SlotState::Waiting, summary: None }
    }

    /// Gives calls whose id is taken on this path a new one; the provider's stays in their metadata (PRV-5). Of a name that is
    /// longer than any tool's the beginning stays: it is sent back with every later request.
    fn with_own_ids(&mut self, mut reply: Reply) -> Reply {
        let mut taken = Vec::new();
        for block in &mut reply.content {
            let ContentBlock::ToolCall(call) = block else { continue };
            // An adapter of others may let any name through.
            if let Cow::Owned(short) = bounded_name(&call.name) {
                call.name = short;
            }
            let id = self.call_id(&call.tool_call_id, &taken);
            if id != call.tool_call_id {
                let raw = std::mem::replace(&mut call.tool_call_id, id.clone());
                call.metadata.entry("raw_id").or_insert_with(|| raw.as_str().into());
            }
            taken.push(id);
        }
        reply
    }

    fn append_reply(&mut self, reply: Reply, out: &mut Out) -> NodeId {
        self.append_reply_as(reply, None, out)
    }

    /// A reply joins the path; where it is no answer although it makes no call, for this reason.
    fn append_reply_as(&mut self, reply: Reply, no_answer: Option<&str>, out: &mut Out) -> NodeId {
        let calls = reply.tool_calls().count() as u64;
        let tool_calls = no_answer.is_none().then_some(calls);
        let completed = MessageCompleted { tool_calls, partial: false, reason: no_answer.map(str::to_owned) };
        let metadata = reply_metadata(&reply);
        // An empty text block beside calls says nothing, and some servers refuse it.
        let content: Vec<_> = reply.content.into_iter().filter(|block| block.as_text() != Some("")).collect();
        let node = self.append(Role::Assistant, NodeType::Message, content, metadata, out);
        out.event(EventDraft::of(completed).node(&node));
        node
    }

    pub(super) fn on_model_failed(
        &mut self,
        request: RequestNo,
        fault: ModelFault,
        error: ErrorPayload,
        partial: Option<Reply>,
        out: &mut Out,
    ) {
        if self.counts.request != request {
            return;
        }
        if matches!(self.phase, Phase::Draining(_)) {
            return self.on_partial(request, partial, out);
        }
        let Phase::Streaming { estimated } = self.phase else { return };
        self.spend_on_part(partial.as_ref());
        match fault {
            ModelFault::Overflow => {
                // Only where the window was full in the middle of an answer.
                self.note_what_was_shown(partial.as_ref());
                self.store_partial(partial, "partial", out);
                self.on_overflow(estimated, &error, out);
            }
            ModelFault::Retryable if self.counts.model_retries < self.limits.model_retries => {
                self.counts.model_retries += 1;
                self.note_what_was_shown(partial.as_ref());
                self.store_partial(partial, "partial", out);
                out.event(model_failed(&error, true));
                // The same turn again (RUN-23).
                self.counts.turns -= 1;
                self.gather(out);
            }
            ModelFault::Retryable | ModelFault::Fatal => {
                self.note_what_was_shown(partial.as_ref());
                self.store_partial(partial, "failed", out);
                out.event(model_failed(&error, false));
                self.conclude(EndReason::Failed, Some(error), out);
            }
            ModelFault::Aborted => {
                self.note_what_was_shown(partial.as_ref());
                self.store_partial(partial, "aborted", out);
                self.conclude(EndReason::AbortedStreaming, Some(error), out);
            }
        }
    }

    /// The provider says that the prompt is too long, whatever we estimated: make room below what was refused.
    fn on_overflow(&mut self, estimated: u64, error: &ErrorPayload, out: &mut Out) {
        let Some(sources) = &mut self.sources else { return };
        self.counts.turns -= 1;
        let said = |key: &str| error.details.get(key).and_then(serde_json::Value::as_u64);
        self.calibration.learn_window(said("limit_tokens"), said("requested_tokens"), sources.budgets.window);
        sources.budgets = sources.budgets.learned(self.calibration);
        let Some(sources) = &self.sources else { return };
        let (refused, keep) = self.below(sources, estimated);
        let overflow = Overflow { needed: refused, available: sources.budgets.messages };
        let at = out.writes.len();
        self.make_room(overflow, keep, Some(error), out);
        // Told first, but only now it is known whether anything is asked again.
        let will_retry = !matches!(self.phase, Phase::Ending { .. });
        out.writes.insert(at, Write::Event(model_failed(error, will_retry)));
    }

    /// What the provider refused, in its tokens, and how much of it to keep.
    fn below(&self, sources: &Sources, estimated: u64) -> (u64, u64) {
        let system = sources.budgets.fixed + dynamic_tokens(&sources.system);
        let refused = self.calibration.apply(estimated.saturating_sub(system));
        (refused, self.budgets(sources).slide_to().min(refused * 3 / 5))
    }

    /// What an aborted stream left.
    fn on_partial(&mut self, request: RequestNo, partial: Option<Reply>, out: &mut Out) {
        let Phase::Draining(drain) = &self.phase else { return };
        if drain.open != Some(Target::Model(request)) {
            return;
        }
        let store_gone = drain.store_gone;
        self.spend_on_part(partial.as_ref());
        if !store_gone {
            self.note_what_was_shown(partial.as_ref());
            self.store_partial(partial, "aborted", out);
        }
        self.drained(&Target::Model(request), out);
    }

    /// What a request used that came to no more than this part of a reply.
    fn spend_on_part(&mut self, partial: Option<&Reply>) {
        if let Some(partial) = partial.filter(|partial| !partial.content.is_empty()) {
            self.usage.add(&partial.usage);
            let prompt = self.calibration.apply(self.counts.estimated);
            self.spent.add(prompt, true, partial, self.limits.price.as_ref());
        }
    }

    /// Kept for inspection: not active, not on the path, in no prompt (RUN-8).
    fn store_partial(&mut self, partial: Option<Reply>, mark: &str, out: &mut Out) {
        let Some(partial) = partial.filter(|reply| !reply.content.is_empty()) else { return };
        let mut metadata = reply_metadata(&partial);
        metadata.insert("partial".to_owned(), true.into());
        metadata.insert("reason".to_owned(), mark.into());
        let draft = self.draft(Role::Assistant, NodeType::Message, partial.content, metadata);
        let completed = MessageCompleted { tool_calls: None, partial: true, reason: Some(mark.to_owned()) };
        out.event(EventDraft::of(completed).node(&draft.node_id));
        out.writes.push(Write::Node(draft));
    }

    /// Something that was aborted reported back. True if the machine was waiting for it.
    pub(super) fn drained(&mut self, target: &Target, out: &mut Out) -> bool {
        let Phase::Draining(drain) = &mut self.phase else { return false };
        if drain.open.as_ref() == Some(target) {
            drain.open = None;
            self.conclude_if_drained(out);
        }
        true
    }
}

fn reply_metadata(reply: &Reply) -> Object {
    let mut metadata = Object::new();
    if let Some(reasoning) = reply.metadata.get(ModelMessage::REASONING) {
        metadata.insert(ModelMessage::REASONING.to_owned(), reasoning.clone());
    }
    metadata.insert("stop".to_owned(), reply.stop.kind.as_str().into());
    metadata
}

/// `expected` is what the prompt should have counted, where the provider's count cannot be that of the whole prompt.
fn model_completed(reply: &Reply, expected: Option<u64>) -> EventDraft {
    let completed = EventDraft::of(ModelCompleted {
        stop: Some(reply.stop.kind),
        stop_raw: Some(reply.stop.raw.clone()),
        usage: reply.usage.clone(),
        prompt_tokens_expected: expected,
    });
    if expected.is_some() { completed.level(Level::Warning) } else { completed }
}

fn model_failed(error: &ErrorPayload, will_retry: bool) -> EventDraft {
    EventDraft::of(ModelFailed { error: error.clone(), will_retry: Some(will_retry) }).level(Level::Warning)
}
