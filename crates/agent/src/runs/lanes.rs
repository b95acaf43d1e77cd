//! One lane for each agent that answers: its model, its prompt, its tools.

use std::sync::Arc;

use onyx_tools::{Audience, Offering, RunPosition};
use onyx_types::{
    Fault, Model, ModelId, RunId, ScopeSet, SessionKey, Taint, ToolChoice, ToolOffer, ToolUse, View,
};

use super::RunsCore;
use super::opening::OpenedSession;
use super::plan::RunPlan;
use super::request::Privacy;
use crate::agents::{AgentProfile, ModelChoice, Payer, editor_prompt, is_editor, toolless};
use crate::drive::{LaneActor, LaneTools, Withheld, tool_context};
use crate::prompt::{self, ForeignFile, PromptSnapshot, RenderedPrompt, UntrustedPiece};
use crate::sessions::SessionSpace;
use crate::step::LaneSetup;
use crate::step::client::{ClientInput, MemoryUse};

/// The lanes of a run, as `step` and `drive` need them.
#[derive(Default)]
pub(super) struct Lanes {
    pub(super) setups: Vec<LaneSetup>,
    pub(super) actors: Vec<LaneActor>,
    /// Pieces of the agents' memory that may be shown only as untrusted text.
    pub(super) untrusted: Vec<UntrustedPiece>,
    /// Foreign files that would give the agents instructions.
    pub(super) foreign: Vec<ForeignFile>,
    /// The largest window of all lanes, in the tokens by which turns are weighed.
    pub(super) widest: usize,
}

/// The share of the window that tools of other programs may take. Beyond it the agent finds them by
/// search.
const FOREIGN_TOOLS: (usize, usize) = (2, 100);

/// What all lanes of a run share.
struct LaneContext<'a> {
    runs: &'a RunsCore,
    plan: &'a RunPlan,
    run: RunId,
    client: &'a ClientInput,
    space: Option<&'a SessionSpace>,
    view: Option<View>,
}

/// A model, or the reason why the agent has none. The run reports that as its own error, so that
/// the person's message is kept.
struct ResolvedModel {
    id: String,
    model: Option<Arc<dyn Model>>,
    unable: Option<Fault>,
}

pub(super) async fn set_up(
    runs: &RunsCore,
    plan: &RunPlan,
    opened: &OpenedSession,
    space: Option<&SessionSpace>,
) -> Result<Lanes, Fault> {
    let of_words = opened.message.words.as_ref().and_then(|words| words.view.clone());
    let view = of_words.or_else(|| plan.request.view.clone());
    let (run, client) = (opened.run, &opened.message.client);
    let cx = LaneContext { runs, plan, run, client, space, view };
    let mut lanes = Lanes::default();
    for agent in &plan.agents {
        let resolved = cx.model(agent);
        let RenderedPrompt { snapshot, untrusted, foreign } = cx.snapshot(agent).await?;
        let actor = cx.actor(agent, &resolved);
        let tools = actor.tools.offering(&agent.id, &cx.key().person);
        lanes.actors.push(actor);
        let setup = cx.setup(agent, resolved, snapshot, tools);
        lanes.widest = lanes.widest.max(weighed_window(&setup));
        lanes.setups.push(setup);
        lanes.untrusted.extend(untrusted);
        lanes.foreign.extend(foreign);
    }
    Ok(lanes)
}

/// The lane's window in the tokens by which turns are weighed. A model that counts fewer tokens
/// than that estimate has room for more of the conversation.
fn weighed_window(lane: &LaneSetup) -> usize {
    let window = prompt::window(lane.context_window);
    (window as f64 / lane.tokens.scale().max(0.1)) as usize
}

impl LaneContext<'_> {
    fn key(&self) -> &SessionKey {
        &self.plan.session.key
    }

    fn model(&self, agent: &AgentProfile) -> ResolvedModel {
        let wanted = self.plan.request.model.clone();
        let choice = wanted.map_or_else(|| agent.model.clone(), ModelChoice::only);
        let models = &self.runs.drive.models;
        let limits = &self.plan.limits;
        let payer = Payer { person: &self.key().person, agent: &agent.id, limits };
        let resolved = if self.is_only_local(agent) {
            models.resolve_local(&choice, payer)
        } else {
            models.resolve(&choice, payer)
        };
        match resolved {
            Ok(model) => {
                let id = model.id().to_owned();
                if is_editor(&agent.id) && models.lacks_tools(&id) {
                    let unable = Some(toolless(&id));
                    let id = choice.primary.map_or_else(String::new, |id| id.to_string());
                    return ResolvedModel { id, model: None, unable };
                }
                ResolvedModel { id, model: Some(model), unable: None }
            }
            Err(fault) => {
                let id = choice.primary.map_or_else(String::new, |id| id.to_string());
                ResolvedModel { id, model: None, unable: Some(fault) }
            }
        }
    }

    /// Whether the agent may use only models of this machine, because its config, its space or the
    /// agent that asks it demands that.
    fn is_only_local(&self, agent: &AgentProfile) -> bool {
        let delegated = self.plan.request.terms.delegated.as_ref();
        agent.only_local
            || self.space.is_some_and(SessionSpace::is_only_local)
            || delegated.is_some_and(|parent| parent.only_local)
    }

    /// The stable part of the lane's prompts.
    async fn snapshot(&self, agent: &AgentProfile) -> Result<RenderedPrompt, Fault> {
        if let Some(light) = &self.plan.request.terms.light {
            let snapshot = Arc::new(PromptSnapshot::of(&light.system));
            return Ok(RenderedPrompt { snapshot, untrusted: Vec::new(), foreign: Vec::new() });
        }
        let snapshots = &self.runs.context.snapshots;
        let mut rendered = match (self.plan.request.terms.privacy, self.client.memory) {
            (Privacy::Shared, _) => snapshots.before_others(self.key(), agent).await?,
            (Privacy::Private, MemoryUse::Include) => snapshots.current(self.key(), agent).await?,
            (Privacy::Private, MemoryUse::LeaveOut) => {
                snapshots.without_memory(self.key(), agent).await?
            }
        };
        let mut snapshot = rendered.snapshot;
        if let Some(words) = &self.client.system {
            snapshot = Arc::new(snapshot.followed_by(words));
        }
        if is_editor(&agent.id) {
            let (roster, persona) = (self.runs.roster.get(), &self.key().agent);
            let name = roster.get(persona).map_or(persona.as_str(), |agent| agent.name.as_str());
            snapshot = Arc::new(snapshot.with(editor_prompt(persona, name)));
        }
        if let Some(space) = self.space {
            snapshot = Arc::new(snapshot.with(space.prompt_text(self.view.as_ref())));
        }
        rendered.snapshot = snapshot;
        Ok(rendered)
    }

    fn setup(
        &self,
        agent: &AgentProfile,
        resolved: ResolvedModel,
        snapshot: Arc<PromptSnapshot>,
        tools: Arc<Offering>,
    ) -> LaneSetup {
        let client = self.client;
        let (client_tools, tool_use) = self.client_tools();
        LaneSetup {
            agent: agent.id.clone(),
            tokens: self.runs.drive.models.token_counter(&resolved.id),
            model_id: resolved.id,
            context_window: resolved.model.as_ref().and_then(|model| model.context_window()),
            temperature: client.temperature.or(agent.temperature),
            sampling: client.sampling.clone(),
            max_output_tokens: client
                .max_output_tokens
                .or(agent.max_output_tokens)
                .unwrap_or(self.plan.limits.max_output_tokens),
            response_format: client.response_format.clone(),
            snapshot,
            tools,
            client_tools,
            tool_use,
            unable: resolved.unable,
            taint: Taint::Clean,
        }
    }

    /// The agent's own tools, without those that the client's tools replace.
    fn own_tools(&self, agent: &AgentProfile, model: Option<&Arc<dyn Model>>) -> LaneTools {
        let client = self.client;
        // A call of a client's tool ends the run, so no other tool is offered where the client
        // demands a call.
        let withheld = if client.tool_use.choice.is_forced() {
            Withheld::Everything
        } else {
            Withheld::Names(client.tools.iter().map(|tool| tool.name.clone()).collect())
        };
        let window = prompt::window(model.and_then(|model| model.context_window()));
        let room = window * FOREIGN_TOOLS.0 / FOREIGN_TOOLS.1;
        let toolbox = Arc::clone(&self.runs.drive.toolbox);
        let is_small = model.is_some_and(|model| self.runs.drive.models.is_small(model.id()));
        // The editor keeps all its tools, because its work consists of using them.
        let policy = if is_small && !is_editor(&agent.id) {
            Arc::new(agent.policy.shortened())
        } else {
            Arc::clone(&agent.policy)
        };
        LaneTools::new(toolbox, policy, withheld, room)
    }

    fn client_tools(&self) -> (Vec<ToolOffer>, ToolUse) {
        let client = self.client;
        match client.tool_use.choice {
            ToolChoice::None => {
                let tool_use = ToolUse { choice: ToolChoice::Auto, ..client.tool_use.clone() };
                (Vec::new(), tool_use)
            }
            ToolChoice::Auto | ToolChoice::Required | ToolChoice::Named(_) => {
                (client.tools.clone(), client.tool_use.clone())
            }
        }
    }

    fn actor(&self, agent: &AgentProfile, resolved: &ResolvedModel) -> LaneActor {
        let drive = &self.runs.drive;
        let limits = &self.plan.limits;
        let key = self.key();
        let tool_cx = tool_context(&drive.files, &drive.clock, key, &agent.id, self.run, limits);
        // The run holds the session's lease for this incarnation of the gateway, so its tools must
        // not work for a later one.
        let mut tool_cx = tool_cx.of_this_life();
        if let Some(space) = self.space {
            tool_cx.scopes = ScopeSet::new(key.person.clone(), space.scopes(&agent.id));
        }
        let delegated = self.plan.request.terms.delegated.as_ref();
        tool_cx.standing = Some(RunPosition {
            root: delegated.map_or(self.run, |parent| parent.root),
            depth: delegated.map_or(0, |parent| parent.depth),
            tier: agent.policy.tier(),
            cost_left: None,
        });
        tool_cx.view.clone_from(&self.view);
        tool_cx.memories = Arc::clone(&agent.memories);
        let (model, only_local) = (Some(ModelId::new(&resolved.id)), self.is_only_local(agent));
        tool_cx.audience = Audience { model, only_local };
        let model = resolved.model.clone();
        let tools = self.own_tools(agent, model.as_ref());
        LaneActor { model, retired: Vec::new(), tools, tool_cx }
    }
}
