//! One renewal for all callers that wait for it. It is a task of its own, so that a caller that
//! goes away does not lose a token that the server has just issued.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt, Shared};
use onyx_types::{Fault, ModelFailure, ModelFailureClass};
use reqwest::StatusCode;

use super::answer::{self, GrantedTokens, Refusal};
use super::login::{Login, TokenState};
use super::record::{self, AccessToken, Tokens, is_stale, renew_at};
use crate::Secret;
use crate::failure::failure;

pub(super) type Renewal = Shared<BoxFuture<'static, Result<Secret, ModelFailure>>>;

/// Refusals of a refresh that every later refresh would meet again.
const TERMINAL: &[&str] = &[
    "invalid_grant",
    "bad_refresh_token",
    "invalid_client",
    "unauthorized_client",
    "incorrect_client_credentials",
    "unsupported_grant_type",
    // OpenAI's own codes for a refresh token that can no longer be used.
    "refresh_token_expired",
    "refresh_token_reused",
    "refresh_token_invalidated",
];

/// Why a token was not renewed.
enum Failed {
    /// Only a new sign-in helps.
    Terminal(String),
    For(ModelFailure),
}

fn is_terminal(status: StatusCode, code: Option<&str>) -> bool {
    status == StatusCode::UNAUTHORIZED || code.is_some_and(|code| TERMINAL.contains(&code))
}

impl Login {
    pub(super) async fn renewed(
        self: &Arc<Self>,
        refused: Option<Secret>,
    ) -> Result<Secret, ModelFailure> {
        let renewal = {
            let mut state = self.lock();
            match &state.renewal {
                Some(running) => running.clone(),
                None => {
                    let begun = self.begin_renewal(refused);
                    state.renewal.insert(begun).clone()
                }
            }
        };
        renewal.await
    }

    fn begin_renewal(self: &Arc<Self>, refused: Option<Secret>) -> Renewal {
        let login = Arc::clone(self);
        let task = tokio::spawn(async move {
            let outcome = login.renew(refused).await;
            login.lock().renewal = None;
            outcome
        });
        let lost = || failure(ModelFailureClass::Unavailable, "the sign-in was not renewed");
        async move { task.await.unwrap_or_else(|_| Err(lost())) }.boxed().shared()
    }

    pub(super) async fn settled(&self) {
        let running = self.lock().renewal.clone();
        if let Some(running) = running {
            // The renewal reports its result to its waiters itself, so the result is ignored here.
            let _ = running.await;
        }
    }

    async fn renew(&self, refused: Option<Secret>) -> Result<Secret, ModelFailure> {
        let turn = match self.store.shared() {
            Some(shared) => {
                Some(shared.turn(&self.provider).await.map_err(|fault| self.no_turn(&fault))?)
            }
            None => None,
        };
        if turn.is_some() {
            // Another gateway may have renewed the token while this one waited.
            self.follow_store();
        }
        // So may another caller here, between the look at the token and this renewal.
        if let Some(token) = self.fresh_token()?.filter(|token| Some(token) != refused.as_ref()) {
            return Ok(token);
        }
        let (tokens, generation) = {
            let state = self.lock();
            match &state.held {
                TokenState::Tokens(tokens) => (Some(tokens.clone()), state.generation),
                TokenState::Nothing | TokenState::Refused { .. } | TokenState::Locked(_) => {
                    (None, 0)
                }
            }
        };
        let tokens = tokens.ok_or_else(|| self.absent())?;
        let account = tokens.account.clone();
        let renewed = self.renew_tokens(tokens, refused.is_some()).await;
        if turn.as_ref().is_some_and(|turn| !turn.still_holds()) {
            // This gateway was frozen or cut off for so long that another gateway may have renewed
            // the token since.
            self.follow_store();
            return self.fresh_token()?.ok_or_else(|| self.absent());
        }
        match renewed {
            Ok(tokens) => self.hold(tokens, generation).await,
            Err(Failed::For(failure)) => Err(failure),
            Err(Failed::Terminal(why)) => {
                self.refuse(account, why, generation).await;
                Err(self.absent())
            }
        }
    }

    async fn renew_tokens(&self, tokens: Tokens, was_refused: bool) -> Result<Tokens, Failed> {
        let exchanges = self.server.exchanges();
        // If tokens are exchanged, the provider refused the short-lived token and not this one.
        let is_old = is_stale(tokens.renew_at, &*self.clock) || (was_refused && !exchanges);
        let mut tokens = if is_old { self.refresh(tokens).await? } else { tokens };
        if !exchanges {
            return Ok(tokens);
        }
        let short = match self.exchange(&tokens.access).await {
            Err(Failed::Terminal(_)) if !is_old && tokens.refresh.is_some() => {
                tokens = self.refresh(tokens).await?;
                self.exchange(&tokens.access).await?
            }
            other => other?,
        };
        tokens.short = short;
        Ok(tokens)
    }

    async fn refresh(&self, tokens: Tokens) -> Result<Tokens, Failed> {
        let Some(refresh) = &tokens.refresh else {
            let why = "the provider no longer takes the sign-in, and it cannot be renewed";
            return Err(Failed::Terminal(why.to_owned()));
        };
        let answer = self.server.refresh(refresh).await;
        match answer.and_then(|(status, body)| answer::token(status, &body)) {
            Ok(granted) => Ok(self.granted(granted, Some(tokens))),
            Err(Refusal::Final { status, code, words }) if is_terminal(status, code.as_deref()) => {
                Err(Failed::Terminal(self.mask(words)))
            }
            Err(refusal) => Err(self.passing("the sign-in could not be renewed", &refusal)),
        }
    }

    /// The tokens as the server gave them; values that a refresh leaves out are kept from before.
    pub(super) fn granted(&self, granted: GrantedTokens, before: Option<Tokens>) -> Tokens {
        self.hide(&granted.access);
        granted.refresh.iter().for_each(|token| self.hide(token));
        let (refresh, account, account_id) = match before {
            Some(before) => (before.refresh, before.account, before.account_id),
            None => (None, None, None),
        };
        Tokens {
            access: granted.access,
            refresh: granted.refresh.or(refresh),
            renew_at: granted.life.map(|life| renew_at(&*self.clock, life)),
            account: granted.identity.account.or(account),
            account_id: granted.identity.account_id.or(account_id),
            short: None,
        }
    }

    /// Fetches the short-lived token; `None` if no address exchanges tokens.
    async fn exchange(&self, access: &Secret) -> Result<Option<AccessToken>, Failed> {
        let Some(answer) = self.server.exchange(access).await else { return Ok(None) };
        let now = self.clock.wall();
        match answer.and_then(|(status, body)| answer::exchanged(status, &body, now)) {
            Ok(exchanged) => {
                self.hide(&exchanged.token);
                let renew_at = exchanged.life.map(|life| renew_at(&*self.clock, life));
                Ok(Some(AccessToken { token: exchanged.token, renew_at }))
            }
            Err(Refusal::Final { status: StatusCode::UNAUTHORIZED, words, .. }) => {
                Err(Failed::Terminal(self.mask(words)))
            }
            Err(Refusal::Final { words, .. }) => {
                let message = format!(
                    "{}: the account gets no token to ask with: {}",
                    self.title,
                    self.mask(words)
                );
                Err(Failed::For(failure(ModelFailureClass::Auth, message)))
            }
            Err(refusal) => Err(self.passing("no token to ask with could be had", &refusal)),
        }
    }

    /// Exchanges a new sign-in's token at once, so that a refusal is reported now and not by the
    /// first run.
    pub(super) async fn first_exchange(
        &self,
        access: &Secret,
    ) -> Result<Option<AccessToken>, String> {
        match self.exchange(access).await {
            Ok(short) => Ok(short),
            Err(Failed::Terminal(words)) => Err(words),
            Err(Failed::For(failure)) if failure.class == ModelFailureClass::Auth => {
                Err(failure.message)
            }
            // The exchange is tried again when the token is needed.
            Err(Failed::For(_)) => Ok(None),
        }
    }

    fn no_turn(&self, fault: &Fault) -> ModelFailure {
        let message = format!("{}: the sign-in could not be renewed: {fault}", self.title);
        failure(ModelFailureClass::Unavailable, message)
    }

    fn passing(&self, what: &str, refusal: &Refusal) -> Failed {
        let words = self.mask(refusal.words().to_owned());
        let message = format!("{}: {what}: {words}", self.title);
        Failed::For(failure(ModelFailureClass::Unavailable, message))
    }

    async fn hold(&self, tokens: Tokens, generation: u64) -> Result<Secret, ModelFailure> {
        let _one_by_one = self.changing.lock().await;
        if self.lock().generation != generation {
            // A person signed in or out meanwhile: that newer state counts.
            return self.fresh_token()?.ok_or_else(|| self.absent());
        }
        if let Err(fault) = self.store.keep(&self.provider, &self.written(&tokens)).await {
            // The tokens work as long as this process lives, and nothing is lost by using them.
            tracing::warn!(provider = self.provider, %fault, "renewed tokens are not kept");
            self.lock().is_unkept = true;
        } else {
            self.lock().is_unkept = false;
        }
        let token = tokens.short.as_ref().map_or(&tokens.access, |short| &short.token).clone();
        let mut state = self.lock();
        state.held = TokenState::Tokens(tokens);
        state.generation += 1;
        Ok(token)
    }

    async fn refuse(&self, account: Option<String>, why: String, generation: u64) {
        let _one_by_one = self.changing.lock().await;
        if self.lock().generation != generation {
            return;
        }
        tracing::warn!(provider = self.provider, why, "somebody must sign in again");
        let kept = record::refused(account.clone(), self.resolved());
        if let Err(fault) = self.store.keep(&self.provider, &kept).await {
            tracing::warn!(provider = self.provider, %fault, "refused tokens are still kept");
        }
        let mut state = self.lock();
        state.held = TokenState::Refused { account, why };
        state.generation += 1;
    }

    pub(super) fn written(&self, tokens: &Tokens) -> Secret {
        record::written(tokens, self.resolved())
    }
}
