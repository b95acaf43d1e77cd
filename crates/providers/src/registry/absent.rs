use futures::future::ready;
use futures::stream::{BoxStream, StreamExt, once};
use onyx_types::{Cancel, Model, ModelEvent, ModelFailureClass, ModelRequest};

use super::error::RegistryError;
use crate::failure::failed;

/// A model of a chain that is not available. It fails without a request, so that the chain
/// continues with the next model and reports it, as for a model that is down.
pub(super) struct MissingModel {
    id: String,
    reason: RegistryError,
}

impl MissingModel {
    pub(super) fn new(id: &str, reason: RegistryError) -> Self {
        Self { id: id.to_owned(), reason }
    }
}

impl Model for MissingModel {
    fn id(&self) -> &str {
        &self.id
    }

    fn context_window(&self) -> Option<u32> {
        None
    }

    fn stream(&self, _: ModelRequest, _: Cancel) -> BoxStream<'static, ModelEvent> {
        once(ready(failed(ModelFailureClass::Unavailable, self.reason.to_string()))).boxed()
    }
}
