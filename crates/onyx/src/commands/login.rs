//! `onyx providers login|logout`: signs in to a provider, with a code or in a browser.

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

/// How often the server is asked for the result of a sign-in; the server polls the provider itself.
const POLL: Duration = Duration::from_millis(500);

/// How the person wants to sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignInWay {
    Usual,
    Browser,
}

/// The state of a sign-in, as lists show it.
#[derive(Deserialize)]
pub(super) struct Login {
    state: String,
    account: Option<String>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct BegunSignIn {
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
            ("waiting", _, _) => "waiting for you to sign in".to_owned(),
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
        output::aside(&format!("to use another account, first run: onyx providers logout {name}"));
        return Ok(Exit::Done);
    }
    let begin = match way {
        SignInWay::Usual => path.clone(),
        SignInWay::Browser => format!("{path}?way=browser"),
    };
    let routes = LoginRoutes { begin: &begin, end: &path, state: &path, within: "" };
    let Some(ended) = routes.go_through(client, |begun| show(begun, json)).await? else {
        output::aside("stopped; you are not signed in");
        return Ok(Exit::Stopped);
    };
    tell(&ended, json)?;
    let is_in = ended["state"] == "signed_in" && ended["error"].is_null();
    Ok(if is_in { Exit::Done } else { Exit::Failed })
}

/// The API addresses at which a sign-in is begun, queried and ended.
pub(super) struct LoginRoutes<'a> {
    pub(super) begin: &'a str,
    pub(super) end: &'a str,
    /// The address that returns the state of the sign-in.
    pub(super) state: &'a str,
    /// Where the state is in that answer, as a JSON pointer.
    pub(super) within: &'a str,
}

impl LoginRoutes<'_> {
    /// Begins the sign-in, shows what the person has to do and waits. Returns the result, or `None`
    /// when the person pressed Ctrl-C.
    pub(super) async fn go_through(
        &self,
        client: &Client,
        show: impl FnOnce(&Value) -> Result<(), ClientError>,
    ) -> Result<Option<Value>, ClientError> {
        // Ctrl-C is caught before the sign-in begins, so that a stopped one leaves nothing behind.
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

    /// Waits for the end of the sign-in and returns its result.
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
    let begun = BegunSignIn::deserialize(begun).map_err(|error| ClientError::unreadable(&error))?;
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
