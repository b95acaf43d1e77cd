//! The decorators that every model gets: retries, a breaker, metrics.

use std::sync::Arc;
use std::time::Duration;

use onyx_types::{Clock, Model};

use super::health::ModelHealth;
use crate::decorators::{Breaker, BreakerPolicy, Metrics, Retry, RetryPolicy};

#[derive(Clone, Debug)]
pub(super) struct Guards {
    pub(super) retry: RetryPolicy,
    pub(super) breaker: BreakerPolicy,
    pub(super) clock: Arc<dyn Clock>,
}

impl Guards {
    pub(super) fn now(&self) -> Duration {
        self.clock.now().mono
    }

    /// The breaker stands around the retries, so all attempts of one request count as one failure.
    pub(super) fn retried(&self, model: Arc<dyn Model>, health: &ModelHealth) -> Arc<dyn Model> {
        let circuit = Arc::clone(&health.circuit);
        let retry = Arc::new(Retry::new(model, self.retry, circuit, Arc::clone(&self.clock)));
        self.once(retry, health)
    }

    /// Wraps the model without a second attempt.
    pub(super) fn once(&self, model: Arc<dyn Model>, health: &ModelHealth) -> Arc<dyn Model> {
        let circuit = Arc::clone(&health.circuit);
        let breaker = Breaker::new(model, circuit, self.breaker, Arc::clone(&self.clock));
        let counts = Arc::clone(&health.counts);
        Arc::new(Metrics::new(Arc::new(breaker), counts, Arc::clone(&self.clock)))
    }

    /// The same guards with another waiting time of the breaker.
    pub(super) fn with_rest(&self, rest: Option<Duration>) -> Self {
        let rest = rest.unwrap_or(self.breaker.rest);
        Self { breaker: BreakerPolicy { rest, ..self.breaker }, ..self.clone() }
    }
}
