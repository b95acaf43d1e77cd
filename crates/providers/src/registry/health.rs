use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;

use crate::decorators::{Circuit, CircuitState, Counts, ModelMetrics};
use crate::tokens::Scale;

/// The names of models come from requests, so their number must be bounded.
const MAX_MODELS: usize = 256;

/// The health of a provider's models since the start, or since the provider was changed.
#[derive(Debug, Default)]
pub(super) struct HealthBook(Mutex<BTreeMap<String, Arc<ModelHealth>>>);

#[derive(Debug, Default)]
pub(super) struct ModelHealth {
    pub(super) circuit: Arc<Circuit>,
    pub(super) counts: Arc<Counts>,
    /// The calibration of the token count for this model.
    pub(super) scale: Arc<Scale>,
}

/// One model of a provider as people see it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelStatus {
    pub model: String,
    pub circuit: CircuitState,
    pub metrics: ModelMetrics,
}

impl HealthBook {
    pub(super) fn of(&self, model: &str) -> Arc<ModelHealth> {
        let mut models = self.lock();
        if let Some(known) = models.get(model) {
            return Arc::clone(known);
        }
        if models.len() >= MAX_MODELS {
            forget_one(&mut models);
        }
        let fresh = Arc::<ModelHealth>::default();
        models.insert(model.to_owned(), Arc::clone(&fresh));
        fresh
    }

    /// Whether a call to the model would be allowed now.
    pub(super) fn admits(&self, model: &str, now: Duration) -> bool {
        self.lock().get(model).is_none_or(|health| health.circuit.admits(now))
    }

    /// The models that were called, by name.
    pub(super) fn snapshot(&self, now: Duration) -> Vec<ModelStatus> {
        let models = self.lock();
        let called = models.iter().filter(|(_, health)| health.counts.calls() > 0);
        called
            .map(|(model, health)| ModelStatus {
                model: model.clone(),
                circuit: health.circuit.state(now),
                metrics: health.counts.snapshot(),
            })
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<ModelHealth>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget_one(models: &mut BTreeMap<String, Arc<ModelHealth>>) {
    let least = models.iter().min_by_key(|(_, health)| health.counts.calls());
    if let Some(model) = least.map(|(model, _)| model.clone()) {
        models.remove(&model);
    }
}
