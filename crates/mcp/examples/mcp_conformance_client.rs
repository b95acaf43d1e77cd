//! Runs the gateway's client through the scenarios of the protocol's conformance suite, for
//! `scripts/mcp-conformance`. The last argument is the address of the scenario's server; the suite
//! passes everything else in the environment.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use onyx_egress::{Address, Bounds, Egress, Method, PrivateHost, SystemResolver};
use onyx_mcp::oauth::{Callback, Consent, OauthSettings, SignIn, SignInSetup, TokenKeeper};
use onyx_mcp::{Client, ClientSetup, Elicitations, McpError, Opening, ToolPin};
use onyx_types::{Fault, SystemClock};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(20);
/// The address that the suite expects of a client with a metadata document.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

#[derive(Default)]
struct Memory(Mutex<BTreeMap<String, String>>);

#[async_trait]
impl TokenKeeper for Memory {
    fn load(&self, server: &str) -> Result<Option<String>, Fault> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get(server).cloned())
    }

    async fn keep(&self, server: &str, record: &str) -> Result<(), Fault> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(server.to_owned(), record.to_owned());
        Ok(())
    }

    async fn forget(&self, server: &str) -> Result<(), Fault> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(server);
        Ok(())
    }
}

/// A browser that agrees to everything at once, as the suite's authorization server does.
struct Browser {
    egress: Egress,
}

#[async_trait]
impl Consent for Browser {
    fn redirect_uri(&self) -> &str {
        "http://localhost:3000/callback"
    }

    async fn ask(&self, address: &str) -> Result<Callback, McpError> {
        let failed = |why: String| McpError::SignIn(why);
        let address: Address =
            address.parse().map_err(|_| failed("no address to sign in at".to_owned()))?;
        let answer = self.egress.send(Method::GET, &address, &[], Vec::new()).await;
        let answer = answer.map_err(|error| failed(error.to_string()))?;
        let back = answer.header("location");
        Ok(Callback::read(back.split_once('?').map_or("", |(_, query)| query)))
    }
}

/// The suite's description of the scenario, beside the address.
struct Scenario {
    name: String,
    version: String,
    context: Value,
}

impl Scenario {
    #[allow(clippy::disallowed_methods, reason = "the suite tells a client by its environment")]
    fn read() -> Self {
        let told = |name: &str| std::env::var(name).unwrap_or_default();
        Self {
            name: told("MCP_CONFORMANCE_SCENARIO"),
            version: told("MCP_CONFORMANCE_PROTOCOL_VERSION"),
            context: serde_json::from_str(&told("MCP_CONFORMANCE_CONTEXT")).unwrap_or_default(),
        }
    }

    fn opening(&self) -> Opening {
        if self.version == "2026-07-28" { Opening::Stateless } else { Opening::Handshake }
    }

    fn oauth(&self) -> OauthSettings {
        let own = |name: &str| self.context[name].as_str().map(str::to_owned);
        OauthSettings {
            client_id: own("client_id"),
            client_secret: own("client_secret"),
            client_metadata_url: Some(DOCUMENT.to_owned()),
            scope: None,
        }
    }

    /// The calls that the suite expects.
    fn calls(&self, tools: &[ToolPin]) -> Vec<(ToolPin, Value)> {
        if let Some(calls) = self.context["toolCalls"].as_array() {
            let call = |call: &Value| {
                let tool = tools.iter().find(|tool| call["name"] == tool.name.as_str())?;
                Some((tool.clone(), call["arguments"].clone()))
            };
            return calls.iter().filter_map(call).collect();
        }
        let arguments = match self.name.as_str() {
            "tools_call" => json!({"a": 2, "b": 3}),
            "http-invalid-tool-headers" => json!({"region": "us-west1"}),
            // The server of this scenario has no tool to call.
            "json-schema-ref-no-deref" => return Vec::new(),
            "json-schema-2020-12-preservation" => return echoed(tools),
            _ => json!({}),
        };
        tools.iter().map(|tool| (tool.clone(), arguments.clone())).collect()
    }
}

/// A call that sends one tool's schema to another tool, which compares it.
fn echoed(tools: &[ToolPin]) -> Vec<(ToolPin, Value)> {
    let find = |name: &str| tools.iter().find(|tool| tool.name == name);
    let pair = find("json_schema_echo").zip(find("json_schema_2020_12_tool"));
    let call =
        |(echo, focal): (&ToolPin, &ToolPin)| (echo.clone(), json!({"schema": focal.input_schema}));
    pair.map(call).into_iter().collect()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let scenario = Scenario::read();
    let address: Address = std::env::args().next_back().unwrap_or_default().parse()?;
    let near: PrivateHost = address.host().parse()?;
    let bounds = Bounds { redirects: 0, ..Bounds::default() };
    let egress = Egress::new(Arc::new(SystemResolver), vec![near], bounds);
    let sign_in = SignIn::new(SignInSetup {
        name: "conformance".to_owned(),
        address: address.clone(),
        egress: egress.clone(),
        settings: scenario.oauth(),
        keeper: Arc::new(Memory::default()),
        clock: Arc::new(SystemClock::default()),
    })?;
    let client = Client::connect(ClientSetup {
        address,
        egress: egress.clone(),
        headers: BTreeMap::new(),
        sign_in: Some(Arc::new(sign_in)),
        consent: Some(Arc::new(Browser { egress })),
        opening: scenario.opening(),
        elicitations: Elicitations::AcceptDefaults,
    })
    .await?;
    let tools = client.tools().await?;
    for (tool, arguments) in scenario.calls(&tools) {
        client.call(&tool, &arguments, LIMIT).await?;
    }
    Ok(())
}
