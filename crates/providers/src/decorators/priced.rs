use std::sync::Arc;

use futures::stream::{BoxStream, StreamExt};
use onyx_types::{Cancel, Model, ModelEvent, ModelRequest};

use crate::metadata::Price;

/// Adds the price of a model's usage. A charge that the provider reports takes precedence over the
/// price table.
pub(crate) struct PricedModel {
    inner: Arc<dyn Model>,
    price: Option<Price>,
}

impl PricedModel {
    pub(crate) fn new(inner: Arc<dyn Model>, price: Option<Price>) -> Self {
        Self { inner, price }
    }
}

impl Model for PricedModel {
    fn id(&self) -> &str {
        self.inner.id()
    }

    fn context_window(&self) -> Option<u32> {
        self.inner.context_window()
    }

    fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        let events = self.inner.stream(request, cancel);
        let Some(price) = self.price else { return events };
        let priced = move |event| match event {
            ModelEvent::Usage(mut usage) if usage.cost.is_none() => {
                usage.cost = Some(price.cost(&usage));
                ModelEvent::Usage(usage)
            }
            other => other,
        };
        events.map(priced).boxed()
    }
}
