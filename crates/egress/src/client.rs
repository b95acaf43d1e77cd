use std::error::Error;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response, StatusCode};
use tokio::time::Instant;

use crate::resolve::{AllowedHosts, CheckedResolver, NotResolved, checked};
use crate::{Address, EgressError, HostPort, PrivateHost, PrivateHosts, Resolver, is_public};

/// The limits of one fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub connect: Duration,
    /// The longest time for the whole fetch, including redirects.
    pub total: Duration,
    pub redirects: usize,
    /// The largest unpacked body; anything after it is not read.
    pub bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            total: Duration::from_secs(25),
            redirects: 5,
            bytes: 4 * 1024 * 1024,
        }
    }
}

/// The fetched answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedAnswer {
    /// The final address, after redirects.
    pub address: Address,
    pub status: u16,
    /// The type as the server sent it, in lower case; empty if it sent none.
    pub content_type: String,
    pub body: Vec<u8>,
    /// Whether the body was longer than the bounds allow.
    pub is_cut: bool,
}

/// An answer whose body is read in pieces.
pub struct OpenAnswer {
    egress: Egress,
    address: Address,
    response: Response,
    /// How many bytes may still come.
    left: usize,
    deadline: Instant,
}

impl OpenAnswer {
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// The value of a header; empty if it is absent.
    pub fn header(&self, name: &str) -> &str {
        let value = self.response.headers().get(name);
        value.and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The next piece; `None` at the end.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, EgressError> {
        let next = tokio::time::timeout_at(self.deadline, self.response.chunk()).await;
        let next = next.map_err(|_| EgressError::Timeout(self.egress.bounds.total))?;
        let Some(chunk) = next.map_err(|error| self.egress.failed(&self.address, &error))? else {
            return Ok(None);
        };
        match self.left.checked_sub(chunk.len()) {
            Some(left) => self.left = left,
            None => return Err(EgressError::TooLarge(self.egress.bounds.bytes)),
        }
        Ok(Some(chunk.to_vec()))
    }

    /// Reads the rest of the body.
    pub async fn rest(mut self) -> Result<Vec<u8>, EgressError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            body.extend(chunk);
        }
        Ok(body)
    }
}

/// Fetches addresses for tools. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Egress {
    resolver: Arc<dyn Resolver>,
    private: Arc<PrivateHosts>,
    bounds: Bounds,
    internet: LazyClient,
    anywhere: LazyClient,
}

/// The client, made when it is first needed, because loading the machine's certificates takes
/// longer than Onyx may take to start.
type LazyClient = Arc<OnceLock<Client>>;

impl Egress {
    pub fn new(resolver: Arc<dyn Resolver>, private: PrivateHosts, bounds: Bounds) -> Self {
        let (internet, anywhere) = (LazyClient::default(), LazyClient::default());
        Self { resolver, private: Arc::new(private), bounds, internet, anywhere }
    }

    /// A client with the same settings that may reach these private hosts and no others.
    #[must_use]
    pub fn reaching(&self, private: PrivateHosts) -> Self {
        Self { private: Arc::new(private), ..self.clone() }
    }

    /// A client with the same settings and other bounds.
    #[must_use]
    pub fn within(&self, bounds: Bounds) -> Self {
        Self { bounds, ..self.clone() }
    }

    pub async fn get(&self, address: &Address, accept: &str) -> Result<FetchedAnswer, EgressError> {
        let work = self.follow(address, accept);
        match tokio::time::timeout(self.bounds.total, work).await {
            Ok(result) => result,
            Err(_) => Err(EgressError::Timeout(self.bounds.total)),
        }
    }

    /// Sends a body. Redirects are not followed, so the body goes only to this address.
    pub async fn post(
        &self,
        address: &Address,
        content_type: &str,
        headers: &[(&'static str, String)],
        body: Vec<u8>,
    ) -> Result<FetchedAnswer, EgressError> {
        let work = async {
            let client = self.client(self.reach(&HostPort::of(address))?)?;
            let mut request = client.post(address.url().clone()).header(CONTENT_TYPE, content_type);
            for (name, value) in headers {
                request = request.header(*name, value);
            }
            let response = request.body(body).send().await;
            self.take(address.clone(), response.map_err(|error| self.failed(address, &error))?)
                .await
        };
        match tokio::time::timeout(self.bounds.total, work).await {
            Ok(result) => result,
            Err(_) => Err(EgressError::Timeout(self.bounds.total)),
        }
    }

    /// Sends a body and returns the answer, to be read in pieces within the bounds. Redirects are
    /// not followed.
    pub async fn send(
        &self,
        method: Method,
        address: &Address,
        headers: &[(String, String)],
        body: Vec<u8>,
    ) -> Result<OpenAnswer, EgressError> {
        let client = self.client(self.reach(&HostPort::of(address))?)?;
        let mut request = client.request(method, address.url().clone());
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let deadline = Instant::now() + self.bounds.total;
        let sent = tokio::time::timeout_at(deadline, request.body(body).send()).await;
        let response = match sent {
            Ok(response) => response.map_err(|error| self.failed(address, &error))?,
            Err(_) => return Err(EgressError::Timeout(self.bounds.total)),
        };
        let (egress, left) = (self.clone(), self.bounds.bytes);
        Ok(OpenAnswer { egress, address: address.clone(), response, left, deadline })
    }

    async fn follow(&self, address: &Address, accept: &str) -> Result<FetchedAnswer, EgressError> {
        let mut address = address.clone();
        for _ in 0..=self.bounds.redirects {
            let response = self.ask(&address, accept).await?;
            match next(&address, &response)? {
                Some(elsewhere) => address = elsewhere,
                None => return self.take(address, response).await,
            }
        }
        Err(EgressError::TooManyRedirects(self.bounds.redirects))
    }

    async fn ask(&self, address: &Address, accept: &str) -> Result<Response, EgressError> {
        let client = self.client(self.reach(&HostPort::of(address))?)?;
        let request = client.get(address.url().clone()).header(ACCEPT, accept);
        request.send().await.map_err(|error| self.failed(address, &error))
    }

    /// How a server may be reached. A literal address does not pass through the resolver, so it is
    /// checked here.
    fn reach(&self, server: &HostPort) -> Result<AllowedHosts, EgressError> {
        if self.private.iter().any(|host: &PrivateHost| host.covers(server)) {
            return Ok(AllowedHosts::Anywhere);
        }
        match server.literal() {
            Some(literal) if !is_public(literal) => Err(EgressError::NotPublic {
                host: server.host().to_owned(),
                address: literal.to_string(),
            }),
            Some(_) | None => Ok(AllowedHosts::Internet),
        }
    }

    /// The addresses of a server that may be connected to.
    pub(crate) async fn checked_addresses(
        &self,
        server: &HostPort,
    ) -> Result<Vec<IpAddr>, EgressError> {
        let reach = self.reach(server)?;
        if let Some(literal) = server.literal() {
            return Ok(vec![literal]);
        }
        let host = || server.host().to_owned();
        let looked_up = tokio::time::timeout(self.bounds.connect, self.resolver.resolve(host()));
        let found = looked_up.await.map_err(|_| EgressError::Timeout(self.bounds.connect))?;
        let found = found.map_err(|_| EgressError::UnknownName(host()))?;
        checked(found, reach).map_err(|refused| match refused {
            NotResolved::Unknown => EgressError::UnknownName(host()),
            NotResolved::NotPublic(address) => {
                EgressError::NotPublic { host: host(), address: address.to_string() }
            }
        })
    }

    pub(crate) fn connect_limit(&self) -> Duration {
        self.bounds.connect
    }

    fn client(&self, reach: AllowedHosts) -> Result<&Client, EgressError> {
        let place = match reach {
            AllowedHosts::Internet => &self.internet,
            AllowedHosts::Anywhere => &self.anywhere,
        };
        if let Some(client) = place.get() {
            return Ok(client);
        }
        let client = self.build(reach).map_err(|error| EgressError::Client(error.to_string()))?;
        Ok(place.get_or_init(|| client))
    }

    #[allow(clippy::disallowed_methods, reason = "the egress client of tools is made here")]
    fn build(&self, reach: AllowedHosts) -> Result<Client, reqwest::Error> {
        let checked = CheckedResolver { resolver: Arc::clone(&self.resolver), reach };
        Client::builder()
            .user_agent(concat!("onyx/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.bounds.connect)
            .redirect(Policy::none())
            .referer(false)
            .no_proxy()
            .dns_resolver(Arc::new(checked))
            .build()
    }

    async fn take(
        &self,
        address: Address,
        mut response: Response,
    ) -> Result<FetchedAnswer, EgressError> {
        let status = response.status().as_u16();
        let content_type = response.headers().get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let content_type = content_type.to_ascii_lowercase();
        let (mut body, mut is_cut) = (Vec::new(), false);
        loop {
            let chunk = response.chunk().await.map_err(|error| self.failed(&address, &error))?;
            let Some(chunk) = chunk else { break };
            let room = self.bounds.bytes - body.len();
            if chunk.len() > room {
                body.extend_from_slice(&chunk[..room]);
                is_cut = true;
                break;
            }
            body.extend_from_slice(&chunk);
        }
        Ok(FetchedAnswer { address, status, content_type, body, is_cut })
    }

    fn failed(&self, address: &Address, error: &reqwest::Error) -> EgressError {
        let host = address.host().to_owned();
        match cause::<NotResolved>(error) {
            Some(NotResolved::Unknown) => return EgressError::UnknownName(host),
            Some(NotResolved::NotPublic(found)) => {
                return EgressError::NotPublic { host, address: found.to_string() };
            }
            None => {}
        }
        // The innermost cause is reported, because the outer ones repeat the address with its
        // query.
        let mut innermost: &dyn Error = error;
        while let Some(source) = innermost.source() {
            innermost = source;
        }
        let why = innermost.to_string();
        if error.is_timeout() {
            EgressError::Timeout(self.bounds.connect)
        } else if error.is_connect() {
            EgressError::Unreachable { host, why }
        } else {
            EgressError::BadAnswer { host, why }
        }
    }
}

/// The address that a redirect leads to, if the answer is one.
fn next(address: &Address, response: &Response) -> Result<Option<Address>, EgressError> {
    match response.status() {
        StatusCode::MOVED_PERMANENTLY
        | StatusCode::FOUND
        | StatusCode::SEE_OTHER
        | StatusCode::TEMPORARY_REDIRECT
        | StatusCode::PERMANENT_REDIRECT => {}
        _ => return Ok(None),
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let location = location.to_str().map_err(|_| EgressError::BadAnswer {
        host: address.host().to_owned(),
        why: "it redirects to an address that is not valid".to_owned(),
    })?;
    address.join(location).map(Some)
}

fn cause<T: Error + 'static>(error: &reqwest::Error) -> Option<&T> {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        source = error.source();
    }
    None
}
