//! Leases of sessions. A lease is a row with a fence, a number that grows with every holder. Every
//! write compares the fence in the same statement, so a gateway that lost a session writes nothing,
//! even if it does not know yet.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use onyx_types::SessionKey;

use super::unanswered::{AskedLease, UnansweredLease, give_back};
use super::{Gateway, length, margin, millis, next_fence, token};
use crate::blocking::lock;
use crate::postgres::connect::Database;
use crate::postgres::convert::{count, get};
use crate::postgres::query::{execute, row_if_any};
use crate::postgres::transaction::may_have_happened;
use crate::{Lease, Leases, LogState, StoreError};

/// The session leases that this gateway holds. Cloning is cheap.
#[derive(Clone, Debug)]
pub(crate) struct PostgresLeases {
    gateway: Arc<Gateway>,
    held: Arc<Mutex<HashMap<SessionKey, HeldLease>>>,
}

#[derive(Debug)]
struct HeldLease {
    /// The fence in the lease that the caller was given.
    token: u64,
    /// The fences that the row may have now. Writes use the last one. There are several if the
    /// holder raised the fence and got no answer.
    fences: Vec<i64>,
    /// Whether nothing more may be written with the lease. The row may still name this gateway, so
    /// the lease is released like any other.
    is_given_up: bool,
    incarnation: i64,
    /// The expiry on this machine's clock, counted from before the database was asked.
    expires: Duration,
    margin: Duration,
    /// The state of the log as this holder left it.
    log: LogState,
    waiting: Waiting,
}

/// Which kinds of things waited for a session when it was taken. This is read together with the
/// lease, so that opening the session need not ask for things that mostly do not exist. Each answer
/// can be used once, and only for a moment.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    since: Duration,
    none: [bool; 3],
}

/// The kinds of things that may wait for a session. Its lease says for each kind whether there is
/// any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::postgres) enum MayWait {
    OpenRuns,
    Words,
    Decisions,
}

/// How long these answers are valid. Whoever opens a session asks within this time.
const OPENING: Duration = Duration::from_secs(1);
/// How long the release of a lease waits for the database. After that, the release is retried in
/// the background.
const RELEASE_PATIENCE: Duration = Duration::from_secs(3);
const RELEASE_AGAIN: Duration = Duration::from_millis(250);

impl HeldLease {
    /// Whether the lease may be used for writing. An owner stops a little before others may take
    /// over.
    fn is_good(&self, incarnation: i64, now: Duration) -> bool {
        !self.is_given_up && self.incarnation == incarnation && now + self.margin < self.expires
    }

    fn fence(&self) -> Option<i64> {
        self.fences.last().copied()
    }
}

impl PostgresLeases {
    pub(crate) fn new(gateway: Arc<Gateway>) -> Self {
        Self { gateway, held: Arc::default() }
    }

    /// The fence for the next write.
    pub(in crate::postgres) fn fence(&self, lease: &Lease) -> Result<i64, StoreError> {
        let incarnation = self.gateway.alive()?;
        let now = self.gateway.now();
        let held = lock(&self.held);
        let good = held
            .get(&lease.key)
            .filter(|held| held.token == lease.fence && held.is_good(incarnation, now));
        good.and_then(HeldLease::fence).ok_or(StoreError::LeaseLost)
    }

    /// Gives the lease up: another gateway holds the session, or it is not known what this holder
    /// wrote. This holder writes nothing more.
    pub(in crate::postgres) fn lost(&self, lease: &Lease) -> StoreError {
        if let Some(held) = lock(&self.held).get_mut(&lease.key)
            && held.token == lease.fence
        {
            held.is_given_up = true;
        }
        StoreError::LeaseLost
    }

    /// The state of the log, as long as no other gateway can have written to it.
    pub(in crate::postgres) fn log(&self, key: &SessionKey) -> Option<LogState> {
        let incarnation = self.gateway.alive().ok()?;
        let now = self.gateway.now();
        let held = lock(&self.held);
        let held = held.get(key)?;
        held.is_good(incarnation, now).then_some(held.log)
    }

    /// Whether nothing of this kind waited when the session was taken a moment ago. The answer can
    /// be used once.
    pub(in crate::postgres) fn has_none(&self, key: &SessionKey, what: MayWait) -> bool {
        let now = self.gateway.now();
        let mut held = lock(&self.held);
        let Some(held) = held.get_mut(key) else { return false };
        let none = std::mem::replace(&mut held.waiting.none[what as usize], false);
        none && now < held.waiting.since + OPENING
    }

    /// Invalidates what was read with the lease, because something of this kind has arrived.
    pub(in crate::postgres) fn came(&self, key: &SessionKey, what: MayWait) {
        if let Some(held) = lock(&self.held).get_mut(key) {
            held.waiting.none[what as usize] = false;
        }
    }

    /// Invalidates all of it, because a run begins. From now on only the database knows what waits.
    pub(in crate::postgres) fn opened(&self, key: &SessionKey) {
        if let Some(held) = lock(&self.held).get_mut(key) {
            held.waiting.none = [false; 3];
        }
    }

    /// Records the state in which the holder left the log.
    pub(in crate::postgres) fn wrote(&self, lease: &Lease, log: LogState) {
        if let Some(held) = lock(&self.held).get_mut(&lease.key)
            && held.token == lease.fence
            && (held.log.stamp != log.stamp || held.log.len < log.len)
        {
            held.log = log;
        }
    }

    /// Forgets a lease that the holder released together with its last write.
    pub(in crate::postgres) fn freed(&self, lease: &Lease) {
        let mut held = lock(&self.held);
        if held.get(&lease.key).is_some_and(|held| held.token == lease.fence) {
            held.remove(&lease.key);
        }
    }

    /// Raises the fence. This shuts out every write of this holder that was sent without an answer:
    /// such a write has happened by now or never will. The new fence is recorded here first,
    /// because the row may have either fence if the answer is lost. `LeaseLost` when another
    /// gateway was faster.
    pub(in crate::postgres) async fn raise(&self, lease: &Lease) -> Result<i64, StoreError> {
        let fence = self.fence(lease)?;
        let raised = next_fence(&self.gateway.database).await?;
        let client = self.gateway.database.client().await?;
        if let Some(held) = lock(&self.held).get_mut(&lease.key)
            && held.token == lease.fence
        {
            held.fences.push(raised);
        }
        let raise = "UPDATE session_log SET fence = $5
                     WHERE person = $1 AND agent = $2 AND session = $3 AND fence = $4";
        let key = &lease.key;
        let (person, agent) = (key.person.as_str(), key.agent.as_str());
        let session = key.session.to_string();
        let given: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&person, &agent, &session, &fence, &raised];
        if execute(&client, raise, &given).await? == 0 {
            return Err(self.lost(lease));
        }
        Ok(raised)
    }

    /// Frees a session in the background that may have been taken without an answer.
    pub(super) fn give_back(&self, asked: UnansweredLease) {
        // Without a runtime the process is ending, and its life ends the lease.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (held, key) = (Arc::clone(&self.held), asked.key.clone());
        let is_known =
            move |fence| lock(&held).get(&key).is_some_and(|held| held.fences.contains(&fence));
        runtime.spawn(give_back(Arc::downgrade(&self.gateway), asked, is_known));
    }

    /// Tries again until the session is released. Without this it would stay taken until the lease
    /// expires, with an open run in it that no gateway may close.
    fn release_later(&self, key: SessionKey, held: HeldLease) {
        let gateway = Arc::downgrade(&self.gateway);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(RELEASE_AGAIN).await;
                let Some(gateway) = gateway.upgrade() else { return };
                if gateway.now() > held.expires + held.margin {
                    return;
                }
                if release_fences(&gateway.database, &key, &held.fences).await.is_ok() {
                    return;
                }
            }
        });
    }
}

/// Releases a session that has one of these fences. The fence grows here too, so nothing that was
/// sent before this can still be written.
pub(super) async fn release_fences(
    database: &Database,
    key: &SessionKey,
    fences: &[i64],
) -> Result<(), StoreError> {
    let (person, agent) = (key.person.as_str(), key.agent.as_str());
    let session = key.session.to_string();
    let freed = async {
        let client = database.client().await?;
        let free = "UPDATE session_log SET fence = greatest(fence + 1, nextval('fences')),
                                           until = '-infinity'
                    WHERE person = $1 AND agent = $2 AND session = $3 AND fence = ANY($4)";
        execute(&client, free, &[&person, &agent, &session, &fences]).await?;
        Ok(())
    };
    tokio::time::timeout(RELEASE_PATIENCE, freed).await.unwrap_or_else(|_| {
        Err(StoreError::Unavailable("the database: it does not answer".to_owned()))
    })
}

#[async_trait]
impl Leases for PostgresLeases {
    async fn acquire(&self, key: &SessionKey, time_to_live: Duration) -> Result<Lease, StoreError> {
        let incarnation = self.gateway.alive_again().await?;
        let asked = self.gateway.now();
        let client = self.gateway.database.client().await?;
        let until = asked.saturating_add(time_to_live);
        let unanswered = UnansweredLease { key: key.clone(), incarnation, until };
        let mut unanswered = AskedLease::new(self, unanswered);
        let taken = row_if_any(
            &client,
            "INSERT INTO session_log
                 (person, agent, session, fence, gateway, incarnation, until, next_seq, next_pos)
             SELECT $1::TEXT, $2::TEXT, $3::TEXT, nextval('fences'), id, incarnation,
                    clock_timestamp() + $6::DOUBLE PRECISION * INTERVAL '1 millisecond', 0, 0
             FROM gateways
             WHERE id = $4 AND incarnation = $5 AND until > clock_timestamp()
             ON CONFLICT (person, agent, session) DO UPDATE SET
                 fence = greatest(session_log.fence + 1, excluded.fence),
                 gateway = excluded.gateway, incarnation = excluded.incarnation,
                 until = excluded.until
             WHERE session_log.until <= clock_timestamp()
                OR NOT EXISTS (SELECT 1 FROM gateways AS holder
                               WHERE holder.id = session_log.gateway
                                 AND holder.incarnation = session_log.incarnation
                                 AND holder.until > clock_timestamp())
             RETURNING fence, next_pos, generation,
                 NOT EXISTS (SELECT 1 FROM runs WHERE person = $1 AND session = $3
                                                  AND status IS NULL),
                 NOT EXISTS (SELECT 1 FROM inbox WHERE person = $1 AND session = $3),
                 NOT EXISTS (SELECT 1 FROM drafts WHERE person = $1 AND session = $3
                                                    AND NOT delivered)",
            &[
                &key.person.as_str(),
                &key.agent.as_str(),
                &key.session.to_string(),
                &self.gateway.id(),
                &incarnation,
                &millis(time_to_live),
            ],
        )
        .await;
        if !matches!(&taken, Err(error) if may_have_happened(error)) {
            unanswered.answered();
        }
        let taken = taken?.ok_or(StoreError::Busy)?;
        let fence: i64 = get(&taken, 0)?;
        let log = LogState { len: count(&taken, 1)?, stamp: get::<i64>(&taken, 2)?.into() };
        let held = HeldLease {
            token: token(fence),
            fences: vec![fence],
            is_given_up: false,
            incarnation,
            expires: until,
            margin: margin(time_to_live),
            log,
            waiting: Waiting {
                since: asked,
                none: [get(&taken, 3)?, get(&taken, 4)?, get(&taken, 5)?],
            },
        };
        lock(&self.held).insert(key.clone(), held);
        Ok(Lease { key: key.clone(), fence: token(fence) })
    }

    async fn renew(&self, lease: &Lease, time_to_live: Duration) -> Result<(), StoreError> {
        let fence = self.fence(lease)?;
        let asked = self.gateway.now();
        let client = self.gateway.database.client().await?;
        let renewed = execute(
            &client,
            "UPDATE session_log
             SET until = clock_timestamp() + $5::DOUBLE PRECISION * INTERVAL '1 millisecond'
             WHERE person = $1 AND agent = $2 AND session = $3 AND fence = $4
               AND until > clock_timestamp()",
            &[
                &lease.key.person.as_str(),
                &lease.key.agent.as_str(),
                &lease.key.session.to_string(),
                &fence,
                &millis(time_to_live),
            ],
        )
        .await?;
        if renewed == 0 {
            return Err(self.lost(lease));
        }
        if let Some(held) = lock(&self.held).get_mut(&lease.key)
            && held.token == lease.fence
        {
            held.expires = held.expires.max(asked.saturating_add(time_to_live));
            held.margin = margin(time_to_live);
        }
        Ok(())
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let ours = {
            let mut held = lock(&self.held);
            let is_ours = held.get(&lease.key).is_some_and(|held| held.token == lease.fence);
            if is_ours { held.remove(&lease.key) } else { None }
        };
        let Some(ours) = ours else {
            return release_fences(&self.gateway.database, &lease.key, &[length(lease.fence)])
                .await;
        };
        let freed = release_fences(&self.gateway.database, &lease.key, &ours.fences).await;
        if freed.is_err() {
            self.release_later(lease.key.clone(), ours);
        }
        freed
    }
}
