//! An MCP server with the tools, resources and prompts that the protocol's conformance suite asks
//! for. It uses the same protocol code as `/mcp`; `scripts/mcp-conformance` runs the suite against
//! it. Its argument is the address to listen at.

mod asking;
mod content;

use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use onyx_api::{check_local, mcp_response};
use onyx_mcp::serving::{
    Change, Endpoint, EndpointKeys, Exchange, Headers, Offer, Refusal, Service, Stop,
};
use onyx_storage::LocalShortLived;
use onyx_types::{PersonId, SystemClock};
use serde_json::{Value, json};

struct Fixture {
    endpoint: Arc<Endpoint>,
}

#[async_trait]
impl Service for Fixture {
    fn offer(&self) -> Offer {
        let capabilities = json!({
            "tools": {"listChanged": true},
            "prompts": {"listChanged": true},
            "resources": {"subscribe": true, "listChanged": true},
            "logging": {},
            "completions": {},
        });
        Offer {
            info: json!({"name": "onyx-fixture", "version": env!("CARGO_PKG_VERSION")}),
            instructions: "For the conformance suite.".to_owned(),
            capabilities: capabilities.as_object().cloned().unwrap_or_default(),
        }
    }

    async fn answer(
        &self,
        method: &str,
        params: &Value,
        exchange: &Exchange,
    ) -> Result<Value, Stop> {
        match method {
            "tools/list" => Ok(json!({"tools": content::tools()})),
            "tools/call" => self.call(params, exchange).await,
            "resources/list" => Ok(json!({"resources": content::resources()})),
            "resources/templates/list" => {
                Ok(json!({"resourceTemplates": content::resource_templates()}))
            }
            "resources/read" => content::resource(&params["uri"]),
            "resources/subscribe" | "resources/unsubscribe" => Ok(json!({})),
            "prompts/list" => Ok(json!({"prompts": content::prompts()})),
            "prompts/get" => match params["name"].as_str() {
                Some("test_input_required_result_prompt") => asking::prompt(exchange).await,
                _ => content::prompt(params),
            },
            "completion/complete" => {
                Ok(json!({"completion": {"values": [], "total": 0, "hasMore": false}}))
            }
            _ => Err(Refusal::no_method(method).into()),
        }
    }
}

impl Fixture {
    async fn call(&self, params: &Value, exchange: &Exchange) -> Result<Value, Stop> {
        let name = params["name"].as_str().unwrap_or_default();
        match name {
            "test_trigger_tool_change" => self.endpoint.changed(Change::Tools),
            "test_trigger_prompt_change" => self.endpoint.changed(Change::Prompts),
            _ => {}
        }
        match content::result(name, params) {
            Some(result) => Ok(result),
            None => asking::call(name, params, exchange).await,
        }
    }
}

async fn serve(
    State(endpoint): State<Arc<Endpoint>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if let Err(problem) = check_local(&uri, &headers) {
        return problem.into_response();
    }
    let known = Headers::read(|name| headers.get(name).and_then(|value| value.to_str().ok()));
    let fixture = Fixture { endpoint: Arc::clone(&endpoint) };
    let Ok(anybody) = "anybody".parse::<PersonId>() else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let answer = match method {
        Method::POST => endpoint.post(Arc::new(fixture), &anybody, &known, &body).await,
        Method::GET => endpoint.listen(&fixture.offer(), &anybody, &known).await,
        Method::DELETE => endpoint.end(&anybody, &known).await,
        _ => return StatusCode::METHOD_NOT_ALLOWED.into_response(),
    };
    mcp_response(answer)
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_default();
    let address: SocketAddr = address.parse().map_err(std::io::Error::other)?;
    // A fixed key is enough, because this server seals nothing secret.
    let keys = EndpointKeys { sealing: [7; 32], naming: [8; 32] };
    let kept = Arc::new(LocalShortLived::new(Arc::new(SystemClock::new())));
    let endpoint = Arc::new(Endpoint::new(keys, kept));
    let app = Router::new().route("/mcp", any(serve)).with_state(endpoint);
    axum::serve(tokio::net::TcpListener::bind(address).await?, app).await
}
