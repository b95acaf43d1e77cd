//! Offers the person's actions as prompts.

use onyx_agent::{Action, ActionSpec};
use onyx_mcp::serving::{Refusal, Stop};
use serde_json::{Value, json};

use super::service::{AgentService, failed};

const SELECTION: &str = "selection";

pub(super) async fn list(service: &AgentService) -> Result<Value, Stop> {
    let actions = service.state.agent.actions.list(&service.caller.person).await;
    let actions = actions.map_err(|fault| failed(&fault))?;
    let prompt = |action: &Action| {
        // An action that cannot run is not offered as a prompt.
        let recipe = action.recipe.as_ref().ok()?;
        Some(json!({
            "name": action.id,
            "title": action.label,
            "description": format!("The action {} of the person's vault.", action.label),
            "arguments": arguments(recipe),
        }))
    };
    Ok(json!({"prompts": actions.iter().filter_map(prompt).collect::<Vec<_>>()}))
}

fn arguments(recipe: &ActionSpec) -> Value {
    if !recipe.asks_for_selection() {
        return json!([]);
    }
    let description = "The text to work on.";
    json!([{"name": SELECTION, "description": description, "required": true}])
}

pub(super) async fn get(service: &AgentService, params: &Value) -> Result<Value, Stop> {
    let Some(name) = params["name"].as_str() else {
        return Err(Refusal::params("params.name: missing; name a prompt").into());
    };
    let selection = params["arguments"][SELECTION].as_str();
    let actions = &service.state.agent.actions;
    let prompt = actions.prompt(&service.caller.person, name, selection).await;
    let prompt = prompt.map_err(|fault| failed(&fault))?;
    Ok(json!({"messages": [{"role": "user", "content": {"type": "text", "text": prompt}}]}))
}
