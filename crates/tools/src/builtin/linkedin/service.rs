//! Sends requests to LinkedIn and reads its answers. A request that may have been carried out is
//! never sent again, because a second copy of a post could not be undone before others see it.

use std::borrow::Cow;
use std::time::Duration;

use onyx_egress::{Bounds, Egress, EgressError, Method, PrivateHost};
use onyx_types::{Clock, PersonId};
use serde::Deserialize;
use serde_json::Value;

use super::{AccountCheck, LinkedIn, LinkedInApi};
use crate::ToolError;
use crate::ports::NoToken;
use crate::text::one_line;

/// Redirects are not followed, because they could take the token to a server that the owner did not
/// name.
const BOUNDS: Bounds = Bounds {
    connect: Duration::from_secs(10),
    total: Duration::from_secs(10),
    redirects: 0,
    bytes: 256 * 1024,
};
const TRIES: u32 = 4;
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait between two tries of one call.
const LONGEST_WAIT: Duration = Duration::from_secs(8);
const LONGEST_ID: usize = 200;

pub(super) struct Service<'a> {
    linkedin: &'a LinkedIn,
    place: LinkedInApi,
    egress: Egress,
    person: &'a PersonId,
    clock: &'a dyn Clock,
}

pub(super) struct Request<'a> {
    pub(super) method: Method,
    pub(super) path: Cow<'a, str>,
    pub(super) body: Option<Value>,
}

pub(super) struct LinkedInReply {
    status: u16,
    /// The id of the new post or comment, from LinkedIn's header.
    id: String,
    retry_after: Option<Duration>,
    body: Vec<u8>,
}

/// What to do with a request after its answer, or after no answer.
enum RequestOutcome {
    Done,
    /// LinkedIn refused the token.
    TokenRefused,
    /// The request was not carried out and may be sent again.
    Again {
        after: Option<Duration>,
        words: String,
    },
    /// The request may have been carried out.
    Doubt(String),
    Failed(String),
}

/// The account's owner, in the form of OpenID.
#[derive(Debug, Deserialize)]
pub(super) struct Profile {
    sub: String,
    name: Option<String>,
    email: Option<String>,
}

impl Profile {
    pub(super) fn name(&self) -> String {
        let named = [&self.name, &self.email].into_iter().flatten().find(|text| !text.is_empty());
        named.map_or_else(|| self.sub.clone(), |name| one_line(name))
    }

    pub(super) fn email(&self) -> Option<String> {
        self.email.as_deref().filter(|email| !email.is_empty()).map(one_line)
    }

    /// The URN by which LinkedIn names the author of a post.
    pub(super) fn urn(&self) -> String {
        format!("urn:li:person:{}", self.sub)
    }
}

impl<'a> Service<'a> {
    pub(super) fn new(
        linkedin: &'a LinkedIn,
        place: LinkedInApi,
        person: &'a PersonId,
        clock: &'a dyn Clock,
    ) -> Self {
        let egress = linkedin.web.egress();
        let egress = egress.reaching(vec![PrivateHost::of(&place.base)]).within(BOUNDS);
        Self { linkedin, place, egress, person, clock }
    }

    pub(super) async fn profile(&self) -> Result<Profile, ToolError> {
        let request = Request { method: Method::GET, path: "v2/userinfo".into(), body: None };
        let answer = self.ask(&request).await?;
        let profile = serde_json::from_slice::<Profile>(&answer.body).ok();
        let is_known = |profile: &Profile| {
            let sub = profile.sub.as_bytes();
            (1..=64).contains(&sub.len())
                && sub.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte))
        };
        profile
            .filter(is_known)
            .ok_or_else(|| self.failed(ToolError::Heard("LinkedIn's answer cannot be read".into())))
    }

    /// Sends the request until it is carried out, refused for good, or in doubt.
    pub(super) async fn ask(&self, request: &Request<'_>) -> Result<LinkedInReply, ToolError> {
        let mut refused: Option<String> = None;
        let (mut tries, mut usual_wait) = (0, FIRST_WAIT);
        loop {
            tries += 1;
            let token = self.linkedin.accounts.token(self.person, refused.as_deref()).await;
            let token = token.map_err(|none| {
                let (NoToken::SignIn(why) | NoToken::Passing(why)) = none;
                self.failed(ToolError::Failed(why))
            })?;
            let answer = self.send(request, &token).await;
            match self.outcome_of(request, &answer) {
                RequestOutcome::Done => {
                    let checked =
                        AccountCheck { validated_at: Some(self.clock.wall()), error: None };
                    self.linkedin.checks().insert(self.person.clone(), checked);
                    return answer.map_err(|error| ToolError::Failed(error.to_string()));
                }
                RequestOutcome::TokenRefused if refused.is_none() => refused = Some(token),
                RequestOutcome::TokenRefused => {
                    let why = "LinkedIn refuses the sign-in (401), although it was just renewed; \
                               connect again in Settings → You → LinkedIn";
                    return Err(self.failed(ToolError::Failed(why.into())));
                }
                RequestOutcome::Again { after, words } => {
                    let wait = after.unwrap_or(usual_wait);
                    if tries >= TRIES || wait > LONGEST_WAIT {
                        return Err(self.failed(gave_up(&words, tries, after)));
                    }
                    self.clock.sleep(wait).await;
                    usual_wait = usual_wait.saturating_mul(2);
                }
                RequestOutcome::Doubt(words) => return Err(self.failed(ToolError::InDoubt(words))),
                RequestOutcome::Failed(words) => return Err(self.failed(ToolError::Heard(words))),
            }
        }
    }

    async fn send(&self, request: &Request<'_>, token: &str) -> Result<LinkedInReply, EgressError> {
        let to = self.place.base.join(&request.path);
        let to = to.map_err(|error| EgressError::Address(error.to_string()))?;
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut headers = vec![
            header("authorization", &format!("Bearer {token}")),
            header("accept", "application/json"),
            header("linkedin-version", &self.place.version),
            header("x-restli-protocol-version", "2.0.0"),
        ];
        let body = request.body.as_ref().map(|body| body.to_string().into_bytes());
        headers.extend(body.as_ref().map(|_| header("content-type", "application/json")));
        let method = request.method.clone();
        let answering = self.egress.send(method, &to, &headers, body.unwrap_or_default()).await?;
        let status = answering.status();
        let id = answering.header("x-restli-id").to_owned();
        let retry_after = answering.header("retry-after").trim().parse().ok();
        let retry_after = retry_after.map(Duration::from_secs);
        Ok(LinkedInReply { status, id, retry_after, body: answering.rest().await? })
    }

    fn outcome_of(
        &self,
        request: &Request<'_>,
        answer: &Result<LinkedInReply, EgressError>,
    ) -> RequestOutcome {
        let is_safe = request.method == Method::GET;
        // The request was sent, but its outcome is unknown. Only a request that reads may be
        // repeated.
        let open = |words: String| {
            if is_safe {
                RequestOutcome::Again { after: None, words }
            } else {
                RequestOutcome::Doubt(format!("LinkedIn did not say whether it was done: {words}"))
            }
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(error @ (EgressError::Unreachable { .. } | EgressError::UnknownName(_))) => {
                return RequestOutcome::Again { after: None, words: error.to_string() };
            }
            Err(
                error @ (EgressError::Timeout(_)
                | EgressError::BadAnswer { .. }
                | EgressError::TooLarge(_)),
            ) => return open(error.to_string()),
            Err(
                error @ (EgressError::Address(_)
                | EgressError::NotPublic { .. }
                | EgressError::TooManyRedirects(_)
                | EgressError::Client(_)),
            ) => return RequestOutcome::Failed(error.to_string()),
        };
        let reason = reason_of(&answer.body);
        match answer.status {
            200..=299 => RequestOutcome::Done,
            401 => RequestOutcome::TokenRefused,
            403 => RequestOutcome::Failed(format!(
                "LinkedIn does not allow this (403){reason}. Your application there needs the \
                 products \"Share on LinkedIn\" and \"Sign In with LinkedIn using OpenID Connect\"; \
                 after adding one, connect again in Settings → You → LinkedIn"
            )),
            404 => RequestOutcome::Failed(format!("LinkedIn found nothing there (404){reason}")),
            426 => RequestOutcome::Failed(format!(
                "LinkedIn no longer answers the interface of {} (426){reason}; the owner sets a newer \
                 month as tools.linkedin.apiVersion",
                self.place.version
            )),
            429 => RequestOutcome::Again {
                after: answer.retry_after,
                words: format!("LinkedIn got too many requests (429){reason}"),
            },
            503 => RequestOutcome::Again {
                after: answer.retry_after,
                words: format!("LinkedIn is not available (503){reason}"),
            },
            status @ 500..=599 => open(format!("it answers {status}{reason}")),
            status => RequestOutcome::Failed(format!("LinkedIn answers {status}{reason}")),
        }
    }

    /// Notes the error, so that the health of the account shows it.
    fn failed(&self, error: ToolError) -> ToolError {
        let mut checks = self.linkedin.checks();
        checks.entry(self.person.clone()).or_default().error = Some(error.to_string());
        error
    }
}

impl LinkedInReply {
    /// The URN of what was created; `None` if LinkedIn gives none that can be shown.
    pub(super) fn made(&self) -> Option<String> {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let fields = ["commentUrn", "id"].iter().filter_map(|name| body[*name].as_str());
        let is_urn = |id: &&str| {
            id.starts_with("urn:li:")
                && id.len() <= LONGEST_ID
                && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":_-(),".contains(&byte))
        };
        fields.chain([self.id.as_str()]).find(is_urn).map(str::to_owned)
    }
}

fn gave_up(words: &str, tries: u32, after: Option<Duration>) -> ToolError {
    let until = after.map(|after| format!("; it asks to wait {} s", after.as_secs()));
    let tries = if tries > 1 { format!(", {tries} times") } else { String::new() };
    ToolError::Heard(format!("{words}{tries}{}", until.unwrap_or_default()))
}

/// LinkedIn's message about an error, shortened to a line.
fn reason_of(body: &[u8]) -> String {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    match value["message"].as_str() {
        Some(message) => {
            format!(": {}", one_line(&message.chars().take(200).collect::<String>()))
        }
        None => String::new(),
    }
}
