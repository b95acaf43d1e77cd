//! Connects a command to a gateway: the server that holds the home, or one inside this process that
//! lives as long as the command. Either way, the command talks to it through the socket.

use std::time::Duration;

use anyhow::Result;
use onyx_storage::Home;
use tokio::time::{sleep, timeout};

use super::{Claim, Gateway, Unreachable, claim};
use crate::client::{Client, SocketPath};
use crate::home::HomeFolder;
use crate::output;

/// A server that has just taken the home may need a moment to listen.
const WAIT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);

pub(crate) struct Connection {
    client: Client,
    own: Option<Gateway>,
}

impl Connection {
    pub(crate) async fn open(home: &HomeFolder) -> Result<Self> {
        match claim(home)? {
            Claim::Ours(taken) => Self::within(home, taken).await,
            Claim::Theirs(held) => Self::to_holder(home, &held).await,
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) async fn close(self) {
        if let Some(gateway) = self.own {
            // The client's connections must be closed before the gateway waits for all connections
            // to end.
            drop(self.client);
            gateway.close().await;
        }
    }

    async fn within(home: &HomeFolder, taken: Home) -> Result<Self> {
        let mut gateway = Gateway::open(home, taken).await?;
        if let Some(error) = gateway.broken_config() {
            output::warning(&format!("{error}; the last config that worked is used"));
        }
        gateway.serve_home()?;
        Ok(Self { client: Client::over(SocketPath::of(home)?)?, own: Some(gateway) })
    }

    async fn to_holder(home: &HomeFolder, held: &str) -> Result<Self> {
        let client = Client::over(SocketPath::of(home)?)?;
        let answers = async {
            while !client.is_alive().await {
                sleep(POLL).await;
            }
        };
        if timeout(WAIT, answers).await.is_err() {
            return Err(Unreachable(format!("{held}, and it does not answer")).into());
        }
        Ok(Self { client, own: None })
    }
}
