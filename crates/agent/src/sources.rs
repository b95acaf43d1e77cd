//! What a run is prepared from: the log's recent turns, the files behind the prompt, the models.

use std::sync::Arc;

use onyx_knowledge::{Hit, Retrieval, Retrieved};
use onyx_tools::{LiveOutput, PathRules, ToolCx};
use onyx_types::{
    AgentId, Cancel, ContextPiece, Event, Fault, LaneOrder, Limits, Mint, RunId, Scope, ScopeSet,
    SessionKey, StatusCode, Taint, ToolEffect, TurnId,
};

use crate::client::{ClientInput, ClientTurn, MemoryUse, open_calls, with_all_results};
use crate::driver::LaneActor;
use crate::manager::Inner;
use crate::models::{ModelChoice, Payer};
use crate::prompt::{self, Conversation, UntrustedPiece, untrusted_block};
use crate::roster::AgentProfile;
use crate::snapshots::without_memory;
use crate::step::{LaneSetup, RunSetup, RunState, ToolTraits, UserInput};

/// What the manager has decided about a run before anything is read for it.
pub(crate) struct Preparation {
    pub(crate) run: RunId,
    pub(crate) input_turn: TurnId,
    /// `None`: the message is in the log already.
    pub(crate) input: Option<UserInput>,
    pub(crate) leading: Vec<UserInput>,
    /// Where to look for what the message is answered from; empty: nowhere.
    pub(crate) retrieve: Vec<Scope>,
    pub(crate) key: SessionKey,
    pub(crate) agents: Vec<AgentProfile>,
    pub(crate) order: LaneOrder,
    pub(crate) model: Option<String>,
    pub(crate) client: ClientInput,
    pub(crate) is_new: bool,
    pub(crate) mint: Mint,
    pub(crate) limits: Limits,
}

pub(crate) struct Prepared {
    pub(crate) state: RunState,
    pub(crate) actors: Vec<LaneActor>,
    /// Who answers in the first lane.
    pub(crate) model: String,
}

pub(crate) async fn prepare(inner: &Inner, mut ask: Preparation) -> Result<Prepared, Fault> {
    let mut lanes = Vec::new();
    let mut actors = Vec::new();
    let mut widest = 0;
    let mut untrusted = Vec::new();
    for agent in &ask.agents {
        let (lane, actor, pieces) = lane(inner, &ask, agent).await?;
        widest = widest.max(window_by_rule(&lane));
        lanes.push(lane);
        actors.push(actor);
        untrusted.extend(pieces);
    }
    let history = if ask.is_new {
        Conversation::default()
    } else {
        inner.recent.load(&inner.store, &ask.key, widest).await?
    };
    let client_turns =
        with_all_results(std::mem::take(&mut ask.client.turns), open_calls(history.turns()))?;
    let from_client = client_turns.iter().any(is_from_outside);
    let retrieved = retrieved(inner, &ask, &lanes).await;
    let foreign = !untrusted.is_empty() || from_client || retrieved.taints;
    let taint = if foreign { Taint::Tainted } else { history.taint() };
    untrusted.extend(retrieved.pieces);
    for lane in &mut lanes {
        lane.taint = taint;
    }
    let secret = &inner.options.fence_secret;
    if let Some(words) = &mut ask.input {
        words.context = untrusted_block(secret, ask.key.session, ask.input_turn, &untrusted);
    }
    let toolbox = Arc::clone(&inner.toolbox);
    let model = lanes.first().map(|lane| lane.model_id.clone()).unwrap_or_default();
    let state = RunState::new(RunSetup {
        run: ask.run,
        key: ask.key,
        input_turn: ask.input_turn,
        input: ask.input,
        leading: ask.leading,
        opening: retrieved.events,
        client_turns,
        lanes,
        order: ask.order,
        limits: ask.limits,
        history,
        mint: ask.mint,
        now: inner.clock.now(),
        describe: Arc::new(move |call| toolbox.summary(call)),
    });
    Ok(Prepared { state, actors, model })
}

/// What was found for the message without the model asking.
#[derive(Default)]
struct Given {
    pieces: Vec<UntrustedPiece>,
    events: Vec<Event>,
    taints: bool,
}

/// A search that fails leaves the run without it, and says so.
async fn retrieved(inner: &Inner, ask: &Preparation, lanes: &[LaneSetup]) -> Given {
    let (Some(index), Some(words)) = (inner.index.get(), &ask.input) else {
        return Given::default();
    };
    if ask.retrieve.is_empty() {
        return Given::default();
    }
    let window = lanes.iter().map(|lane| prompt::window(lane.context_window)).min();
    let retrieval = Retrieval {
        person: ask.key.person.clone(),
        scopes: ask.retrieve.clone(),
        text: words.content.text(),
        max_tokens: Retrieval::budget(window.unwrap_or_default()),
    };
    let degraded = |message: String| Event::Status { message, code: StatusCode::Degraded };
    match index.retrieve(&retrieval).await {
        Ok(Retrieved { hits, degraded: why }) => {
            let context = Event::Context { pieces: hits.iter().map(context_piece).collect() };
            let why = why.map(|why| degraded(format!("Context was searched by words only: {why}")));
            Given {
                taints: hits.iter().any(|hit| hit.origin.taints()),
                events: why.into_iter().chain((!hits.is_empty()).then_some(context)).collect(),
                pieces: hits.into_iter().map(untrusted_piece).collect(),
            }
        }
        Err(error) => {
            tracing::warn!(run = %ask.run, %error, "a message is answered without context");
            let message = format!("Answered without context: {error}");
            Given { events: vec![degraded(message)], ..Given::default() }
        }
    }
}

fn context_piece(hit: &Hit) -> ContextPiece {
    ContextPiece {
        source: hit.path(),
        scope: hit.scope.clone(),
        origin: hit.origin,
        score: hit.score,
        match_type: hit.match_type,
        start_line: hit.start_line,
        end_line: hit.end_line,
    }
}

fn untrusted_piece(hit: Hit) -> UntrustedPiece {
    let scope = match &hit.scope {
        Scope::Person => "person",
        Scope::Agent(_) => "agent",
        Scope::Space(_) => "space",
        Scope::Channel(_) => "channel",
        Scope::Thread(_) => "thread",
        Scope::Shared => "shared",
    };
    UntrustedPiece {
        scope: scope.to_owned(),
        source: hit.path(),
        lines: Some((hit.start_line, hit.end_line)),
        text: hit.text,
    }
}

/// The lane's window in the tokens of the rule, by which turns are weighed: a model that counts
/// less than the rule has room for more of the conversation.
fn window_by_rule(lane: &LaneSetup) -> usize {
    let window = prompt::window(lane.context_window);
    (window as f64 / lane.tokens.scale().max(0.1)) as usize
}

async fn lane(
    inner: &Inner,
    ask: &Preparation,
    agent: &AgentProfile,
) -> Result<(LaneSetup, LaneActor, Vec<UntrustedPiece>), Fault> {
    let choice = ask.model.as_ref().map_or_else(|| agent.model.clone(), ModelChoice::only);
    // A model that cannot be had is the run's error, not the request's: the words are kept.
    let payer = Payer { person: &ask.key.person, agent: &agent.id, limits: &ask.limits };
    let (model, unable) = match inner.models.resolve(&choice, payer) {
        Ok(model) => (Some(model), None),
        Err(fault) => (None, Some(fault)),
    };
    let (snapshot, untrusted) = match ask.client.memory {
        MemoryUse::Include => inner.snapshots.current(inner, &ask.key, agent).await?,
        MemoryUse::LeaveOut => (without_memory(inner, &ask.key, agent).await?, Vec::new()),
    };
    let snapshot = match &ask.client.system {
        Some(words) => Arc::new(snapshot.followed_by(words)),
        None => snapshot,
    };
    let client = &ask.client;
    let own = inner.toolbox.ready_offers(&agent.policy, &ask.key.person).into_iter();
    let own = own.filter(|spec| !client.tools.iter().any(|tool| tool.name == spec.name));
    let tools = own.map(|spec| ToolTraits {
        offer: spec.offer(),
        parallel: spec.usual_effect == ToolEffect::Read,
        repeats: spec.repeats,
    });
    let model_id = model
        .as_ref()
        .map_or_else(|| choice.primary.clone().unwrap_or_default(), |model| model.id().to_owned());
    let setup = LaneSetup {
        agent: agent.id.clone(),
        tokens: inner.models.token_counter(&model_id),
        model_id,
        context_window: model.as_ref().and_then(|model| model.context_window()),
        temperature: client.temperature.or(agent.temperature),
        max_output_tokens: client
            .max_output_tokens
            .or(agent.max_output_tokens)
            .unwrap_or(ask.limits.max_output_tokens),
        response_format: client.response_format.clone(),
        snapshot,
        tools: tools.collect(),
        client_tools: client.tools.clone(),
        unable,
        taint: Taint::Clean,
    };
    let actor = LaneActor {
        model,
        retired: Vec::new(),
        policy: agent.policy.clone(),
        tool_cx: ToolCx {
            key: ask.key.clone(),
            agent: agent.id.clone(),
            run: ask.run,
            view: ask.input.as_ref().and_then(|words| words.view.clone()),
            scopes: chat_scopes(&ask.key, &agent.id),
            memories: Arc::clone(&agent.memories),
            cancel: Cancel::new(),
            taint: Taint::Clean,
            clock: Arc::clone(&inner.clock),
            files: Arc::clone(&inner.store.files),
            paths: Arc::new(PathRules::default()),
            addresses: Arc::default(),
            live: LiveOutput::nowhere(),
        },
    };
    Ok((setup, actor, untrusted))
}

/// What a chat may see.
fn chat_scopes(key: &SessionKey, agent: &AgentId) -> ScopeSet {
    let scopes = vec![Scope::Person, Scope::Agent(agent.clone()), Scope::Shared];
    ScopeSet::new(key.person.clone(), scopes)
}

/// Nobody knows what a client's tools have read.
fn is_from_outside(turn: &ClientTurn) -> bool {
    match turn {
        ClientTurn::ToolResult { is_error, .. } => !is_error,
        ClientTurn::User(_) | ClientTurn::Assistant(_) | ClientTurn::ToolCall(_) => false,
    }
}
