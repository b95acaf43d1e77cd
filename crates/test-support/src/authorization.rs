//! An authorization server on a real socket: codes that a test enters or refuses, tokens that hold
//! the canary, refreshes, and an exchange of tokens as GitHub has one. Errors come as GitHub sends
//! them, with status 200, unless they are asked for as RFC 6749 has them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::canary;

const REQUEST_BYTES: usize = 64 * 1024;
/// What the config must say for the server to know its client.
const CLIENT: &str = "client-of-the-tests";

/// What a person does with the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Pending,
    Approve,
    /// Answered with this error from now on.
    Refuse(&'static str),
}

/// What the tokens of a grant are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// `expires_in`; none is left out.
    pub seconds: Option<u64>,
    pub refreshes: bool,
}

#[derive(Debug)]
struct State {
    decision: Decision,
    grant: Grant,
    interval: u64,
    code_seconds: u64,
    rfc_errors: bool,
    /// Polls that are answered with `slow_down` before the decision counts.
    slow_downs: u32,
    /// Requests to the token address that are answered with 503.
    outages: u32,
    refresh_error: Option<&'static str>,
    refresh_delay: Duration,
    exchange_status: u16,
    codes: u32,
    given: u32,
    exchanged: u32,
    polls: Vec<Instant>,
    refreshes: u32,
    /// The refresh token that is good now.
    refresh: Option<String>,
    requests: Vec<String>,
}

/// Serves until it is dropped.
pub struct AuthorizationServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

impl AuthorizationServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State {
            decision: Decision::Pending,
            grant: Grant { seconds: Some(3600), refreshes: true },
            interval: 1,
            code_seconds: 900,
            rfc_errors: false,
            slow_downs: 0,
            outages: 0,
            refresh_error: None,
            refresh_delay: Duration::ZERO,
            exchange_status: 200,
            codes: 0,
            given: 0,
            exchanged: 0,
            polls: Vec::new(),
            refreshes: 0,
            refresh: None,
            requests: Vec::new(),
        }));
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                // A client that goes away early is what some tests are about.
                tokio::spawn(async move { serve(stream, address, &state).await });
            }
        });
        Self { address, state, task }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// `login` of a provider whose people sign in here.
    pub fn settings(&self) -> Value {
        json!({"clientId": CLIENT, "deviceUrl": self.url("/device"), "tokenUrl": self.url("/token"),
            "accountUrl": self.url("/user"), "scopes": ["read:user"]})
    }

    /// The same with an exchange of tokens.
    pub fn settings_with_exchange(&self) -> Value {
        let mut settings = self.settings();
        settings["exchangeUrl"] = self.url("/exchange").into();
        settings
    }

    pub fn decide(&self, decision: Decision) {
        self.lock().decision = decision;
    }

    pub fn set_grant(&self, grant: Grant) {
        self.lock().grant = grant;
    }

    pub fn set_code_seconds(&self, seconds: u64) {
        self.lock().code_seconds = seconds;
    }

    pub fn send_errors_as_rfc(&self) {
        self.lock().rfc_errors = true;
    }

    pub fn slow_down(&self, polls: u32) {
        self.lock().slow_downs = polls;
    }

    pub fn fail_next(&self, requests: u32) {
        self.lock().outages = requests;
    }

    pub fn refuse_refreshes(&self, error: &'static str) {
        self.lock().refresh_error = Some(error);
    }

    /// Long enough for everybody to come and wait.
    pub fn delay_refreshes(&self, delay: Duration) {
        self.lock().refresh_delay = delay;
    }

    /// 200 gives a token.
    pub fn set_exchange_status(&self, status: u16) {
        self.lock().exchange_status = status;
    }

    /// How many codes were asked for.
    pub fn codes(&self) -> u32 {
        self.lock().codes
    }

    /// When somebody asked whether the code was entered.
    pub fn polls(&self) -> Vec<Instant> {
        self.lock().polls.clone()
    }

    pub fn refreshes(&self) -> u32 {
        self.lock().refreshes
    }

    pub fn exchanges(&self) -> u32 {
        self.lock().exchanged
    }

    /// The access token that was given last.
    pub fn access_token(&self) -> String {
        access_token(self.lock().given)
    }

    /// The short-lived token that was exchanged last.
    pub fn short_token(&self) -> String {
        short_token(self.lock().exchanged)
    }

    /// Every request with its body.
    pub fn requests(&self) -> Vec<String> {
        self.lock().requests.clone()
    }
}

impl Drop for AuthorizationServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn access_token(number: u32) -> String {
    canary::secret(&format!("access-{number}-of"))
}

fn short_token(number: u32) -> String {
    canary::secret(&format!("short-{number}-of"))
}

async fn serve(
    mut stream: TcpStream,
    address: SocketAddr,
    state: &Mutex<State>,
) -> std::io::Result<()> {
    let request = read(&mut stream).await?;
    let (head, body) = request.split_once("\r\n\r\n").unwrap_or((&request, ""));
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let fields = form(body);
    let is_refresh = fields.get("grant_type").is_some_and(|grant| grant == "refresh_token");
    let delay = {
        let mut state = state.lock().unwrap();
        state.requests.push(request.clone());
        if is_refresh { state.refresh_delay } else { Duration::ZERO }
    };
    tokio::time::sleep(delay).await;
    let (status, answer) = {
        let mut state = state.lock().unwrap();
        match path.as_str() {
            "/device" => state.device(address, &fields),
            "/token" => state.token(&fields),
            "/user" => state.user(head),
            "/exchange" => state.exchange(head),
            _ => (404, json!({"message": "Not Found"})),
        }
    };
    let body = answer.to_string();
    let head = format!(
        "HTTP/1.1 {status} Fine\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

impl State {
    fn device(&mut self, address: SocketAddr, fields: &BTreeMap<String, String>) -> (u16, Value) {
        if fields.get("client_id").is_none_or(|client| client != CLIENT) {
            return self.error("unauthorized_client");
        }
        self.codes += 1;
        let user_code = format!("ABCD-{:04}", self.codes);
        let body = json!({
            "device_code": canary::secret(&format!("device-{}", self.codes)),
            "user_code": user_code,
            "verification_uri": format!("http://{address}/enter"),
            "verification_uri_complete": format!("http://{address}/enter?code={user_code}"),
            "expires_in": self.code_seconds,
            "interval": self.interval,
        });
        (200, body)
    }

    fn token(&mut self, fields: &BTreeMap<String, String>) -> (u16, Value) {
        if self.outages > 0 {
            self.outages -= 1;
            return (503, json!({"message": "later"}));
        }
        match fields.get("grant_type").map(String::as_str) {
            Some("refresh_token") => self.refresh(fields.get("refresh_token")),
            Some("urn:ietf:params:oauth:grant-type:device_code") => self.poll(fields),
            _ => self.error("unsupported_grant_type"),
        }
    }

    fn poll(&mut self, fields: &BTreeMap<String, String>) -> (u16, Value) {
        self.polls.push(Instant::now());
        let code = canary::secret(&format!("device-{}", self.codes));
        if fields.get("device_code") != Some(&code) {
            return self.error("incorrect_device_code");
        }
        if self.slow_downs > 0 {
            self.slow_downs -= 1;
            return self.error("slow_down");
        }
        match self.decision {
            Decision::Pending => self.error("authorization_pending"),
            Decision::Refuse(error) => self.error(error),
            Decision::Approve => self.give(),
        }
    }

    fn refresh(&mut self, token: Option<&String>) -> (u16, Value) {
        self.refreshes += 1;
        if let Some(error) = self.refresh_error {
            return self.error(error);
        }
        // Each is good once, as with servers that rotate them.
        if token.is_none() || token != self.refresh.as_ref() {
            return self.error("bad_refresh_token");
        }
        self.give()
    }

    fn give(&mut self) -> (u16, Value) {
        self.given += 1;
        let mut body = json!({"access_token": access_token(self.given), "token_type": "bearer"});
        if let Some(seconds) = self.grant.seconds {
            body["expires_in"] = seconds.into();
        }
        if self.grant.refreshes {
            let refresh = canary::secret(&format!("refresh-{}-of", self.given));
            body["refresh_token"] = refresh.clone().into();
            self.refresh = Some(refresh);
        }
        (200, body)
    }

    fn user(&self, head: &str) -> (u16, Value) {
        match head.contains(&format!("Bearer {}", access_token(self.given))) {
            true => (200, json!({"login": "octocat", "id": 1})),
            false => (401, json!({"message": "Bad credentials"})),
        }
    }

    fn exchange(&mut self, head: &str) -> (u16, Value) {
        let knows = head.contains(&format!("token {}", access_token(self.given)));
        if self.exchange_status != 200 || !knows {
            let status = if knows { self.exchange_status } else { 401 };
            return (status, json!({"message": "Bad credentials"}));
        }
        self.exchanged += 1;
        (200, json!({"token": short_token(self.exchanged), "refresh_in": 1500}))
    }

    fn error(&self, error: &str) -> (u16, Value) {
        let status = if self.rfc_errors { 400 } else { 200 };
        (status, json!({"error": error, "error_description": format!("about {error}")}))
    }
}

async fn read(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                let is_it = name.eq_ignore_ascii_case("content-length");
                is_it.then(|| value.trim().parse::<usize>().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Ok(text);
            }
        }
        if bytes.len() > REQUEST_BYTES || stream.read_buf(&mut bytes).await? == 0 {
            return Ok(text);
        }
    }
}

fn form(body: &str) -> BTreeMap<String, String> {
    let pairs = reqwest::Url::parse(&format!("form:fields?{body}")).unwrap();
    pairs.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}
