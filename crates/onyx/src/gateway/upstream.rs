//! The API's port for pass-through requests to providers.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{BoxStream, StreamExt, unfold};
use onyx_api::{
    Dialect, Embedded, Forward, ForwardedAnswer, Histogram, Media, ModelFigures, OfferedModel,
    Piece, Upstream,
};
use onyx_providers::wire::Wire;
use onyx_providers::{
    CircuitState, ForwardRoute, Forwarding, LATENCY_BOUNDS, MediaRequest, Modality, ModelStatus,
    NamedModel, RawPiece, UsageEstimate,
};
use onyx_types::{
    Cancel, Fault, Limits, Model, ModelEvent, ModelId, ModelRequest, PersonId, SamplingSetting,
};
use tokio::sync::mpsc;

use super::models::LiveModels;

impl Upstream for LiveModels {
    fn has_provider(&self, name: &str) -> bool {
        self.get().registry.has_provider(name)
    }

    fn meant_by(&self, name: &str) -> Option<String> {
        self.get().aliases.meant_by(name).map(str::to_owned)
    }

    fn models(&self) -> BoxFuture<'_, Vec<OfferedModel>> {
        let current = self.get();
        Box::pin(async move { current.listed().await.into_iter().map(offered).collect() })
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
        self.get().takes(model)
    }

    fn forward(&self, request: Forward) -> Result<ForwardedAnswer, Fault> {
        let current = self.get();
        let (registry, person, limits) = (&current.registry, &request.person, &request.limits);
        let mut body = request.body;
        body.retain(|name, _| !name.starts_with("x-onyx-"));
        let estimate = UsageEstimate::of_body(&body, registry.price(&request.model));
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
        let price = current.registry.price(&request.model);
        let estimate = UsageEstimate::of_file(request.body.len() as u64, price);
        let sent = MediaRequest {
            path: request.route.path(),
            content_type: request.content_type,
            body: request.body,
        };
        let Forwarding { model, pieces: received } =
            current.registry.media(&request.model, sent)?;
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
        let model = current.without_agent(model)?;
        let estimate = UsageEstimate::of_bytes(bytes as u64, registry.price(model));
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
            let usage = UsageEstimate::of_embedding(&texts, current.registry.price(model));
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

fn offered(model: NamedModel) -> OfferedModel {
    let NamedModel { id, owner, facts } = model;
    OfferedModel {
        id,
        owner,
        context_window: facts.context_window,
        max_output_tokens: facts.max_output_tokens,
        tools: facts.tools,
        reasoning: facts.reasoning,
        images: facts.inputs.map(|inputs| inputs.contains(&Modality::Image)),
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
