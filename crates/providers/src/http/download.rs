//! Downloads a large file from the address that a person gave. No key is sent with the request.

use bytes::Bytes;
use onyx_types::{ErrorCode, Fault};
use reqwest::header::{CONTENT_RANGE, HeaderValue, RANGE};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Response, StatusCode, Url};
use std::time::Duration;

/// The connection is given up if no byte comes for longer than this.
const IDLE: Duration = Duration::from_secs(30);

/// Model hubs redirect to their file store, and the store to a server near the person.
const MAX_REDIRECTS: usize = 5;

/// A download under way.
#[derive(Debug)]
pub struct Download {
    response: Response,
    /// The position of the first received byte in the file; 0 if the server sends the file from its
    /// beginning.
    pub start: u64,
    /// The length of the whole file, if the server reports it.
    pub total: Option<u64>,
}

impl Download {
    /// Requests a file, starting at byte `from`.
    pub async fn open(url: &str, from: u64) -> Result<Self, Fault> {
        let address = Url::parse(url).map_err(|error| {
            Fault::new(
                ErrorCode::InvalidRequest,
                format!("`{url}` is not a valid address: {error}"),
            )
        })?;
        let client = client().map_err(|error| unreachable(&error))?;
        let mut request = client.get(address);
        if from > 0 {
            request = request.header(RANGE, format!("bytes={from}-"));
        }
        let response = request.send().await.map_err(|error| unreachable(&error))?;
        let status = response.status();
        if !status.is_success() {
            let message = format!("{url} answers {status}");
            return Err(Fault::new(code(status), message)
                .with_hint("Check the address; some files need an account there."));
        }
        let length = response.content_length();
        let start = if status == StatusCode::PARTIAL_CONTENT { from } else { 0 };
        let total = match response.headers().get(CONTENT_RANGE) {
            Some(range) => whole_length(range),
            None => length.map(|length| start + length),
        };
        Ok(Self { response, start, total })
    }

    /// The next bytes; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        self.response.chunk().await.map_err(|error| unreachable(&error))
    }
}

/// `bytes 100-199/200`
fn whole_length(range: &HeaderValue) -> Option<u64> {
    range.to_str().ok()?.rsplit_once('/')?.1.parse().ok()
}

fn code(status: StatusCode) -> ErrorCode {
    match status.as_u16() {
        404 | 410 => ErrorCode::NotFound,
        401 | 403 => ErrorCode::ProviderAuth,
        416 => ErrorCode::InvalidRequest,
        _ => ErrorCode::ProviderUnavailable,
    }
}

fn unreachable(error: &reqwest::Error) -> Fault {
    // The error's own text only names the address; its cause says why.
    let mut why = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(deeper) = cause {
        why = format!("{why}: {deeper}");
        cause = deeper.source();
    }
    Fault::new(ErrorCode::ProviderUnavailable, why)
        .with_hint("Check the network and try again: the download continues where it stopped.")
}

#[allow(clippy::disallowed_methods, reason = "the one client that follows redirects, without keys")]
fn client() -> Result<Client, reqwest::Error> {
    Client::builder()
        .user_agent(HeaderValue::from_static(concat!("onyx/", env!("CARGO_PKG_VERSION"))))
        .connect_timeout(Duration::from_secs(10))
        .read_timeout(IDLE)
        .redirect(Policy::custom(follow))
        .build()
}

fn follow(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let from_secure = attempt.previous().last().is_some_and(|before| before.scheme() == "https");
    if attempt.previous().len() > MAX_REDIRECTS {
        attempt.error("too many redirects")
    } else if from_secure && attempt.url().scheme() != "https" {
        attempt.error("it sends from https to an address without")
    } else {
        attempt.follow()
    }
}
