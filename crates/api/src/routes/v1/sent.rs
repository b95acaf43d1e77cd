//! The parts of a request besides its conversation, from headers and body.

use std::fmt::Display;
use std::str::FromStr;

use axum::http::HeaderMap;
use onyx_agent::MemoryUse;
use onyx_types::{AgentId, ErrorCode, ModelId, SessionId};
use serde_json::{Map, Value};

use crate::wire::encode::v1::StreamUsage;
use crate::{ApiState, Problem};

pub(super) const SESSION: &str = "x-onyx-session-id";
pub(super) const BETAS: &str = "anthropic-beta";
const AGENT: &str = "x-onyx-agent-id";
const MEMORY: &str = "x-onyx-include-memory";

/// The provider of models that are named without one.
const USUAL_PROVIDER: &str = "openai";

pub(crate) struct RequestHead {
    pub(super) model: Option<String>,
    pub(super) stream: bool,
    pub(super) usage: StreamUsage,
    pub(super) session: Option<SessionId>,
    pub(super) agent: Option<AgentId>,
    pub(super) memory: MemoryUse,
    /// Beta features that Anthropic's clients request by header or body.
    pub(super) betas: Option<String>,
}

/// The agent or model that answers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AnswerSource {
    Agent {
        /// None: the session's own agent, or the default one.
        agent: Option<AgentId>,
        /// Replaces the agent's own model for this run.
        model: Option<ModelId>,
    },
    /// `<provider>/<model>`.
    Upstream(String),
}

impl RequestHead {
    pub(super) fn read(headers: &HeaderMap, body: &Map<String, Value>) -> Result<Self, Problem> {
        let include_usage = match body.get("stream_options") {
            None | Some(Value::Null) => false,
            Some(options) => truth("stream_options.include_usage", options.get("include_usage"))?
                .unwrap_or(false),
        };
        Ok(Self {
            model: text("model", body.get("model"))?.filter(|model| !model.is_empty()),
            stream: truth("stream", body.get("stream"))?.unwrap_or(false),
            usage: if include_usage { StreamUsage::Told } else { StreamUsage::Silent },
            session: named(headers, body, SESSION)?,
            agent: named(headers, body, AGENT)?,
            betas: betas(headers, body),
            memory: match named(headers, body, MEMORY)? {
                None | Some(true) => MemoryUse::Include,
                Some(false) => MemoryUse::LeaveOut,
            },
        })
    }

    pub(super) fn answer_source(&self, state: &ApiState) -> Result<AnswerSource, Problem> {
        let roster = state.agent.roster();
        let meant = self.model.as_deref().and_then(|model| state.upstream.meant_by(model));
        let requested = meant.or_else(|| self.model.clone());
        let named = match &requested {
            None => None,
            Some(model) => match model.strip_prefix("onyx:") {
                Some(id) => {
                    match id.parse::<AgentId>().ok().filter(|id| roster.get(id).is_some()) {
                        Some(agent) => Some(agent),
                        None => return Err(no_model(model)),
                    }
                }
                None => model.parse().ok().filter(|id| roster.get(id).is_some()),
            },
        };
        match (&self.agent, named, &requested) {
            (Some(header), Some(agent), _) if *header != agent => {
                Err(Problem::field(AGENT, format!("`model` names another agent, {agent}")))
            }
            (Some(agent), _, _) if roster.get(agent).is_none() => {
                Err(Problem::new(ErrorCode::NotFound, format!("There is no agent {agent}.")))
            }
            (Some(agent), None, Some(model)) => {
                let model = model.contains('/').then(|| ModelId::new(model));
                Ok(AnswerSource::Agent { agent: Some(agent.clone()), model })
            }
            (Some(agent), _, _) => {
                Ok(AnswerSource::Agent { agent: Some(agent.clone()), model: None })
            }
            (None, Some(agent), _) => Ok(AnswerSource::Agent { agent: Some(agent), model: None }),
            (None, None, None) => Ok(AnswerSource::Agent { agent: None, model: None }),
            (None, None, Some(model)) => self.upstream(state, model),
        }
    }

    fn upstream(&self, state: &ApiState, model: &str) -> Result<AnswerSource, Problem> {
        if self.session.is_some() {
            let why = "a session belongs to an agent; `model` must name that agent or be left out";
            return Err(Problem::field("model", why));
        }
        resolved(state, model).map(AnswerSource::Upstream)
    }
}

/// `<provider>/<model>` for what a client calls a model.
pub(super) fn resolved(state: &ApiState, model: &str) -> Result<String, Problem> {
    let meant = state.upstream.meant_by(model);
    let model = meant.as_deref().unwrap_or(model);
    let known = match model.split_once('/') {
        Some((provider, _)) => state.upstream.has_provider(provider).then(|| model.to_owned()),
        None => {
            let usual = state.upstream.has_provider(USUAL_PROVIDER);
            usual.then(|| format!("{USUAL_PROVIDER}/{model}"))
        }
    };
    known.ok_or_else(|| no_model(model))
}

pub(super) fn no_model(model: &str) -> Problem {
    onyx_types::Fault::new(ErrorCode::ModelNotFound, format!("The model `{model}` does not exist."))
        .with_hint("`GET /v1/models` lists agents (`onyx:<agent>`) and models.")
        .into()
}

/// The header, and the list in the body where a library puts it there.
fn betas(headers: &HeaderMap, body: &Map<String, Value>) -> Option<String> {
    let header = headers.get(BETAS).and_then(|value| value.to_str().ok());
    let listed = body.get("betas").and_then(Value::as_array).into_iter().flatten();
    let all: Vec<&str> = header.into_iter().chain(listed.filter_map(Value::as_str)).collect();
    (!all.is_empty()).then(|| all.join(","))
}

/// The value of a header, or else of the body's field of the same name.
fn named<T: FromStr<Err: Display>>(
    headers: &HeaderMap,
    body: &Map<String, Value>,
    name: &str,
) -> Result<Option<T>, Problem> {
    let text = match (headers.get(name), body.get(name)) {
        (Some(value), _) => value
            .to_str()
            .map_err(|_| Problem::field(name, "the header is not plain text"))?
            .to_owned(),
        (None, None | Some(Value::Null)) => return Ok(None),
        (None, Some(Value::String(text))) => text.clone(),
        (None, Some(Value::Bool(truth))) => truth.to_string(),
        (None, Some(_)) => return Err(Problem::field(name, "expected a text")),
    };
    if text.trim().is_empty() {
        return Ok(None);
    }
    text.trim().parse().map(Some).map_err(|error| Problem::field(name, error))
}

fn text(name: &str, value: Option<&Value>) -> Result<Option<String>, Problem> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Problem::field(name, "expected a text")),
    }
}

fn truth(name: &str, value: Option<&Value>) -> Result<Option<bool>, Problem> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(truth)) => Ok(Some(*truth)),
        Some(_) => Err(Problem::field(name, "expected true or false")),
    }
}
