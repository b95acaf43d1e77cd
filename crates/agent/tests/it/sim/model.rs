//! A model that answers as the schedule decides: well, badly, in part, or not at all.

use std::sync::Arc;

use futures::stream::{BoxStream, StreamExt as _};
use onyx_agent::{ModelChoice, Models, Payer};
use onyx_types::{
    Cancel, Fault, FinishReason, Model, ModelEvent, ModelFailure, ModelFailureClass, ModelRequest,
    TokenCounter, ToolUseId, Usage,
};
use serde_json::{Value, json};

use super::book::UnusualEvent;
use super::check::flaw_of;
use super::junction::{Track, What};
use crate::step::ByRule;

pub(super) const MODEL: &str = "sim/model";

#[derive(Clone)]
pub(super) struct SimModel {
    pub(super) track: Track,
    pub(super) window: Option<u32>,
}

impl Models for SimModel {
    fn resolve(&self, _: &ModelChoice, _: Payer<'_>) -> Result<Arc<dyn Model>, Fault> {
        Ok(Arc::new(self.clone()))
    }

    fn token_counter(&self, _: &str) -> Arc<dyn TokenCounter> {
        Arc::new(ByRule)
    }
}

/// How an answer ends.
#[derive(Clone, Copy, Debug)]
enum AnswerEnding {
    Text,
    Tools,
    Cut,
    Error,
    Stall,
    Garbage,
    Length,
    Filtered,
}

const ENDINGS: &[(usize, AnswerEnding)] = &[
    (40, AnswerEnding::Text),
    (34, AnswerEnding::Tools),
    (5, AnswerEnding::Cut),
    (5, AnswerEnding::Error),
    (4, AnswerEnding::Stall),
    (6, AnswerEnding::Garbage),
    (2, AnswerEnding::Length),
    (1, AnswerEnding::Filtered),
];

impl Model for SimModel {
    fn id(&self) -> &str {
        MODEL
    }

    fn context_window(&self) -> Option<u32> {
        self.window
    }

    fn stream(&self, request: ModelRequest, _: Cancel) -> BoxStream<'static, ModelEvent> {
        if let Some(flaw) = flaw_of(&request.messages) {
            let mut book = self.track.junction.book.lock().unwrap();
            book.violated(format!("a model was sent messages that no provider takes: {flaw}"));
        }
        let chance = &self.track.junction.chance;
        let ending = if self.track.junction.may_fail() {
            chance.weighted(ENDINGS)
        } else {
            AnswerEnding::Text
        };
        let (events, hangs) = self.answer(ending, !request.tools.is_empty());
        let track = self.track.clone();
        let told = futures::stream::iter(events).then(move |event| {
            let track = track.clone();
            async move {
                track.pause(What::Model).await;
                event
            }
        });
        if hangs { told.chain(futures::stream::pending()).boxed() } else { told.boxed() }
    }
}

impl SimModel {
    fn answer(&self, ending: AnswerEnding, tools: bool) -> (Vec<ModelEvent>, bool) {
        let chance = &self.track.junction.chance;
        let mut events = self.words();
        let usage = Usage { input: 100, output: 10, cost: Some(0.001), ..Usage::default() };
        if chance.percent(30) {
            events.insert(0, ModelEvent::Reasoning(json!({"thought": "hm"})));
            events.insert(0, ModelEvent::ReasoningDelta("hm".to_owned()));
        }
        let mut hangs = false;
        match ending {
            AnswerEnding::Text => events.push(ModelEvent::Finish(FinishReason::Stop)),
            AnswerEnding::Tools if !tools => events.push(ModelEvent::Finish(FinishReason::Stop)),
            AnswerEnding::Tools => {
                events.extend(self.calls(1 + chance.below(4)));
                events.push(ModelEvent::Usage(usage));
                events.push(ModelEvent::Finish(FinishReason::ToolCalls));
            }
            AnswerEnding::Cut => {
                self.track.junction.count(UnusualEvent::CutAnswer);
                let id = ToolUseId("half".to_owned());
                events.push(ModelEvent::ToolCallStart { index: 0, id, name: "note".to_owned() });
            }
            AnswerEnding::Error => {
                self.track.junction.count(UnusualEvent::ModelError);
                if chance.percent(50) {
                    events.clear();
                }
                events.push(ModelEvent::Failed(self.failure()));
            }
            AnswerEnding::Stall => {
                self.track.junction.count(UnusualEvent::Stall);
                hangs = true;
            }
            AnswerEnding::Garbage => {
                self.track.junction.count(UnusualEvent::Garbage);
                events.extend(self.garbage(tools));
            }
            AnswerEnding::Length => events.push(ModelEvent::Finish(FinishReason::Length)),
            AnswerEnding::Filtered => events.push(ModelEvent::Finish(FinishReason::ContentFilter)),
        }
        (events, hangs)
    }

    /// Some text: sometimes none, sometimes enough to fill the window.
    fn words(&self) -> Vec<ModelEvent> {
        let chance = &self.track.junction.chance;
        let pieces = chance.below(4);
        let long = if chance.percent(20) { 60 } else { 1 };
        (0..pieces)
            .map(|piece| ModelEvent::TextDelta(format!("piece {piece} ").repeat(long)))
            .collect()
    }

    fn calls(&self, count: usize) -> Vec<ModelEvent> {
        if count > 1 {
            self.track.junction.count(UnusualEvent::ParallelCalls);
        }
        let chance = &self.track.junction.chance;
        // Some servers number the calls of each answer from the beginning.
        let numbered = chance.percent(10);
        if numbered {
            self.track.junction.count(UnusualEvent::SameIdTwice);
        }
        let call = |index: usize| {
            let effect = self.track.junction.book.lock().unwrap().fresh("effect");
            let id = if numbered { format!("call_{}", index % 2) } else { format!("id-{effect}") };
            let name = if chance.percent(50) { "note" } else { "look" };
            called(index, &id, name, json!({"key": effect}))
        };
        (0..count).map(call).collect()
    }

    fn garbage(&self, tools: bool) -> Vec<ModelEvent> {
        let stop = ModelEvent::Finish(FinishReason::Stop);
        let late = ModelEvent::TextDelta("after the end".to_owned());
        match self.track.junction.chance.below(5) {
            0 => vec![stop.clone(), late, stop],
            1 => vec![
                ModelEvent::TextDelta(String::new()),
                ModelEvent::Finish(FinishReason::ToolCalls),
            ],
            2 if tools => vec![called(7, "odd", "no_such_tool", json!({"key": 1})), stop],
            3 if tools => vec![called(7, "", "note", json!([1, "x"])), stop],
            _ => vec![stop.clone(), ModelEvent::Failed(self.failure()), stop],
        }
    }

    fn failure(&self) -> ModelFailure {
        let classes = [
            ModelFailureClass::RateLimited { retry_after: None },
            ModelFailureClass::Auth,
            ModelFailureClass::ContextLength,
            ModelFailureClass::Transport,
            ModelFailureClass::Timeout,
            ModelFailureClass::Cancelled,
        ];
        let at = self.track.junction.chance.below(classes.len());
        ModelFailure::new(classes[at].clone(), "as the schedule says")
    }
}

fn called(index: usize, id: &str, name: &str, arguments: Value) -> ModelEvent {
    ModelEvent::ToolCallEnd {
        index: index as u32,
        id: ToolUseId(id.to_owned()),
        name: name.to_owned(),
        arguments,
        provider_data: None,
    }
}
