//! Sends requests to menos and reads its answers. Nothing in them is trusted, because texts in its
//! vault may come from anywhere.

use std::time::Duration;

use onyx_egress::{Address, Bounds, Egress, Method, PrivateHost};
use onyx_types::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::signing::{SignedParts, SigningKey};
use crate::ToolError;
use crate::text::one_line;
use crate::web::Web;

/// menos may take long, because it fetches pages and makes embeddings. Redirects are not followed,
/// because they could take the texts to a server that the owner did not name.
const BOUNDS: Bounds = Bounds {
    connect: Duration::from_secs(10),
    total: Duration::from_secs(60),
    redirects: 0,
    bytes: 1024 * 1024,
};

/// The boundary between the parts of a form. It does not occur in texts by chance.
const BOUNDARY: &str = "onyx-form-7d1c5f0e9a4b4c1f";

pub(super) struct Service {
    base: Address,
    key: SigningKey,
    egress: Egress,
    /// The time of the request. menos refuses old requests.
    now: Timestamp,
}

const JSON: &str = "application/json";

struct MenosReply {
    status: u16,
    body: Vec<u8>,
}

/// A text of the vault that matches.
#[derive(Debug, Deserialize)]
pub(super) struct Hit {
    pub(super) id: String,
    #[serde(default)]
    pub(super) content_type: String,
    #[serde(default)]
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) snippet: Option<String>,
}

#[derive(Deserialize)]
struct Hits {
    results: Vec<Hit>,
}

/// A text that was added to the vault.
#[derive(Debug, Deserialize)]
pub(super) struct IngestedText {
    #[serde(alias = "content_id")]
    pub(super) id: String,
    #[serde(default)]
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) job_id: Option<String>,
}

/// A text for the vault.
pub(super) struct Text<'a> {
    pub(super) title: &'a str,
    pub(super) text: &'a str,
    pub(super) tags: &'a [String],
}

impl Service {
    pub(super) fn new(base: Address, key: SigningKey, web: &Web, now: Timestamp) -> Self {
        let egress = web.egress().reaching(vec![PrivateHost::of(&base)]).within(BOUNDS);
        Self { base, key, egress, now }
    }

    pub(super) async fn search(
        &self,
        query: &str,
        tags: &[String],
        limit: usize,
    ) -> Result<Vec<Hit>, ToolError> {
        let mut body = json!({"query": query, "limit": limit});
        if !tags.is_empty() {
            body["tags"] = json!(tags);
        }
        let mut answer =
            self.post(&self.at("api/v1/search")?, JSON, body.to_string().into()).await?;
        // The first versions of menos do not have this route and search with another one.
        if matches!(answer.status, 404 | 405) {
            let limit = limit.to_string();
            let address = self.at("api/v1/content/search")?;
            let address = address.asking(&[("q", query), ("limit", &limit)]);
            answer = self.ask(Method::GET, &address, None, Vec::new()).await?;
        }
        let hits = self.read::<Hits>(&answer)?;
        Ok(hits.results)
    }

    /// Lets menos fetch an address.
    pub(super) async fn ingest_address(
        &self,
        address: &Address,
        tags: &[String],
    ) -> Result<IngestedText, ToolError> {
        let to = asking_tags(self.at("api/v1/ingest")?, tags);
        let body = json!({"url": address.as_str()}).to_string();
        let answer = self.post(&to, JSON, body.into()).await?;
        self.read(&answer)
    }

    /// Adds a text to the vault as a markdown file.
    pub(super) async fn ingest_text(&self, text: &Text<'_>) -> Result<IngestedText, ToolError> {
        let to = self.at("api/v1/content")?;
        let to = to.asking(&[("content_type", "markdown"), ("title", text.title)]);
        let to = asking_tags(to, text.tags);
        let form = format!("multipart/form-data; boundary={BOUNDARY}");
        let answer = self.post(&to, &form, file_form(text)).await?;
        self.read(&answer)
    }

    fn at(&self, path: &str) -> Result<Address, ToolError> {
        self.base.join(path).map_err(|error| ToolError::Failed(error.to_string()))
    }

    async fn post(
        &self,
        to: &Address,
        content_type: &str,
        body: Vec<u8>,
    ) -> Result<MenosReply, ToolError> {
        self.ask(Method::POST, to, Some(content_type), body).await
    }

    async fn ask(
        &self,
        method: Method,
        to: &Address,
        content_type: Option<&str>,
        body: Vec<u8>,
    ) -> Result<MenosReply, ToolError> {
        let (authority, path) = authority_and_path(to.as_str());
        let created = u64::try_from(self.now.as_millis() / 1_000).unwrap_or_default();
        let signed = SignedParts { method: method.as_str(), path, authority, body: &body, created };
        let mut headers = self.key.headers(&signed);
        headers.extend(content_type.map(|kind| ("content-type".to_owned(), kind.to_owned())));
        let failed = |error| ToolError::Failed(format!("menos does not answer: {error}"));
        let answering = self.egress.send(method, to, &headers, body).await.map_err(failed)?;
        let status = answering.status();
        Ok(MenosReply { status, body: answering.rest().await.map_err(failed)? })
    }

    fn read<T: for<'a> Deserialize<'a>>(&self, answer: &MenosReply) -> Result<T, ToolError> {
        let failed = |why: String| Err(ToolError::Failed(why));
        let reason = reason_of(&answer.body);
        match answer.status {
            200..=299 => {}
            401 | 403 => {
                return failed(format!(
                    "menos refuses the key {}{reason}; its public half belongs into menos's \
                     authorized_keys",
                    self.key.id()
                ));
            }
            404 | 405 => {
                return failed(format!(
                    "there is no menos at {} (it answers {}); check tools.menos.baseUrl",
                    self.base, answer.status
                ));
            }
            status => return failed(format!("menos answers {status}{reason}")),
        }
        serde_json::from_slice(&answer.body)
            .or_else(|_| failed("menos's answer cannot be read".to_owned()))
    }
}

/// The server's message about an error, shortened to a line.
fn reason_of(body: &[u8]) -> String {
    let value: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let detail = value.get("detail").or_else(|| value.get("error"));
    match detail.and_then(|detail| detail.as_str()) {
        Some(detail) => {
            format!(" ({})", one_line(&detail.chars().take(200).collect::<String>()))
        }
        None => String::new(),
    }
}

fn asking_tags(address: Address, tags: &[String]) -> Address {
    let pairs: Vec<(&str, &str)> = tags.iter().map(|tag| ("tags", tag.as_str())).collect();
    if pairs.is_empty() { address } else { address.asking(&pairs) }
}

/// The host as the request names it, and the path without its query.
fn authority_and_path(address: &str) -> (&str, &str) {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    (authority, path.split('?').next().unwrap_or(path))
}

fn file_form(text: &Text<'_>) -> Vec<u8> {
    let name: String =
        text.title.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    let head = format!(
        "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}.md\"\r\n\
         content-type: text/markdown; charset=utf-8\r\n\r\n"
    );
    format!("{head}{}\r\n--{BOUNDARY}--\r\n", text.text).into_bytes()
}
