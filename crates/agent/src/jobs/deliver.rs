//! Delivers the results of jobs: in browsers, on other networks, by webhooks and by mail. A delivery is in the ledger
//! before it is attempted, so that a crash loses none.

use std::sync::{Arc, PoisonError};

use onyx_storage::{JobSlot, SlotDelivery, SlotKey, SlotState};
use onyx_types::{Fault, JobId, PersonId};
use serde_json::json;

use super::JobsCore;
use super::spec::Deliver;

/// The most bytes of text in a notification.
const LONGEST_TOLD: usize = 240;

/// Delivers the results that are not delivered yet, and records the outcome. Deliveries that wait
/// for other servers get tasks of their own, so that no other person waits for them.
pub(super) async fn deliver_pending(shared: &Arc<JobsCore>) -> Result<(), Fault> {
    for slot in shared.setup.jobs.undelivered_slots().await? {
        let ways = ways(shared, &slot.person, &slot.job).await?;
        if !ways.iter().any(Deliver::may_take_long) {
            deliver(shared, &slot, &ways).await?;
        } else if shared.begins_delivery(&slot.key()) {
            let shared = Arc::clone(shared);
            tokio::spawn(async move {
                if let Err(fault) = deliver(&shared, &slot, &ways).await {
                    tracing::warn!(job = %slot.job, %fault, "a delivery could not be recorded");
                }
                shared.ends_delivery(&slot.key());
                shared.tell(&slot.person, &slot.job, None);
            });
        }
    }
    Ok(())
}

async fn deliver(shared: &JobsCore, slot: &JobSlot, ways: &[Deliver]) -> Result<(), Fault> {
    let own_files = shared.setup.files.of_this_life();
    let files = own_files.as_ref().unwrap_or(&shared.setup.files);
    // This is checked before each attempt: once this gateway is taken for dead, another one delivers.
    let is_ours = || files.incarnation().map(drop).map_err(|error| error.to_string());
    let mut failed = None;
    for way in ways {
        match way {
            // The run's end has marked the session as unread, so there is nothing to do.
            Deliver::Session => {}
            Deliver::Notification => shared.tell(&slot.person, &slot.job, Some(result_text(slot))),
            Deliver::Webhook(url) => {
                failed = post(shared, slot, url, is_ours).await.err().or(failed)
            }
            Deliver::Mail(to) => failed = mail(shared, slot, to, is_ours).await.err().or(failed),
            Deliver::Peer(address) => {
                failed = write_to_peer(shared, slot, address).await.err().or(failed);
            }
        }
    }
    files.incarnation()?;
    // Failures are shown in browsers whatever the job's `deliver:` says, so that none is silent.
    if slot.state.is_trouble() && !ways.contains(&Deliver::Notification) {
        shared.tell(&slot.person, &slot.job, Some(result_text(slot)));
    }
    let (delivery, detail) = match failed {
        None => (SlotDelivery::Delivered, None),
        Some(why) => {
            tracing::warn!(job = %slot.job, why, "the result of a job was not delivered");
            (SlotDelivery::Failed, Some(format!("{}\nNot delivered: {why}", slot.detail)))
        }
    };
    Ok(shared.setup.jobs.set_delivery(&slot.key(), delivery, detail.as_deref()).await?)
}

/// The ways in which the job's current file asks for delivery; a deleted job delivers nothing.
async fn ways(shared: &JobsCore, person: &PersonId, id: &JobId) -> Result<Vec<Deliver>, Fault> {
    let jobs = shared.jobs_of(person).await?;
    let job = jobs.into_iter().find(|job| job.id == *id);
    // A change of `deliver:` counts only once a person has accepted it.
    let accepted =
        job.filter(|job| job.row.as_ref().is_some_and(|row| row.accepted_hash == job.hash));
    Ok(accepted.and_then(|job| job.spec.ok()).map(|spec| spec.deliver).unwrap_or_default())
}

async fn post(
    shared: &JobsCore,
    slot: &JobSlot,
    url: &str,
    is_ours: impl Fn() -> Result<(), String>,
) -> Result<(), String> {
    let key = format!("{}/{}/{}", slot.person, slot.job, slot.scheduled_at);
    let body = json!({
        "job": slot.job,
        "scheduled_at": slot.scheduled_at,
        "outcome": slot.state,
        "run_id": slot.run,
        "session_id": slot.session,
        "cost": slot.cost,
        "text": slot.detail,
    });
    // A receiver that is down is tried again. The key lets it recognise a repeat.
    let mut last = String::new();
    for wait in [0, 1, 5] {
        shared.setup.clock.sleep(std::time::Duration::from_secs(wait)).await;
        is_ours()?;
        match shared.outside().post(url, &key, body.to_string().into_bytes()).await {
            Ok(status) if (200..300).contains(&status) => return Ok(()),
            Ok(status) if status < 500 => return Err(format!("the webhook answered {status}")),
            Ok(status) => last = format!("the webhook answered {status}"),
            Err(fault) => last = fault.message,
        }
    }
    Err(last)
}

async fn mail(
    shared: &JobsCore,
    slot: &JobSlot,
    to: &str,
    is_ours: impl Fn() -> Result<(), String>,
) -> Result<(), String> {
    let Some(mail) = shared.mail() else {
        return Err("the config names no mail server (`mail`)".to_owned());
    };
    let key = format!("{}/{}/{}/{to}", slot.person, slot.job, slot.scheduled_at);
    let text = whole(slot);
    let subject = match slot.state {
        SlotState::Done => slot.job.name().to_owned(),
        _ => result_text(slot),
    };
    // Many mail servers make an unknown sender wait for some minutes, so later tries come after
    // that.
    let mut last = String::new();
    for wait in [0, 2, 60, 600] {
        shared.setup.clock.sleep(std::time::Duration::from_secs(wait)).await;
        is_ours()?;
        match mail.send(to, &key, &subject, &text).await {
            Ok(()) => return Ok(()),
            Err(unsent) if unsent.may_go_later => last = unsent.why,
            Err(unsent) => return Err(unsent.why),
        }
    }
    Err(last)
}

/// Hands the text to the connector's outbox, which repeats failed sends itself.
async fn write_to_peer(shared: &JobsCore, slot: &JobSlot, address: &str) -> Result<(), String> {
    let Some(peers) = shared.peers() else {
        return Err("no connector is running here".to_owned());
    };
    let key = format!("job:{}:{}:{}", slot.person, slot.job, slot.scheduled_at.as_millis());
    let sent = peers.write(&slot.person, address, &key, &whole(slot)).await;
    sent.map_err(|fault| fault.message)
}

/// The full text, for ways that accept long texts.
fn whole(slot: &JobSlot) -> String {
    if slot.state == SlotState::Done { slot.detail.clone() } else { result_text(slot) }
}

fn result_text(slot: &JobSlot) -> String {
    let (name, detail) = (slot.job.name(), &slot.detail);
    let text = match slot.state {
        SlotState::Failed => format!("{name} failed: {detail}"),
        SlotState::Interrupted => format!("{name} was interrupted: {detail}"),
        SlotState::Missed if slot.count == 1 => format!("{name} was missed once."),
        SlotState::Missed => format!("{name} was missed {} times.", slot.count),
        _ => format!("{name}: {detail}"),
    };
    let end = text.floor_char_boundary(LONGEST_TOLD);
    if end < text.len() { format!("{}…", &text[..end]) } else { text }
}

impl JobsCore {
    /// Marks the delivery as begun; `false` if it was begun already.
    fn begins_delivery(&self, slot: &SlotKey) -> bool {
        self.delivering.lock().unwrap_or_else(PoisonError::into_inner).insert(slot.clone())
    }

    fn ends_delivery(&self, slot: &SlotKey) {
        self.delivering.lock().unwrap_or_else(PoisonError::into_inner).remove(slot);
    }
}
