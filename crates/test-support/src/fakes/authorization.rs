//! An authorization server on a real socket: codes that a test enters or refuses, browsers that
//! come and go back, tokens that contain the canary, refreshes, an exchange of tokens like
//! GitHub's, and codes in OpenAI's form. Errors come in GitHub's form, with status 200, unless the
//! form of RFC 6749 is requested.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::canary;

const REQUEST_BYTES: usize = 64 * 1024;
/// The client id that the config must have for this server.
const CLIENT: &str = "client-of-the-tests";

/// The person's decision about the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Pending,
    Approve,
    /// Refuses every request with this error from now on.
    Refuse(&'static str),
}

/// The properties of the tokens of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The field `expires_in`, which is left out if this is `None`.
    pub seconds: Option<u64>,
    pub refreshes: bool,
}

#[derive(Debug)]
struct AuthorizationState {
    decision: Decision,
    grant: Grant,
    interval: u64,
    code_seconds: u64,
    rfc_errors: bool,
    /// How many polls are answered with `slow_down` before the decision counts.
    slow_downs: u32,
    /// How many requests to the token address are answered with 503.
    outages: u32,
    refresh_error: Option<&'static str>,
    /// Whether a refresh token that is used again ends the whole grant, as OAuth 2.1 requires.
    revokes_on_reuse: bool,
    refresh_delay: Duration,
    exchange_status: u16,
    codes: u32,
    given: u32,
    exchanged: u32,
    polls: Vec<Instant>,
    refreshes: u32,
    /// The refresh token that is valid now.
    refresh: Option<String>,
    /// The code that was given to a browser, and the values with which it must be redeemed.
    allowed: Option<Allowed>,
    /// The claims of the id token; without them, no id token is issued.
    identity: Option<Value>,
    revoked: Vec<String>,
    requests: Vec<String>,
}

#[derive(Debug)]
struct Allowed {
    code: String,
    challenge: String,
    redirect: String,
}

/// An authorization server that serves until it is dropped.
pub struct AuthorizationServer {
    address: SocketAddr,
    state: Arc<Mutex<AuthorizationState>>,
    task: JoinHandle<()>,
}

impl AuthorizationServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(AuthorizationState {
            decision: Decision::Pending,
            grant: Grant { seconds: Some(3600), refreshes: true },
            interval: 1,
            code_seconds: 900,
            rfc_errors: false,
            slow_downs: 0,
            outages: 0,
            refresh_error: None,
            revokes_on_reuse: false,
            refresh_delay: Duration::ZERO,
            exchange_status: 200,
            codes: 0,
            given: 0,
            exchanged: 0,
            polls: Vec::new(),
            refreshes: 0,
            refresh: None,
            allowed: None,
            identity: None,
            revoked: Vec::new(),
            requests: Vec::new(),
        }));
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                // Some tests are about clients that leave early, so errors are ignored.
                tokio::spawn(async move { serve(stream, address, &state).await });
            }
        });
        Self { address, state, task }
    }

    fn lock(&self) -> MutexGuard<'_, AuthorizationState> {
        self.state.lock().unwrap()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The setting `login` of a provider whose people sign in here.
    pub fn settings(&self) -> Value {
        json!({"clientId": CLIENT, "deviceUrl": self.url("/device"), "tokenUrl": self.url("/token"),
            "accountUrl": self.url("/user"), "scopes": ["read:user"]})
    }

    /// The same setting with an exchange of tokens.
    pub fn settings_with_exchange(&self) -> Value {
        let mut settings = self.settings();
        settings["exchangeUrl"] = self.url("/exchange").into();
        settings
    }

    /// The same setting for a browser, without codes.
    pub fn settings_for_browser(&self) -> Value {
        json!({"clientId": CLIENT, "authorizeUrl": self.url("/authorize"),
            "tokenUrl": self.url("/token"), "accountUrl": self.url("/user"),
            "scopes": ["read:user"]})
    }

    /// The setting `login` of `chatgpt`, whose addresses are all below the issuer.
    pub fn settings_as_openai(&self) -> Value {
        json!({"clientId": CLIENT, "issuer": self.url(""), "redirectUrl": "http://127.0.0.1/callback"})
    }

    /// Does what a person does who opens the page in a browser and agrees. Returns the address to
    /// which the browser is sent back.
    pub fn agree(&self, page: &str) -> String {
        let page = reqwest::Url::parse(page).unwrap();
        let fields: BTreeMap<String, String> = page.query_pairs().into_owned().collect();
        assert_eq!(fields["response_type"], "code", "{fields:?}");
        assert_eq!(fields["client_id"], CLIENT, "{fields:?}");
        assert_eq!(fields["code_challenge_method"], "S256", "{fields:?}");
        let mut state = self.lock();
        state.codes += 1;
        let code = canary::secret(&format!("code-{}", state.codes));
        let redirect = fields["redirect_uri"].clone();
        state.allowed = Some(Allowed {
            code: code.clone(),
            challenge: fields["code_challenge"].clone(),
            redirect: redirect.clone(),
        });
        let mut back = reqwest::Url::parse(&redirect).unwrap();
        back.query_pairs_mut().append_pair("code", &code).append_pair("state", &fields["state"]);
        back.into()
    }

    /// Makes tokens come with an id token that has these claims.
    pub fn set_identity(&self, claims: Value) {
        self.lock().identity = Some(claims);
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

    /// Makes a refresh token that is used a second time end the sign-in.
    pub fn revoke_on_reuse(&self) {
        self.lock().revokes_on_reuse = true;
    }

    /// Delays refreshes, so that all callers come and wait before they end.
    pub fn delay_refreshes(&self, delay: Duration) {
        self.lock().refresh_delay = delay;
    }

    /// Sets the status of the token exchange; 200 issues a token.
    pub fn set_exchange_status(&self, status: u16) {
        self.lock().exchange_status = status;
    }

    /// How many codes were requested.
    pub fn codes(&self) -> u32 {
        self.lock().codes
    }

    /// The times at which a client asked whether the code was entered.
    pub fn polls(&self) -> Vec<Instant> {
        self.lock().polls.clone()
    }

    pub fn refreshes(&self) -> u32 {
        self.lock().refreshes
    }

    /// The tokens that were revoked.
    pub fn revoked(&self) -> Vec<String> {
        self.lock().revoked.clone()
    }

    pub fn exchanges(&self) -> u32 {
        self.lock().exchanged
    }

    /// The access token that was issued last.
    pub fn access_token(&self) -> String {
        access_token(self.lock().given)
    }

    /// The short-lived token that was issued last.
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
    state: &Mutex<AuthorizationState>,
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
            "/revoke" => state.revoke(&fields),
            "/oauth/token" => state.token(&fields),
            "/api/accounts/deviceauth/usercode" => state.openai_device(body),
            "/api/accounts/deviceauth/token" => state.openai_poll(address, body),
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

impl AuthorizationState {
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
            Some("authorization_code") => self.redeem(fields),
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

    fn redeem(&mut self, fields: &BTreeMap<String, String>) -> (u16, Value) {
        let Some(allowed) = self.allowed.take() else { return self.error("invalid_grant") };
        let field = |name: &str| fields.get(name).map(String::as_str).unwrap_or_default();
        let is_it = field("code") == allowed.code
            && challenge(field("code_verifier")) == allowed.challenge
            && field("redirect_uri") == allowed.redirect
            && field("client_id") == CLIENT;
        if is_it { self.give() } else { self.error("invalid_grant") }
    }

    /// Issues a code in OpenAI's form: JSON in request and answer, a number as text, and no
    /// address, because the client knows it.
    fn openai_device(&mut self, body: &str) -> (u16, Value) {
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        if body["client_id"] != CLIENT {
            return (404, json!({"error": {"code": "unknown_client", "message": "no"}}));
        }
        self.codes += 1;
        let id = canary::secret(&format!("device-{}", self.codes));
        let user_code = format!("ABCD-{:04}", self.codes);
        (200, json!({"device_auth_id": id, "user_code": user_code, "interval": "1"}))
    }

    fn openai_poll(&mut self, address: SocketAddr, body: &str) -> (u16, Value) {
        self.polls.push(Instant::now());
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let is_ours = body["user_code"] == format!("ABCD-{:04}", self.codes)
            && body["device_auth_id"] == canary::secret(&format!("device-{}", self.codes));
        if !is_ours || self.decision != Decision::Approve {
            return (403, json!({"error": {"code": "deviceauth_authorization_unknown"}}));
        }
        let (code, verifier) = (canary::secret("code-of-device"), canary::secret("verifier"));
        self.allowed = Some(Allowed {
            code: code.clone(),
            challenge: challenge(&verifier),
            redirect: format!("http://{address}/deviceauth/callback"),
        });
        (
            200,
            json!({"authorization_code": code, "code_verifier": verifier,
            "code_challenge": challenge(&verifier)}),
        )
    }

    fn revoke(&mut self, fields: &BTreeMap<String, String>) -> (u16, Value) {
        self.revoked.extend(fields.get("token").cloned());
        (200, json!({}))
    }

    fn refresh(&mut self, token: Option<&String>) -> (u16, Value) {
        self.refreshes += 1;
        if let Some(error) = self.refresh_error {
            return self.error(error);
        }
        // Each refresh token is valid once, as with servers that rotate them.
        if token.is_none() || token != self.refresh.as_ref() {
            if self.revokes_on_reuse {
                self.refresh = None;
            }
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
        if let Some(claims) = &self.identity {
            let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
            let header = part(&json!({"alg": "none"}));
            body["id_token"] = format!("{header}.{}.unsigned", part(claims)).into();
        }
        (200, body)
    }

    fn user(&self, head: &str) -> (u16, Value) {
        if head.contains(&format!("Bearer {}", access_token(self.given))) {
            (200, json!({"login": "octocat", "id": 1}))
        } else {
            (401, json!({"message": "Bad credentials"}))
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

fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

pub(crate) async fn read(stream: &mut TcpStream) -> std::io::Result<String> {
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

pub(crate) fn form(body: &str) -> BTreeMap<String, String> {
    let pairs = reqwest::Url::parse(&format!("form:fields?{body}")).unwrap();
    pairs.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}
