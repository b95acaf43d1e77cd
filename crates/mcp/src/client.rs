//! A connection to one server at an address, without a config, a toolbox or a sandbox.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use onyx_egress::{Address, Egress};
use serde_json::Value;

use crate::oauth::{Consent, SignIn};
use crate::pins::ToolPin;
use crate::server_connection::ServerConnection;
use crate::transport::{HttpAccess, HttpTransport, Transport};
use crate::{Elicitations, McpError, Opening};

/// The settings for reaching a server.
pub struct ClientSetup {
    pub address: Address,
    pub egress: Egress,
    pub headers: BTreeMap<String, String>,
    pub sign_in: Option<Arc<SignIn>>,
    pub consent: Option<Arc<dyn Consent>>,
    pub opening: Opening,
    pub elicitations: Elicitations,
}

/// A connected server.
pub struct Client(ServerConnection);

impl Client {
    pub async fn connect(setup: ClientSetup) -> Result<Self, McpError> {
        let ClientSetup { address, egress, headers, sign_in, consent, opening, elicitations } =
            setup;
        let access = HttpAccess { headers, sign_in, consent, elicitations };
        let transport = Transport::Http(Arc::new(HttpTransport::new(address, &egress, access)));
        Ok(Self(ServerConnection::connect(transport, opening, elicitations).await?))
    }

    /// The usable tools.
    pub async fn tools(&self) -> Result<Vec<ToolPin>, McpError> {
        let listed = self.0.tools().await?;
        Ok(listed.iter().filter_map(|tool| ToolPin::of(tool).ok()).collect())
    }

    pub async fn call(
        &self,
        tool: &ToolPin,
        arguments: &Value,
        limit: Duration,
    ) -> Result<Value, McpError> {
        self.0.call(tool, arguments, limit).await
    }
}
