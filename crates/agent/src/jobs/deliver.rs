//! Tells people what came of their jobs: in browsers, and by webhooks. What is to be told is in the
//! ledger before anybody is, so that a crash forgets nobody.

use onyx_storage::{JobRow, JobSlot, SlotDelivery, SlotState};
use onyx_types::{Fault, JobId, PersonId};
use serde_json::json;

use super::Shared;
use super::listing::Job;
use super::spec::Deliver;

/// Of the text in a notification.
const LONGEST_TOLD: usize = 240;

/// Browsers are told of times that passed unnoticed; the page keeps them until they are seen.
pub(super) fn tell_missed(shared: &Shared, job: &Job, row: &JobRow, slots: &[JobSlot]) {
    let missed: u32 =
        slots.iter().filter(|slot| slot.state == SlotState::Missed).map(|slot| slot.count).sum();
    if missed > 0 {
        let times =
            if missed == 1 { "One time was".to_owned() } else { format!("{missed} times were") };
        shared.tell(&row.person, &row.job, Some(format!("{}: {times} missed.", job.id.name())));
    }
}

/// Delivers what has yet to be, and notes how that went.
pub(super) async fn deliver_pending(shared: &Shared) -> Result<(), Fault> {
    for slot in shared.setup.jobs.undelivered_slots().await? {
        let deliver = ways(shared, &slot.person, &slot.job).await?;
        let mut failed = None;
        for way in &deliver {
            match way {
                // The session was marked as unread with its run's end.
                Deliver::Session => {}
                Deliver::Notification => {
                    shared.tell(&slot.person, &slot.job, Some(told(&slot)));
                }
                Deliver::Webhook(url) => {
                    if let Err(why) = post(shared, &slot, url).await {
                        failed = Some(why);
                    }
                }
            }
        }
        // Trouble is told to browsers whatever the job says: nobody asked for silence about it.
        if slot.state.is_trouble() && !deliver.contains(&Deliver::Notification) {
            shared.tell(&slot.person, &slot.job, Some(told(&slot)));
        }
        let (delivery, detail) = match failed {
            None => (SlotDelivery::Delivered, None),
            Some(why) => {
                tracing::warn!(job = %slot.job, why, "a job's webhook was not delivered");
                let detail = format!("{}\nNot delivered: {why}", slot.detail);
                (SlotDelivery::Failed, Some(detail))
            }
        };
        shared.setup.jobs.set_delivery(&slot.key(), delivery, detail.as_deref()).await?;
    }
    Ok(())
}

/// As the job says now; a job that is gone tells nobody.
async fn ways(shared: &Shared, person: &PersonId, id: &JobId) -> Result<Vec<Deliver>, Fault> {
    let jobs = shared.jobs_of(person).await?;
    let job = jobs.into_iter().find(|job| job.id == *id);
    // Only what a person accepted is told where it says.
    let accepted =
        job.filter(|job| job.row.as_ref().is_some_and(|row| row.accepted_hash == job.hash));
    Ok(accepted.and_then(|job| job.spec.ok()).map(|spec| spec.deliver).unwrap_or_default())
}

async fn post(shared: &Shared, slot: &JobSlot, url: &str) -> Result<(), String> {
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
    // A receiver that is down for a moment is asked again; it can tell a repeat by the key.
    let mut last = String::new();
    for wait in [0, 1, 5] {
        shared.setup.clock.sleep(std::time::Duration::from_secs(wait)).await;
        match shared.outside().post(url, &key, body.to_string().into_bytes()).await {
            Ok(status) if (200..300).contains(&status) => return Ok(()),
            Ok(status) if status < 500 => return Err(format!("the webhook answered {status}")),
            Ok(status) => last = format!("the webhook answered {status}"),
            Err(fault) => last = fault.message,
        }
    }
    Err(last)
}

fn told(slot: &JobSlot) -> String {
    let what = match slot.state {
        SlotState::Failed => "failed: ",
        SlotState::Interrupted => "was interrupted: ",
        SlotState::Missed => "was missed: ",
        _ => "",
    };
    let text = format!("{}: {what}{}", slot.job.name(), slot.detail);
    let end = text.floor_char_boundary(LONGEST_TOLD);
    if end < text.len() { format!("{}…", &text[..end]) } else { text }
}
