//! HTTP requests whose errors say whether the network was reached. No error contains a token.

use std::time::Duration;

use onyx_egress::{
    Address, Bounds, Egress, EgressError, FetchedAnswer, HostPort, Method, PrivateHost,
};

use crate::connector::NetworkError;
use crate::settings::Secret;

#[derive(Clone)]
pub(super) struct Http {
    egress: Egress,
    base: Address,
    token: Secret,
}

impl Http {
    /// Builds a client for `base`. The owner has chosen that address, so it may be on this machine
    /// or in its local network.
    pub(super) fn new(egress: &Egress, base: &str, token: &Secret) -> Result<Self, String> {
        let base: Address = base.parse().map_err(|_| {
            "`apiBase` must be an address that begins with http:// or https://".to_owned()
        })?;
        let egress = egress.reaching(vec![PrivateHost::of(&base)]);
        Ok(Self { egress, base, token: token.clone() })
    }

    pub(super) async fn post(
        &self,
        path: &str,
        headers: &[(&'static str, String)],
        body: Vec<u8>,
        within: Duration,
    ) -> Result<FetchedAnswer, NetworkError> {
        self.post_as("application/json", path, headers, body, within).await
    }

    pub(super) async fn post_as(
        &self,
        content_type: &str,
        path: &str,
        headers: &[(&'static str, String)],
        body: Vec<u8>,
        within: Duration,
    ) -> Result<FetchedAnswer, NetworkError> {
        let address = self.address(path)?;
        let bounds = Bounds { total: within, ..Bounds::default() };
        let egress = self.egress.within(bounds);
        let answer = egress.post(&address, content_type, headers, body);
        answer.await.map_err(|error| self.failed(&error))
    }

    pub(super) async fn get(
        &self,
        path: &str,
        within: Duration,
        bytes: usize,
    ) -> Result<FetchedAnswer, NetworkError> {
        self.fetch(&self.address(path)?, within, bytes).await
    }

    /// Sends any request, and returns the status and body of the answer.
    pub(super) async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(String, String)],
        body: Vec<u8>,
        within: Duration,
    ) -> Result<(u16, Vec<u8>), NetworkError> {
        let address = self.address(path)?;
        let egress = self.egress.within(Bounds { total: within, ..Bounds::default() });
        let answer = egress.send(method, &address, headers, body).await;
        let answer = answer.map_err(|error| self.failed(&error))?;
        let status = answer.status();
        Ok((status, answer.rest().await.map_err(|error| self.failed(&error))?))
    }

    /// Fetches a file at an address that the network itself named.
    pub(super) async fn fetch(
        &self,
        address: &Address,
        within: Duration,
        bytes: usize,
    ) -> Result<FetchedAnswer, NetworkError> {
        let bounds = Bounds { total: within, redirects: 0, bytes, ..Bounds::default() };
        let answer = self.egress.within(bounds).get(address, "*/*").await;
        answer.map_err(|error| self.failed(&error))
    }

    /// Whether an address is on the server that the owner named.
    pub(super) fn is_at(&self, address: &Address) -> bool {
        HostPort::of(address) == HostPort::of(&self.base)
    }

    fn address(&self, path: &str) -> Result<Address, NetworkError> {
        let base = self.base.as_str().trim_end_matches('/');
        let address = format!("{base}{path}").parse();
        // The error would show the address, which may contain the token.
        address.map_err(|_| NetworkError::Refused("the request has no valid address".to_owned()))
    }

    fn failed(&self, error: &EgressError) -> NetworkError {
        let why = self.masked(&error.to_string());
        match error {
            EgressError::Timeout(_) | EgressError::BadAnswer { .. } | EgressError::TooLarge(_) => {
                NetworkError::NoAnswer(why)
            }
            EgressError::Address(_)
            | EgressError::NotPublic { .. }
            | EgressError::UnknownName(_)
            | EgressError::TooManyRedirects(_)
            | EgressError::Unreachable { .. }
            | EgressError::Client(_) => NetworkError::Unreachable(why),
        }
    }

    /// The text with the token replaced by asterisks.
    pub(super) fn masked(&self, text: &str) -> String {
        if self.token.is_empty() {
            text.to_owned()
        } else {
            text.replace(self.token.reveal(), "***")
        }
    }
}
