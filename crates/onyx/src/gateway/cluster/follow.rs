//! Applies what the other gateways changed. Credentials are updated first and wait for nothing
//! else: a slow config change must not keep a revoked credential valid.

use std::time::Duration;

use onyx_api::Change;
use onyx_storage::{ClusterChanges, PollPosition, StoreError};
use onyx_tools::EarlierArtifacts;
use onyx_types::{Cancel, Fault, PersonId};
use tokio::sync::{Notify, mpsc};

use super::tell::{GatewayMessage, WaitingMessages};
use crate::gateway::live::Live;
use crate::gateway::storage::SharedStorage;

/// How often this gateway reads the others' changes from the database and writes its own. A message
/// waits for at most one round at each of two gateways, which is well within the second in which
/// the others must know.
const POLL: Duration = Duration::from_millis(250);
/// How long applying changes may take before the next poll. A poll finds out that the database does
/// not answer any more, and the changes stay marked.
const LONGEST_APPLYING: Duration = Duration::from_secs(10);
/// How many messages of other gateways may wait. They are hints, so one that does not fit is
/// dropped, and its content is seen the next time that anybody looks.
const MOST_HEARD: usize = 10_000;

pub(super) async fn follow(live: &Live, shared: &SharedStorage, asked_to_drain: &Cancel) {
    let (config, missed) = (Notify::new(), Notify::new());
    let (notices, received) = mpsc::channel(MOST_HEARD);
    let waiting = WaitingMessages::default();
    let look =
        ClusterFollower { live, shared, asked_to_drain, config: &config, missed: &missed, notices };
    tokio::select! {
        () = waiting.gather(live) => {}
        () = look.again_and_again(&waiting) => {}
        () = follow_config(live, &config) => {}
        () = follow_what_was_missed(live, &missed) => {}
        () = take_notices(live, received, &missed) => {}
    }
}

/// What the polling task needs to pass changes on to the parts of this process.
struct ClusterFollower<'a> {
    live: &'a Live,
    shared: &'a SharedStorage,
    asked_to_drain: &'a Cancel,
    config: &'a Notify,
    /// Notified when notices may have been missed of what this gateway otherwise reads only at its
    /// start.
    missed: &'a Notify,
    notices: mpsc::Sender<String>,
}

impl ClusterFollower<'_> {
    async fn again_and_again(&self, waiting: &WaitingMessages) {
        let mut position = PollPosition::default();
        // The first poll reads everything once, because changes between the start and this poll
        // would be missed.
        let mut changes = ClusterChanges {
            accounts: true,
            secrets: true,
            sign_ins: true,
            ..ClusterChanges::default()
        };
        self.config.notify_one();
        self.missed.notify_one();
        loop {
            let messages = waiting.take();
            match self.shared.membership.poll(&mut position, &messages).await {
                Ok(more) => self.pass_on(more, &mut changes).await,
                Err(error) => {
                    waiting.put_back(messages);
                    tracing::warn!(%error, "cannot exchange changes with the other gateways");
                }
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn pass_on(&self, more: ClusterChanges, changes: &mut ClusterChanges) {
        changes.accounts |= more.accounts;
        changes.secrets |= more.secrets;
        changes.sign_ins |= more.sign_ins;
        match tokio::time::timeout(LONGEST_APPLYING, apply(self.live, changes)).await {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => {
                tracing::warn!(%fault, "changes by other gateways could not be applied; trying again");
            }
            Err(_) => {
                tracing::warn!("changes by other gateways take too long to apply; trying again");
            }
        }
        if more.config {
            self.config.notify_one();
        }
        if more.drain {
            self.asked_to_drain.cancel();
        }
        if more.gateway_gone {
            reload_everything(self.live);
            self.missed.notify_one();
        }
        for notice in more.notices {
            // If the queue is full, the notice is dropped, because it is only a hint.
            if self.notices.try_send(notice).is_err() {
                self.missed.notify_one();
            }
        }
    }
}

/// Lets clients load again what a gateway that is gone may have changed without telling the others.
fn reload_everything(live: &Live) {
    for change in [Change::Memory(None), Change::Agents, Change::Connectors] {
        live.changes.tell(change);
    }
}

/// Applies the changes. Those that fail stay marked for the next time.
async fn apply(live: &Live, changes: &mut ClusterChanges) -> Result<(), Fault> {
    if changes.accounts {
        live.auth.identity().follow().await?;
        changes.accounts = false;
    }
    let has_sign_ins = changes.secrets || changes.sign_ins;
    if changes.secrets {
        live.secrets.refresh().await?;
        changes.secrets = false;
    }
    if changes.sign_ins
        && let Some(sign_ins) = &live.sign_ins
    {
        sign_ins.follow().await?;
        changes.sign_ins = false;
    }
    if has_sign_ins {
        live.models.logins().follow_others();
    }
    Ok(())
}

async fn follow_config(live: &Live, changed: &Notify) {
    loop {
        changed.notified().await;
        while let Err(fault) = live.follow_config().await {
            tracing::warn!(%fault, "the config of another gateway could not be applied; trying again");
            tokio::time::sleep(POLL).await;
        }
    }
}

/// Reads all time zones again, and who has artifacts, when changes of them may have been missed.
/// Nothing asks the database for them, so a missed change would count only after a restart.
async fn follow_what_was_missed(live: &Live, missed: &Notify) {
    loop {
        missed.notified().await;
        while let Err(fault) = live.agent.preferences.follow_zones().await {
            tracing::warn!(%fault, "people's time zones could not be read; trying again");
            tokio::time::sleep(POLL).await;
        }
        while let Err(error) = follow_artifacts(live).await {
            tracing::warn!(%error, "it could not be read who has artifacts; trying again");
            tokio::time::sleep(POLL).await;
        }
    }
}

async fn follow_artifacts(live: &Live) -> Result<(), StoreError> {
    let before = live.extensions.artifacts.recall().await?;
    offer_artifacts(live, before);
    Ok(())
}

/// Offers the tool that reads artifacts to runs that are under way, if a person had none before.
fn offer_artifacts(live: &Live, before: EarlierArtifacts) {
    if before == EarlierArtifacts::None {
        live.toolbox.offer_anew();
    }
}

async fn follow_zone(live: &Live, person: &PersonId, missed: &Notify) {
    if let Err(fault) = live.agent.preferences.follow_zone(person).await {
        tracing::warn!(%person, %fault, "a time zone could not be read; trying again");
        missed.notify_one();
    }
}

async fn take_notices(live: &Live, mut notices: mpsc::Receiver<String>, missed: &Notify) {
    while let Some(message) = notices.recv().await {
        // A message in the form of a newer gateway cannot be read and is dropped, because it is
        // only a hint.
        match serde_json::from_str(&message) {
            Ok(GatewayMessage::Notice(notice)) => live.agent.take_notice(notice).await,
            Ok(GatewayMessage::Change { changed }) => live.changes.tell(changed),
            Ok(GatewayMessage::Job { job }) => live.agent.jobs.take_notice(job),
            Ok(GatewayMessage::Zone { zone_of }) => follow_zone(live, &zone_of, missed).await,
            Ok(GatewayMessage::Artifacts { artifacts_of }) => {
                let before = live.extensions.artifacts.are_now_there_for(&artifacts_of);
                offer_artifacts(live, before);
            }
            Err(error) => tracing::debug!(%error, "a message of another gateway is not known here"),
        }
    }
}
