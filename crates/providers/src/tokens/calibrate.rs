use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::stream::{BoxStream, StreamExt};
use onyx_types::{Block, Cancel, Model, ModelEvent, ModelRequest, estimate_tokens};

/// The tokens of shorter prompts are mostly framing, which says little about how texts are counted.
const LEAST_TOKENS: usize = 200;

/// The first 16 calls are all used for learning, then one of every 16.
const FIRST_CALLS: u64 = 16;

/// No tokenizer differs from the rule by more than this factor, so a report outside it counts
/// something else.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 0.4..=2.5;

/// The ratio of a model's tokens to those of the rule. Shared by all calls to the model.
#[derive(Debug, Default)]
pub(crate) struct Scale {
    /// The bits of the factor as an `f64`; zero until a provider has reported.
    factor: AtomicU64,
    calls: AtomicU64,
}

impl Scale {
    pub(crate) fn get(&self) -> f64 {
        match self.factor.load(Ordering::Relaxed) {
            0 => 1.0,
            bits => f64::from_bits(bits),
        }
    }

    /// The newest report counts for half: prompts of one model are alike but not equal.
    fn learn(&self, estimated: usize, reported: u64) {
        let factor = reported as f64 / estimated as f64;
        if estimated < LEAST_TOKENS || !PLAUSIBLE.contains(&factor) {
            return;
        }
        let before = self.factor.load(Ordering::Relaxed);
        let known = if before == 0 { factor } else { f64::from_bits(before) };
        self.factor.store(f64::midpoint(known, factor).to_bits(), Ordering::Relaxed);
    }

    /// Whether this call is worth counting. A model does not change how it counts, so after the
    /// first calls only a few are counted: counting a long prompt costs as much as sending it.
    fn is_due(&self) -> bool {
        let calls = self.calls.fetch_add(1, Ordering::Relaxed);
        calls < FIRST_CALLS || calls.is_multiple_of(FIRST_CALLS)
    }
}

/// Compares the rule's count of each prompt with the provider's.
pub(crate) struct Calibrate {
    inner: Arc<dyn Model>,
    scale: Arc<Scale>,
}

impl Calibrate {
    pub(crate) fn new(inner: Arc<dyn Model>, scale: Arc<Scale>) -> Self {
        Self { inner, scale }
    }
}

impl Model for Calibrate {
    fn id(&self) -> &str {
        self.inner.id()
    }

    fn context_window(&self) -> Option<u32> {
        self.inner.context_window()
    }

    fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        let due = self.scale.is_due();
        let Some(estimated) = due.then(|| estimate_request(&request)).flatten() else {
            return self.inner.stream(request, cancel);
        };
        let scale = Arc::clone(&self.scale);
        let learn = move |event: &ModelEvent| {
            if let ModelEvent::Usage(usage) = event {
                scale.learn(estimated, usage.input);
            }
        };
        self.inner.stream(request, cancel).inspect(learn).boxed()
    }
}

/// `None` if the prompt holds something that is not counted as text.
fn estimate_request(request: &ModelRequest) -> Option<usize> {
    let mut tokens: usize = request.system.iter().map(|block| estimate_tokens(&block.text)).sum();
    for tool in &*request.tools {
        tokens += estimate_tokens(&tool.name) + estimate_tokens(&tool.description);
        tokens += tool.input_schema.tokens();
    }
    for block in request.messages.iter().flat_map(|message| &message.content) {
        tokens += match block {
            Block::Text { text } => estimate_tokens(text),
            Block::ToolUse { name, input, .. } => {
                estimate_tokens(name) + estimate_tokens(&input.to_string())
            }
            Block::ToolResult { content, .. } => estimate_tokens(content),
            // Reasoning may not be sent at all, depending on the model that made it, so its tokens
            // cannot be counted.
            Block::Reasoning { .. } | Block::Image { .. } | Block::Attachment(_) => return None,
        };
    }
    Some(tokens)
}
