//! What a job does without an agent: its check, and its command.

use std::time::Duration;

use onyx_storage::SlotState;
use onyx_tools::{CommandAccess, ToolCx};
use onyx_types::{Fault, SessionKey};

use super::slot::{ClaimedSlot, SlotOutcome};
use crate::drive::tool_context;
use crate::jobs::JobsCore;
use crate::jobs::spec::Check;

const CHECK_SECONDS: u64 = 60;
const COMMAND_SECONDS: u64 = 600;

/// The reason why the check found nothing to do, or `None` if there is something to do.
pub(super) async fn says_no(
    shared: &JobsCore,
    firing: &ClaimedSlot,
    check: &Check,
) -> Result<Option<String>, Fault> {
    match check {
        Check::Command(argv) => {
            let (limit, look) = (Duration::from_secs(CHECK_SECONDS), CommandAccess::Look);
            let cx = command_context(shared, firing);
            let end = shared.outside().command(argv.clone(), look, limit, &cx).await?;
            let why = end.why.unwrap_or_default();
            Ok((!end.succeeded).then(|| format!("Nothing to do: the check said no. {why}")))
        }
        Check::Http { url, status, contains } => {
            let answer = shared.outside().get(url).await?;
            let is_expected = match status {
                Some(status) => answer.status == *status,
                None => (200..300).contains(&answer.status),
            };
            let has_words = contains.as_ref().is_none_or(|words| answer.body.contains(words));
            let no = !(is_expected && has_words);
            Ok(no.then(|| format!("Nothing to do: the address answered {}.", answer.status)))
        }
    }
}

pub(super) async fn run_command(
    shared: &JobsCore,
    firing: &ClaimedSlot,
    argv: &[String],
) -> Result<SlotOutcome, Fault> {
    let limit = Duration::from_secs(COMMAND_SECONDS);
    let cx = command_context(shared, firing);
    let end = shared.outside().command(argv.to_vec(), CommandAccess::Change, limit, &cx).await?;
    let said = end.output.trim();
    Ok(match (end.succeeded, said.is_empty()) {
        (true, true) => SlotOutcome::nothing("It said nothing."),
        (true, false) => SlotOutcome::new(SlotState::Done, said),
        (false, _) => SlotOutcome::failed(format!("{}\n{said}", end.why.unwrap_or_default())),
    })
}

/// The context of a job's command: it works for the person, unattended and without an agent.
fn command_context(shared: &JobsCore, firing: &ClaimedSlot) -> ToolCx {
    let setup = &shared.setup;
    let roster = setup.roster.get();
    let agent = roster.default_agent().id.clone();
    let session = setup.ids.session();
    let key = SessionKey { person: firing.row.person.clone(), agent: agent.clone(), session };
    let run = firing.slot.run.unwrap_or_else(|| setup.ids.mint().run(setup.ids.now()));
    let cx = tool_context(&setup.files, &setup.clock, &key, &agent, run, roster.limits());
    ToolCx { cancel: firing.cancel.clone(), ..cx.of_this_life() }
}
