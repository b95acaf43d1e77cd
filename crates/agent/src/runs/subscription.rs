//! Uses Anthropic's models through the person's subscription instead of a key, where the person chose that.

use std::sync::Arc;

use onyx_types::{ErrorCode, Event, Fault, StatusCode};

use super::Shared;
use super::request::RunRequest;
use crate::agents::{AgentProfile, ModelChoice, RuntimeMode};

/// Turns the models of a run to the subscription gateway. Gives what the run must tell first where
/// the gateway cannot be had and the person lets the run go the other way.
pub(super) async fn choose(
    runs: &Shared,
    request: &mut RunRequest,
    agents: &mut [Arc<AgentProfile>],
) -> Result<Option<Event>, Fault> {
    let wanted = request.model.as_ref().map(ModelChoice::only);
    let turned: Vec<Option<Result<ModelChoice, Fault>>> = agents
        .iter()
        .map(|agent| {
            let choice = wanted.as_ref().unwrap_or(&agent.model);
            // An agent that may use this machine alone has no use for it.
            if agent.only_local { None } else { runs.drive.models.through_gateway(choice) }
        })
        .collect();
    // Nothing is read for a run that has nothing to do with it.
    if turned.iter().all(Option::is_none) {
        return Ok(None);
    }
    let preferences = runs.preferences.get(&request.person).await?;
    if preferences.runtime_mode == RuntimeMode::AnthropicApiKey {
        return Ok(None);
    }
    let mut notice = None;
    for (agent, turned) in agents.iter_mut().zip(turned) {
        let before = wanted.clone().unwrap_or_else(|| agent.model.clone());
        let choice = match turned {
            None => before,
            Some(Ok(choice)) if preferences.fallback => with_way_back(choice, before),
            Some(Ok(choice)) => choice,
            Some(Err(fault)) if preferences.fallback => {
                let message = format!("{} The model answers as configured.", fault.message);
                notice = Some(Event::Status { message, code: StatusCode::Fallback });
                before
            }
            Some(Err(fault)) => return Err(refused(fault)),
        };
        Arc::make_mut(agent).model = choice;
    }
    // What was wished for is among the agents' models now.
    request.model = None;
    Ok(notice)
}

/// If the gateway fails when it is asked, the model as configured answers, and the run says so.
fn with_way_back(mut through: ModelChoice, before: ModelChoice) -> ModelChoice {
    through.fallbacks = before.primary.into_iter().chain(before.fallbacks).collect();
    through
}

fn refused(fault: Fault) -> Fault {
    let hint = fault.hint().to_owned();
    Fault::new(ErrorCode::ProviderUnavailable, fault.message).with_hint(format!(
        "{hint} Or set `runtime_mode` to `anthropic_api_key`, or `fallback` to true, in \
         /api/agent/config."
    ))
}
