//! An application of Microsoft Entra: its id and secret are exchanged for a token for Azure's
//! models.

use std::time::Duration;

use reqwest::Url;

use super::{MachineToken, TokenFailure, trouble};
use crate::Secret;
use crate::oauth::answer;
use crate::oauth::endpoint::Endpoint;

/// The scope that covers Azure's models.
const SCOPE: &str = "https://cognitiveservices.azure.com/.default";
const USUAL_LIFE: Duration = Duration::from_secs(3600);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Azure {
    pub(super) token: Url,
    pub(super) client_id: String,
    pub(super) secret: Secret,
}

impl Azure {
    pub(super) async fn granted(&self) -> Result<MachineToken, TokenFailure> {
        let fields = [
            ("grant_type", "client_credentials"),
            ("client_id", &self.client_id),
            ("client_secret", self.secret.reveal()),
            ("scope", SCOPE),
        ];
        let answered = Endpoint::of(&self.token).post(&fields).await;
        let granted = answered.and_then(|(status, body)| answer::token(status, &body));
        let granted = granted.map_err(trouble)?;
        Ok(MachineToken {
            token: granted.access,
            life: granted.life.unwrap_or(USUAL_LIFE),
            account: Some(self.account()),
            quota_project: None,
        })
    }

    pub(super) fn account(&self) -> String {
        format!("application {}", self.client_id)
    }
}
