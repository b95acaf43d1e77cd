//! The request that a lane sends to its model.

use std::sync::Arc;

use onyx_types::{LaneId, Message, ModelRequest, Role, ToolOffer};

use super::lane::{LaneSetup, PromptRoom};
use super::state::RunState;
use crate::prompt;

/// Follows an answer that broke off when it is asked for again. Without it the prompt would end
/// with the model's own words, which many providers refuse and others would continue in the middle
/// of a sentence.
const ASK_AGAIN: &str = "[The answer above was broken off. Answer the message before it again.]";

pub(super) fn request(state: &mut RunState, lane: LaneId) -> ModelRequest {
    let lane = &state.lanes[usize::from(lane.0)];
    let setup = &lane.setup;
    let mut messages = match lane.room {
        PromptRoom::Enough => state.history.messages(&setup.agent, &lane.answering),
        PromptRoom::CutToFit => {
            let window = prompt::window(setup.context_window);
            let room = (window * 6 / 10) as f64 / setup.tokens.scale();
            let budget = (room as usize).saturating_sub(lane.fixed_tokens);
            state.history.messages_within(&setup.agent, &lane.answering, budget)
        }
    };
    if messages.last().is_some_and(|message| message.role == Role::Assistant) {
        Arc::make_mut(&mut messages).push(Message::user(ASK_AGAIN));
    }
    ModelRequest {
        system: Arc::clone(&setup.snapshot.system),
        messages,
        tools: offers(setup),
        tool_use: setup.tool_use.clone(),
        max_output_tokens: setup.max_output_tokens.min(state.limits.max_output_tokens),
        temperature: setup.temperature,
        sampling: setup.sampling.clone(),
        response_format: setup.response_format.clone(),
        cache_key: Some(state.key.session.to_string()),
    }
}

/// All tools that the model may call, whether the agent or the client performs them.
fn offers(setup: &LaneSetup) -> Arc<[ToolOffer]> {
    let own = setup.tools.offers();
    match setup.client_tools.as_slice() {
        [] => Arc::clone(own),
        of_client => own.iter().chain(of_client).cloned().collect(),
    }
}
