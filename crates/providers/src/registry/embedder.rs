use std::sync::Arc;

use futures::future::FutureExt;
use onyx_types::{Embedder, EmbedderIdentity, ErrorCode, Fault};
use reqwest::Url;

use super::catalogue::{Catalogue, split};
use super::guards::Guards;
use super::provider::Provider;
use crate::embed::{Ask, EmbeddingWire, WireEmbedder};
use crate::http::exchange;

/// The embedding model of this id, `<provider>/<model>`. Asks the provider for the length of
/// its vectors unless the config, the person's file or the snapshot knows it.
pub(super) async fn embedder(
    catalogue: &Catalogue,
    guards: &Guards,
    id: &str,
) -> Result<Arc<dyn Embedder>, Fault> {
    let (name, model) = split(id)?;
    if let Some(sourced) = catalogue.sourced(name) {
        return sourced.embedder(model);
    }
    let provider = catalogue.provider(name)?;
    let wire = embedding_wire(&provider)?;
    let known = provider.facts(model, &catalogue.metadata).dims;
    let health = provider.line.health.of(model);
    let mut embedder = WireEmbedder {
        wire,
        identity: EmbedderIdentity {
            provider: provider.name.clone(),
            model: model.to_owned(),
            dims: known.unwrap_or_default() as usize,
        },
        ask: ask(provider, wire)?,
        retry: guards.retry,
        breaker: guards.breaker,
        circuit: Arc::clone(&health.circuit),
        clock: Arc::clone(&guards.clock),
    };
    if known.is_none() {
        embedder.identity.dims = embedder.probe().await.map_err(Fault::from)?;
    }
    Ok(Arc::new(embedder))
}

fn embedding_wire(provider: &Provider) -> Result<EmbeddingWire, Fault> {
    provider.kind.row().embeddings.ok_or_else(|| {
        let (name, kind) = (&provider.name, provider.kind.as_str());
        let message = format!("`{name}` is of kind `{kind}`, which cannot embed texts here");
        Fault::new(ErrorCode::ModelNotFound, message).with_hint(
            "Name an embedding model of an `openai` or `ollama` provider, or local/minilm.",
        )
    })
}

fn ask(provider: Arc<Provider>, wire: EmbeddingWire) -> Result<Ask, Fault> {
    let url = Url::parse(&wire.endpoint(provider.base.as_str())).map_err(|error| {
        Fault::new(ErrorCode::InvalidRequest, format!("`{}`: {error}", provider.name))
    })?;
    Ok(Box::new(move |body, bounds| {
        let (provider, url) = (Arc::clone(&provider), url.clone());
        async move {
            let line = &provider.line;
            let request = line.client()?.post(url).headers(line.headers()).body(body);
            let answer = exchange(request, &line.endpoint, bounds).await;
            answer.map_err(|none| none.failure)
        }
        .boxed()
    }))
}
