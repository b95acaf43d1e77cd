//! One address of an authorization server: sends requests there and reads the answers, within
//! bounds.

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, StatusCode, Url};
use serde_json::Value;

use super::answer::Refusal;
use crate::Secret;
use crate::connect::{LazyClient, transport};

const PATIENCE: Duration = Duration::from_secs(20);
const CONNECT: Duration = Duration::from_secs(10);
/// Far more bytes than an answer with tokens has.
const MAX_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Endpoint {
    url: Url,
    client: LazyClient,
}

pub(super) type EndpointAnswer = Result<(StatusCode, Vec<u8>), Refusal>;

impl Endpoint {
    pub(super) fn of(url: &Url) -> Self {
        Self { url: url.clone(), client: LazyClient::default() }
    }

    pub(super) async fn post(&self, fields: &[(&str, &str)]) -> EndpointAnswer {
        let mut form = Url::parse("form:fields").map_err(|error| passing(&error))?;
        form.query_pairs_mut().extend_pairs(fields);
        let body = form.query().unwrap_or_default().to_owned();
        let request = self.request(Method::POST)?;
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        answered(request.body(body)).await
    }

    pub(super) async fn get(&self, authorization: &str) -> EndpointAnswer {
        let mut value = HeaderValue::from_str(authorization).map_err(|error| passing(&error))?;
        value.set_sensitive(true);
        answered(self.request(Method::GET)?.header(AUTHORIZATION, value)).await
    }

    pub(super) async fn post_json(&self, body: &Value) -> EndpointAnswer {
        let request = self.request(Method::POST)?.header(CONTENT_TYPE, "application/json");
        answered(request.body(body.to_string())).await
    }

    /// GET with a token in the header that this server expects.
    pub(super) async fn get_showing(&self, name: &'static str, token: &Secret) -> EndpointAnswer {
        let mut value = HeaderValue::from_str(token.reveal()).map_err(|error| passing(&error))?;
        value.set_sensitive(true);
        answered(self.request(Method::GET)?.header(HeaderName::from_static(name), value)).await
    }

    /// GET without a token, for servers that recognise the caller in another way.
    pub(super) async fn get_with(
        &self,
        headers: &[(&'static str, &'static str)],
    ) -> EndpointAnswer {
        let mut request = self.request(Method::GET)?;
        for &(name, value) in headers {
            request =
                request.header(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        answered(request).await
    }

    fn request(&self, method: Method) -> Result<RequestBuilder, Refusal> {
        let client = self.client.get(&self.url, CONNECT);
        let client = client.map_err(|failure| Refusal::Passing(failure.message))?;
        Ok(client.request(method, self.url.clone()).header(ACCEPT, "application/json"))
    }
}

async fn answered(request: RequestBuilder) -> EndpointAnswer {
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
