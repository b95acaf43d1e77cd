//! A request that passes through to a provider's model. Nothing of it is stored.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::Json;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt, unfold};
use onyx_types::{Cancel, ErrorCode, Fault};
use serde_json::{Map, Value};

use super::left_out::ignored;
use super::sent::{BETAS, RequestHead};
use super::thread::missing;
use crate::pass_through::ModelAnswer;
use crate::pass_through::UnderWay;
use crate::wire::ToolForms;
use crate::wire::decode::{check_results, model_request};
use crate::wire::encode::v1::{AnswerHead, AnswerPart, AnswerWriter, WholeFold};
use crate::{ApiState, AuthContext, Dialect, Forward, ForwardedAnswer, Piece, Problem};

pub(super) async fn through(
    state: &ApiState,
    caller: &AuthContext,
    sent: &RequestHead,
    model: String,
    dialect: Dialect,
    body: Map<String, Value>,
) -> Result<Response, Problem> {
    let mut head = AnswerHead {
        id: state.agent.fresh_id(),
        model: sent.model.clone().unwrap_or_else(|| model.clone()),
        created: state.agent.now().as_millis() / 1_000,
        session: None,
        usage: sent.usage,
        echo: dialect.echo(&body),
        forms: ToolForms::default(),
    };
    let limits = state.agent.roster().limits().clone();
    let (person, betas) = (caller.person.clone(), sent.betas.clone());
    let named = model.clone();
    let forward = Forward { person, limits, model, dialect, body, betas };
    match state.upstream.forward(forward)? {
        ForwardedAnswer::SameWire(pieces) => {
            same_wire(pieces, dialect.writer(head), state.pass_through.begin()).await
        }
        ForwardedAnswer::OtherWire { model, body } => {
            let mut request = dialect.read(body)?;
            if let Some(previous) = &request.previous {
                return Err(missing("previous_response_id", previous));
            }
            check_results(&request.client.turns, dialect.conversation())?;
            let mut names = request.left_out(&state.upstream.takes(Some(&named)));
            names.extend(sent.betas.is_some().then(|| BETAS.to_owned()));
            head.forms = std::mem::take(&mut request.forms);
            // Dropping the events closes the connection, so nothing else needs to cancel.
            let events = model.stream(model_request(request), Cancel::new());
            let under_way = state.pass_through.begin();
            let answer = ModelAnswer::new(events, under_way);
            let response = other_wire(answer, head, dialect, sent.stream).await?;
            Ok((ignored(&names), response).into_response())
        }
    }
}

/// The provider's own bytes. Only an answer that ends early gets an error of ours, at its end.
async fn same_wire(
    mut pieces: BoxStream<'static, Piece>,
    writer: Box<dyn AnswerWriter>,
    under_way: UnderWay,
) -> Result<Response, Problem> {
    let (content_type, limits) = match under_way.unless_over(pieces.next()).await? {
        Some(Piece::Head { content_type, limits }) => (content_type, limits),
        Some(Piece::Failed(fault)) => return Err(fault.into()),
        Some(Piece::Bytes(_)) | None => {
            return Err(Fault::plain(ErrorCode::ProviderTruncated).into());
        }
    };
    let headers =
        [(header::CONTENT_TYPE, content_type.as_str()), (header::CACHE_CONTROL, "no-store")];
    let through = PassedAnswer { pieces, writer, under_way, over: false };
    let limits = limits.into_iter().filter_map(|(name, value)| {
        Some((name.parse::<HeaderName>().ok()?, value.parse::<HeaderValue>().ok()?))
    });
    Ok((
        headers,
        limits.collect::<HeaderMap>(),
        Body::from_stream(unfold(through, PassedAnswer::next)),
    )
        .into_response())
}

struct PassedAnswer {
    pieces: BoxStream<'static, Piece>,
    writer: Box<dyn AnswerWriter>,
    under_way: UnderWay,
    over: bool,
}

impl PassedAnswer {
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if self.over {
            return None;
        }
        let bytes = match self.under_way.unless_over(self.pieces.next()).await {
            Ok(None) => return None,
            Ok(Some(Piece::Head { .. })) => Bytes::new(),
            Ok(Some(Piece::Bytes(bytes))) => bytes,
            Ok(Some(Piece::Failed(fault))) | Err(fault) => {
                self.over = true;
                self.writer.write(&AnswerPart::Failed(fault)).concat().into()
            }
        };
        Some((Ok(bytes), self))
    }
}

/// The request is decoded here, sent in the provider's format, and the answer is written in the
/// client's format.
async fn other_wire(
    mut answer: ModelAnswer,
    head: AnswerHead,
    dialect: Dialect,
    stream: bool,
) -> Result<Response, Problem> {
    // Before the first content, a failure is answered with a status of its own.
    let mut first = answer.next().await;
    if let Some(AnswerPart::Failed(fault)) =
        first.iter().find(|part| matches!(part, AnswerPart::Failed(_)))
    {
        return Err(fault.clone().into());
    }
    if !stream {
        let mut gathered = WholeFold::default();
        loop {
            for part in std::mem::take(&mut first) {
                if let Some(outcome) = gathered.add(part) {
                    return Ok(Json(dialect.whole(&head, &outcome?)).into_response());
                }
            }
            first = answer.next().await;
        }
    }
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    let written =
        WrittenAnswer { answer, ready: first.into(), writer: dialect.writer(head), over: false };
    Ok((headers, Body::from_stream(unfold(written, WrittenAnswer::next))).into_response())
}

struct WrittenAnswer {
    answer: ModelAnswer,
    ready: VecDeque<AnswerPart>,
    writer: Box<dyn AnswerWriter>,
    over: bool,
}

impl WrittenAnswer {
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if self.over {
            return None;
        }
        if self.ready.is_empty() {
            self.ready.extend(self.answer.next().await);
        }
        let mut bytes = Vec::new();
        while let Some(part) = self.ready.pop_front() {
            self.over |= matches!(part, AnswerPart::End { .. } | AnswerPart::Failed(_));
            bytes.extend(self.writer.write(&part).concat());
        }
        Some((Ok(bytes.into()), self))
    }
}
