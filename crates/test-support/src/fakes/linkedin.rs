//! LinkedIn on a real socket: signing in at its page, tokens that contain the canary, posts and
//! comments, and possible failures. Like the real one it refuses a code with a verifier
//! (`invalid_client`), and requires its version header.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::authorization::{form, read};
use crate::canary;

const CLIENT: &str = "client-of-the-tests";

/// A fault of the next request to the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkedInFault {
    /// The request is answered with this status, and `retry-after` if it is set. Nothing was done.
    Status(u16, Option<u64>),
    /// The request is carried out, but answered with this status.
    DoneThen(u16),
    /// The request is carried out, but not answered.
    DoneThenHang,
    /// The answer is not JSON.
    Garbage,
}

#[derive(Debug, Default)]
struct LinkedInState {
    /// Codes that wait to be redeemed, with the address to which the browser was sent back.
    codes: BTreeMap<String, String>,
    members: u32,
    /// The valid tokens, with the member of each.
    tokens: BTreeMap<String, u32>,
    given: u32,
    refreshes: u32,
    refresh_delay: Duration,
    /// Whether the next tokens can be renewed.
    renewable: bool,
    refresh_tokens: BTreeMap<String, u32>,
    faults: VecDeque<LinkedInFault>,
    /// The faults of requests that create posts or comments.
    faults_of_posts: VecDeque<LinkedInFault>,
    posts: Vec<Value>,
    comments: Vec<(String, Value)>,
    revoked: Vec<String>,
    revoke_status: u16,
    /// The name that every member has; without it, each has a number.
    name: Option<String>,
    requests: Vec<String>,
}

/// A LinkedIn that serves until it is dropped.
pub struct LinkedInServer {
    address: SocketAddr,
    state: Arc<Mutex<LinkedInState>>,
    task: JoinHandle<()>,
}

impl LinkedInServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state =
            LinkedInState { renewable: true, revoke_status: 200, ..LinkedInState::default() };
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                // Some tests are about clients that leave early, so errors are ignored.
                tokio::spawn(async move { serve(stream, &state).await });
            }
        });
        Self { address, state, task }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The setting `tools.linkedin` of a home whose application is registered here.
    pub fn settings(&self) -> Value {
        json!({"clientId": CLIENT, "clientSecret": "secret:linkedin", "issuer": self.url(""),
            "baseUrl": self.url("")})
    }

    /// The value that the secret `linkedin` must have.
    pub fn client_secret() -> String {
        canary::secret("linkedin-client-secret")
    }

    /// Does what a member does who opens the page in a browser and agrees. Returns the address to
    /// which the browser is sent back. Each call is another member.
    pub fn agree(&self, page: &str) -> String {
        let page = reqwest::Url::parse(page).unwrap();
        assert!(page.as_str().starts_with(&self.url("/oauth/v2/authorization")), "{page}");
        agree(&mut self.lock(), &page).unwrap()
    }

    /// A token that is valid from now on, for tests that need no sign-in.
    pub fn token(&self) -> String {
        let mut state = self.lock();
        state.members += 1;
        let member = state.members;
        state.new_token(member)
    }

    /// A member withdraws the application's rights: no token is valid any more, and none is
    /// renewed.
    pub fn remove_access(&self) {
        let mut state = self.lock();
        state.tokens.clear();
        state.refresh_tokens.clear();
    }

    /// Makes all tokens expire; those that can be renewed still can.
    pub fn expire_tokens(&self) {
        self.lock().tokens.clear();
    }

    /// Delays refreshes, so that all callers come and wait before they end.
    pub fn delay_refreshes(&self, delay: Duration) {
        self.lock().refresh_delay = delay;
    }

    /// Issues tokens that cannot be renewed, because only LinkedIn's partners get those that can.
    pub fn give_no_refresh_tokens(&self) {
        self.lock().renewable = false;
    }

    pub fn fail_next(&self, faults: impl IntoIterator<Item = LinkedInFault>) {
        self.lock().faults.extend(faults);
    }

    /// Sets the faults of posts and comments only.
    pub fn fail_next_posts(&self, faults: impl IntoIterator<Item = LinkedInFault>) {
        self.lock().faults_of_posts.extend(faults);
    }

    pub fn answer_revocations_with(&self, status: u16) {
        self.lock().revoke_status = status;
    }

    /// Gives every member this name from now on.
    pub fn rename_members(&self, name: &str) {
        self.lock().name = Some(name.to_owned());
    }

    pub fn refreshes(&self) -> u32 {
        self.lock().refreshes
    }

    pub fn posts(&self) -> Vec<Value> {
        self.lock().posts.clone()
    }

    /// The comments, each with its post.
    pub fn comments(&self) -> Vec<(String, Value)> {
        self.lock().comments.clone()
    }

    pub fn revoked(&self) -> Vec<String> {
        self.lock().revoked.clone()
    }

    /// Every request with its body.
    pub fn requests(&self) -> Vec<String> {
        self.lock().requests.clone()
    }

    fn lock(&self) -> MutexGuard<'_, LinkedInState> {
        self.state.lock().unwrap()
    }
}

impl Drop for LinkedInServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct FakeReply {
    status: u16,
    headers: String,
    body: String,
    hang: bool,
}

impl FakeReply {
    fn json(status: u16, body: &Value) -> Self {
        Self { status, headers: String::new(), body: body.to_string(), hang: false }
    }

    fn error(status: u16, code: &str, message: &str) -> Self {
        Self::json(status, &json!({"status": status, "code": code, "message": message}))
    }
}

async fn serve(mut stream: TcpStream, state: &Mutex<LinkedInState>) -> std::io::Result<()> {
    let request = read(&mut stream).await?;
    let is_refresh = request.contains("grant_type=refresh_token");
    let delay = state.lock().unwrap().refresh_delay;
    if is_refresh {
        tokio::time::sleep(delay).await;
    }
    let said = {
        let mut state = state.lock().unwrap();
        state.requests.push(request.clone());
        state.answer(&request)
    };
    if said.hang {
        tokio::time::sleep(Duration::from_secs(600)).await;
    }
    let FakeReply { status, headers, body, .. } = said;
    let head = format!(
        "HTTP/1.1 {status} Fine\r\nconnection: close\r\ncontent-type: application/json\r\n{headers}\
         content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

fn agree(state: &mut LinkedInState, page: &reqwest::Url) -> Option<String> {
    let fields: BTreeMap<String, String> = page.query_pairs().into_owned().collect();
    let knows = fields.get("response_type").is_some_and(|kind| kind == "code")
        && fields.get("client_id").is_some_and(|client| client == CLIENT)
        && fields.get("scope").is_some_and(|scope| scope.contains("w_member_social"))
        && !fields.contains_key("code_challenge");
    let redirect = fields.get("redirect_uri").filter(|_| knows)?;
    state.members += 1;
    // The page that the browser comes back to shows the code to the browser, so the code must not
    // contain the canary.
    let code = format!("linkedin-code-{}", state.members);
    state.codes.insert(code.clone(), redirect.clone());
    let mut back = reqwest::Url::parse(redirect).ok()?;
    back.query_pairs_mut().append_pair("code", &code).append_pair("state", fields.get("state")?);
    Some(back.into())
}

impl LinkedInState {
    fn answer(&mut self, request: &str) -> FakeReply {
        let (head, body) = request.split_once("\r\n\r\n").unwrap_or((request, ""));
        let path = head.split(' ').nth(1).unwrap_or_default();
        match path.split('?').next().unwrap_or_default() {
            "/oauth/v2/authorization" => self.show_page(path),
            "/oauth/v2/accessToken" => self.token(&form(body)),
            "/oauth/v2/revoke" => self.revoke(&form(body)),
            "/v2/userinfo" | "/rest/posts" => self.interface(head, path, body),
            comments if comments.starts_with("/rest/socialActions/") => {
                self.interface(head, comments, body)
            }
            _ => FakeReply::error(404, "NOT_FOUND", "No such path"),
        }
    }

    /// Treats a browser that opens the page as a member who agrees.
    fn show_page(&mut self, path: &str) -> FakeReply {
        let page = reqwest::Url::parse(&format!("http://linkedin.test{path}")).unwrap();
        match agree(self, &page) {
            Some(back) => {
                let headers = format!("location: {back}\r\n");
                FakeReply { status: 303, headers, body: String::new(), hang: false }
            }
            None => FakeReply::error(400, "BAD_REQUEST", "Something is missing"),
        }
    }

    fn token(&mut self, fields: &BTreeMap<String, String>) -> FakeReply {
        let field = |name: &str| fields.get(name).map(String::as_str).unwrap_or_default();
        let is_client = field("client_id") == CLIENT
            && field("client_secret") == LinkedInServer::client_secret();
        if !is_client || fields.contains_key("code_verifier") {
            let error = json!({"error": "invalid_client", "error_description": "Client authentication failed"});
            return FakeReply::json(401, &error);
        }
        let refused = |words: &str| {
            FakeReply::json(400, &json!({"error": "invalid_grant", "error_description": words}))
        };
        let member = match field("grant_type") {
            "authorization_code" => match self.codes.remove(field("code")) {
                Some(redirect) if redirect == field("redirect_uri") => self.members,
                Some(_) | None => return refused("The code is not known"),
            },
            "refresh_token" => {
                self.refreshes += 1;
                match self.refresh_tokens.remove(field("refresh_token")) {
                    Some(member) => member,
                    None => return refused("The token has been revoked"),
                }
            }
            _ => return refused("No such grant"),
        };
        let access = self.new_token(member);
        let mut body = json!({"access_token": access, "expires_in": 5_184_000,
            "scope": "openid profile email w_member_social"});
        if self.renewable {
            let refresh = canary::secret(&format!("linkedin-refresh-{}", self.given));
            self.refresh_tokens.insert(refresh.clone(), member);
            body["refresh_token"] = refresh.into();
        }
        FakeReply::json(200, &body)
    }

    fn new_token(&mut self, member: u32) -> String {
        self.given += 1;
        let token = canary::secret(&format!("linkedin-access-{}", self.given));
        self.tokens.insert(token.clone(), member);
        token
    }

    fn revoke(&mut self, fields: &BTreeMap<String, String>) -> FakeReply {
        let token = fields.get("token").cloned().unwrap_or_default();
        if self.revoke_status == 200 {
            self.tokens.clear();
            self.refresh_tokens.clear();
            self.revoked.push(token);
        }
        FakeReply::json(self.revoke_status, &json!({}))
    }

    fn interface(&mut self, head: &str, path: &str, body: &str) -> FakeReply {
        let header = |name: &str| {
            let lines = head.lines().filter_map(|line| line.split_once(": "));
            lines
                .filter(|(found, _)| found.eq_ignore_ascii_case(name))
                .map(|(_, value)| value)
                .next()
        };
        let fault = match path {
            "/v2/userinfo" => self.faults.pop_front(),
            _ => self.faults_of_posts.pop_front().or_else(|| self.faults.pop_front()),
        };
        match fault {
            Some(LinkedInFault::Status(status, after)) => {
                let after = after.map(|after| format!("retry-after: {after}\r\n"));
                let headers = after.unwrap_or_default();
                return FakeReply {
                    headers,
                    ..FakeReply::error(status, "FAULT", "Something is wrong there")
                };
            }
            Some(LinkedInFault::Garbage) => {
                return FakeReply {
                    body: "<html>".to_owned(),
                    ..FakeReply::json(200, &Value::Null)
                };
            }
            Some(LinkedInFault::DoneThen(_) | LinkedInFault::DoneThenHang) | None => {}
        }
        let bearer = header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let member = bearer.and_then(|token| self.tokens.get(token)).copied();
        let Some(member) = member else {
            let words = "The token used in the request has been revoked by the user";
            return FakeReply::error(401, "REVOKED_ACCESS_TOKEN", words);
        };
        if path.starts_with("/rest/") && header("linkedin-version").is_none_or(|v| v.len() != 6) {
            return FakeReply::error(400, "VERSION_MISSING", "A version must be present");
        }
        let said = self.done(path, body, member);
        match fault {
            Some(LinkedInFault::DoneThen(status)) => {
                FakeReply::error(status, "FAULT", "Lost afterwards")
            }
            Some(LinkedInFault::DoneThenHang) => FakeReply { hang: true, ..said },
            Some(LinkedInFault::Status(..) | LinkedInFault::Garbage) | None => said,
        }
    }

    fn done(&mut self, path: &str, body: &str, member: u32) -> FakeReply {
        if path == "/v2/userinfo" {
            let name = self.name.clone().unwrap_or_else(|| format!("Member {member}"));
            let profile = json!({"sub": format!("member-{member}"), "name": name,
                "email": format!("member{member}@example.org")});
            return FakeReply::json(200, &profile);
        }
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        if path == "/rest/posts" {
            self.posts.push(body);
            let id = format!("urn:li:share:{}", self.posts.len());
            let headers = format!("x-restli-id: {id}\r\n");
            return FakeReply { status: 201, headers, body: String::new(), hang: false };
        }
        let on = path.trim_start_matches("/rest/socialActions/").trim_end_matches("/comments");
        self.comments.push((on.replace("%3A", ":"), body));
        let urn = format!("urn:li:comment:(urn:li:activity:7,{})", self.comments.len());
        FakeReply::json(201, &json!({"id": "1", "commentUrn": urn}))
    }
}
