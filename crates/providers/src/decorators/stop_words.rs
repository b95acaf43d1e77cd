//! Handles stop words for models whose wire has no field for them: the answer ends before the first
//! of them.

use std::sync::Arc;

use futures::stream::{BoxStream, StreamExt};
use onyx_types::{Cancel, FinishReason, Model, ModelEvent, ModelRequest};

pub(crate) struct StopWords {
    inner: Arc<dyn Model>,
}

impl StopWords {
    pub(crate) fn new(inner: Arc<dyn Model>) -> Self {
        Self { inner }
    }
}

impl Model for StopWords {
    fn id(&self) -> &str {
        self.inner.id()
    }

    fn context_window(&self) -> Option<u32> {
        self.inner.context_window()
    }

    fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        let words: Vec<String> =
            request.sampling.stop.iter().filter(|word| !word.is_empty()).cloned().collect();
        let events = self.inner.stream(request, cancel);
        if words.is_empty() {
            return events;
        }
        let mut cut = StopWordFilter { words, held: String::new(), met: false };
        events.flat_map(move |event| futures::stream::iter(cut.take(event))).boxed()
    }
}

struct StopWordFilter {
    words: Vec<String>,
    /// Text that is held back, because it may be the beginning of a stop word.
    held: String,
    /// Whether a stop word was met. No more text is passed on then, but the rest of the answer is
    /// read, because the usage comes at its end.
    met: bool,
}

impl StopWordFilter {
    fn take(&mut self, event: ModelEvent) -> Vec<ModelEvent> {
        match event {
            ModelEvent::TextDelta(text) => self.text(&text),
            ModelEvent::ReasoningDelta(_)
            | ModelEvent::Reasoning(_)
            | ModelEvent::ToolCallStart { .. }
            | ModelEvent::ToolCallDelta { .. }
            | ModelEvent::ToolCallEnd { .. }
                if self.met =>
            {
                Vec::new()
            }
            ModelEvent::Finish(_) if self.met => vec![ModelEvent::Finish(FinishReason::Stop)],
            ModelEvent::ToolCallStart { .. } | ModelEvent::Finish(_) | ModelEvent::Failed(_) => {
                let mut events = self.release();
                events.push(event);
                events
            }
            other => vec![other],
        }
    }

    fn text(&mut self, text: &str) -> Vec<ModelEvent> {
        if self.met {
            return Vec::new();
        }
        self.held.push_str(text);
        let first = self.words.iter().filter_map(|word| self.held.find(word)).min();
        if let Some(end) = first {
            self.met = true;
            self.held.truncate(end);
            return self.release();
        }
        let kept = self.words.iter().map(|word| beginning_of(word, &self.held)).max();
        let certain = self.held.len() - kept.unwrap_or(0);
        let text: String = self.held.drain(..certain).collect();
        if text.is_empty() { Vec::new() } else { vec![ModelEvent::TextDelta(text)] }
    }

    fn release(&mut self) -> Vec<ModelEvent> {
        let text = std::mem::take(&mut self.held);
        if text.is_empty() { Vec::new() } else { vec![ModelEvent::TextDelta(text)] }
    }
}

/// The length of the longest suffix of the text with which the word begins.
fn beginning_of(word: &str, text: &str) -> usize {
    let longest = word.len().saturating_sub(1).min(text.len());
    let fits = |length: &usize| {
        let start = text.len() - length;
        text.is_char_boundary(start) && word.starts_with(&text[start..])
    };
    (1..=longest).rev().find(fits).unwrap_or(0)
}
