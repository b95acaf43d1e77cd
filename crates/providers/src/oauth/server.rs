//! The authorization server: each request is bound to an address of the config.

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, RequestBuilder, StatusCode, Url};

use super::answer::Refusal;
use super::plan::Plan;
use crate::Secret;
use crate::http::{LazyClient, transport};

const PATIENCE: Duration = Duration::from_secs(20);
const CONNECT: Duration = Duration::from_secs(10);
/// Far more than tokens take.
const MAX_BYTES: usize = 64 * 1024;

const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

#[derive(Debug)]
pub(super) struct Server {
    device: Place,
    token: Place,
    account: Option<Place>,
    exchange: Option<Place>,
    client_id: String,
    scopes: String,
}

#[derive(Debug)]
struct Place {
    url: Url,
    client: LazyClient,
}

type Answered = Result<(StatusCode, Vec<u8>), Refusal>;

impl Server {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            device: Place::of(&plan.device),
            token: Place::of(&plan.token),
            account: plan.account.as_ref().map(Place::of),
            exchange: plan.exchange.as_ref().map(Place::of),
            client_id: plan.client_id.clone(),
            scopes: plan.scopes.clone(),
        }
    }

    pub(super) fn exchanges(&self) -> bool {
        self.exchange.is_some()
    }

    pub(super) async fn device(&self) -> Answered {
        let mut fields = vec![("client_id", self.client_id.as_str())];
        if !self.scopes.is_empty() {
            fields.push(("scope", &self.scopes));
        }
        self.device.post(&fields).await
    }

    pub(super) async fn poll(&self, code: &Secret) -> Answered {
        let fields = [
            ("grant_type", DEVICE_GRANT),
            ("device_code", code.reveal()),
            ("client_id", &self.client_id),
        ];
        self.token.post(&fields).await
    }

    pub(super) async fn refresh(&self, token: &Secret) -> Answered {
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", token.reveal()),
            ("client_id", &self.client_id),
        ];
        self.token.post(&fields).await
    }

    /// `None` where no address tells.
    pub(super) async fn account(&self, access: &Secret) -> Option<Answered> {
        let place = self.account.as_ref()?;
        Some(place.get(&format!("Bearer {}", access.reveal())).await)
    }

    pub(super) async fn exchange(&self, access: &Secret) -> Option<Answered> {
        let place = self.exchange.as_ref()?;
        // GitHub's own word for it; its other addresses take both, this one is only seen with it.
        Some(place.get(&format!("token {}", access.reveal())).await)
    }
}

impl Place {
    fn of(url: &Url) -> Self {
        Self { url: url.clone(), client: LazyClient::default() }
    }

    async fn post(&self, fields: &[(&str, &str)]) -> Answered {
        let mut form = Url::parse("form:fields").map_err(|error| passing(&error))?;
        form.query_pairs_mut().extend_pairs(fields);
        let body = form.query().unwrap_or_default().to_owned();
        let request = self.request(Method::POST)?;
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        answered(request.body(body)).await
    }

    async fn get(&self, authorization: &str) -> Answered {
        let mut value = HeaderValue::from_str(authorization).map_err(|error| passing(&error))?;
        value.set_sensitive(true);
        answered(self.request(Method::GET)?.header(AUTHORIZATION, value)).await
    }

    fn request(&self, method: Method) -> Result<RequestBuilder, Refusal> {
        let client = self.client.get(&self.url, CONNECT);
        let client = client.map_err(|failure| Refusal::Passing(failure.message))?;
        Ok(client.request(method, self.url.clone()).header(ACCEPT, "application/json"))
    }
}

async fn answered(request: RequestBuilder) -> Answered {
    let whole = async {
        let mut response = request.send().await.map_err(lost)?;
        let status = response.status();
        let mut body = Vec::new();
        while let Some(bytes) = response.chunk().await.map_err(lost)? {
            if body.len() + bytes.len() > MAX_BYTES {
                let words = format!("its answer is longer than {MAX_BYTES} bytes");
                return Err(Refusal::Passing(words));
            }
            body.extend_from_slice(&bytes);
        }
        Ok((status, body))
    };
    let words = || format!("no whole answer within {} s", PATIENCE.as_secs());
    tokio::time::timeout(PATIENCE, whole).await.unwrap_or_else(|_| Err(Refusal::Passing(words())))
}

fn lost(error: reqwest::Error) -> Refusal {
    Refusal::Passing(transport(error).message)
}

fn passing(error: &dyn std::error::Error) -> Refusal {
    Refusal::Passing(error.to_string())
}
