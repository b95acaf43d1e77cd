use onyx_types::{FinishReason, ModelEvent, ModelFailure, ModelFailureClass, Usage};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{SIGNATURE, SIGNED_BY};
use crate::failure::failure;
use crate::wire::BodyForm;
use crate::wire::calls::{Calls, WholeCall};
use crate::wire::error::frame_failure;
use crate::wire::names::portable_id;
use crate::wire::reader::{AnswerReader, Flow, Framing, Reader, parse, truncated};
use crate::wire::sse::SseEvent;

pub type GeminiDecoder = Reader<GeminiAnswer>;

/// One frame of a stream; a whole answer is one too, or a list of them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    candidates: Option<Vec<Candidate>>,
    prompt_feedback: Option<PromptFeedback>,
    usage_metadata: Option<WireUsage>,
    response_id: Option<String>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    #[serde(default)]
    index: u32,
    content: Option<Content>,
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Content {
    parts: Option<Vec<Part>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    function_call: Option<FunctionCall>,
    thought_signature: Option<String>,
}

#[derive(Debug, Deserialize)]
struct FunctionCall {
    id: Option<String>,
    name: Option<String>,
    args: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    block_reason: Option<String>,
}

/// The prompt's count includes its cached tokens; thoughts are counted beside the answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireUsage {
    prompt_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

/// An answer that is complete with a finish reason and the end of the stream; the wire has no last
/// frame.
#[derive(Debug)]
pub struct GeminiAnswer {
    /// `<provider>/<model>`: signatures on calls are kept with it.
    model: String,
    response_id: String,
    calls: Calls,
    signature: Option<String>,
    usage: Option<Usage>,
    finish: Option<FinishReason>,
}

impl GeminiDecoder {
    pub fn of_model(form: BodyForm, model: &str) -> Self {
        let answer = GeminiAnswer {
            model: model.to_owned(),
            response_id: String::new(),
            calls: Calls::default(),
            signature: None,
            usage: None,
            finish: None,
        };
        Self::with(form, answer)
    }
}

impl AnswerReader for GeminiAnswer {
    const FRAMING: Framing = Framing::Sse;

    fn frame(
        &mut self,
        frame: &SseEvent,
        events: &mut Vec<ModelEvent>,
    ) -> Result<Flow, ModelFailure> {
        self.chunk(parse(&frame.data)?, events)
    }

    fn whole(&mut self, body: &str, events: &mut Vec<ModelEvent>) -> Result<Flow, ModelFailure> {
        if let Ok(chunks) = serde_json::from_str::<Vec<Chunk>>(body) {
            for chunk in chunks {
                self.chunk(chunk, events)?;
            }
        } else if let Ok(chunk) = serde_json::from_str(body) {
            self.chunk(chunk, events)?;
        }
        Ok(Flow::More)
    }

    fn is_whole(frame: &SseEvent) -> bool {
        serde_json::from_str::<Chunk>(&frame.data).is_ok()
    }

    fn end(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        let Some(reason) = self.finish else {
            return Err(truncated("the answer ended without a finish reason"));
        };
        let (reason, ends) = std::mem::take(&mut self.calls).ending(reason)?;
        if let Some(signature) = self.signature.take() {
            events.push(ModelEvent::Reasoning(json!({SIGNATURE: signature})));
        }
        events.extend(ends);
        events.extend(self.take_usage().map(ModelEvent::Usage));
        events.push(ModelEvent::Finish(reason));
        Ok(())
    }

    fn take_usage(&mut self) -> Option<Usage> {
        self.usage.take()
    }
}

impl GeminiAnswer {
    fn chunk(&mut self, chunk: Chunk, events: &mut Vec<ModelEvent>) -> Result<Flow, ModelFailure> {
        if let Some(usage) = chunk.usage_metadata {
            self.usage = Some(usage.into());
        }
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(frame_failure(&error));
        }
        if let Some(id) = chunk.response_id.filter(|_| self.response_id.is_empty()) {
            self.response_id = id;
        }
        if let Some(reason) = chunk.prompt_feedback.and_then(|feedback| feedback.block_reason) {
            let message = format!("the provider refused the prompt: {reason}");
            return Err(failure(ModelFailureClass::ContentFilter, message));
        }
        // Only one candidate is ever asked for.
        let own = |candidate: &Candidate| candidate.index == 0;
        if let Some(candidate) = chunk.candidates.into_iter().flatten().find(own) {
            self.candidate(candidate, events)?;
        }
        Ok(Flow::More)
    }

    fn candidate(
        &mut self,
        candidate: Candidate,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelFailure> {
        for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
            self.part(part, events)?;
        }
        if let Some(reason) = candidate.finish_reason {
            self.finish = Some(finish_reason(&reason)?);
        }
        Ok(())
    }

    fn part(&mut self, part: Part, events: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        if let Some(text) = part.text.filter(|text| !text.is_empty()) {
            let kind =
                if part.thought { ModelEvent::ReasoningDelta } else { ModelEvent::TextDelta };
            events.push(kind(text));
        }
        match part.function_call {
            Some(call) => {
                let call = self.call(call, part.thought_signature);
                self.calls.whole(call, events)
            }
            None => {
                self.signature = part.thought_signature.or(self.signature.take());
                Ok(())
            }
        }
    }

    fn call(&self, call: FunctionCall, signature: Option<String>) -> WholeCall {
        let made = || {
            let id = format!("call_{}_{}", self.response_id, self.calls.len());
            portable_id(&id).into_owned()
        };
        WholeCall {
            // The history pairs calls and results by id, so a call without one gets one.
            id: call.id.filter(|id| !id.is_empty()).unwrap_or_else(made),
            name: call.name.unwrap_or_default(),
            arguments: call.args.unwrap_or_else(|| Value::Object(Map::new())),
            provider_data: signature
                .map(|signature| json!({SIGNED_BY: self.model, SIGNATURE: signature})),
        }
    }
}

impl From<WireUsage> for Usage {
    fn from(usage: WireUsage) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| a.unwrap_or(0) + b.unwrap_or(0);
        Self {
            input: sum(usage.prompt_token_count, usage.tool_use_prompt_token_count),
            output: sum(usage.candidates_token_count, usage.thoughts_token_count),
            cache_read: usage.cached_content_token_count.unwrap_or(0),
            // The server caches automatically, and the wire does not report what it wrote.
            cache_write: 0,
            cost: None,
        }
    }
}

/// An unknown reason may mean anything, so it is no success.
fn finish_reason(reason: &str) -> Result<FinishReason, ModelFailure> {
    Ok(match reason {
        "STOP" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::Length,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT" => FinishReason::ContentFilter,
        "MALFORMED_FUNCTION_CALL" => {
            return Err(truncated("the model wrote a tool call that does not parse"));
        }
        other => {
            return Err(truncated(format!("the answer ended for an unknown reason: {other}")));
        }
    })
}
