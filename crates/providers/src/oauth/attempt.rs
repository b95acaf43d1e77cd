//! One attempt to sign in, with a code or in a browser: asked for, shown, and awaited in the
//! background.

use std::sync::Arc;
use std::time::Duration;

use onyx_types::{Cancel, ErrorCode, Fault};

use reqwest::Url;

use super::answer::{self, Device, GrantedTokens, Poll, Refusal};
use super::browser::{BrowserSignIn, ReturnMismatch, ReturnReceiver, random};
use super::login::{Attempt, Login, TokenState};
use super::record::Tokens;
use super::resolved_login::LoginWay;
use super::server::Redemption;
use super::shared::UnderWay;
use super::status::Pending;

/// RFC 8628: how much longer to wait after `slow_down`.
const SLOWER: Duration = Duration::from_secs(5);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// How long Onyx waits for a browser to come back.
const BROWSER_LIFE: Duration = Duration::from_secs(15 * 60);

/// The step of the person that an attempt waits for.
pub(super) enum AwaitedSignIn {
    Code(Device),
    Browser(Box<BrowserSignIn>),
}

impl Login {
    /// Begins a sign-in and waits for the person in the background. If one already waits in the
    /// same way, it is returned.
    pub(crate) async fn begin(self: &Arc<Self>, way: Option<LoginWay>) -> Result<Pending, Fault> {
        self.begin_at(way, None).await
    }

    /// `gateway`: the page of the gateway that the browser returns to, if it returns there.
    pub(super) async fn begin_at(
        self: &Arc<Self>,
        way: Option<LoginWay>,
        gateway: Option<&Url>,
    ) -> Result<Pending, Fault> {
        self.follow_others();
        let _one = self.beginning.lock().await;
        let way = way.unwrap_or(self.resolved().usual_way());
        if let Attempt::Waiting { pending, receiver, .. } = &self.lock().attempt
            && pending.way == way
            && gateway.is_none_or(|page| {
                receiver.as_ref().is_some_and(|receiver| receiver.redirect() == page)
            })
        {
            return Ok(pending.clone());
        }
        let (pending, sign_in) = match way {
            LoginWay::Code => self.ask_for_code().await?,
            LoginWay::Browser => self.send_browser(gateway).await?,
        };
        let id = self.share(&pending, &sign_in).await?;
        self.stop();
        self.wait_for(pending.clone(), sign_in, id);
        Ok(pending)
    }

    /// Publishes the attempt to other gateways, in place of the one that waited before.
    async fn share(
        &self,
        pending: &Pending,
        waiting: &AwaitedSignIn,
    ) -> Result<Option<String>, Fault> {
        let Some(shared) = self.store.shared() else { return Ok(None) };
        self.end_attempt(shared).await?;
        let id = random().map_err(|why| Fault::new(ErrorCode::Internal, why))?.reveal().to_owned();
        let record = UnderWay::of(id.clone(), pending, waiting, self.resolved()).written();
        let life = match waiting {
            AwaitedSignIn::Code(device) => device.life,
            AwaitedSignIn::Browser(_) => BROWSER_LIFE,
        };
        shared.put_attempt(&self.provider, &id, &record, life).await?;
        Ok(Some(id))
    }

    async fn ask_for_code(&self) -> Result<(Pending, AwaitedSignIn), Fault> {
        if self.resolved().device.is_none() {
            return Err(self.no_way("with a code", "deviceUrl"));
        }
        let device = self.server.device().await.map_err(|refusal| self.no_code(&refusal))?;
        self.hide(&device.code);
        let pending = Pending {
            way: LoginWay::Code,
            user_code: Some(device.user_code.clone()),
            verification_uri: device.verification_uri.clone(),
            verification_uri_complete: device.verification_uri_complete.clone(),
            expires_at: self.clock.wall().saturating_add(device.life),
        };
        Ok((pending, AwaitedSignIn::Code(device)))
    }

    async fn send_browser(&self, gateway: Option<&Url>) -> Result<(Pending, AwaitedSignIn), Fault> {
        let Some(browser) = &self.resolved().browser else {
            return Err(self.no_way("in a browser", "authorizeUrl"));
        };
        let sign_in = BrowserSignIn::begin(self.resolved(), browser, gateway).await;
        let sign_in = sign_in.map_err(|why| Fault::new(ErrorCode::Internal, why))?;
        sign_in.verifier.iter().for_each(|verifier| self.hide(verifier));
        let pending = Pending {
            way: LoginWay::Browser,
            user_code: None,
            verification_uri: sign_in.address.to_string(),
            verification_uri_complete: None,
            expires_at: self.clock.wall().saturating_add(BROWSER_LIFE),
        };
        Ok((pending, AwaitedSignIn::Browser(Box::new(sign_in))))
    }

    /// Finishes with the address at which a browser on another machine ended.
    pub(crate) fn finish(self: &Arc<Self>, address: &str) -> Result<(), Fault> {
        let refused = |message: &str| {
            Fault::new(ErrorCode::InvalidRequest, message).with_field("address").with_hint(
                "Sign in again, and paste the whole address of the page that it ends at.",
            )
        };
        self.follow_others();
        let receiver = match &self.lock().attempt {
            Attempt::Waiting { receiver: Some(receiver), .. } => receiver.clone(),
            Attempt::Waiting { receiver: None, .. } | Attempt::Idle | Attempt::Failed { .. } => {
                return Err(refused("No browser sign-in is in progress."));
            }
        };
        let address = Url::parse(address.trim());
        let address = address.map_err(|_| refused("This is not a valid address."))?;
        Self::take(&receiver, &address).map_err(refused)
    }

    /// Finishes with the fields of the request that the returning browser made to the gateway's
    /// page.
    pub(super) fn came_back(self: &Arc<Self>, fields: &[(&str, &str)]) -> Result<(), Fault> {
        let refused = |message: &str| {
            Fault::new(ErrorCode::InvalidRequest, message)
                .with_field("state")
                .with_hint("Connect again, in the same browser and as the same person.")
        };
        self.follow_others();
        let Attempt::Waiting { receiver: Some(receiver), .. } = &self.lock().attempt else {
            return Err(refused("No sign-in waits."));
        };
        let mut address = receiver.redirect().clone();
        address.query_pairs_mut().clear().extend_pairs(fields);
        Self::take(receiver, &address).map_err(refused)
    }

    fn take(receiver: &ReturnReceiver, address: &Url) -> Result<(), &'static str> {
        match receiver.read(address) {
            Ok(returned) => {
                receiver.accept(returned);
                Ok(())
            }
            Err(ReturnMismatch::OtherPlace | ReturnMismatch::OtherSignIn) => {
                Err("This address does not belong to the sign-in in progress.")
            }
        }
    }

    pub(super) async fn follow(&self, waiting: AwaitedSignIn, stop: &Cancel, id: Option<String>) {
        let id = id.as_deref();
        let granted = match waiting {
            AwaitedSignIn::Code(device) => {
                let life = device.life;
                let granted = tokio::time::timeout(life, self.granted_for(device, id)).await;
                granted.unwrap_or_else(|_| Err("the code was not entered in time".to_owned()))
            }
            AwaitedSignIn::Browser(sign_in) => {
                let granted =
                    tokio::time::timeout(BROWSER_LIFE, self.granted_by(*sign_in, id)).await;
                granted.unwrap_or_else(|_| Err("the sign-in was not finished in time".to_owned()))
            }
        };
        let tokens = match granted {
            Ok(Some(granted)) => self.whole(granted).await,
            // `None` means that another gateway finishes the sign-in.
            Ok(None) => return,
            Err(words) => Err(words),
        };
        let outcome = match tokens {
            Ok(tokens) => self.sign_in(tokens, stop).await,
            Err(words) => Err(words),
        };
        if let Err(words) = outcome {
            let words = self.mask(words);
            tracing::info!(provider = self.provider, words, "a sign-in failed");
            let id = self.tell_failure(id, &words).await;
            let mut state = self.lock();
            if !stop.is_cancelled() {
                state.attempt = Attempt::Failed { words, id };
            }
        }
    }

    /// Polls until a person has decided; it has no end of its own if the person never decides.
    /// `None`: another gateway continues the attempt.
    async fn granted_for(
        &self,
        device: Device,
        id: Option<&str>,
    ) -> Result<Option<GrantedTokens>, String> {
        let mut interval = device.interval;
        let mut wait = interval;
        loop {
            self.clock.sleep(wait).await;
            if let Some(shared) = self.store.shared()
                && !shared.asks_for(&self.provider).await
            {
                continue;
            }
            match self.server.poll(&device).await {
                Ok(Poll::Granted(granted)) => return Ok(self.claim(id).await?.then_some(granted)),
                Ok(Poll::Pending) => wait = interval,
                Ok(Poll::SlowDown(asked)) => {
                    interval = (interval + SLOWER).max(asked.unwrap_or_default());
                    wait = interval;
                }
                Err(Refusal::Passing(words)) => {
                    tracing::debug!(provider = self.provider, words, "a poll brought no answer");
                    wait = wait.saturating_mul(2).min(LONGEST_WAIT.max(interval));
                }
                Err(Refusal::Final { code, words, .. }) => {
                    return Err(refusal_text(code.as_deref(), words));
                }
            }
        }
    }

    /// Redeems the code that the browser comes back with.
    async fn granted_by(
        &self,
        mut sign_in: BrowserSignIn,
        id: Option<&str>,
    ) -> Result<Option<GrantedTokens>, String> {
        let code = sign_in.returned().await?;
        if !self.claim(id).await? {
            return Ok(None);
        }
        self.hide(&code);
        let redirect = sign_in.redirect.as_str();
        let redemption = Redemption { code: &code, verifier: sign_in.verifier.as_ref(), redirect };
        let granted = self.server.redeem(redemption).await;
        granted.map(Some).map_err(|refusal| refusal.words().to_owned())
    }

    /// Completes the tokens with the account's name and the short-lived token that requests carry.
    async fn whole(&self, granted: GrantedTokens) -> Result<Tokens, String> {
        let mut tokens = self.granted(granted, None);
        tokens.short = self.first_exchange(&tokens.access).await?;
        if let Some(answer) = self.server.account(&tokens.access).await {
            match answer.and_then(|(status, body)| answer::account(status, &body)) {
                Ok(account) => tokens.account = account,
                // The account's name is only for people, so the sign-in works without it.
                Err(refusal) => {
                    let words = self.mask(refusal.words().to_owned());
                    tracing::warn!(provider = self.provider, words, "the account is not told");
                }
            }
        }
        Ok(tokens)
    }

    async fn sign_in(&self, tokens: Tokens, stop: &Cancel) -> Result<(), String> {
        let _turn = match self.store.shared() {
            Some(shared) => {
                Some(shared.turn(&self.provider).await.map_err(|fault| fault.to_string())?)
            }
            None => None,
        };
        let _one_by_one = self.changing.lock().await;
        if stop.is_cancelled() {
            return Ok(());
        }
        let stored = self.store.keep(&self.provider, &self.written(&tokens)).await;
        stored.map_err(|fault| format!("the tokens cannot be kept: {fault}"))?;
        let mut state = self.lock();
        state.held = TokenState::Tokens(tokens);
        state.attempt = Attempt::Idle;
        state.is_unkept = false;
        state.generation += 1;
        tracing::info!(provider = self.provider, "somebody signed in");
        Ok(())
    }

    fn no_way(&self, how: &str, field: &str) -> Fault {
        let message = format!("{} cannot be signed in to {how}.", self.title);
        let field = format!("providers.{}.login.{field}", self.provider);
        let hint = format!("Set `{field}`, or sign in the other way.");
        Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint).with_field(field)
    }

    fn no_code(&self, refusal: &Refusal) -> Fault {
        let words = self.mask(refusal.words().to_owned());
        let message = format!("{}: no sign-in code was given: {words}", self.title);
        let field = format!("providers.{}.login", self.provider);
        match refusal {
            Refusal::Passing(_) => Fault::new(ErrorCode::ProviderUnavailable, message)
                .with_hint(format!("Check `{field}.deviceUrl` and the network, then try again.")),
            Refusal::Final { .. } => Fault::new(ErrorCode::ProviderRefused, message).with_hint(
                format!("Check `{field}.clientId`, and that its device flow is turned on there."),
            ),
        }
    }
}

fn refusal_text(code: Option<&str>, words: String) -> String {
    match code {
        Some("access_denied") => "the sign-in was refused there".to_owned(),
        Some("expired_token") => "the code was not entered in time".to_owned(),
        Some(_) | None => words,
    }
}
