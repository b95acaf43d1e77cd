//! Phase 2 of a start, open session: under the session's lease, runs that were left open are
//! closed, and what waits for the session is read: messages in its inbox, and decisions on drafts.

use std::collections::BTreeSet;

use onyx_storage::Lease;
use onyx_types::{
    DraftId, ErrorCode, Fault, IdGenerator, Now, RunId, SessionKey, TurnBody, TurnId,
};

use super::RunsCore;
use super::inbox::waiting_words;
use super::plan::RunPlan;
use super::request::{RunInput, RunTerms};
use crate::step::client::{ClientInput, ClientTurn};
use crate::step::{DecidedDraft, Speaker, UserInput};

/// How many turns of the log are searched for decisions that a crash left unmarked in the ledger.
const LOOK_BACK: usize = 256;

/// A session whose lease the run holds, with what waits in it.
pub(super) struct OpenedSession {
    pub(super) now: Now,
    pub(super) run: RunId,
    pub(super) mint: IdGenerator,
    pub(super) message: MessageToAnswer,
    /// The message that the run answers, if it was known before the run.
    pub(super) answers: Option<TurnId>,
    /// Decisions on drafts that are not in the session's log yet.
    pub(super) decisions: Vec<DecidedDraft>,
}

/// The message that a run answers.
pub(super) struct MessageToAnswer {
    pub(super) turn: TurnId,
    /// `None`: the message is in the log already.
    pub(super) words: Option<UserInput>,
    /// Messages that came while no run could take them. They come before the new message.
    pub(super) leading: Vec<UserInput>,
    pub(super) client: ClientInput,
}

/// Opens the session under its lease. The input is moved out of the plan, because copying a long
/// message would be wasteful.
pub(super) async fn open_session(
    runs: &RunsCore,
    plan: &mut RunPlan,
    lease: &Lease,
) -> Result<OpenedSession, Fault> {
    let (key, is_new) = (&plan.session.key, plan.session.is_new);
    if is_new {
        if let Some(index) = runs.drive.index.get() {
            index.session_begins(&key.person);
        }
    } else {
        runs.recovery.close_leftover_runs(lease).await?;
    }
    runs.sessions.note_several(&key.person, is_new).await?;
    let now = runs.drive.clock.now();
    let (run, fresh_turn, seed) = {
        let mut mint = runs.ids.mint();
        let promised = plan.request.terms.run;
        let run = promised.unwrap_or_else(|| mint.run(now.wall));
        (run, mint.turn(now.wall), mint.fork_seed())
    };
    let (leading, decisions) = if is_new {
        (Vec::new(), Vec::new())
    } else {
        let leading = waiting_words(&*runs.drive.ledger, &*runs.drive.turns, key).await?;
        (leading, untold_decisions(runs, key).await?)
    };
    let input = std::mem::replace(&mut plan.request.input, RunInput::Waiting);
    let answers = match input {
        RunInput::Queued(turn) | RunInput::Stored(turn) => Some(turn),
        RunInput::New(_) | RunInput::Regenerate(_) | RunInput::Waiting | RunInput::Client(_) => {
            None
        }
    };
    let message = message_to_answer(runs, plan, input, leading, fresh_turn).await?;
    Ok(OpenedSession { now, run, mint: IdGenerator::new(seed), message, answers, decisions })
}

async fn message_to_answer(
    runs: &RunsCore,
    plan: &RunPlan,
    input: RunInput,
    mut leading: Vec<UserInput>,
    fresh_turn: TurnId,
) -> Result<MessageToAnswer, Fault> {
    let mask = &runs.context.mask;
    let view = &plan.request.view;
    let mut client = ClientInput::default();
    let (turn, words) = match input {
        RunInput::New(content) => {
            let words = UserInput::new(mask.content(content), speaker(&plan.request.terms));
            (fresh_turn, Some(UserInput { view: view.clone(), ..words }))
        }
        // The message was found before the lease was taken, so it may have been deleted meanwhile.
        RunInput::Stored(turn) | RunInput::Regenerate(turn) => {
            (runs.sessions.question_of(&plan.session.key, turn).await?.id, None)
        }
        RunInput::Queued(message) => (message, Some(take_queued(&mut leading, message)?)),
        RunInput::Waiting => {
            let words = take_newest(&mut leading)?;
            (words.turn.unwrap_or(fresh_turn), Some(words))
        }
        RunInput::Client(sent) => {
            client = *sent;
            client.mask(|text| mask.text(text), |words| mask.content(words));
            let words =
                take_last_words(&mut client).map(|words| UserInput { view: view.clone(), ..words });
            (fresh_turn, words)
        }
    };
    Ok(MessageToAnswer { turn, words, leading, client })
}

/// Takes the message and leaves those before it in `leading`. Later messages wait for their own
/// runs.
fn take_queued(leading: &mut Vec<UserInput>, message: TurnId) -> Result<UserInput, Fault> {
    let is_it = |words: &UserInput| words.turn == Some(message) && !words.withdrawn;
    let at = leading.iter().position(is_it);
    // Another run has taken the message, or it was withdrawn.
    let at = at.ok_or_else(|| Fault::plain(ErrorCode::SessionBusy))?;
    let words = leading.remove(at);
    leading.truncate(at);
    Ok(words)
}

fn take_newest(leading: &mut Vec<UserInput>) -> Result<UserInput, Fault> {
    let at = leading.iter().rposition(|words| !words.withdrawn).ok_or_else(|| {
        Fault::new(ErrorCode::InvalidRequest, "No message is waiting for an answer.")
    })?;
    Ok(leading.remove(at))
}

/// Takes the client's last turn if it is a person's message.
fn take_last_words(client: &mut ClientInput) -> Option<UserInput> {
    let last = client.turns.pop_if(|turn| matches!(turn, ClientTurn::User(_)))?;
    match last {
        ClientTurn::User(content) => Some(UserInput::new(content, Speaker::Person)),
        ClientTurn::Assistant(_)
        | ClientTurn::OwnAnswer(..)
        | ClientTurn::ToolCall(_)
        | ClientTurn::ToolResult { .. } => None,
    }
}

fn speaker(terms: &RunTerms) -> Speaker {
    match &terms.delegated {
        Some(parent) => Speaker::Agent(parent.by.clone(), parent.taint),
        None => Speaker::Person,
    }
}

/// Decisions on drafts that are not in the session's log yet.
async fn untold_decisions(runs: &RunsCore, key: &SessionKey) -> Result<Vec<DecidedDraft>, Fault> {
    let drafts = runs.drive.drafts.undelivered_drafts(key).await?;
    if drafts.is_empty() {
        return Ok(Vec::new());
    }
    // After a crash between the two writes a delivered decision is unmarked in the ledger; then the
    // log counts.
    let page = runs.drive.turns.tail(key, None, LOOK_BACK).await?;
    let in_log: BTreeSet<DraftId> = page
        .turns
        .iter()
        .filter_map(|turn| match &turn.body {
            TurnBody::Decision(decision) => Some(decision.draft_id),
            _ => None,
        })
        .collect();
    let (done, open): (Vec<_>, Vec<_>) =
        drafts.iter().partition(|draft| in_log.contains(&draft.id));
    if !done.is_empty() {
        let done: Vec<_> = done.iter().map(|draft| draft.id).collect();
        runs.drive.drafts.deliver_drafts(key, &done).await?;
    }
    Ok(open.into_iter().map(DecidedDraft::from).collect())
}
