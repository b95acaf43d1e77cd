//! Stops runs of this gateway, and waits for a moment until their end is written.

use std::sync::Arc;
use std::time::Duration;

use onyx_types::{AgentId, Clock, Event, PersonId, RunId};

use super::request::StopTarget;
use super::table::RunTable;
use crate::feed::EventReader;

/// How long a run that was stopped may take to write its end.
const STOP_PATIENCE: Duration = Duration::from_secs(1);

/// Stops a run and waits until its end is written. `false` if it is not at work here.
pub(super) async fn stop(
    table: &RunTable,
    clock: &Arc<dyn Clock>,
    person: &PersonId,
    target: &StopTarget,
) -> bool {
    let contact = match target {
        StopTarget::Session(session) => table.live.on_session(person, *session),
        StopTarget::Run(run) => {
            let contact = table.live.get(*run);
            contact.filter(|run| run.key.person == *person && !run.feed.is_done())
        }
    };
    let Some(contact) = contact else { return false };
    contact.stop.cancel();
    // The run certainly ends, so the caller does not wait longer for a slow disk.
    let ended = drained(contact.feed.read_after(0));
    let _ = clock.within(STOP_PATIENCE, ended).await;
    true
}

/// Stops one of the agents that answer in a run and waits for that event. `false` if the run is
/// not at work here.
pub(super) async fn stop_agent(
    table: &RunTable,
    clock: &Arc<dyn Clock>,
    person: &PersonId,
    run: RunId,
    agent: &AgentId,
) -> bool {
    let contact = table.live.get(run);
    let contact = contact.filter(|run| run.key.person == *person && !run.feed.is_done());
    let Some(contact) = contact else { return false };
    // The reader must exist before the order is sent, so that the end of the lane is not
    // missed.
    let mut events = contact.feed.read_after(0);
    contact.messages.cancel_agent(agent.clone()).await;
    let mut lane = None;
    let ended = async {
        while let Some(envelope) = events.next().await {
            match &envelope.event {
                Event::Start { agents, .. } => {
                    lane = agents.iter().position(|one| one == agent);
                }
                Event::Error { .. } if lane == Some(usize::from(envelope.lane.0)) => return,
                Event::Done { .. } => return,
                _ => {}
            }
        }
    };
    let _ = clock.within(STOP_PATIENCE, ended).await;
    true
}

/// Gives runs time to finish, then stops them. Returns when none is left or the time is over.
pub(super) async fn drain(table: &RunTable, clock: &Arc<dyn Clock>, patience: Duration) {
    let live = table.live.all();
    let all_ended = || {
        let ended = live.iter().map(|contact| drained(contact.feed.read_after(0)));
        futures::future::join_all(ended)
    };
    let all_put_away = async {
        all_ended().await;
        table.wait_until_left(&live).await;
    };
    if clock.within(patience, all_put_away).await.is_some() {
        return;
    }
    for contact in table.live.all() {
        contact.stop.cancel();
    }
    if clock.within(STOP_PATIENCE, all_ended()).await.is_none() {
        tracing::warn!("some runs did not end in time; they are closed at the next start");
    }
}

async fn drained(mut events: EventReader) {
    while events.next().await.is_some() {}
}
