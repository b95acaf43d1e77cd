//! Uses Anthropic's models through the person's subscription instead of a key, where the person chose that.

use std::sync::Arc;

use onyx_types::{ErrorCode, Event, Fault, StatusCode};

use super::RunsCore;
use super::request::RunRequest;
use crate::agents::{AgentProfile, ModelChoice, RuntimeMode};

/// Makes the run's models go through the subscription gateway. If the gateway cannot be used and
/// the person allows the configured models instead, returns the notice that the run sends first.
pub(super) async fn choose(
    runs: &RunsCore,
    request: &mut RunRequest,
    agents: &mut [Arc<AgentProfile>],
) -> Result<Option<Event>, Fault> {
    let wanted = request.model.clone().map(ModelChoice::only);
    let turned: Vec<Option<Result<ModelChoice, Fault>>> = agents
        .iter()
        .map(|agent| {
            let choice = wanted.as_ref().unwrap_or(&agent.model);
            // An agent that is limited to models of this machine never uses the gateway.
            if agent.only_local { None } else { runs.drive.models.through_gateway(choice) }
        })
        .collect();
    // The preferences are read only if a model of this run could go through the gateway.
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
    // The requested model is now part of the agents' model choices.
    request.model = None;
    Ok(notice)
}

/// Adds the configured model as a fallback, which answers if the gateway fails during the run.
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
