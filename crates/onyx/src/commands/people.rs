//! `onyx people`: manages the accounts of people.

use anyhow::Result;
use serde::Deserialize;
use serde_json::json;

use super::{done, input, show, through};
use crate::cli::PeopleCommand;
use crate::exit::Exit;
use crate::home::HomeFolder;

#[derive(Deserialize)]
struct People {
    people: Vec<Person>,
}

#[derive(Deserialize)]
struct Person {
    id: String,
    name: Option<String>,
    role: String,
    source: String,
    has_password: bool,
}

#[derive(Deserialize)]
struct OwnZone {
    current_timezone: String,
}

impl Person {
    fn line(&self) -> String {
        let password = if self.has_password { "password" } else { "-" };
        let name = self.name.as_deref().unwrap_or_default();
        format!("{:<16} {:<7} {:<7} {password:<9} {name}", self.id, self.role, self.source)
    }
}

pub(crate) async fn run(home: &HomeFolder, command: PeopleCommand) -> Result<Exit> {
    const PEOPLE: &str = "/api/admin/people";
    match command {
        PeopleCommand::List(json) => {
            through(home, async |client| {
                let lines = |all: People| all.people.iter().map(Person::line).collect();
                show(client.get(PEOPLE).await?, json, lines).await
            })
            .await
        }
        PeopleCommand::Add { person, name, json } => {
            through(home, async |client| {
                let body = json!({"id": person.as_str(), "name": name});
                let lines = |person: Person| vec![person.line()];
                show(client.post(PEOPLE, &body).await?, json, lines).await
            })
            .await
        }
        PeopleCommand::Remove { person, json } => {
            through(home, async |client| {
                client.delete(&format!("{PEOPLE}/{person}")).await?;
                done(json, &format!("the account {person} is deleted; its files are kept"));
                Ok(())
            })
            .await
        }
        PeopleCommand::Timezone { zone, json } => {
            const CONFIG: &str = "/api/agent/config";
            through(home, async |client| {
                let response = match &zone {
                    None => client.get(CONFIG).await?,
                    Some(zone) => {
                        let zone = if zone == "server" { "" } else { zone };
                        client.post(CONFIG, &json!({"timezone": zone})).await?
                    }
                };
                show(response, json, |it: OwnZone| vec![it.current_timezone]).await
            })
            .await
        }
        PeopleCommand::Password { person, remove, json } => {
            let path = format!("{PEOPLE}/{person}/password");
            if remove {
                return through(home, async |client| {
                    client.delete(&path).await?;
                    done(json, &format!("the password of {person} is removed"));
                    Ok(())
                })
                .await;
            }
            let password = input::secret(&format!("New password of {person}: "))?;
            through(home, async |client| {
                client.put(&path, &json!({"password": password})).await?;
                done(json, &format!("{person} has a new password"));
                Ok(())
            })
            .await
        }
    }
}
