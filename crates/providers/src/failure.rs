use onyx_types::{ModelEvent, ModelFailure, ModelFailureClass};

/// Provider messages can be pages of HTML; a person needs the first lines.
const MAX_MESSAGE_CHARS: usize = 500;

/// A failure whose message is cut to a readable length.
pub fn failure(class: ModelFailureClass, message: impl Into<String>) -> ModelFailure {
    let message: String = message.into();
    let message = match message.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message,
    };
    ModelFailure::new(class, message)
}

/// The wire has no field for this, and leaving it out would change the answer.
pub fn unsupported(field: &'static str, why: &str) -> ModelFailure {
    failure(ModelFailureClass::Unsupported { field }, format!("{field}: {why}"))
}

pub(crate) fn failed(class: ModelFailureClass, message: impl Into<String>) -> ModelEvent {
    ModelEvent::Failed(failure(class, message))
}

pub(crate) fn is_last(event: &ModelEvent) -> bool {
    match event {
        ModelEvent::Finish(_) | ModelEvent::Failed(_) => true,
        ModelEvent::TextDelta(_)
        | ModelEvent::ReasoningDelta(_)
        | ModelEvent::Reasoning(_)
        | ModelEvent::ToolCallStart { .. }
        | ModelEvent::ToolCallDelta { .. }
        | ModelEvent::ToolCallEnd { .. }
        | ModelEvent::Usage(_)
        | ModelEvent::Notice { .. }
        | ModelEvent::AnsweredBy { .. } => false,
    }
}
