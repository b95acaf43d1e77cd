//! Takes up what the other gateways did. Who may come in is looked at first and waits for nothing else: a config that takes
//! long to be taken up must not keep a revoked credential good.

use std::time::Duration;

use onyx_agent::Notice;
use onyx_storage::{Heard, News};
use onyx_types::{Cancel, Fault};
use tokio::sync::{Notify, mpsc};

use super::tell::WaitingNotices;
use crate::gateway::live::Live;
use crate::gateway::storage::SharedStorage;

/// How often the database is asked what the others did, and told what happened here. A notice waits for one look here and
/// for one there: twice this is well within the second in which the others are to know.
const POLL: Duration = Duration::from_millis(250);
/// Notices that wait to be heard. They are hints: what does not fit is lost, and shows when it is looked at.
const MOST_NOTICES: usize = 10_000;

pub(super) async fn follow(live: &Live, shared: &SharedStorage, asked_to_drain: &Cancel) {
    let (config, (notices, heard)) = (Notify::new(), mpsc::channel(MOST_NOTICES));
    let waiting = WaitingNotices::default();
    let look = Look { live, shared, asked_to_drain, config: &config, notices };
    tokio::select! {
        () = waiting.gather(live) => {}
        () = look.again_and_again(&waiting) => {}
        () = follow_config(live, &config) => {}
        () = hear(live, heard) => {}
    }
}

/// Who is told of what the others did.
struct Look<'a> {
    live: &'a Live,
    shared: &'a SharedStorage,
    asked_to_drain: &'a Cancel,
    config: &'a Notify,
    notices: mpsc::Sender<String>,
}

impl Look<'_> {
    async fn again_and_again(&self, waiting: &WaitingNotices) {
        let mut heard = Heard::default();
        // What changed between the start and the first look is looked at once.
        let mut news = News { accounts: true, secrets: true, sign_ins: true, ..News::default() };
        self.config.notify_one();
        loop {
            let told = waiting.take();
            match self.shared.membership.news(&mut heard, &told).await {
                Ok(more) => self.pass_on(more, &mut news).await,
                Err(error) => {
                    waiting.put_back(told);
                    tracing::warn!(%error, "the other gateways cannot be heard or told");
                }
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn pass_on(&self, more: News, news: &mut News) {
        news.accounts |= more.accounts;
        news.secrets |= more.secrets;
        news.sign_ins |= more.sign_ins;
        if let Err(fault) = take_up(self.live, news).await {
            tracing::warn!(%fault, "what other gateways changed is taken up later");
        }
        if more.config {
            self.config.notify_one();
        }
        if more.drain {
            self.asked_to_drain.cancel();
        }
        for notice in more.notices {
            // Full: a hint is lost.
            let _ = self.notices.try_send(notice);
        }
    }
}

/// What could not be taken up stays marked for the next time.
async fn take_up(live: &Live, news: &mut News) -> Result<(), Fault> {
    if news.accounts {
        live.auth.identity().follow().await?;
        news.accounts = false;
    }
    let has_sign_ins = news.secrets || news.sign_ins;
    if news.secrets {
        live.secrets.refresh().await?;
        news.secrets = false;
    }
    if news.sign_ins
        && let Some(sign_ins) = &live.sign_ins
    {
        sign_ins.follow().await?;
        news.sign_ins = false;
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
            tracing::warn!(%fault, "the config that another gateway wrote is taken up later");
            tokio::time::sleep(POLL).await;
        }
    }
}

async fn hear(live: &Live, mut notices: mpsc::Receiver<String>) {
    while let Some(notice) = notices.recv().await {
        // One that a newer gateway wrote in another form is a hint that is lost.
        if let Ok(notice) = serde_json::from_str::<Notice>(&notice) {
            live.agent.hear(notice).await;
        }
    }
}
