//! What a run is prepared from: the log's recent turns, the files behind the prompt, the models.

use std::collections::BTreeSet;
use std::sync::Arc;

use onyx_knowledge::{Hit, Retrieval, Retrieved};
use onyx_tools::{Addresses, Granted, LiveOutput, PathRules, Standing, ToolCx};
use onyx_types::{
    AgentId, Cancel, ContextPiece, Event, Fault, LaneOrder, Limits, Mint, Origin, RunId, Scope,
    ScopeSet, SessionKey, StatusCode, Taint, ToolChoice, ToolUse, TurnBody, TurnId, View,
};

use crate::client::{ClientInput, ClientTurn, MemoryUse, open_calls, with_all_results};
use crate::driver::LaneActor;
use crate::editor::{self, is_editor};
use crate::homes::Home;
use crate::manager::Inner;
use crate::models::{ModelChoice, Payer};
use crate::prompt::{self, Conversation, UntrustedPiece, untrusted_block};
use crate::roster::AgentProfile;
use crate::snapshots::without_memory;
use crate::step::{DecidedDraft, LaneSetup, RunSetup, RunState, Speaker, UserInput};

/// What the manager has decided about a run before anything is read for it.
pub(crate) struct Preparation {
    pub(crate) run: RunId,
    pub(crate) input_turn: TurnId,
    /// `None`: the message is in the log already.
    pub(crate) input: Option<UserInput>,
    pub(crate) leading: Vec<UserInput>,
    pub(crate) decisions: Vec<DecidedDraft>,
    /// Where to look for what the message is answered from; empty: nowhere.
    pub(crate) retrieve: Vec<Scope>,
    /// The space it lives in, if it does.
    pub(crate) home: Option<Home>,
    /// What the person looks at, where the words themselves do not say it.
    pub(crate) view: Option<View>,
    pub(crate) key: SessionKey,
    pub(crate) agents: Vec<Arc<AgentProfile>>,
    pub(crate) order: LaneOrder,
    pub(crate) model: Option<String>,
    pub(crate) client: ClientInput,
    pub(crate) is_new: bool,
    pub(crate) mint: Mint,
    pub(crate) limits: Limits,
    /// How many runs asked for another on the way to this one.
    pub(crate) depth: u8,
    /// The run at the top of the tree it stands in.
    pub(crate) root: RunId,
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
    let from_outside = client_turns.iter().any(ClientTurn::is_from_outside)
        || ask.decisions.iter().any(|decided| decided.origin.taints());
    let retrieved = retrieved(inner, &ask, &lanes).await;
    let told = ask.leading.iter().chain(&ask.input).any(|words| words.by.origin().taints());
    let foreign = !untrusted.is_empty() || from_outside || retrieved.taints || told;
    let taint = if foreign { Taint::Tainted } else { history.taint() };
    untrusted.extend(retrieved.pieces);
    for piece in &mut untrusted {
        piece.text = inner.masked(std::mem::take(&mut piece.text));
    }
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
    Ok(Prepared { state, actors, model, granted })
}

/// What was found for the message without the model asking.
#[derive(Default)]
struct Given {
    pieces: Vec<UntrustedPiece>,
    events: Vec<Event>,
    taints: bool,
}

const PARTIAL: &str = "Context may lack something: not everything is indexed yet";

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
        session: Some(ask.key.session),
        text: words.content.text(),
        max_tokens: Retrieval::budget(window.unwrap_or_default()),
    };
    let degraded = |message: String| Event::Status { message, code: StatusCode::Degraded };
    match index.retrieve(&retrieval).await {
        Ok(Retrieved { hits, degraded: why, partial }) => {
            let context = Event::Context { pieces: hits.iter().map(context_piece).collect() };
            let why = why.map(|why| degraded(format!("Context was searched by words only: {why}")));
            let partial = partial.then(|| degraded(PARTIAL.to_owned()));
            Given {
                taints: hits.iter().any(|hit| hit.origin.taints()),
                events: why
                    .into_iter()
                    .chain(partial)
                    .chain((!hits.is_empty()).then_some(context))
                    .collect(),
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
        Ok(model) if is_editor(&agent.id) && inner.models.lacks_tools(model.id()) => {
            (None, Some(editor::toolless(model.id())))
        }
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
    let snapshot = match is_editor(&agent.id) {
        true => Arc::new(snapshot.with(editor::prompt(&inner.roster(), &ask.key.agent))),
        false => snapshot,
    };
    let view = ask.input.as_ref().and_then(|words| words.view.clone()).or(ask.view.clone());
    let snapshot = match &ask.home {
        Some(home) => Arc::new(snapshot.with(home.words(view.as_ref()))),
        None => snapshot,
    };
    let client = &ask.client;
    let own = inner.toolbox.ready_offers(&agent.policy, &ask.key.person);
    let is_clients = |name: &str| client.tools.iter().any(|tool| tool.name == name);
    let tools = match client.tools.as_slice() {
        // A call of the client's ends the run, so this answer is one.
        _ if client.tool_use.choice.is_forced() => Arc::default(),
        [] => own,
        _ => Arc::new(own.without(is_clients)),
    };
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
        tools,
        client_tools: match client.tool_use.choice {
            ToolChoice::None => Vec::new(),
            ToolChoice::Auto | ToolChoice::Required | ToolChoice::Named(_) => client.tools.clone(),
        },
        tool_use: match client.tool_use.choice {
            ToolChoice::None => ToolUse { choice: ToolChoice::Auto, ..client.tool_use.clone() },
            ToolChoice::Auto | ToolChoice::Required | ToolChoice::Named(_) => {
                client.tool_use.clone()
            }
        },
        unable,
        taint: Taint::Clean,
    };
    let actor = LaneActor {
        model,
        retired: Vec::new(),
        policy: Arc::clone(&agent.policy),
        tool_cx: ToolCx {
            view,
            memories: Arc::clone(&agent.memories),
            standing: Some(Standing {
                root: ask.root,
                depth: ask.depth,
                tier: agent.policy.tier(),
                cost_left: None,
            }),
            ..match &ask.home {
                Some(home) => ToolCx {
                    scopes: ScopeSet::new(ask.key.person.clone(), home.scopes(&agent.id)),
                    ..tool_cx(inner, &ask.key, &agent.id, ask.run, &ask.limits)
                },
                None => tool_cx(inner, &ask.key, &agent.id, ask.run, &ask.limits),
            }
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
            TurnBody::User(words) if turn.origin == Origin::Person => {
                addresses.person_wrote(&words.content.text());
            }
            TurnBody::ToolCall(call) if WEB_TOOLS.contains(&call.tool_name.as_str()) => {
                from_web.insert(&call.tool_use_id);
            }
            // A call that was only drafted, shown or refused repeats the address the model made.
            TurnBody::ToolResult(result)
                if turn.origin == Origin::External && from_web.contains(&result.tool_use_id) =>
            {
                addresses.page_says(&result.output);
            }
            _ => {}
        }
    }
    let spoken = ask.leading.iter().chain(&ask.input);
    for words in spoken.filter(|words| words.by == Speaker::Person) {
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
        scopes: chat_scopes(key, agent),
        memories: Arc::default(),
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
        standing: None,
    }
}

/// What a chat may see.
fn chat_scopes(key: &SessionKey, agent: &AgentId) -> ScopeSet {
    let scopes = vec![Scope::Person, Scope::Agent(agent.clone()), Scope::Shared];
    ScopeSet::new(key.person.clone(), scopes)
}
