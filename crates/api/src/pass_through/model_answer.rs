use futures::stream::{BoxStream, StreamExt as _};
use onyx_types::{ErrorCode, Fault, ModelEvent};

use super::under_way::UnderWay;
use crate::wire::encode::v1::{AnswerPart, ModelFold};

/// The answer of a model to a client that asked the model without an agent, part by part.
pub(crate) struct ModelAnswer {
    events: BoxStream<'static, ModelEvent>,
    fold: ModelFold,
    under_way: UnderWay,
}

impl ModelAnswer {
    pub(crate) fn new(events: BoxStream<'static, ModelEvent>, under_way: UnderWay) -> Self {
        Self { events, fold: ModelFold::default(), under_way }
    }

    /// The next parts. The very last part is an end or a failure, even if the stream just stops.
    pub(crate) async fn next(&mut self) -> Vec<AnswerPart> {
        loop {
            let event = match self.under_way.unless_over(self.events.next()).await {
                Ok(Some(event)) => event,
                Ok(None) => {
                    return vec![AnswerPart::Failed(Fault::plain(ErrorCode::ProviderTruncated))];
                }
                Err(fault) => return vec![AnswerPart::Failed(fault)],
            };
            let parts = self.fold.event(event);
            if !parts.is_empty() {
                return parts;
            }
        }
    }
}
