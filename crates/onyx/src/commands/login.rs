//! `onyx providers login|logout`: signing in with a code that is entered elsewhere, or in a browser.

use std::time::Duration;

use onyx_types::{ErrorCode, Fault};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::done;
use crate::cli::AsJson;
use crate::client::{Client, ClientError};
use crate::exit::Exit;
use crate::output;

/// How often the server is asked what became of it: it polls the provider on its own.
const POLL: Duration = Duration::from_millis(500);

/// How the person wants to sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignInWay {
    Usual,
    Browser,
}

/// How it stands with a sign-in, as lists show it.
#[derive(Deserialize)]
pub(super) struct Login {
    state: String,
    account: Option<String>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Begun {
    user_code: Option<String>,
    verification_uri: String,
    verification_uri_complete: Option<String>,
}

impl Login {
    pub(super) fn words(&self) -> String {
        match (self.state.as_str(), &self.account, &self.error) {
            ("signed_in", Some(account), _) => format!("signed in as {account}"),
            ("signed_in", None, _) => "signed in".to_owned(),
            ("sign_in_again", _, Some(why)) => format!("sign in again: {why}"),
            ("sign_in_again", _, None) => "sign in again".to_owned(),
            ("waiting", _, _) => "waiting for somebody to sign in".to_owned(),
            ("failed", _, Some(why)) => format!("not signed in: {why}"),
            _ => "not signed in".to_owned(),
        }
    }
}

pub(super) async fn login(
    client: &Client,
    name: &str,
    way: SignInWay,
    json: bool,
) -> Result<Exit, ClientError> {
    let path = path(name);
    let before: Value = client.get_json(&path).await?;
    if before["state"] == "signed_in" {
        tell(&before, json)?;
        output::aside(&format!("to sign in as somebody else: onyx providers logout {name}"));
        return Ok(Exit::Done);
    }
    let begin = match way {
        SignInWay::Usual => path.clone(),
        SignInWay::Browser => format!("{path}?way=browser"),
    };
    let door = Door { begin: &begin, end: &path, state: &path, within: "" };
    let Some(ended) = door.go_through(client, |begun| show(begun, json)).await? else {
        output::aside("stopped; nobody is signed in");
        return Ok(Exit::Stopped);
    };
    tell(&ended, json)?;
    let is_in = ended["state"] == "signed_in" && ended["error"].is_null();
    Ok(if is_in { Exit::Done } else { Exit::Failed })
}

/// Where a sign-in is begun, looked at and ended.
pub(super) struct Door<'a> {
    pub(super) begin: &'a str,
    pub(super) end: &'a str,
    /// Tells what became of it.
    pub(super) state: &'a str,
    /// Where in that answer, as a JSON pointer.
    pub(super) within: &'a str,
}

impl Door<'_> {
    /// Begins, shows what the person has to do and waits for it: what became of it, or `None` when
    /// the person stopped.
    pub(super) async fn go_through(
        &self,
        client: &Client,
        show: impl FnOnce(&Value) -> Result<(), ClientError>,
    ) -> Result<Option<Value>, ClientError> {
        // Listened for before anything waits: from here on Ctrl-C leaves nothing behind.
        let mut interrupts = signal(SignalKind::interrupt()).map_err(|error| {
            let message = format!("cannot listen for Ctrl-C: {error}");
            ClientError::Refused(Fault::new(ErrorCode::Internal, message))
        })?;
        let begun = client.post(self.begin, &json!({})).await?;
        show(&begun.json::<Value>().await.map_err(ClientError::Unreachable)?)?;
        tokio::select! {
            ended = self.ended(client) => ended.map(Some),
            _ = interrupts.recv() => {
                client.delete(self.end).await?;
                Ok(None)
            }
        }
    }

    /// What became of it, when something has.
    async fn ended(&self, client: &Client) -> Result<Value, ClientError> {
        loop {
            let now: Value = client.get_json(self.state).await?;
            if now.pointer(self.within).is_none_or(|login| login["state"] != "waiting") {
                return Ok(now);
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

pub(super) async fn logout(client: &Client, name: &str, json: AsJson) -> Result<Exit, ClientError> {
    client.delete(&path(name)).await?;
    done(json, &format!("signed out of {name}"));
    Ok(Exit::Done)
}

fn path(name: &str) -> String {
    format!("/api/admin/providers/{name}/login")
}

fn show(begun: &Value, json: bool) -> Result<(), ClientError> {
    if json {
        output::json_text(&begun.to_string());
        return Ok(());
    }
    let begun = Begun::deserialize(begun).map_err(|error| ClientError::unreadable(&error))?;
    match &begun.user_code {
        Some(code) => output::line(&format!("Open {} and enter {code}", begun.verification_uri)),
        None => output::line(&format!("Open {}", begun.verification_uri)),
    }
    if let Some(whole) = begun.verification_uri_complete {
        output::line(&format!("or open {whole}"));
    }
    output::aside("waiting; Ctrl-C stops");
    Ok(())
}

fn tell(state: &Value, json: bool) -> Result<(), ClientError> {
    if json {
        output::json_text(&state.to_string());
        return Ok(());
    }
    let login = Login::deserialize(state).map_err(|error| ClientError::unreadable(&error))?;
    output::line(&login.words());
    Ok(())
}
