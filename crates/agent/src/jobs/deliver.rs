//! Delivers the results of jobs: in browsers, on other networks, by webhooks and by mail. A delivery is in the ledger
//! before it is attempted, so that a crash loses none. One gateway at a time works on it, under a duty of its own.

use std::sync::{Arc, PoisonError};

use onyx_storage::{JobSlot, OwnedDuty, SlotDelivery, SlotKey, SlotState, StoreError};
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
        let Some(claimed) = ClaimedDelivery::claim(shared, &slot.key()).await? else { continue };
        let ways = match ways(shared, &slot.person, &slot.job).await {
            Ok(ways) => ways,
            Err(fault) => {
                tracing::warn!(job = %slot.job, %fault, "a delivery waits until the job can be read");
                give_back(shared, &claimed.owned).await;
                continue;
            }
        };
        if ways.iter().any(Deliver::may_take_long) {
            let shared = Arc::clone(shared);
            tokio::spawn(async move {
                if let Err(fault) = claimed.perform(&ways).await {
                    tracing::warn!(job = %slot.job, %fault, "a delivery could not be recorded");
                }
                shared.tell(&slot.person, &slot.job, None);
            });
        } else {
            claimed.perform(&ways).await?;
        }
    }
    Ok(())
}

/// A delivery that no other task and no other living gateway works on.
struct ClaimedDelivery {
    slot: JobSlot,
    owned: OwnedDuty,
    task: DeliveryTask,
}

impl ClaimedDelivery {
    /// Claims the delivery of a slot. `None`: another task or gateway works on it or has ended it.
    async fn claim(shared: &Arc<JobsCore>, key: &SlotKey) -> Result<Option<Self>, Fault> {
        let Some(task) = DeliveryTask::begin(shared, key) else { return Ok(None) };
        let Some(owned) = shared.setup.duties.own(&key.delivery_duty()).await? else {
            return Ok(None);
        };
        // The slot was listed before the duty was taken, so another gateway may have ended its
        // delivery in between.
        let slot = shared.setup.jobs.slot(key).await;
        let is_pending = |slot: &JobSlot| slot.delivery == Some(SlotDelivery::Pending);
        match slot.map(|slot| slot.filter(is_pending)) {
            Ok(Some(slot)) => Ok(Some(Self { slot, owned, task })),
            Ok(None) => {
                give_back(shared, &owned).await;
                Ok(None)
            }
            Err(error) => {
                give_back(shared, &owned).await;
                Err(error.into())
            }
        }
    }

    async fn perform(self, ways: &[Deliver]) -> Result<(), Fault> {
        let shared = &self.task.shared;
        let delivered = deliver(shared, &self.slot, &self.owned, ways).await;
        give_back(shared, &self.owned).await;
        delivered
    }
}

async fn give_back(shared: &JobsCore, owned: &OwnedDuty) {
    if let Err(error) = shared.setup.duties.disown(owned).await {
        tracing::warn!(%error, "a delivery could not be given back; this gateway holds it until it stops");
    }
}

/// Marks a delivery as under way in this process for as long as it is kept.
struct DeliveryTask {
    shared: Arc<JobsCore>,
    slot: SlotKey,
}

impl DeliveryTask {
    /// `None`: the delivery is under way already.
    fn begin(shared: &Arc<JobsCore>, slot: &SlotKey) -> Option<Self> {
        let mut under_way = shared.delivering.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = under_way.insert(slot.clone());
        is_first.then(|| Self { shared: Arc::clone(shared), slot: slot.clone() })
    }
}

impl Drop for DeliveryTask {
    fn drop(&mut self) {
        let mut under_way = self.shared.delivering.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.remove(&self.slot);
    }
}

async fn deliver(
    shared: &JobsCore,
    slot: &JobSlot,
    owned: &OwnedDuty,
    ways: &[Deliver],
) -> Result<(), Fault> {
    // This is checked before each attempt: once this gateway is taken for dead, another one delivers.
    let is_ours = || {
        let still_owns = shared.setup.duties.still_owns(owned);
        if still_owns { Ok(()) } else { Err(StoreError::LeaseLost) }
    };
    let may_go_on = || is_ours().map_err(|error| error.to_string());
    let mut failed = None;
    for way in ways {
        match way {
            // The run's end has marked the session as unread, so there is nothing to do.
            Deliver::Session => {}
            Deliver::Notification => shared.tell(&slot.person, &slot.job, Some(result_text(slot))),
            Deliver::Webhook(url) => {
                failed = post(shared, slot, url, may_go_on).await.err().or(failed)
            }
            Deliver::Mail(to) => failed = mail(shared, slot, to, may_go_on).await.err().or(failed),
            Deliver::Peer(address) => {
                failed = write_to_peer(shared, slot, address).await.err().or(failed);
            }
        }
    }
    is_ours()?;
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
    let key = slot.key();
    if !shared.setup.jobs.set_delivery(&key, owned, delivery, detail.as_deref()).await? {
        tracing::warn!(job = %slot.job, "another gateway has taken over this delivery");
    }
    Ok(())
}

/// The ways in which the job's current file asks for delivery; a deleted job delivers nothing.
async fn ways(shared: &JobsCore, person: &PersonId, id: &JobId) -> Result<Vec<Deliver>, Fault> {
    let job = shared.job_of(person, id).await?;
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
