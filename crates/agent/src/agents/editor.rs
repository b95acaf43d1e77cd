//! The built-in agent that edits personas: its profile, its tools and its prompt. It is not one of
//! the config's agents, and no agent of the config may take its name or its tools.

use onyx_tools::{PERSONA_EDITOR, PERSONA_GROUP, Policy, ToolSettings, Toolbox};
use onyx_types::{AgentId, ErrorCode, Fault, Tier};

use super::models::ModelChoice;
use super::profile::AgentProfile;

pub(crate) fn is_editor(agent: &AgentId) -> bool {
    agent.as_str() == PERSONA_EDITOR
}

/// The editor has its own tools and no others.
pub(crate) fn profile(
    model: ModelChoice,
    only_local: bool,
    toolbox: &Toolbox,
) -> Result<AgentProfile, Fault> {
    let only_its_own = format!("group:{PERSONA_GROUP}");
    let tools = ToolSettings { allow: Some(vec![only_its_own]), ..ToolSettings::default() };
    let (policy, _) = Policy::resolve(Tier::Act, &tools, &toolbox.tools().known())?;
    Ok(AgentProfile {
        id: PERSONA_EDITOR.parse()?,
        name: "Persona editor".to_owned(),
        model,
        policy: policy.into(),
        temperature: None,
        max_output_tokens: None,
        workspace: None,
        only_local,
        memories: [].into(),
        retrieves_in_chats: false,
    })
}

/// The tool settings of every agent but the editor: its own settings without the persona tools.
pub(crate) fn tools_of_others(settings: &ToolSettings, toolbox: &Toolbox) -> ToolSettings {
    let mut tools = settings.clone();
    if toolbox.tools().specs().iter().any(|spec| spec.group == PERSONA_GROUP) {
        tools.deny.push(format!("group:{PERSONA_GROUP}"));
    }
    tools
}

/// The editor's instructions besides the house rules. The persona's name is the current one.
pub(crate) fn prompt(persona: &AgentId, name: &str) -> String {
    format!(
        "# Your work\n\
         You help a person edit one persona of Onyx. Onyx is a home for a person's AI agents; a \
         persona is an agent with a name and a system prompt of its own. Several personas may \
         answer one message, one after the other or side by side, so that a person hears \
         different views, a debate, or the words of somebody who knows a field.\n\n\
         With your tools you can look at the persona and change its name and its system prompt, \
         keep test inputs (things to say to the persona to see how it answers), and try them.\n\n\
         # The persona\nID: {persona}\nName: {name}\n\n\
         # Guidelines\n\
         - Be brief: the person sees every change where it is made.\n\
         - Read what is there before you change it, and pass on the whole new text.\n\
         - Keep the person's intent and way of writing in a system prompt.\n\
         - Ask when a wish can be understood in two ways.\n\
         - After a change say in a sentence what you did.\n\
         - A good system prompt says who speaks, to whom, in which tone, what matters and what to \
         leave alone; short, concrete sentences do more than long lists."
    )
}

/// The error for a model that cannot call tools and therefore cannot be the editor.
pub(crate) fn toolless(model: &str) -> Fault {
    Fault::new(
        ErrorCode::ProviderRefused,
        format!("{model} has no tools, and the persona editor needs them."),
    )
    .with_hint("Name a model that can call tools as `agents.defaults.model` in onyx.json.")
}
