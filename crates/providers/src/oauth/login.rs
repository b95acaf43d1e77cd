//! One provider's sign-in: who is signed in, and the token that requests carry.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onyx_types::{Cancel, Clock, Fault, ModelFailure, ModelFailureClass};

use super::book::TokenStore;
use super::browser::ReturnReceiver;
use super::record::{self, SavedSignIn, Tokens, is_stale};
use super::renewal::Renewal;
use super::resolved_login::ResolvedLogin;
use super::server::Server;
use super::status::{LoginState, LoginStatus, Pending};
use crate::Secret;
use crate::failure::failure;

/// How many of a provider's tokens are masked in texts; older ones are no longer valid.
const REMEMBERED: usize = 16;

pub(crate) struct Login {
    /// The name under which the tokens are stored.
    pub(super) provider: String,
    /// The name of the provider as people read it.
    pub(super) title: String,
    resolved: ResolvedLogin,
    pub(super) server: Server,
    pub(super) store: Arc<dyn TokenStore>,
    pub(super) clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// Locked while the stored tokens change, so that store and state agree.
    pub(super) changing: tokio::sync::Mutex<()>,
    /// Locked while a code is requested: a second caller gets the same code.
    pub(super) beginning: tokio::sync::Mutex<()>,
}

pub(super) struct State {
    pub(super) held: TokenState,
    pub(super) attempt: Attempt,
    pub(super) renewal: Option<Renewal>,
    /// Counts sign-ins and sign-outs, so that the result of work that began before the last one is
    /// discarded.
    pub(super) generation: u64,
    remembered: VecDeque<Secret>,
    /// The tokens could not be stored, so the stored ones are older than these.
    pub(super) is_unkept: bool,
}

pub(super) enum TokenState {
    Nothing,
    Tokens(Tokens),
    Refused {
        account: Option<String>,
        why: String,
    },
    /// The store of secrets cannot be opened.
    Locked(Fault),
}

pub(super) enum Attempt {
    Idle,
    Waiting {
        pending: Pending,
        stop: Cancel,
        /// Receives the address at which a browser ended.
        receiver: Option<ReturnReceiver>,
        /// The id under which other gateways know the attempt, if there are other gateways.
        id: Option<String>,
        /// This gateway finishes the attempt, and the other gateways no longer know it.
        is_claimed: bool,
    },
    Failed {
        words: String,
        id: Option<String>,
    },
}

impl Attempt {
    /// The id under which other gateways know the attempt.
    pub(super) fn shared_id(&self) -> Option<String> {
        match self {
            Self::Idle => None,
            Self::Waiting { id, .. } | Self::Failed { id, .. } => id.clone(),
        }
    }

    pub(super) fn is_claimed(&self) -> bool {
        matches!(self, Self::Waiting { is_claimed: true, .. })
    }
}

impl Login {
    pub(super) fn open(
        provider: &str,
        title: String,
        resolved: ResolvedLogin,
        store: Arc<dyn TokenStore>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let login = Self {
            provider: provider.to_owned(),
            title,
            server: Server::new(&resolved),
            resolved,
            store,
            clock,
            state: Mutex::new(State {
                held: TokenState::Nothing,
                attempt: Attempt::Idle,
                renewal: None,
                generation: 0,
                remembered: VecDeque::new(),
                is_unkept: false,
            }),
            changing: tokio::sync::Mutex::default(),
            beginning: tokio::sync::Mutex::default(),
        };
        login.load();
        login
    }

    pub(super) fn resolved(&self) -> &ResolvedLogin {
        &self.resolved
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn load(&self) {
        let held = self.stored_state();
        self.lock().held = held;
    }

    /// The tokens in the store.
    pub(super) fn stored_state(&self) -> TokenState {
        match self.store.load(&self.provider) {
            Ok(None) => TokenState::Nothing,
            Err(fault) => TokenState::Locked(fault),
            Ok(Some(kept)) => match record::read(&kept, &self.resolved) {
                SavedSignIn::Tokens(tokens) => {
                    self.hide(&tokens.access);
                    tokens.refresh.iter().for_each(|token| self.hide(token));
                    TokenState::Tokens(tokens)
                }
                SavedSignIn::Refused { account, why } => {
                    TokenState::Refused { account, why: why.to_owned() }
                }
            },
        }
    }

    pub(super) fn look_again(&self) {
        let is_locked = matches!(self.lock().held, TokenState::Locked(_));
        if is_locked {
            self.load();
        }
    }

    /// Must be called before any other code sees the secret.
    pub(super) fn hide(&self, secret: &Secret) {
        let mut state = self.lock();
        if state.remembered.contains(secret) {
            return;
        }
        state.remembered.push_back(secret.clone());
        let gone =
            if state.remembered.len() > REMEMBERED { state.remembered.pop_front() } else { None };
        drop(state);
        self.store.hide(secret, gone.as_ref());
    }

    /// The text with all tokens of this sign-in masked.
    pub(crate) fn mask(&self, text: String) -> String {
        let state = self.lock();
        state.remembered.iter().fold(text, |text, secret| secret.mask_in(&text))
    }

    pub(crate) fn status(self: &Arc<Self>) -> LoginStatus {
        self.follow_others();
        let state = self.lock();
        let (held, account, why) = match &state.held {
            TokenState::Nothing => (LoginState::None, None, None),
            TokenState::Tokens(tokens) => (LoginState::SignedIn, tokens.account.clone(), None),
            TokenState::Refused { account, why } => {
                (LoginState::SignInAgain, account.clone(), Some(why.clone()))
            }
            TokenState::Locked(fault) => (LoginState::None, None, Some(fault.message.clone())),
        };
        let until = match &state.held {
            // Tokens that can be renewed have no end that a person would need to know.
            TokenState::Tokens(tokens) if tokens.refresh.is_none() => tokens.renew_at,
            TokenState::Tokens(_)
            | TokenState::Nothing
            | TokenState::Refused { .. }
            | TokenState::Locked(_) => None,
        };
        let base = LoginStatus { account, until, ways: self.resolved.ways(), ..LoginStatus::NONE };
        match &state.attempt {
            Attempt::Idle => LoginStatus { state: held, error: why, ..base },
            Attempt::Waiting { pending, .. } => {
                LoginStatus { state: LoginState::Waiting, pending: Some(pending.clone()), ..base }
            }
            Attempt::Failed { words, .. } => LoginStatus {
                // A failed second sign-in does not sign out the person who is signed in.
                state: match held {
                    LoginState::SignedIn => held,
                    LoginState::None
                    | LoginState::Waiting
                    | LoginState::Failed
                    | LoginState::SignInAgain => LoginState::Failed,
                },
                error: Some(words.clone()),
                ..base
            },
        }
    }

    /// The header that names the account, and its value, if the provider requires one.
    pub(crate) fn account_header(&self) -> Option<(&'static str, String)> {
        let header = self.resolved.account_header?;
        match &self.lock().held {
            TokenState::Tokens(tokens) => Some((header, tokens.account_id.clone()?)),
            TokenState::Nothing | TokenState::Refused { .. } | TokenState::Locked(_) => None,
        }
    }

    /// The reason why no request is possible, if there is one.
    pub(crate) fn absence(self: &Arc<Self>) -> Option<String> {
        self.follow_others();
        let how = format!("Settings → Providers, or `onyx providers login {}`", self.provider);
        match &self.lock().held {
            TokenState::Tokens(_) => None,
            TokenState::Nothing => Some(format!("no sign-in yet: {how}")),
            TokenState::Refused { why, .. } => Some(format!("sign in again ({why}): {how}")),
            TokenState::Locked(fault) => Some(fault.message.clone()),
        }
    }

    /// The token for a request, renewed first if it is old.
    pub(crate) async fn token(self: &Arc<Self>) -> Result<Secret, ModelFailure> {
        self.follow_others();
        match self.fresh_token()? {
            Some(token) => Ok(token),
            None => self.renewed(None).await,
        }
    }

    /// The token for a second try after the provider refused this one.
    pub(crate) async fn token_after(
        self: &Arc<Self>,
        refused: &Secret,
    ) -> Result<Secret, ModelFailure> {
        self.follow_others();
        match self.fresh_token()? {
            Some(token) if token != *refused => Ok(token),
            Some(_) | None => self.renewed(Some(refused.clone())).await,
        }
    }

    /// `None` if there is a token that must be renewed first.
    pub(super) fn fresh_token(&self) -> Result<Option<Secret>, ModelFailure> {
        let state = self.lock();
        let TokenState::Tokens(tokens) = &state.held else {
            drop(state);
            return Err(self.absent());
        };
        let (token, renew_at) = match (&tokens.short, self.server.exchanges()) {
            (Some(short), true) => (&short.token, short.renew_at),
            (None, true) => return Ok(None),
            (_, false) => (&tokens.access, tokens.renew_at),
        };
        Ok((!is_stale(renew_at, &*self.clock)).then(|| token.clone()))
    }

    pub(super) fn absent(&self) -> ModelFailure {
        let sign_in = || ModelFailureClass::SignIn { provider: self.provider.clone() };
        let (class, why) = match &self.lock().held {
            TokenState::Tokens(_) => {
                (sign_in(), "the sign-in has changed in the meantime".to_owned())
            }
            TokenState::Nothing => (sign_in(), "no sign-in yet".to_owned()),
            TokenState::Refused { why, .. } => (sign_in(), format!("sign in again: {why}")),
            TokenState::Locked(fault) => (ModelFailureClass::Unavailable, fault.message.clone()),
        };
        failure(class, format!("{}: {why}", self.title))
    }

    /// Ends a sign-in under way; the current tokens stay.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        if let Attempt::Waiting { stop, .. } = &state.attempt {
            stop.cancel();
        }
        state.attempt = Attempt::Idle;
    }

    pub(crate) async fn sign_out(&self) -> Result<(), Fault> {
        self.forget_tokens().await.map(drop)
    }

    /// Forgets the tokens here, then revokes them where the provider supports that. The inner `Err`
    /// says in words why the provider did not confirm it.
    pub(super) async fn revoke(&self) -> Result<Result<(), String>, Fault> {
        let TokenState::Tokens(tokens) = self.forget_tokens().await? else { return Ok(Ok(())) };
        // A person who has copied the tokens also has the refresh token, so revoking that one is
        // the most useful.
        let token = tokens.refresh.as_ref().unwrap_or(&tokens.access);
        let Some(answered) = self.server.revoke(token).await else { return Ok(Ok(())) };
        Ok(match answered {
            Ok((status, _)) if status.is_success() => Ok(()),
            Ok((status, _)) => Err(format!("it answers {}", status.as_u16())),
            Err(refusal) => Err(self.mask(refusal.words().to_owned())),
        })
    }

    /// Deletes the tokens and returns the state until now.
    async fn forget_tokens(&self) -> Result<TokenState, Fault> {
        // Prevents a renewal on another gateway from restoring the tokens that are deleted here.
        let _turn = match self.store.shared() {
            Some(shared) => {
                let turn = shared.turn(&self.provider).await?;
                self.follow_store();
                self.end_attempt(shared).await?;
                Some(turn)
            }
            None => None,
        };
        let _one_by_one = self.changing.lock().await;
        self.stop();
        let held = {
            let mut state = self.lock();
            state.generation += 1;
            state.is_unkept = false;
            std::mem::replace(&mut state.held, TokenState::Nothing)
        };
        self.store.forget(&self.provider).await?;
        Ok(held)
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").field("provider", &self.provider).finish_non_exhaustive()
    }
}
