//! `onyx secrets`: manages the sealed secrets.

use anyhow::Result;
use serde::Deserialize;
use serde_json::json;

use super::{done, input, show, through};
use crate::cli::SecretsCommand;
use crate::exit::Exit;
use crate::home::HomeFolder;

#[derive(Deserialize)]
struct SecretList {
    secrets: Vec<Secret>,
}

#[derive(Deserialize)]
struct Secret {
    name: String,
    hint: String,
    error: Option<String>,
}

impl Secret {
    fn line(&self) -> String {
        let error = self.error.as_ref().map(|error| format!("  ({error})")).unwrap_or_default();
        format!("{:<24} {}{error}", self.name, self.hint)
    }
}

#[derive(Deserialize)]
struct RotatedSecrets {
    rotated: usize,
}

pub(crate) async fn run(home: &HomeFolder, command: SecretsCommand) -> Result<Exit> {
    const SECRETS: &str = "/api/admin/secrets";
    match command {
        SecretsCommand::List(json) => {
            through(home, async |client| {
                let lines = |all: SecretList| all.secrets.iter().map(Secret::line).collect();
                show(client.get(SECRETS).await?, json, lines).await
            })
            .await
        }
        SecretsCommand::Set { name, json } => {
            let value = input::secret(&format!("Value of {name}: "))?;
            through(home, async |client| {
                client.put(&format!("{SECRETS}/{name}"), &json!({"value": value})).await?;
                done(json, &format!("stored; refer to it as secret:{name}"));
                Ok(())
            })
            .await
        }
        SecretsCommand::Rm { name, json } => {
            through(home, async |client| {
                client.delete(&format!("{SECRETS}/{name}")).await?;
                done(json, &format!("{name} is deleted"));
                Ok(())
            })
            .await
        }
        SecretsCommand::Rotate(json) => {
            through(home, async |client| {
                let response = client.post(&format!("{SECRETS}/rotate"), &json!({})).await?;
                let lines = |done: RotatedSecrets| {
                    vec![format!("{} encrypted with a new key", done.rotated)]
                };
                show(response, json, lines).await
            })
            .await
        }
    }
}
