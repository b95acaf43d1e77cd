//! Turns recordings into words, by a server that speaks as OpenAI's `/audio/transcriptions` does:
//! somebody's, or one that runs here.

use std::time::Duration;

use onyx_egress::Egress;
use serde::Deserialize;

use super::http::Http;
use crate::connector::NetworkError;
use crate::settings::TranscriberPlan;

/// Long recordings take their time.
const PATIENCE: Duration = Duration::from_secs(120);
const BOUNDARY: &str = "onyx-4f9a1c7be2d04c55";

pub(crate) struct Transcriber {
    http: Http,
    plan: TranscriberPlan,
}

#[derive(Deserialize)]
struct Transcript {
    text: String,
}

impl Transcriber {
    pub(crate) fn new(plan: TranscriberPlan, egress: &Egress) -> Result<Self, String> {
        let http = Http::new(egress, &plan.url, &plan.api_key)
            .map_err(|_| "connectors.transcriber.url: it is no address".to_owned())?;
        Ok(Self { http, plan })
    }

    pub(crate) async fn words(&self, name: &str, audio: &[u8]) -> Result<String, NetworkError> {
        let mut headers = Vec::new();
        if !self.plan.api_key.is_empty() {
            headers.push(("authorization", format!("Bearer {}", self.plan.api_key.reveal())));
        }
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        let body = self.form(name, audio);
        let answer = self.http.post_as(&kind, "", &headers, body, PATIENCE).await?;
        if answer.status != 200 {
            return Err(NetworkError::Refused(format!("it answered {}", answer.status)));
        }
        let read: Result<Transcript, _> = serde_json::from_slice(&answer.body);
        read.map(|transcript| transcript.text.trim().to_owned())
            .map_err(|error| NetworkError::Refused(error.to_string()))
    }

    fn form(&self, name: &str, audio: &[u8]) -> Vec<u8> {
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || ".-_".contains(*c);
        let name: String = name.chars().filter(is_plain).collect();
        let mut body = format!(
            "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"model\"\r\n\r\n{}\r\n\
             --{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
             content-type: application/octet-stream\r\n\r\n",
            self.plan.model
        )
        .into_bytes();
        body.extend_from_slice(audio);
        body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
        body
    }
}
