//! Transcribes with a server that offers OpenAI's `/audio/transcriptions` API.

use onyx_egress::Egress;
use serde::Deserialize;

use super::PATIENCE;
use crate::connector::NetworkError;
use crate::networks::form::Form;
use crate::networks::http::Http;
use crate::settings::TranscriberServer;

pub(crate) struct ServerTranscriber {
    http: Http,
    settings: TranscriberServer,
}

#[derive(Deserialize)]
struct Transcript {
    text: String,
}

impl ServerTranscriber {
    pub(super) fn new(settings: TranscriberServer, egress: &Egress) -> Result<Self, String> {
        let http = Http::new(egress, &settings.url, &settings.api_key)
            .map_err(|_| "connectors.transcriber.url: it is not a valid address".to_owned())?;
        Ok(Self { http, settings })
    }

    pub(super) async fn words(&self, name: &str, audio: &[u8]) -> Result<String, NetworkError> {
        let mut headers = Vec::new();
        if !self.settings.api_key.is_empty() {
            headers.push(("authorization", format!("Bearer {}", self.settings.api_key.reveal())));
        }
        let form = Form::new().field("model", &self.settings.model);
        let (kind, body) = form.file("file", name, "application/octet-stream", audio).finish();
        let answer = self.http.post_as(&kind, "", &headers, body, PATIENCE).await?;
        if answer.status != 200 {
            return Err(NetworkError::Refused(format!("it answered {}", answer.status)));
        }
        let read: Result<Transcript, _> = serde_json::from_slice(&answer.body);
        read.map(|transcript| transcript.text.trim().to_owned())
            .map_err(|error| NetworkError::Refused(error.to_string()))
    }
}
