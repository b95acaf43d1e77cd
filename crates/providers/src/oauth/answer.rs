//! The answers of authorization servers. GitHub sends its errors with status 200, so the `error`
//! field is read before the status.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use onyx_types::Timestamp;
use reqwest::{StatusCode, Url};
use serde::Deserialize;
use serde_json::Value;

use super::resolved_login::is_trusted;
use crate::Secret;

/// The interval of RFC 8628 for servers that send none.
const USUAL_INTERVAL: Duration = Duration::from_secs(5);
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);
const LONGEST_LIFE: Duration = Duration::from_secs(24 * 60 * 60);
const LONGEST_CODE: usize = 64;
const LONGEST_WORDS: usize = 200;

/// Errors that the next request may not meet.
const PASSING: &[&str] = &["temporarily_unavailable", "server_error", "slow_down"];

/// Why there is no good answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// No answer came, or the server is in trouble: another try may succeed.
    Passing(String),
    /// The server refused, with the code of the protocol's error if it is one.
    Final { status: StatusCode, code: Option<String>, words: String },
}

impl Refusal {
    pub(super) fn words(&self) -> &str {
        match self {
            Self::Passing(words) | Self::Final { words, .. } => words,
        }
    }
}

#[derive(Deserialize)]
struct ErrorBody {
    error: ErrorWord,
    error_description: Option<String>,
    interval: Option<Value>,
}

/// An error code as a string, as the standard has it, or an object that holds one, as OpenAI sends
/// it.
#[derive(Deserialize)]
#[serde(untagged)]
enum ErrorWord {
    Word(String),
    Object { code: Option<String>, message: Option<String> },
}

impl ErrorBody {
    fn code(&self) -> &str {
        match &self.error {
            ErrorWord::Word(word) => word,
            ErrorWord::Object { code, .. } => code.as_deref().unwrap_or("error"),
        }
    }

    fn description(&self) -> Option<&str> {
        let inner = match &self.error {
            ErrorWord::Word(_) => None,
            ErrorWord::Object { message, .. } => message.as_deref(),
        };
        self.error_description.as_deref().or(inner)
    }
}

/// A code to enter, and how often to ask whether it was entered.
pub(super) struct Device {
    pub(super) code: Secret,
    pub(super) user_code: String,
    pub(super) verification_uri: String,
    pub(super) verification_uri_complete: Option<String>,
    pub(super) life: Duration,
    pub(super) interval: Duration,
}

#[derive(Deserialize)]
struct DeviceBody {
    device_code: String,
    user_code: String,
    #[serde(alias = "verification_url")]
    verification_uri: String,
    verification_uri_complete: Option<String>,
    expires_in: Option<Value>,
    interval: Option<Value>,
}

pub(super) fn device(status: StatusCode, body: &[u8]) -> Result<Device, Refusal> {
    checked(good(status, body)?)
}

fn checked(body: DeviceBody) -> Result<Device, Refusal> {
    let shows = |code: &str| {
        (1..=LONGEST_CODE).contains(&code.len()) && code.chars().all(|c| c.is_ascii_graphic())
    };
    // The text and the link are shown to a person, who will follow the link.
    let link = |text: &String| Url::parse(text).is_ok_and(|url| is_trusted(&url));
    if !shows(&body.user_code) || !link(&body.verification_uri) {
        return Err(odd("its code or its address is none that can be shown"));
    }
    let life = body.expires_in.as_ref().and_then(seconds).unwrap_or(Duration::from_secs(900));
    let interval = body.interval.as_ref().and_then(seconds).unwrap_or(USUAL_INTERVAL);
    Ok(Device {
        code: Secret::new(body.device_code),
        user_code: body.user_code,
        verification_uri_complete: body.verification_uri_complete.filter(link),
        verification_uri: body.verification_uri,
        life: life.min(LONGEST_LIFE),
        interval: interval.max(SHORTEST_INTERVAL),
    })
}

/// The answer to a poll with a device code.
pub(super) enum Poll {
    Granted(GrantedTokens),
    Pending,
    /// The server asks for a longer wait between polls; some servers say how long.
    SlowDown(Option<Duration>),
}

pub(super) struct GrantedTokens {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    pub(super) life: Option<Duration>,
    /// The account, if the server returns it with the tokens.
    pub(super) identity: Identity,
}

/// The content of an id token. It comes straight from the server that issued it, so its signature
/// is not checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) account: Option<String>,
    /// The id that names the account in requests.
    pub(super) account_id: Option<String>,
}

#[derive(Deserialize)]
struct TokenBody {
    access_token: String,
    refresh_token: Option<String>,
    expires_in: Option<Value>,
    id_token: Option<String>,
}

/// A code to enter, in OpenAI's form.
#[derive(Deserialize)]
struct OpenAiDeviceBody {
    device_auth_id: String,
    #[serde(alias = "usercode")]
    user_code: String,
    interval: Option<Value>,
    expires_in: Option<Value>,
}

#[derive(Deserialize)]
struct OpenAiPollBody {
    authorization_code: String,
    code_verifier: String,
}

pub(super) fn openai_device(
    status: StatusCode,
    body: &[u8],
    verification: &str,
) -> Result<Device, Refusal> {
    let body: OpenAiDeviceBody = good(status, body)?;
    checked(DeviceBody {
        device_code: body.device_auth_id,
        user_code: body.user_code,
        verification_uri: verification.to_owned(),
        verification_uri_complete: None,
        expires_in: body.expires_in,
        interval: body.interval,
    })
}

/// The code and its verifier, once the person has entered the code; until then the server refuses.
pub(super) fn openai_poll(
    status: StatusCode,
    body: &[u8],
) -> Result<Option<(Secret, Secret)>, Refusal> {
    if status == StatusCode::FORBIDDEN || status == StatusCode::NOT_FOUND {
        return Ok(None);
    }
    let body: OpenAiPollBody = good(status, body)?;
    Ok(Some((Secret::new(body.authorization_code), Secret::new(body.code_verifier))))
}

pub(super) fn poll(status: StatusCode, body: &[u8]) -> Result<Poll, Refusal> {
    if let Ok(error) = serde_json::from_slice::<ErrorBody>(body) {
        match error.code() {
            "authorization_pending" => return Ok(Poll::Pending),
            "slow_down" => {
                return Ok(Poll::SlowDown(error.interval.as_ref().and_then(seconds)));
            }
            _ => {}
        }
    }
    token(status, body).map(Poll::Granted)
}

pub(super) fn token(status: StatusCode, body: &[u8]) -> Result<GrantedTokens, Refusal> {
    let body: TokenBody = good(status, body)?;
    Ok(GrantedTokens {
        access: Secret::new(body.access_token),
        refresh: body.refresh_token.filter(|token| !token.is_empty()).map(Secret::new),
        life: body.expires_in.as_ref().and_then(seconds),
        identity: body.id_token.as_deref().and_then(identity).unwrap_or_default(),
    })
}

fn identity(token: &str) -> Option<Identity> {
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?.trim_end_matches('=')).ok()?;
    let claims: Value = serde_json::from_slice(&payload).ok()?;
    let text = |path: &str| claims.pointer(path).and_then(Value::as_str).map(shortened);
    let account = text("/email").or_else(|| text("/preferred_username"));
    Some(Identity {
        account: account.or_else(|| text("/name")),
        account_id: text("/https:~1~1api.openai.com~1auth/chatgpt_account_id"),
    })
}

/// The account that is signed in, under any of the names that servers use for it.
pub(super) fn account(status: StatusCode, body: &[u8]) -> Result<Option<String>, Refusal> {
    const NAMES: &[&str] = &["login", "preferred_username", "email", "name", "sub"];
    let body: Value = good(status, body)?;
    let named = NAMES.iter().find_map(|name| body.get(name)?.as_str());
    Ok(named.filter(|name| !name.is_empty()).map(shortened))
}

/// A short-lived token, and its lifetime.
pub(super) struct ExchangedToken {
    pub(super) token: Secret,
    pub(super) life: Option<Duration>,
}

#[derive(Deserialize)]
struct ExchangeBody {
    token: String,
    expires_at: Option<i64>,
    refresh_in: Option<Value>,
}

pub(super) fn exchanged(
    status: StatusCode,
    body: &[u8],
    now: Timestamp,
) -> Result<ExchangedToken, Refusal> {
    let body: ExchangeBody = good(status, body)?;
    let until = body.expires_at.map(|at| {
        let millis = at.saturating_mul(1000).saturating_sub(now.as_millis());
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    });
    // A lifetime is preferred over an end, because it does not depend on whose clock is right.
    let life = body.refresh_in.as_ref().and_then(seconds).or(until);
    Ok(ExchangedToken { token: Secret::new(body.token), life })
}

fn good<T: serde::de::DeserializeOwned>(status: StatusCode, body: &[u8]) -> Result<T, Refusal> {
    if let Ok(error) = serde_json::from_slice::<ErrorBody>(body) {
        let code = shortened(error.code());
        let words = match error.description().map(shortened) {
            Some(said) if !said.is_empty() => format!("{said} ({code})"),
            Some(_) | None => code.clone(),
        };
        return Err(if PASSING.contains(&code.as_str()) || is_passing(status) {
            Refusal::Passing(words)
        } else {
            Refusal::Final { status, code: Some(code), words }
        });
    }
    if !status.is_success() {
        let words = format!("it answers {}", status.as_u16());
        return Err(if is_passing(status) {
            Refusal::Passing(words)
        } else {
            Refusal::Final { status, code: None, words }
        });
    }
    serde_json::from_slice(body).map_err(|_| odd("its answer does not read"))
}

fn is_passing(status: StatusCode) -> bool {
    status.is_server_error()
        || status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::REQUEST_TIMEOUT
}

fn odd(words: &str) -> Refusal {
    Refusal::Final { status: StatusCode::OK, code: None, words: words.to_owned() }
}

/// Some servers write numbers as text.
fn seconds(value: &Value) -> Option<Duration> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    Duration::try_from_secs_f64(number).ok()
}

fn shortened(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(LONGEST_WORDS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn device_of(more: &Value) -> Result<Device, Refusal> {
        let mut body = json!({"device_code": "d", "user_code": "AB-12", "interval": 0,
            "verification_uri": "https://example.org/enter", "expires_in": "60"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        device(StatusCode::OK, body.to_string().as_bytes())
    }

    #[test]
    fn a_code_is_shown_only_where_a_person_can_enter_it_safely() {
        let good = device_of(&json!({"verification_uri_complete": "javascript:alert(1)"})).unwrap();
        assert_eq!(
            (good.life, good.interval, good.verification_uri_complete),
            (Duration::from_secs(60), SHORTEST_INTERVAL, None)
        );
        let usual = device_of(&json!({"interval": null, "expires_in": 1e9})).unwrap();
        assert_eq!((usual.life, usual.interval), (LONGEST_LIFE, USUAL_INTERVAL));
        for odd in [
            json!({"verification_uri": "javascript:alert(1)"}),
            json!({"verification_uri": "http://example.org/enter"}),
            json!({"user_code": ""}),
            json!({"user_code": "A\u{202e}B"}),
            json!({"user_code": "x".repeat(65)}),
            json!({"error": "unauthorized_client"}),
        ] {
            assert!(device_of(&odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn a_short_lived_token_says_how_long_it_is_good_in_either_way() {
        let now = Timestamp::from_millis(1_000_000);
        let life = |body: Value| {
            exchanged(StatusCode::OK, body.to_string().as_bytes(), now).ok().unwrap().life
        };
        assert_eq!(life(json!({"token": "t"})), None);
        let until = json!({"token": "t", "expires_at": 2500});
        assert_eq!(life(until), Some(Duration::from_secs(1500)));
        let past = json!({"token": "t", "expires_at": 1});
        assert_eq!(life(past), Some(Duration::ZERO));
        let both = json!({"token": "t", "expires_at": 1, "refresh_in": 1500});
        assert_eq!(life(both), Some(Duration::from_secs(1500)));
    }

    #[test]
    fn trouble_that_passes_is_told_from_a_refusal() {
        let of = |status: u16, body: &str| {
            let status = StatusCode::from_u16(status).unwrap();
            matches!(token(status, body.as_bytes()).err().unwrap(), Refusal::Passing(_))
        };
        assert!(of(503, "<html>") && of(429, "{}") && of(500, r#"{"error":"server_error"}"#));
        assert!(of(400, r#"{"error":"temporarily_unavailable"}"#));
        assert!(!of(200, r#"{"error":"invalid_grant"}"#) && !of(404, "") && !of(200, "<html>"));
    }
}
