//! `auto`: the model is chosen by the config's rules once the prompt is known.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::ready;
use futures::stream::{BoxStream, StreamExt, iter, once};
use onyx_types::{
    Block, Cancel, Fault, Model, ModelEvent, ModelFailureClass, ModelRequest, StatusCode,
    estimate_tokens,
};

use crate::failure::failed;
use crate::routing::{Candidate, Need, RoutingSettings, Task, TaskClass, route};

/// A model for one run that chooses the answering model at its first call and keeps it.
pub(super) struct Auto {
    settings: RoutingSettings,
    class: TaskClass,
    choices: Vec<(Candidate, Arc<dyn Model>)>,
    standby: Vec<Arc<dyn Model>>,
    /// The model that was chosen. Prompt caches and signatures belong to one model, so a run keeps
    /// its model if it can.
    chosen: Mutex<Option<Arc<dyn Model>>>,
}

fn catalogue(choices: &[(Candidate, Arc<dyn Model>)]) -> Vec<Candidate> {
    choices.iter().map(|(candidate, _)| candidate.clone()).collect()
}

impl Auto {
    /// The models of `standby` are asked after those of the rules. Fails if there is no model to
    /// choose from, which does not depend on the prompt.
    pub(super) fn new(
        settings: &RoutingSettings,
        class: TaskClass,
        choices: Vec<(Candidate, Arc<dyn Model>)>,
        standby: Vec<Arc<dyn Model>>,
    ) -> Result<Self, Fault> {
        route(settings, &Task { class, ..Task::default() }, &catalogue(&choices))?;
        Ok(Self { settings: settings.clone(), class, choices, standby, chosen: Mutex::default() })
    }

    /// The chosen model, and the notice about the choice.
    fn choose(&self, task: &Task) -> Result<(Arc<dyn Model>, Option<String>), Fault> {
        let mut chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = chosen.as_ref().filter(|model| fits(model.context_window(), task)) {
            return Ok((Arc::clone(model), None));
        }
        let choice = route(&self.settings, task, &catalogue(&self.choices))?;
        let named = |id: &String| {
            let found = self.choices.iter().find(|(candidate, _)| candidate.id == *id);
            found.map(|(_, model)| Arc::clone(model))
        };
        let others = choice.fallbacks.iter().filter_map(named).chain(self.standby.iter().cloned());
        let others: Vec<_> = others.filter(|model| model.id() != choice.model).collect();
        let first = named(&choice.model).ok_or_else(|| {
            Fault::new(onyx_types::ErrorCode::Internal, "the chosen model is not among the choices")
        })?;
        let model: Arc<dyn Model> = if others.is_empty() {
            first
        } else {
            Arc::new(crate::decorators::Fallback::new(first, others))
        };
        *chosen = Some(Arc::clone(&model));
        Ok((model, Some(choice.reason)))
    }
}

fn fits(window: Option<u32>, task: &Task) -> bool {
    let needed = task.prompt_tokens.saturating_add(task.output_tokens);
    window.is_none_or(|window| u64::from(window) >= needed)
}

/// The task as its request shows it.
fn task(class: TaskClass, request: &ModelRequest) -> Task {
    let blocks = || request.messages.iter().flat_map(|message| &message.content);
    let contents = blocks().map(|block| match block {
        Block::Text { text } => estimate_tokens(text),
        Block::ToolUse { input, .. } => estimate_tokens(&input.to_string()),
        Block::ToolResult { content, .. } => estimate_tokens(content),
        Block::Reasoning { .. } | Block::Image { .. } | Block::Attachment(_) => 0,
    });
    let system = request.system.iter().map(|block| estimate_tokens(&block.text));
    let has_image =
        blocks().any(|block| matches!(block, Block::Image { .. } | Block::Attachment(_)));
    let tools = (!request.tools.is_empty()).then_some(Need::Tools);
    Task {
        class,
        prompt_tokens: (contents.sum::<usize>() + system.sum::<usize>()) as u64,
        output_tokens: u64::from(request.max_output_tokens),
        needs: tools.into_iter().chain(has_image.then_some(Need::Images)).collect(),
        ..Task::default()
    }
}

impl Model for Auto {
    fn id(&self) -> &str {
        "auto"
    }

    /// The largest window of all models counts before the choice, because the rules consider the
    /// length of the prompt.
    fn context_window(&self) -> Option<u32> {
        self.choices.iter().filter_map(|(candidate, _)| candidate.facts.context_window).max()
    }

    fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        let task = task(self.class, &request);
        let (model, reason) = match self.choose(&task) {
            Ok(chosen) => chosen,
            Err(fault) => {
                let class = if fits(self.context_window(), &task) {
                    ModelFailureClass::InvalidRequest
                } else {
                    // A shorter prompt may fit into the window of another model.
                    ModelFailureClass::ContextLength
                };
                return once(ready(failed(class, fault.message))).boxed();
            }
        };
        let notice =
            reason.map(|message| ModelEvent::Notice { code: StatusCode::Fallback, message });
        let answered_by = ModelEvent::AnsweredBy { model: model.id().to_owned() };
        let first = notice.into_iter().chain([answered_by]);
        iter(first).chain(model.stream(request, cancel)).boxed()
    }
}
