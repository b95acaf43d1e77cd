//! Calls the hooks of plugins: before a run begins, when a plugin can still refuse it, and at its end.

use onyx_tools::{HookNote, HookedRun};
use onyx_types::{ErrorCode, Fault, RunId, RunStatus, SessionKey};

use super::RunsCore;
use super::opening::OpenedSession;
use super::plan::RunPlan;
use super::retrieval::RetrievedContext;
use crate::prompt::UntrustedPiece;

/// Asks the plugins about a run before it begins. Their notes are added beside the message as text
/// from outside; a veto becomes the fault with which the run is refused.
pub(super) async fn before_run(
    runs: &RunsCore,
    plan: &RunPlan,
    opened: &OpenedSession,
    context: &mut RetrievedContext,
) -> Result<(), Fault> {
    let Some(hooks) = runs.drive.toolbox.hooks() else { return Ok(()) };
    let text = opened.message.words.as_ref().map(|words| words.content.text());
    let text = text.unwrap_or_default();
    let answer = hooks.before_run(hooked(&plan.session.key, opened.run, &text)).await;
    if let Some(veto) = answer.veto {
        let message = format!("The plugin {} did not agree to this run: {}", veto.by, veto.why);
        let hint =
            "Ask the person who set up the plugin, or disable it: `onyx plugins disable <name>`.";
        return Err(Fault::new(ErrorCode::Forbidden, message).with_hint(hint));
    }
    context.taints |= !answer.notes.is_empty();
    context.pieces.extend(answer.notes.into_iter().map(piece));
    Ok(())
}

/// Notifies the plugins of the end of a run.
pub(super) fn after_run(runs: &RunsCore, key: &SessionKey, run: RunId, status: RunStatus) {
    if let Some(hooks) = runs.drive.toolbox.hooks() {
        hooks.after_run(hooked(key, run, ""), status);
    }
}

fn hooked<'a>(key: &'a SessionKey, run: RunId, text: &'a str) -> HookedRun<'a> {
    HookedRun { person: &key.person, agent: &key.agent, session: key.session, run, text }
}

fn piece(note: HookNote) -> UntrustedPiece {
    UntrustedPiece {
        scope: "plugin".to_owned(),
        source: note.by,
        lines: None,
        text: note.text,
        cited: None,
    }
}
