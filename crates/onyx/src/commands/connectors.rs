//! `onyx connectors`: manages accounts on other networks.

use anyhow::Result;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{done, input, show, through};
use crate::cli::{AsJson, ConnectorsCommand};
use crate::client::{Client, ClientError};
use crate::exit::Exit;
use crate::home::HomeFolder;
use crate::output;

const CONNECTORS: &str = "/api/admin/connectors";

#[derive(Deserialize)]
struct Accounts {
    accounts: Vec<Account>,
}

#[derive(Deserialize)]
struct Account {
    network: String,
    account: String,
    state: String,
    gateway: Option<String>,
    detail: Option<String>,
    name: Option<String>,
    link: Option<String>,
    silent_seconds: Option<u64>,
    incoming: u64,
    outgoing: u64,
    dead_letters: u64,
}

#[derive(Deserialize)]
struct Peers {
    peers: Vec<Peer>,
}

#[derive(Deserialize)]
struct Peer {
    network: String,
    account: String,
    name: String,
    state: String,
    code: Option<String>,
}

#[derive(Deserialize)]
struct TestedAccount {
    name: String,
    link: Option<String>,
}

impl Account {
    fn lines(&self) -> Vec<String> {
        let key = format!("{}/{}", self.network, self.account);
        let name = self.name.as_deref().unwrap_or("-");
        let contact = self.silent_seconds.map_or("never".to_owned(), |ago| format!("{ago} s ago"));
        let mut lines = vec![format!(
            "{key:<24} {:<10} {name:<20} heard {contact}; {} to answer, {} to send, {} undelivered",
            self.state, self.incoming, self.outgoing, self.dead_letters
        )];
        lines.extend(self.gateway.iter().map(|id| format!("  The gateway {id} serves it.")));
        lines.extend(self.detail.iter().map(|detail| format!("  {detail}")));
        lines.extend(self.link.iter().map(|link| format!("  {link}")));
        lines
    }
}

impl TestedAccount {
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("The token works: {}", self.name)];
        lines.extend(self.link.iter().map(|link| format!("Write to it at {link}")));
        lines
    }
}

pub(crate) async fn run(home: &HomeFolder, command: ConnectorsCommand) -> Result<Exit> {
    let token = match &command {
        // A widget has visitors, not a token.
        ConnectorsCommand::Add { network, .. } if network != "widget" => {
            Some(input::secret(&format!("Token of the {network} account: "))?)
        }
        _ => None,
    };
    through(home, async |client| match command {
        ConnectorsCommand::List(json) => list(client, json).await,
        ConnectorsCommand::Add { network, account, allow, api_base, origin, open, json } => {
            let mut settings = Map::new();
            if !allow.is_empty() {
                settings.insert("allow".to_owned(), allow.into());
            }
            if let Some(base) = api_base {
                settings.insert("apiBase".to_owned(), base.into());
            }
            if !origin.is_empty() {
                settings.insert("origins".to_owned(), origin.into());
            }
            if open {
                settings.insert("open".to_owned(), true.into());
            }
            let body = json!({"settings": settings, "token": token});
            let response = client.put(&path(&network, &account, ""), &body).await?;
            show(response, json, |account: Account| account.lines()).await
        }
        ConnectorsCommand::Pair { code, json } => {
            let response =
                client.post(&format!("{CONNECTORS}/pair"), &json!({"code": code})).await?;
            let lines = |peer: Peer| {
                let place = format!("{}/{}", peer.network, peer.account);
                vec![format!("{} can now talk to your agents over {place}", peer.name)]
            };
            show(response, json, lines).await
        }
        ConnectorsCommand::Test { network, account, json } => {
            let response = client.post(&path(&network, &account, "/test"), &json!({})).await?;
            show(response, json, |tested: TestedAccount| tested.lines()).await
        }
        ConnectorsCommand::Remove { network, account } => {
            client.delete(&path(&network, &account, "")).await?;
            done(AsJson { json: false }, &format!("{network}/{account} is disconnected"));
            Ok(())
        }
    })
    .await
}

async fn list(client: &Client, json: AsJson) -> Result<(), ClientError> {
    let response = client.get(CONNECTORS).await?;
    if json.json {
        return show(response, json, |_: Value| Vec::new()).await;
    }
    let all: Accounts = response.json().await.map_err(ClientError::Unreachable)?;
    if all.accounts.is_empty() {
        output::line("No account is connected. Add one with: onyx connectors add telegram");
    }
    for account in &all.accounts {
        account.lines().iter().for_each(|line| output::line(line));
        let peers = client.get(&path(&account.network, &account.account, "/peers")).await?;
        let peers: Peers = peers.json().await.map_err(ClientError::Unreachable)?;
        for peer in peers.peers.iter().filter(|peer| peer.state == "waiting") {
            let code = peer.code.as_deref().unwrap_or("-");
            output::line(&format!("  {} waits: onyx connectors pair {code}", peer.name));
        }
    }
    Ok(())
}

fn path(network: &str, account: &str, rest: &str) -> String {
    format!("{CONNECTORS}/{network}/{account}{rest}")
}
