//! The API's port for pass-through requests to providers.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use futures::stream::{BoxStream, StreamExt, unfold};
use onyx_api::{
    Dialect, Embedded, Forward, ForwardedAnswer, Histogram, Media, ModelFigures, OfferedModel,
    Piece, Upstream,
};
use onyx_providers::wire::Wire;
use onyx_providers::{
    CircuitState, ForwardRoute, Forwarding, LATENCY_BOUNDS, MediaRequest, Modality, ModelFacts,
    ModelStatus, ProviderState, RawPiece, UsageEstimate,
};
use onyx_types::{
    Cancel, ErrorCode, Fault, Limits, Model, ModelEvent, ModelId, ModelRequest, PersonId,
    SamplingSetting,
};
use tokio::sync::mpsc;

use super::models::{Current, LiveModels};

/// A provider that does not list its models within this time is listed with the models of the config.
const LISTING: Duration = Duration::from_secs(2);

/// The most tokens that are estimated for a file, because its length alone says little about them.
const MOST_ESTIMATED: u64 = 10_000;

impl Upstream for LiveModels {
    fn has_provider(&self, name: &str) -> bool {
        self.get().registry.has_provider(name)
    }

    fn meant_by(&self, name: &str) -> Option<String> {
        self.get().aliases.meant_by(name).map(str::to_owned)
    }

    fn models(&self) -> BoxFuture<'_, Vec<OfferedModel>> {
        let current = self.get();
        Box::pin(async move { listed(&current).await })
    }

    fn figures(&self) -> Vec<ModelFigures> {
        let providers = self.get().registry.status();
        let called = providers.into_iter().flat_map(|provider| {
            let name = provider.name;
            provider.called.into_iter().map(move |model| figures(&name, model))
        });
        called.collect()
    }

    fn takes(&self, model: Option<&str>) -> Vec<SamplingSetting> {
        let current = self.get();
        let registry = &current.registry;
        match model.or(current.default_model.as_deref()) {
            Some("auto") => registry.taken_by_all(),
            Some(model) => registry.takes(model),
            None => registry.default_model().map_or_else(Vec::new, |model| registry.takes(&model)),
        }
    }

    fn forward(&self, request: Forward) -> Result<ForwardedAnswer, Fault> {
        let current = self.get();
        let (registry, person, limits) = (&current.registry, &request.person, &request.limits);
        let mut body = request.body;
        body.retain(|name, _| !name.starts_with("x-onyx-"));
        let price = registry.facts(&request.model).ok().and_then(|facts| facts.price);
        let estimate = UsageEstimate::of_body(&body, price);
        let betas = request.betas.as_deref().filter(|_| request.dialect == Dialect::Messages);
        // Libraries send these in the header; the provider refuses them in the body.
        if request.dialect == Dialect::Messages {
            body.remove("betas");
        }
        match registry.forward(&request.model, wire(request.dialect), body, betas)? {
            ForwardRoute::SameWire(Forwarding { model, pieces: received }) => {
                let model = self.paid_by(model, person, limits, estimate)?;
                Ok(ForwardedAnswer::SameWire(pieces(&*model, received)))
            }
            ForwardRoute::OtherWire(body) => {
                let model = registry.model(&request.model)?;
                let model = self.paid_by(model, person, limits, estimate)?;
                Ok(ForwardedAnswer::OtherWire { model, body })
            }
        }
    }

    fn media(&self, request: Media) -> Result<BoxStream<'static, Piece>, Fault> {
        let current = self.get();
        let price = current.registry.facts(&request.model).ok().and_then(|facts| facts.price);
        let bytes = request.body.len() as u64;
        let sent = MediaRequest {
            path: request.route.path(),
            content_type: request.content_type,
            body: request.body,
        };
        let Forwarding { model, pieces: received } =
            current.registry.media(&request.model, sent)?;
        let estimate = UsageEstimate::of_bytes(bytes, price).at_most(MOST_ESTIMATED);
        let model = self.paid_by(model, &request.person, &request.limits, estimate)?;
        Ok(pieces(&*model, received))
    }

    fn plain(
        &self,
        person: &PersonId,
        limits: &Limits,
        model: Option<&str>,
        bytes: usize,
    ) -> Result<Arc<dyn Model>, Fault> {
        let current = self.get();
        let registry = &current.registry;
        let model = model.or(current.default_model.as_deref());
        let model = model.ok_or_else(|| Fault::plain(ErrorCode::ModelNotFound))?;
        let price = registry.facts(model).ok().and_then(|facts| facts.price);
        let estimate = UsageEstimate::of_bytes(bytes as u64, price);
        self.paid_by(registry.model(model)?, person, limits, estimate)
    }

    fn embed<'a>(
        &'a self,
        person: &'a PersonId,
        model: &'a str,
        texts: Vec<String>,
    ) -> BoxFuture<'a, Result<Embedded, Fault>> {
        let current = self.get();
        Box::pin(async move {
            let embedder = current.registry.embedder(model).await?;
            let price = current.registry.facts(model).ok().and_then(|facts| facts.price);
            let usage = UsageEstimate::of_embedding(&texts, price);
            let vectors = embedder.embed(texts).await.map_err(Fault::from)?;
            self.book_embedding(person, &ModelId::new(model), usage).await?;
            Ok(Embedded { vectors, usage })
        })
    }
}

fn figures(provider: &str, status: ModelStatus) -> ModelFigures {
    let metrics = status.metrics;
    let mut results =
        vec![("answered".to_owned(), metrics.answered), ("stopped".to_owned(), metrics.stopped)];
    results.extend(metrics.failures.iter().map(|(class, count)| ((*class).to_owned(), *count)));
    ModelFigures {
        provider: provider.to_owned(),
        model: status.model,
        admitted: !matches!(status.circuit, CircuitState::Open { .. }),
        in_flight: metrics.in_flight,
        results,
        usage: metrics.usage,
        first_content: Histogram {
            bounds: &LATENCY_BOUNDS,
            buckets: metrics.first_content.buckets.to_vec(),
            sum: metrics.first_content.sum_seconds,
        },
    }
}

const fn wire(dialect: Dialect) -> Wire {
    match dialect {
        Dialect::ChatCompletions => Wire::OpenAiChat,
        Dialect::Responses => Wire::OpenAiResponses,
        Dialect::Messages => Wire::Anthropic,
    }
}

/// The models of the config and of the providers' own lists, without repeats.
async fn listed(current: &Current) -> Vec<OfferedModel> {
    let registry = &current.registry;
    let mut all: Vec<OfferedModel> =
        registry.candidates().into_iter().map(|model| known(model.id, &model.facts)).collect();
    let ready = registry.status().into_iter().filter_map(|provider| match provider.state {
        ProviderState::Ready { .. } => Some(provider.name),
        ProviderState::Disabled { .. } => None,
    });
    let asked = ready.map(|name| async move {
        let models = tokio::time::timeout(LISTING, registry.list_models(&name)).await;
        // A provider that fails or does not answer is shown in `/ready`; the list is made without
        // it.
        (name, models.ok().and_then(Result::ok).unwrap_or_default())
    });
    for (owner, models) in join_all(asked).await {
        for model in models {
            let id = format!("{owner}/{}", model.id);
            if !all.iter().any(|known| known.id == id) {
                let facts = registry.facts(&id).unwrap_or_default();
                let context_window = model.context_window.or(facts.context_window);
                all.push(OfferedModel { context_window, ..known(id, &facts) });
            }
        }
    }
    for (name, meant) in current.aliases.names() {
        let facts = registry.facts(meant).unwrap_or_default();
        all.push(OfferedModel { owner: "alias".to_owned(), ..known(name.to_owned(), &facts) });
    }
    all
}

fn known(id: String, facts: &ModelFacts) -> OfferedModel {
    let images = facts.inputs.as_ref().map(|inputs| inputs.contains(&Modality::Image));
    OfferedModel {
        owner: id.split('/').next().unwrap_or_default().to_owned(),
        id,
        context_window: facts.context_window,
        max_output_tokens: facts.max_output_tokens,
        tools: facts.tools,
        reasoning: facts.reasoning,
        images,
    }
}

struct PassThroughStream {
    events: BoxStream<'static, ModelEvent>,
    pieces: mpsc::Receiver<RawPiece>,
    /// Whether the last event was seen. Then all pieces are in the queue.
    over: bool,
    failed: Option<Fault>,
}

fn pieces(model: &dyn Model, pieces: mpsc::Receiver<RawPiece>) -> BoxStream<'static, Piece> {
    let passing = PassThroughStream {
        events: model.stream(ModelRequest::default(), Cancel::new()),
        pieces,
        over: false,
        failed: None,
    };
    unfold(passing, PassThroughStream::next).boxed()
}

impl PassThroughStream {
    async fn next(mut self) -> Option<(Piece, Self)> {
        while !self.over {
            tokio::select! {
                biased;
                Some(piece) = self.pieces.recv() => return Some((into_piece(piece), self)),
                event = self.events.next() => self.saw(event),
            }
        }
        if let Ok(piece) = self.pieces.try_recv() {
            return Some((into_piece(piece), self));
        }
        self.failed.take().map(|fault| (Piece::Failed(fault), self))
    }

    fn saw(&mut self, event: Option<ModelEvent>) {
        match event {
            Some(ModelEvent::Failed(failure)) => {
                self.over = true;
                self.failed = Some(failure.into());
            }
            Some(ModelEvent::Finish(_)) | None => self.over = true,
            Some(_) => {}
        }
    }
}

fn into_piece(piece: RawPiece) -> Piece {
    match piece {
        RawPiece::Head { content_type, limits } => Piece::Head { content_type, limits },
        RawPiece::Bytes(bytes) => Piece::Bytes(bytes),
    }
}
