//! `onyx linkedin`: connects the owner's LinkedIn account for the tools of their agents.

use anyhow::Result;
use serde::Deserialize;
use serde_json::{Value, json};

use super::login::{Login, LoginRoutes};
use super::refused;
use crate::cli::LinkedInCommand;
use crate::client::{Client, ClientError};
use crate::exit::Exit;
use crate::gateway::Connection;
use crate::home::HomeFolder;
use crate::output;

const ACCOUNT: &str = "/api/linkedin";
const LOGIN: &str = "/api/linkedin/login";

#[derive(Deserialize)]
struct Account {
    configured: bool,
    trouble: Option<String>,
    login: Login,
    redirect_uri: String,
    last_validated_at: Option<String>,
    last_error: Option<String>,
}

impl Account {
    fn lines(&self) -> Vec<String> {
        if !self.configured {
            let set = "not configured: set `tools.linkedin` in onyx.json to your application's";
            return vec![
                set.to_owned(),
                format!("which sends browsers back to {}", self.redirect_uri),
            ];
        }
        let checked = self.last_validated_at.as_ref().map(|at| format!("taken at {at}"));
        let error = self.last_error.as_ref().map(|error| format!("last error: {error}"));
        let state = self.trouble.clone().unwrap_or_else(|| self.login.words());
        [Some(state), checked, error].into_iter().flatten().collect()
    }
}

pub(crate) async fn linkedin(home: &HomeFolder, command: LinkedInCommand) -> Result<Exit> {
    let connection = Connection::open(home).await?;
    let client = connection.client();
    let result = match command {
        LinkedInCommand::Status { json } => status(client, json).await,
        LinkedInCommand::Check { json } => check(client, json).await,
        LinkedInCommand::Login { json } => login(client, json).await,
        LinkedInCommand::Logout { json } => logout(client, json).await,
    };
    connection.close().await;
    Ok(match result {
        Ok(exit) => exit,
        Err(error) => refused(&error),
    })
}

async fn status(client: &Client, json: bool) -> Result<Exit, ClientError> {
    tell(&client.get_json::<Value>(ACCOUNT).await?, json)?;
    Ok(Exit::Done)
}

async fn check(client: &Client, json: bool) -> Result<Exit, ClientError> {
    let answer = client.post("/api/linkedin/check", &json!({})).await?;
    let account: Value = answer.json().await.map_err(ClientError::Unreachable)?;
    tell(&account, json)?;
    let is_well = account["login"]["state"] == "signed_in" && account["last_error"].is_null();
    Ok(if is_well { Exit::Done } else { Exit::Failed })
}

async fn login(client: &Client, json: bool) -> Result<Exit, ClientError> {
    let before: Value = client.get_json(ACCOUNT).await?;
    if before["login"]["state"] == "signed_in" {
        tell(&before, json)?;
        output::aside("to connect another account: onyx linkedin logout");
        return Ok(Exit::Done);
    }
    let routes = LoginRoutes { begin: LOGIN, end: LOGIN, state: ACCOUNT, within: "/login" };
    let Some(ended) = routes.go_through(client, |begun| show(begun, json)).await? else {
        output::aside("stopped; no account is connected");
        return Ok(Exit::Stopped);
    };
    tell(&ended, json)?;
    let is_in = ended["login"]["state"] == "signed_in";
    Ok(if is_in { Exit::Done } else { Exit::Failed })
}

fn show(begun: &Value, json: bool) -> Result<(), ClientError> {
    if json {
        output::json_text(&begun.to_string());
        return Ok(());
    }
    let page = begun["verification_uri"].as_str().unwrap_or_default();
    output::line(&format!("In a browser that is signed in to Onyx, open {page}"));
    output::aside("waiting; Ctrl-C stops");
    Ok(())
}

async fn logout(client: &Client, json: bool) -> Result<Exit, ClientError> {
    let answer = client.delete(LOGIN).await?;
    let revoked: Value = answer.json().await.map_err(ClientError::Unreachable)?;
    if json {
        output::json_text(&revoked.to_string());
        return Ok(Exit::Done);
    }
    output::line(revoked["detail"].as_str().unwrap_or("the account is no longer connected"));
    Ok(Exit::Done)
}

fn tell(account: &Value, json: bool) -> Result<(), ClientError> {
    if json {
        output::json_text(&account.to_string());
        return Ok(());
    }
    let account = Account::deserialize(account).map_err(|error| ClientError::unreadable(&error))?;
    account.lines().iter().for_each(|line| output::line(line));
    Ok(())
}
