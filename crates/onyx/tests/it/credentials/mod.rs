//! The rights of credentials, how browsers send theirs, and how guesses are counted.

mod approving;
mod front;
mod guessing;
mod making;
mod page_key;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;

use onyx_test_support::{AgentClient, DEFAULT_PASSWORD as PASSWORD, OnyxProcess, Reply};
use reqwest::Method;
use serde_json::{Value, json};

/// A client with a token for this person and these scopes.
async fn with_scopes(onyx: &OnyxProcess, person: &str, scopes: Value) -> AgentClient {
    let body = json!({"name": "test", "people": [person], "scopes": scopes});
    let made = onyx.post("/api/admin/tokens", &body).await.expect(201).json();
    AgentClient::new(onyx.base_url(), made["token"].as_str().unwrap())
}

/// A client without a credential, at this address of the machine.
#[allow(clippy::disallowed_methods)]
pub(crate) fn stranger_at(last: u8) -> reqwest::Client {
    let address = IpAddr::V4(Ipv4Addr::new(127, 0, 0, last));
    let builder = reqwest::Client::builder().no_proxy().local_address(address);
    builder.redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

pub(crate) async fn log_in(onyx: &OnyxProcess, from: u8, person: &str, password: &str) -> Reply {
    let body = json!({"person": person, "password": password});
    Reply::of(stranger_at(from).post(onyx.url("/api/auth/login")).json(&body)).await
}

/// How many guesses at a password are forgiven since this moment: one for every six seconds.
fn forgiven_since(moment: Instant) -> usize {
    usize::try_from(moment.elapsed().as_secs() / 6).unwrap()
}

/// How many guesses that began at this moment may have been looked at: ten that come at once, one
/// for the time that has passed since the first, and those that were forgiven.
fn most_guesses(begun: Instant) -> usize {
    11 + forgiven_since(begun)
}

pub(crate) async fn set_password(onyx: &OnyxProcess, person: &str) {
    let path = format!("/api/admin/people/{person}/password");
    let request = onyx.request(Method::PUT, &path).json(&json!({"password": PASSWORD}));
    let _ = Reply::of(request).await.expect(204);
}
