//! Signing in in a browser (RFC 6749 with PKCE, RFC 8252): the browser is sent to the maker's page
//! and comes back to an address of this machine, with a code that is redeemed for tokens. Where the
//! browser runs on another machine, a person pastes the address at which it ended.

use std::time::Duration;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::future::select_all;
use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::resolved_login::{BrowserLogin, Redirect, ResolvedLogin};
use crate::Secret;

const LONGEST_REQUEST: usize = 16 * 1024;
const PATIENCE: Duration = Duration::from_secs(5);

/// The browser's return: a code, or the error that came in its place.
pub(super) type Return = Result<Secret, String>;

/// A sign-in whose browser has not returned yet.
pub(super) struct BrowserSignIn {
    /// The address that the browser is sent to.
    pub(super) address: Url,
    pub(super) redirect: Url,
    /// The PKCE verifier; `None` if the maker does not support PKCE.
    pub(super) verifier: Option<Secret>,
    pub(super) receiver: ReturnReceiver,
    listeners: Vec<TcpListener>,
    returns: mpsc::Receiver<Return>,
}

/// Receives the browser's return, if it belongs to this sign-in.
#[derive(Clone)]
pub(super) struct ReturnReceiver {
    state: Secret,
    redirect: Url,
    returns: mpsc::Sender<Return>,
}

/// Why an address is not the end of this sign-in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReturnMismatch {
    OtherPlace,
    OtherSignIn,
}

impl BrowserSignIn {
    /// Listens at the address that the browser returns to. If the port is taken, the person can
    /// still paste the address. A page of the gateway needs no listener, because it receives the
    /// browser's answer itself.
    pub(super) async fn begin(
        resolved: &ResolvedLogin,
        browser: &BrowserLogin,
        gateway: Option<&Url>,
    ) -> Result<Self, String> {
        let (listeners, redirect) = match (&browser.redirect, gateway) {
            (Redirect::ThisMachine(redirect), _) => listen(redirect).await,
            (Redirect::Gateway, Some(page)) => (Vec::new(), page.clone()),
            (Redirect::Gateway, None) => {
                return Err("the address that the browser returns to is not known".to_owned());
            }
        };
        let state = random()?;
        let verifier = if browser.pkce { Some(random()?) } else { None };
        let mut address = browser.authorize.clone();
        address
            .query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &resolved.client_id)
            .append_pair("redirect_uri", redirect.as_str())
            .append_pair("scope", &resolved.scopes)
            .append_pair("state", state.reveal())
            .extend_pairs(browser.extra);
        if let Some(verifier) = &verifier {
            let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.reveal().as_bytes()));
            address
                .query_pairs_mut()
                .append_pair("code_challenge", &challenge)
                .append_pair("code_challenge_method", "S256");
        }
        let (sender, returns) = mpsc::channel(1);
        let receiver = ReturnReceiver { state, redirect: redirect.clone(), returns: sender };
        Ok(Self { address, redirect, verifier, receiver, listeners, returns })
    }

    /// A sign-in that another gateway began: the browser returns to a page of this gateway, or the
    /// address is pasted.
    pub(super) fn of_another(
        address: Url,
        redirect: Url,
        state: Secret,
        verifier: Option<Secret>,
    ) -> Self {
        let (sender, returns) = mpsc::channel(1);
        let receiver = ReturnReceiver { state, redirect: redirect.clone(), returns: sender };
        Self { address, redirect, verifier, receiver, listeners: Vec::new(), returns }
    }

    /// Waits for the browser, or for the address that a person pastes.
    pub(super) async fn returned(&mut self) -> Return {
        loop {
            if self.listeners.is_empty() {
                return self.returns.recv().await.unwrap_or_else(|| Err(lost()));
            }
            let accepts = self.listeners.iter().map(|listener| Box::pin(listener.accept()));
            tokio::select! {
                returned = self.returns.recv() => return returned.unwrap_or_else(|| Err(lost())),
                (accepted, ..) = select_all(accepts) => {
                    if let Ok((stream, _)) = accepted {
                        tokio::spawn(serve(stream, self.receiver.clone()));
                    }
                }
            }
        }
    }
}

fn lost() -> String {
    "the sign-in was lost".to_owned()
}

impl ReturnReceiver {
    pub(super) fn state(&self) -> &Secret {
        &self.state
    }

    pub(super) fn redirect(&self) -> &Url {
        &self.redirect
    }

    /// Reads the answer from the address, unless the address belongs to something else.
    pub(super) fn read(&self, address: &Url) -> Result<Return, ReturnMismatch> {
        if address.path() != self.redirect.path() {
            return Err(ReturnMismatch::OtherPlace);
        }
        let field = |name: &str| {
            address.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
        };
        let state = field("state").unwrap_or_default();
        if verify_slices_are_equal(state.as_bytes(), self.state.reveal().as_bytes()).is_err() {
            return Err(ReturnMismatch::OtherSignIn);
        }
        match (field("code").filter(|code| !code.is_empty()), field("error")) {
            (Some(code), None) => Ok(Ok(Secret::new(code))),
            (_, Some(error)) if error == "access_denied" => {
                Ok(Err("the sign-in was refused there".to_owned()))
            }
            (_, Some(error)) => {
                let reason: String =
                    error.chars().filter(char::is_ascii_graphic).take(64).collect();
                Ok(Err(format!("the sign-in came back with an error: {reason}")))
            }
            (None, None) => Err(ReturnMismatch::OtherSignIn),
        }
    }

    /// Accepts the first answer; later ones are ignored.
    pub(super) fn accept(&self, returned: Return) {
        let _ = self.returns.try_send(returned);
    }
}

/// Browsers resolve `localhost` to either of two addresses, so both are listened at. Without a port
/// in the settings, a free one is chosen and returned in the address.
async fn listen(redirect: &Url) -> (Vec<TcpListener>, Url) {
    let mut redirect = redirect.clone();
    let hosts: &[&str] = match redirect.host_str() {
        Some("localhost") => &["127.0.0.1", "::1"],
        Some("[::1]") => &["::1"],
        Some(_) | None => &["127.0.0.1"],
    };
    let port = redirect.port();
    let mut listeners = Vec::new();
    for host in hosts {
        match TcpListener::bind((*host, port.unwrap_or(0))).await {
            Ok(listener) => listeners.push(listener),
            Err(error) => tracing::info!(host, port, %error, "no sign-in can come back here"),
        }
        // A port that was chosen for one address may be taken at the other.
        if port.is_none() {
            break;
        }
    }
    let chosen = listeners.first().and_then(|listener| listener.local_addr().ok());
    if let (None, Some(chosen)) = (port, chosen) {
        // The address has a host, so setting its port cannot fail.
        let _ = redirect.set_port(Some(chosen.port()));
    }
    (listeners, redirect)
}

pub(super) fn random() -> Result<Secret, String> {
    let mut bytes = [0; 32];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| "there is no randomness".to_owned())?;
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(bytes)))
}

async fn serve(mut stream: TcpStream, receiver: ReturnReceiver) {
    let head = tokio::time::timeout(PATIENCE, read_head(&mut stream)).await;
    let Ok(Some(target)) = head else { return };
    let address = receiver.redirect.join(&target);
    let read = address.map_or(Err(ReturnMismatch::OtherPlace), |address| receiver.read(&address));
    let (status, words) = match &read {
        Ok(Ok(_)) => ("200 OK", "You are signed in. You can close this page."),
        Ok(Err(_)) => ("200 OK", "You are not signed in. You can close this page."),
        Err(ReturnMismatch::OtherPlace) => ("404 Not Found", "This page does not exist."),
        Err(ReturnMismatch::OtherSignIn) => {
            ("400 Bad Request", "This does not belong to a sign-in in progress.")
        }
    };
    let page = format!("<!doctype html><meta charset=\"utf-8\"><title>Onyx</title><p>{words}</p>");
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n{page}",
        page.len()
    );
    // The code counts even if the browser does not wait for the page.
    let _ = tokio::time::timeout(PATIENCE, stream.write_all(answer.as_bytes())).await;
    if let Ok(returned) = read {
        receiver.accept(returned);
    }
}

/// The target of a GET request.
async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        if bytes.len() > LONGEST_REQUEST || stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let head = String::from_utf8_lossy(&bytes);
    let mut words = head.lines().next()?.split(' ');
    let is_get = words.next() == Some("GET");
    words.next().filter(|target| is_get && target.starts_with('/')).map(str::to_owned)
}
