//! Sign-ins that several gateways share: one of them renews for all, and another gateway can finish
//! what one began. A single process uses none of this.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use onyx_types::{Cancel, Clock, Fault, Hash, Timestamp};
use reqwest::Url;
use serde::{Deserialize, Serialize};

use super::answer::Device;
use super::attempt::AwaitedSignIn;
use super::browser::{BrowserSignIn, ReturnReceiver};
use super::login::{Attempt, Login, TokenState};
use super::resolved_login::{LoginWay, ResolvedLogin};
use super::status::Pending;
use crate::Secret;

/// How long the reason of a failed sign-in is kept for other gateways.
const TOLD: Duration = Duration::from_secs(10 * 60);

/// The sign-in state that the gateways of one database share. Texts are stored sealed.
pub trait SharedSignIns: Send + Sync {
    /// Waits until no other gateway changes this provider's tokens. Then `load` returns the latest
    /// ones.
    fn turn<'a>(&'a self, provider: &'a str) -> BoxFuture<'a, Result<Box<dyn SignInTurn>, Fault>>;

    /// The latest known state of the sign-in under way.
    fn attempt(&self, provider: &str) -> Option<Secret>;

    fn put_attempt<'a>(
        &'a self,
        provider: &'a str,
        id: &'a str,
        attempt: &'a Secret,
        life: Duration,
    ) -> BoxFuture<'a, Result<(), Fault>>;

    /// Removes the attempt. Only one of the gateways that try gets `true`.
    fn take_attempt<'a>(
        &'a self,
        provider: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<bool, Fault>>;

    /// Whether this gateway asks the provider if the code was entered: only one gateway does, and
    /// another takes over when it is gone.
    fn asks_for<'a>(&'a self, provider: &'a str) -> BoxFuture<'a, bool>;
}

/// The right to change the stored tokens. Given back when it is dropped.
pub trait SignInTurn: Send + Sync {
    /// `false`: this gateway was silent for so long that another one may have the turn.
    fn still_holds(&self) -> bool;
}

/// A sign-in under way, as gateways share it.
#[derive(Serialize, Deserialize)]
pub(super) struct UnderWay {
    pub(super) id: String,
    /// The binding of the settings under which the attempt was begun.
    bound: Hash,
    way: String,
    user_code: Option<String>,
    verification_uri: String,
    verification_uri_complete: Option<String>,
    expires_at: Timestamp,
    /// The stored name is `how`, because gateways of the last version use it.
    #[serde(rename = "how")]
    attempt: SignInAttempt,
}

#[derive(Serialize, Deserialize)]
enum SignInAttempt {
    Code { code: String, interval: Duration },
    Browser { redirect: String, state: String, verifier: Option<String> },
    Failed { words: String },
}

impl UnderWay {
    pub(super) fn of(
        id: String,
        pending: &Pending,
        waiting: &AwaitedSignIn,
        resolved: &ResolvedLogin,
    ) -> Self {
        let attempt = match waiting {
            AwaitedSignIn::Code(device) => SignInAttempt::Code {
                code: device.code.reveal().to_owned(),
                interval: device.interval,
            },
            AwaitedSignIn::Browser(sign_in) => SignInAttempt::Browser {
                redirect: sign_in.redirect.to_string(),
                state: sign_in.receiver.state().reveal().to_owned(),
                verifier: sign_in.verifier.as_ref().map(|verifier| verifier.reveal().to_owned()),
            },
        };
        Self {
            id,
            bound: resolved.binding(),
            way: pending.way.as_str().to_owned(),
            user_code: pending.user_code.clone(),
            verification_uri: pending.verification_uri.clone(),
            verification_uri_complete: pending.verification_uri_complete.clone(),
            expires_at: pending.expires_at,
            attempt,
        }
    }

    /// `None`: the attempt was begun under other settings, or cannot be read.
    pub(super) fn read(text: &Secret, resolved: &ResolvedLogin) -> Option<Self> {
        let record: Self = serde_json::from_str(text.reveal()).ok()?;
        (record.bound == resolved.binding()).then_some(record)
    }

    pub(super) fn written(&self) -> Secret {
        // The record holds only strings and numbers, so this cannot fail.
        Secret::new(serde_json::to_string(self).unwrap_or_default())
    }

    fn has_failed(&self) -> bool {
        matches!(self.attempt, SignInAttempt::Failed { .. })
    }

    fn failed(self, words: &str) -> Self {
        Self { attempt: SignInAttempt::Failed { words: words.to_owned() }, ..self }
    }

    fn pending(&self) -> Option<Pending> {
        Some(Pending {
            way: LoginWay::of(&self.way)?,
            user_code: self.user_code.clone(),
            verification_uri: self.verification_uri.clone(),
            verification_uri_complete: self.verification_uri_complete.clone(),
            expires_at: self.expires_at,
        })
    }

    /// The attempt to wait for, as if it had been begun on this gateway.
    fn waiting(&self, clock: &dyn Clock) -> Option<AwaitedSignIn> {
        match &self.attempt {
            SignInAttempt::Code { code, interval } => Some(AwaitedSignIn::Code(Device {
                code: Secret::new(code.as_str()),
                user_code: self.user_code.clone()?,
                verification_uri: self.verification_uri.clone(),
                verification_uri_complete: self.verification_uri_complete.clone(),
                life: left(self.expires_at, clock),
                interval: *interval,
            })),
            SignInAttempt::Browser { redirect, state, verifier } => {
                let address = Url::parse(&self.verification_uri).ok()?;
                let redirect = Url::parse(redirect).ok()?;
                let verifier = verifier.as_deref().map(Secret::new);
                let sign_in = BrowserSignIn::of_another(
                    address,
                    redirect,
                    Secret::new(state.as_str()),
                    verifier,
                );
                Some(AwaitedSignIn::Browser(Box::new(sign_in)))
            }
            SignInAttempt::Failed { .. } => None,
        }
    }
}

fn left(until: Timestamp, clock: &dyn Clock) -> Duration {
    let left = until.as_millis().saturating_sub(clock.wall().as_millis());
    Duration::from_millis(u64::try_from(left).unwrap_or_default())
}

impl Login {
    /// Applies what other gateways did: who signed in or out, which tokens were renewed, which
    /// attempt is under way.
    pub(crate) fn follow_others(self: &Arc<Self>) {
        let Some(shared) = self.store.shared() else { return };
        self.follow_store();
        // While a sign-in is being begun on this gateway, it counts more than the shared one.
        let Ok(_one) = self.beginning.try_lock() else { return };
        let under_way = self.shared_attempt(shared);
        let (here, is_known) = {
            let attempt = &self.lock().attempt;
            if attempt.is_claimed() {
                // This gateway is finishing the attempt, so older shared state no longer matters.
                return;
            }
            let here = attempt.shared_id();
            let is_same = under_way.is_some()
                && here.as_ref() == under_way.as_ref().map(|under_way| &under_way.id);
            let has_failed = under_way.as_ref().is_some_and(UnderWay::has_failed);
            (here, is_same && has_failed == matches!(attempt, Attempt::Failed { .. }))
        };
        match under_way {
            None if here.is_some() => self.stop(),
            Some(under_way) if !is_known => self.take_part(under_way),
            None | Some(_) => {}
        }
    }

    fn shared_attempt(&self, shared: &dyn SharedSignIns) -> Option<UnderWay> {
        UnderWay::read(&shared.attempt(&self.provider)?, self.resolved())
    }

    /// Ends a sign-in under way on all gateways.
    pub(super) async fn end_attempt(&self, shared: &dyn SharedSignIns) -> Result<(), Fault> {
        if let Some(under_way) = self.shared_attempt(shared) {
            shared.take_attempt(&self.provider, &under_way.id).await?;
        }
        Ok(())
    }

    /// Waits here, too, for a sign-in that another gateway began.
    fn take_part(self: &Arc<Self>, under_way: UnderWay) {
        if let SignInAttempt::Failed { words } = &under_way.attempt {
            self.stop();
            self.lock().attempt = Attempt::Failed { words: words.clone(), id: Some(under_way.id) };
            return;
        }
        let (Some(pending), Some(waiting)) = (under_way.pending(), under_way.waiting(&*self.clock))
        else {
            return;
        };
        self.stop();
        self.wait_for(pending, waiting, Some(under_way.id));
    }

    /// Waits in the background.
    pub(super) fn wait_for(
        self: &Arc<Self>,
        pending: Pending,
        waiting: AwaitedSignIn,
        id: Option<String>,
    ) {
        let stop = Cancel::new();
        let receiver: Option<ReturnReceiver> = match &waiting {
            AwaitedSignIn::Browser(sign_in) => Some(sign_in.receiver.clone()),
            AwaitedSignIn::Code(_) => None,
        };
        self.lock().attempt = Attempt::Waiting {
            pending,
            stop: stop.clone(),
            receiver,
            id: id.clone(),
            is_claimed: false,
        };
        let login = Arc::clone(self);
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = login.follow(waiting, &stop, id) => {}
            }
        });
    }

    /// Reads the stored tokens again, because other gateways may have changed them.
    pub(super) fn follow_store(&self) {
        let generation = self.lock().generation;
        let stored = self.stored_state();
        let mut state = self.lock();
        // If the state changed meanwhile, it is newer than what was read.
        if state.generation != generation || state.is_unkept || is_same(&state.held, &stored) {
            return;
        }
        state.held = stored;
        state.generation += 1;
    }

    /// Whether this gateway may finish the sign-in: only one of those that wait may.
    pub(super) async fn claim(&self, id: Option<&str>) -> Result<bool, String> {
        let (Some(shared), Some(id)) = (self.store.shared(), id) else { return Ok(true) };
        // The attempt is marked as claimed before it is taken. Afterwards the other gateways no
        // longer find it, and this gateway must not end the attempt because of that.
        self.set_claimed(true);
        let taken = shared.take_attempt(&self.provider, id).await;
        if !matches!(taken, Ok(true)) {
            self.set_claimed(false);
        }
        taken.map_err(|fault| format!("the sign-in could not be finished: {fault}"))
    }

    fn set_claimed(&self, claimed: bool) {
        if let Attempt::Waiting { is_claimed, .. } = &mut self.lock().attempt {
            *is_claimed = claimed;
        }
    }

    /// Records the reason of the failure for other gateways. `None`: the attempt is no longer
    /// shared.
    pub(super) async fn tell_failure(&self, id: Option<&str>, words: &str) -> Option<String> {
        let (shared, id) = (self.store.shared()?, id?);
        let under_way = self.shared_attempt(shared).filter(|under_way| under_way.id == id)?;
        let failed = under_way.failed(words).written();
        if let Err(fault) = shared.put_attempt(&self.provider, id, &failed, TOLD).await {
            tracing::warn!(provider = self.provider, %fault, "others are not told of the failure");
            return None;
        }
        Some(id.to_owned())
    }
}

/// Whether the stored tokens are those in memory. Exchanged tokens and their end are not stored and
/// not compared.
fn is_same(held: &TokenState, stored: &TokenState) -> bool {
    match (held, stored) {
        (TokenState::Tokens(held), TokenState::Tokens(stored)) => {
            held.access == stored.access && held.refresh == stored.refresh
        }
        (TokenState::Nothing, TokenState::Nothing)
        | (TokenState::Refused { .. }, TokenState::Refused { .. })
        | (TokenState::Locked(_), TokenState::Locked(_)) => true,
        _ => false,
    }
}
