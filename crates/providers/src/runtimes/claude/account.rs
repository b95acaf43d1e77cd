//! Who is signed in to the CLI. Onyx never sees its tokens: it asks the CLI.

use std::process::Stdio;
use std::time::Duration;

use onyx_types::Timestamp;
use serde::Deserialize;
use tokio::process::Command;

use super::failure::SIGN_IN;
use super::protocol::Account;
use crate::oauth::{LoginState, LoginStatus};
use crate::runtimes::child::Launch;

/// The CLI starts within a second; a cold disk may take a few.
const PATIENCE: Duration = Duration::from_secs(20);

/// The output of `claude auth status`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Printed {
    logged_in: bool,
    email: Option<String>,
    subscription_type: Option<String>,
    login_expires_at: Option<f64>,
}

/// `jo@example.org (max)`.
pub(super) fn name_of(account: Account) -> Option<String> {
    match (account.email, account.subscription_type) {
        (Some(email), Some(plan)) => Some(format!("{email} ({plan})")),
        (Some(one), None) | (None, Some(one)) => Some(one),
        (None, None) => None,
    }
}

/// Asks the CLI; `Err` says why there is no answer.
pub(super) async fn look(launch: &Launch) -> Result<LoginStatus, String> {
    let mut command = Command::new(&launch.program);
    command
        .args(["auth", "status"])
        .env_clear()
        .envs(launch.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&launch.folder)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await;
    let output = output.map_err(|_| "the Claude CLI does not answer".to_owned())?;
    let output = output.map_err(|error| format!("the Claude CLI cannot be started: {error}"))?;
    let printed = serde_json::from_slice(&output.stdout).map_err(
        |_| "this version of the Claude CLI does not say who is signed in: run `claude update`",
    )?;
    Ok(status_of(printed))
}

fn status_of(printed: Printed) -> LoginStatus {
    let Printed { logged_in, email, subscription_type, login_expires_at } = printed;
    if !logged_in {
        let error = Some(format!("The Claude CLI is not signed in: {SIGN_IN}."));
        return LoginStatus { error, ..LoginStatus::NONE };
    }
    let until = login_expires_at.map(|at| Timestamp::from_millis(at as i64));
    let account = name_of(Account { email, subscription_type });
    LoginStatus { state: LoginState::SignedIn, account, until, ..LoginStatus::NONE }
}
