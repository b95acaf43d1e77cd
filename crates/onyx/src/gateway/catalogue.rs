//! Providers and models as the API shows them.

use futures::future::{BoxFuture, FutureExt};
use onyx_api::{
    CalledModelView, Catalogue, FailureView, FoundProviderView, LoginBegun, LoginView, ModelView,
    PriceView, ProviderView, TestView, WeightsFileView, WeightsView,
};
use onyx_providers::{
    Candidate, CircuitState, Finding, Locality, LoginStatus, LoginWay, Modality, ModelFacts,
    ModelStatus, ModelWeights, ProviderHealth, ProviderState, ProviderStatus, ProviderTest,
};
use onyx_types::{ErrorCode, Fault};

use super::logins;
use super::models::LiveModels;

impl Catalogue for LiveModels {
    fn providers(&self) -> Vec<ProviderView> {
        self.get().registry.status().into_iter().map(provider).collect()
    }

    fn test<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<TestView, Fault>> {
        async move { test(self.get().registry.test(name).await) }.boxed()
    }

    fn listed<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<ModelView>, Fault>> {
        async move {
            let current = self.get();
            let listed = current.registry.list_models(name).await?;
            let view = |model: onyx_providers::ListedModel| {
                let id = format!("{name}/{}", model.id);
                let known = current.registry.facts(&id).unwrap_or_default();
                // The provider's own statement takes precedence over the known facts.
                let stated =
                    ModelFacts { context_window: model.context_window, ..Default::default() };
                facts(id, stated.or(known))
            };
            Ok(listed.into_iter().map(view).collect())
        }
        .boxed()
    }

    fn models(&self) -> Vec<ModelView> {
        self.get().registry.candidates().into_iter().map(candidate).collect()
    }

    fn model(&self, id: &str) -> Result<ModelView, Fault> {
        let current = self.get();
        // Candidates have a state; of other models only the facts are known.
        let listed = current.registry.candidates().into_iter().find(|known| known.id == id);
        let held = current.registry.weights(id);
        let mut view = match (listed, &held) {
            (Some(known), _) => candidate(known),
            (None, Some((_, place))) => ModelView {
                locality: Some(locality(*place)),
                ..facts(id.to_owned(), current.registry.facts(id)?)
            },
            (None, None) => {
                current.registry.model(id)?;
                facts(id.to_owned(), current.registry.facts(id)?)
            }
        };
        view.weights = held.map(|(held, _)| weights(held));
        Ok(view)
    }

    fn found(&self) -> BoxFuture<'_, Vec<FoundProviderView>> {
        async move {
            let found = self.get().registry.found(self.ports()).await;
            found.into_iter().map(logins::found).collect()
        }
        .boxed()
    }

    fn login(&self, name: &str) -> Result<LoginView, Fault> {
        let status = self.get().registry.login(name)?;
        Ok(logins::view(status.unwrap_or(LoginStatus::NONE)))
    }

    fn begin_login<'a>(
        &'a self,
        name: &'a str,
        way: Option<&'a str>,
    ) -> BoxFuture<'a, Result<LoginBegun, Fault>> {
        let way = way.and_then(LoginWay::of);
        async move { Ok(logins::begun(self.get().registry.begin_login(name, way).await?)) }.boxed()
    }

    fn finish_login(&self, name: &str, address: &str) -> Result<(), Fault> {
        self.get().registry.finish_login(name, address)
    }

    fn end_login<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), Fault>> {
        self.logins().forget(name).boxed()
    }
}

fn provider(status: ProviderStatus) -> ProviderView {
    let (health, failing) = match status.health() {
        ProviderHealth::Untried => ("untried", None),
        ProviderHealth::Well => ("well", None),
        ProviderHealth::Failing { model, reason, .. } => {
            ("failing", Some(format!("{model}: {reason}")))
        }
    };
    let (state, address, detail) = match status.state {
        ProviderState::Ready { address } => ("ready", Some(address), failing),
        ProviderState::Disabled { reason } => ("disabled", None, Some(reason)),
    };
    ProviderView {
        name: status.name,
        kind: status.kind.map(onyx_providers::ProviderKind::as_str),
        state,
        detail,
        address,
        key: status.key,
        locality: status.locality.map(locality),
        health,
        models: status.models,
        called: status.called.into_iter().map(called).collect(),
        login: status.login.map(logins::view),
        account: status.account,
    }
}

fn called(status: ModelStatus) -> CalledModelView {
    let (circuit, failures, next_try_seconds) = match status.circuit {
        CircuitState::Closed { failures } => ("closed", failures, None),
        CircuitState::Open { failures, next_try_seconds } => {
            ("open", failures, Some(next_try_seconds))
        }
        CircuitState::HalfOpen { failures } => ("half_open", failures, None),
    };
    let metrics = status.metrics;
    CalledModelView {
        model: status.model,
        circuit,
        failures,
        next_try_seconds,
        calls: metrics.calls,
        answered: metrics.answered,
        retries: metrics.retries,
        first_content_ms: metrics.first_content.mean_seconds().map(|seconds| seconds * 1e3),
        last_failure: metrics.last_failure.map(|failure| FailureView {
            at: failure.at,
            class: failure.class,
            message: failure.message,
        }),
    }
}

fn test(test: ProviderTest) -> Result<TestView, Fault> {
    let (trouble, latency_ms, model_count) = match test.finding {
        Finding::Works { latency_seconds, models } => {
            (None, Some(latency_seconds * 1e3), Some(models.len()))
        }
        Finding::Fails { trouble, message: _ } => (Some(trouble.as_str()), None, None),
        Finding::Disabled { reason: _ } => (Some("disabled"), None, None),
        Finding::Unknown => return Err(Fault::new(ErrorCode::NotFound, test.advice)),
    };
    Ok(TestView {
        name: test.name,
        ok: trouble.is_none(),
        advice: test.advice,
        trouble,
        latency_ms,
        model_count,
    })
}

fn candidate(known: Candidate) -> ModelView {
    ModelView {
        locality: Some(locality(known.locality)),
        rests: known.rests,
        ..facts(known.id, known.facts)
    }
}

fn facts(id: String, facts: ModelFacts) -> ModelView {
    ModelView {
        id,
        context_window: facts.context_window,
        max_output_tokens: facts.max_output_tokens,
        price: facts.price.map(|price| PriceView {
            input: price.input,
            output: price.output,
            cache_read: price.cache_read,
            cache_write: price.cache_write,
        }),
        inputs: facts.inputs.map(|inputs| inputs.into_iter().map(modality).collect()),
        tools: facts.tools,
        reasoning: facts.reasoning,
        locality: None,
        rests: false,
        weights: None,
    }
}

fn weights(held: ModelWeights) -> WeightsView {
    let file = |file: onyx_providers::WeightsFile| WeightsFileView {
        path: file.path.display().to_string(),
        bytes: file.bytes,
        pinned_sha256: file.pinned_sha256,
    };
    WeightsView {
        files: held.files.into_iter().map(file).collect(),
        licence: held.licence,
        trained_window: held.trained_window,
        loaded: held.loaded,
    }
}

const fn locality(locality: Locality) -> &'static str {
    match locality {
        Locality::Hosted => "hosted",
        Locality::ThisMachine => "this_machine",
    }
}

const fn modality(modality: Modality) -> &'static str {
    match modality {
        Modality::Image => "image",
        Modality::Audio => "audio",
        Modality::Pdf => "pdf",
    }
}
