//! `onyx tokens`: manages tokens and everything that is signed in.

use anyhow::Result;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{done, show, through};
use crate::cli::TokensCommand;
use crate::exit::Exit;
use crate::home::HomeFolder;

#[derive(Deserialize)]
struct Tokens {
    tokens: Vec<Token>,
}

#[derive(Deserialize)]
struct Token {
    id: String,
    kind: String,
    name: String,
    people: Vec<String>,
    scopes: Vec<String>,
    expires_at: Option<String>,
}

#[derive(Deserialize)]
struct CreatedToken {
    id: String,
    token: String,
}

impl Token {
    fn line(&self) -> String {
        let end = self.expires_at.as_deref().and_then(|at| at.get(..10)).unwrap_or("-");
        let (people, scopes) = (self.people.join(","), self.scopes.join(","));
        format!("{}  {:<8} {end:<10} {people:<16} {scopes:<21} {}", self.id, self.kind, self.name)
    }
}

const TOKENS: &str = "/api/admin/tokens";
const SECONDS_A_DAY: u64 = 24 * 60 * 60;

pub(crate) async fn run(home: &HomeFolder, command: TokensCommand) -> Result<Exit> {
    match command {
        TokensCommand::List(json) => {
            through(home, async |client| {
                let lines = |all: Tokens| all.tokens.iter().map(Token::line).collect();
                show(client.get(TOKENS).await?, json, lines).await
            })
            .await
        }
        TokensCommand::Create { name, person, scope, days, json } => {
            let mut body = Map::new();
            body.insert("name".to_owned(), name.into());
            body.insert("people".to_owned(), json!(person));
            if !scope.is_empty() {
                body.insert("scopes".to_owned(), json!(scope));
            }
            if let Some(days) = days {
                body.insert("expires_in".to_owned(), (u64::from(days) * SECONDS_A_DAY).into());
            }
            let body = Value::Object(body);
            through(home, async |client| {
                let lines = |made: CreatedToken| {
                    vec![
                        made.token,
                        format!("(shown once; revoke it with: onyx tokens revoke {})", made.id),
                    ]
                };
                show(client.post(TOKENS, &body).await?, json, lines).await
            })
            .await
        }
        TokensCommand::Revoke { id, json } => {
            through(home, async |client| {
                client.delete(&format!("{TOKENS}/{id}")).await?;
                done(json, &format!("{id} is revoked"));
                Ok(())
            })
            .await
        }
    }
}
