//! Requests to Discord's HTTP API, and the meaning of its answers.

use std::time::Duration;

use onyx_egress::Method;
use serde::Deserialize;
use serde_json::Value;

use crate::connector::NetworkError;
use crate::networks::http::Http;
use crate::settings::Secret;

/// The user agent, in the form in which Discord asks programs to identify themselves.
const AGENT: &str = concat!("DiscordBot (onyx, ", env!("CARGO_PKG_VERSION"), ")");

/// The error codes by which Discord distinguishes its refusals.
mod code {
    pub(super) const UNKNOWN_CHANNEL: u64 = 10_003;
    pub(super) const UNKNOWN_MESSAGE: u64 = 10_008;
    pub(super) const NOT_OUR_MESSAGE: u64 = 50_005;
    pub(super) const THREAD_ARCHIVED: u64 = 50_083;
}

pub(super) struct RestClient {
    pub(super) http: Http,
    pub(super) token: Secret,
    pub(super) within: Duration,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Failure {
    code: u64,
    message: String,
    retry_after: Option<f64>,
}

impl RestClient {
    pub(super) async fn get(&self, path: &str) -> Result<Value, NetworkError> {
        self.call(Method::GET, path, None).await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, NetworkError> {
        self.call(Method::POST, path, Some(body)).await
    }

    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, NetworkError> {
        let bytes = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        self.call_as("application/json", method, path, bytes).await
    }

    pub(super) async fn call_as(
        &self,
        content_type: &str,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<Value, NetworkError> {
        let headers = [
            ("authorization".to_owned(), format!("Bot {}", self.token.reveal())),
            ("content-type".to_owned(), content_type.to_owned()),
            ("user-agent".to_owned(), AGENT.to_owned()),
        ];
        let (status, body) = self.http.ask(method, path, &headers, body, self.within).await?;
        if !(200..300).contains(&status) {
            return Err(failure(status, &body).masked(|text| self.http.masked(text)));
        }
        if body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&body).map_err(|error| NetworkError::NoAnswer(error.to_string()))
    }
}

fn failure(status: u16, body: &[u8]) -> NetworkError {
    // The body may not be Discord's, because a proxy in between may have answered.
    let failure: Failure = serde_json::from_slice(body).unwrap_or_default();
    let why = format!("Discord: {} ({status}, {})", failure.message, failure.code);
    match (status, failure.code) {
        (429, _) => {
            let seconds = failure.retry_after.filter(|wait| wait.is_finite()).unwrap_or(5.0);
            NetworkError::TooFast(Duration::from_secs_f64(seconds.clamp(0.0, 3_600.0)))
        }
        (401, _) => NetworkError::Unauthorized(why),
        (_, code::UNKNOWN_MESSAGE | code::NOT_OUR_MESSAGE) => NetworkError::NotEditable(why),
        (_, code::UNKNOWN_CHANNEL | code::THREAD_ARCHIVED) => NetworkError::NoThread(why),
        // Repeating a send does no harm, because each send carries a nonce that Discord enforces.
        (500.., _) => NetworkError::NoAnswer(why),
        _ => NetworkError::Refused(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_apart_by_their_numbers() {
        let of = |status, body: &str| failure(status, body.as_bytes());
        assert_eq!(
            of(429, r#"{"retry_after": 1.5, "global": false}"#),
            NetworkError::TooFast(Duration::from_millis(1_500))
        );
        assert!(matches!(of(429, "<html>"), NetworkError::TooFast(_)));
        assert!(matches!(of(404, r#"{"code":10008}"#), NetworkError::NotEditable(_)));
        assert!(matches!(of(404, r#"{"code":10003}"#), NetworkError::NoThread(_)));
        assert!(matches!(of(401, "{}"), NetworkError::Unauthorized(_)));
        assert!(matches!(of(403, r#"{"code":50013}"#), NetworkError::Refused(_)));
        assert!(matches!(of(502, "Bad Gateway"), NetworkError::NoAnswer(_)));
    }
}
