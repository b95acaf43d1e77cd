//! Calls the hooks of plugins: before a tool call, when a plugin can still refuse it, and after it.

use onyx_types::{Origin, Plan, ToolOutcome};

use super::Toolbox;
use crate::ports::{HookAnswer, HookNote, HookedCall, Veto};
use crate::tool::ToolCx;

/// Asks the hooks about a call that the gate did not deny.
pub(super) async fn before(toolbox: &Toolbox, plan: &Plan, cx: &ToolCx) -> HookAnswer {
    match toolbox.hooks() {
        Some(hooks) => hooks.before_tool(hooked(plan, cx)).await,
        None => HookAnswer::default(),
    }
}

/// A copy of the plan, if a hook wants the outcome of the call.
pub(super) fn kept(toolbox: &Toolbox, plan: &Plan) -> Option<Plan> {
    toolbox.hooks().filter(|hooks| hooks.wants_outcomes()).map(|_| plan.clone())
}

/// Reports the outcome of a call to the hooks and adds their notes to it.
pub(super) async fn after(
    toolbox: &Toolbox,
    plan: Option<&Plan>,
    cx: &ToolCx,
    outcome: ToolOutcome,
) -> ToolOutcome {
    let (Some(hooks), Some(plan)) = (toolbox.hooks(), plan) else { return outcome };
    let notes = hooks.after_tool(hooked(plan, cx), &outcome).await;
    with_notes(outcome, &notes)
}

/// The outcome of a vetoed call. Its text is another program's, so it counts as from outside.
pub(super) fn vetoed(veto: &Veto) -> ToolOutcome {
    let Veto { by, why } = veto;
    let output = format!("denied: the plugin {by} did not agree ({why}); nothing was done");
    ToolOutcome::error(output).refused().from_origin(Origin::External)
}

pub(super) fn with_notes(mut outcome: ToolOutcome, notes: &[HookNote]) -> ToolOutcome {
    for HookNote { by, text } in notes {
        outcome.output.push_str(&format!("\n[note of the plugin {by}: {text}]"));
        outcome.origin = Origin::External;
    }
    outcome
}

fn hooked<'a>(plan: &'a Plan, cx: &'a ToolCx) -> HookedCall<'a> {
    HookedCall {
        person: &cx.key.person,
        agent: &cx.agent,
        session: cx.key.session,
        run: cx.run,
        tool: &plan.tool,
        effect: plan.strictest(),
        summary: &plan.summary,
        arguments: &plan.arguments,
    }
}
