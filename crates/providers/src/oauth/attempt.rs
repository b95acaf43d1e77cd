//! From a code to a sign-in: asked for, shown, waited for in the background.

use std::sync::Arc;
use std::time::Duration;

use onyx_types::{Cancel, ErrorCode, Fault};

use super::answer::{self, Device, Granted, Poll, Refusal};
use super::login::{Attempt, Held, Login};
use super::record::Tokens;
use super::status::Pending;

/// RFC 8628: how much longer to wait after `slow_down`.
const SLOWER: Duration = Duration::from_secs(5);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

impl Login {
    /// Asks for a code and waits for it to be entered; the one that waits already, if one does.
    pub(crate) async fn begin(self: &Arc<Self>) -> Result<Pending, Fault> {
        let _one = self.beginning.lock().await;
        if let Attempt::Waiting { pending, .. } = &self.lock().attempt {
            return Ok(pending.clone());
        }
        let answer = self.server.device().await;
        let device = answer.and_then(|(status, body)| answer::device(status, &body));
        let device = device.map_err(|refusal| self.no_code(&refusal))?;
        self.hide(&device.code);
        let pending = Pending {
            user_code: device.user_code.clone(),
            verification_uri: device.verification_uri.clone(),
            verification_uri_complete: device.verification_uri_complete.clone(),
            expires_at: self.clock.wall().saturating_add(device.life),
        };
        let stop = Cancel::new();
        self.lock().attempt = Attempt::Waiting { pending: pending.clone(), stop: stop.clone() };
        let login = Arc::clone(self);
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = login.follow(device, &stop) => {}
            }
        });
        Ok(pending)
    }

    async fn follow(&self, device: Device, stop: &Cancel) {
        let life = device.life;
        let granted = tokio::time::timeout(life, self.granted_for(device)).await;
        let granted =
            granted.unwrap_or_else(|_| Err("the code was not entered in time".to_owned()));
        let tokens = match granted {
            Ok(granted) => self.whole(granted).await,
            Err(words) => Err(words),
        };
        let outcome = match tokens {
            Ok(tokens) => self.sign_in(tokens, stop).await,
            Err(words) => Err(words),
        };
        if let Err(words) = outcome {
            let words = self.mask(words);
            tracing::info!(provider = self.provider, words, "a sign-in came to nothing");
            let mut state = self.lock();
            if !stop.is_cancelled() {
                state.attempt = Attempt::Failed(words);
            }
        }
    }

    /// Polls until a person has decided. Does not end by itself where nobody does.
    async fn granted_for(&self, device: Device) -> Result<Granted, String> {
        let mut interval = device.interval;
        let mut wait = interval;
        loop {
            self.clock.sleep(wait).await;
            let answer = self.server.poll(&device.code).await;
            match answer.and_then(|(status, body)| answer::poll(status, &body)) {
                Ok(Poll::Granted(granted)) => return Ok(granted),
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
                    return Err(said(code.as_deref(), words));
                }
            }
        }
    }

    /// With the account's name and with what requests are made with.
    async fn whole(&self, granted: Granted) -> Result<Tokens, String> {
        let mut tokens = self.granted(granted, None);
        tokens.short = self.first_exchange(&tokens.access).await?;
        if let Some(answer) = self.server.account(&tokens.access).await {
            match answer.and_then(|(status, body)| answer::account(status, &body)) {
                Ok(account) => tokens.account = account,
                // A name is a convenience: the sign-in is as good without it.
                Err(refusal) => {
                    let words = self.mask(refusal.words().to_owned());
                    tracing::warn!(provider = self.provider, words, "the account is not told");
                }
            }
        }
        Ok(tokens)
    }

    async fn sign_in(&self, tokens: Tokens, stop: &Cancel) -> Result<(), String> {
        let _one_by_one = self.changing.lock().await;
        if stop.is_cancelled() {
            return Ok(());
        }
        let kept = self.store.keep(&self.provider, &self.written(&tokens)).await;
        kept.map_err(|fault| format!("the tokens cannot be kept: {fault}"))?;
        let mut state = self.lock();
        state.held = Held::Tokens(tokens);
        state.attempt = Attempt::Idle;
        state.generation += 1;
        tracing::info!(provider = self.provider, "somebody signed in");
        Ok(())
    }

    fn no_code(&self, refusal: &Refusal) -> Fault {
        let words = self.mask(refusal.words().to_owned());
        let message = format!("`{}`: no code could be had: {words}", self.provider);
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

fn said(code: Option<&str>, words: String) -> String {
    match code {
        Some("access_denied") => "the sign-in was refused there".to_owned(),
        Some("expired_token") => "the code was not entered in time".to_owned(),
        Some(_) | None => words,
    }
}
