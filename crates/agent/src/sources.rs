//! What a run is prepared from: the log's recent turns, the files behind the prompt, the models.

use std::collections::BTreeSet;
use std::sync::Arc;

use onyx_tools::{Addresses, Granted, LiveOutput, PathRules, ToolCx};
use onyx_types::{
    AgentId, Cancel, Fault, LaneOrder, Limits, Mint, RunId, SessionKey, Taint, ToolEffect,
    TurnBody, TurnId,
};

use crate::client::{ClientInput, ClientTurn, MemoryUse, open_calls, with_all_results};
use crate::driver::LaneActor;
use crate::manager::Inner;
use crate::models::{ModelChoice, Payer};
use crate::prompt::{self, Conversation, UntrustedPiece, untrusted_block};
use crate::roster::AgentProfile;
use crate::snapshots::without_memory;
use crate::step::{DecidedDraft, LaneSetup, RunSetup, RunState, ToolTraits, UserInput};

/// What the manager has decided about a run before anything is read for it.
pub(crate) struct Preparation {
    pub(crate) run: RunId,
    pub(crate) input_turn: TurnId,
    /// `None`: the message is in the log already.
    pub(crate) input: Option<UserInput>,
    pub(crate) leading: Vec<UserInput>,
    pub(crate) decisions: Vec<DecidedDraft>,
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
    pub(crate) granted: Granted,
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
    let from_outside = client_turns.iter().any(is_from_outside)
        || ask.decisions.iter().any(|decided| decided.origin.taints());
    let taint = match untrusted.is_empty() && !from_outside {
        true => history.taint(),
        false => Taint::Tainted,
    };
    let granted = Granted::default();
    let addresses = Arc::new(given_addresses(&history, &ask, &client_turns));
    for actor in &mut actors {
        actor.tool_cx.granted = granted.clone();
        actor.tool_cx.addresses = Arc::clone(&addresses);
    }
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
        decisions: ask.decisions,
        client_turns,
        lanes,
        order: ask.order,
        limits: ask.limits,
        history,
        mint: ask.mint,
        now: inner.clock.now(),
        describe: Arc::new(move |call| toolbox.summary(call)),
    });
    Ok(Prepared { state, actors, model, granted })
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
            view: ask.input.as_ref().and_then(|words| words.view.clone()),
            ..tool_cx(inner, &ask.key, &agent.id, ask.run, &ask.limits)
        },
    };
    Ok((setup, actor, untrusted))
}

/// Addresses that may be fetched without asking: the person wrote them in this session, or they
/// stand in what a search or a fetch of it brought.
fn given_addresses(
    history: &Conversation,
    ask: &Preparation,
    client_turns: &[ClientTurn],
) -> Addresses {
    let addresses = Addresses::default();
    let mut from_web = BTreeSet::new();
    for turn in history.turns() {
        match &turn.body {
            TurnBody::User(words) => addresses.person_wrote(&words.content.text()),
            TurnBody::ToolCall(call) if WEB_TOOLS.contains(&call.tool_name.as_str()) => {
                from_web.insert(&call.tool_use_id);
            }
            TurnBody::ToolResult(result) if from_web.contains(&result.tool_use_id) => {
                addresses.page_says(&result.output);
            }
            _ => {}
        }
    }
    for words in ask.leading.iter().chain(&ask.input) {
        addresses.person_wrote(&words.content.text());
    }
    for turn in client_turns {
        if let ClientTurn::User(content) = turn {
            addresses.person_wrote(&content.text());
        }
    }
    addresses
}

/// What they bring holds the addresses of pages as they are.
const WEB_TOOLS: [&str; 2] = ["web_search", "web_fetch"];

/// For whom and within what an agent's calls work.
pub(crate) fn tool_cx(
    inner: &Inner,
    key: &SessionKey,
    agent: &AgentId,
    run: RunId,
    limits: &Limits,
) -> ToolCx {
    // The roster has checked them.
    let protected = limits.protected.iter().filter_map(|path| path.parse().ok()).collect();
    ToolCx {
        key: key.clone(),
        agent: agent.clone(),
        run,
        view: None,
        cancel: Cancel::new(),
        taint: Taint::Clean,
        clock: Arc::clone(&inner.clock),
        files: Arc::clone(&inner.store.files),
        paths: Arc::new(PathRules { protected, ..PathRules::default() }),
        addresses: Arc::default(),
        live: LiveOutput::nowhere(),
        pending: Arc::default(),
        granted: Granted::default(),
        draft_time: limits.draft_time(),
        answer: None,
    }
}

/// Nobody knows what a client's tools have read.
fn is_from_outside(turn: &ClientTurn) -> bool {
    match turn {
        ClientTurn::ToolResult { is_error, .. } => !is_error,
        ClientTurn::User(_) | ClientTurn::Assistant(_) | ClientTurn::ToolCall(_) => false,
    }
}
