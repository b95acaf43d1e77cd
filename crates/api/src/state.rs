use std::ops::Deref;
use std::sync::Arc;

use onyx_agent::AgentServices;
use onyx_connectors::Connectors;
use onyx_identity::Secrets;
use onyx_knowledge::Index;
use onyx_mcp::McpServers;
use onyx_mcp::serving::Endpoint;
use onyx_plugins::Plugins;
use onyx_sources::Sources;
use onyx_storage::Store;
use onyx_tools::{Artifacts, Repositories, Skills};

use crate::{
    Admission, Authenticator, Catalogue, Changes, Configuration, LinkedInAccounts, LogRing,
    PassThrough, Readiness, Traffic, Upstream,
};

/// The state that all routes share. Every layer clones it for every request, so it is one pointer.
#[derive(Clone)]
pub struct ApiState(Arc<Shared>);

impl ApiState {
    pub fn new(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }
}

impl Deref for ApiState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

pub struct Shared {
    pub agent: AgentServices,
    pub store: Store,
    pub sources: Sources,
    pub index: Index,
    pub auth: Arc<Authenticator>,
    pub secrets: Arc<Secrets>,
    pub readiness: Arc<dyn Readiness>,
    pub configuration: Arc<dyn Configuration>,
    pub catalogue: Arc<dyn Catalogue>,
    pub upstream: Arc<dyn Upstream>,
    pub traffic: Arc<Traffic>,
    pub admission: Arc<Admission>,
    pub pass_through: PassThrough,
    pub logs: Arc<LogRing>,
    pub changes: Changes,
    pub connectors: Connectors,
    pub extensions: Extensions,
}

/// Extensions that other people wrote or run for agents. Cheap to clone.
#[derive(Clone)]
pub struct Extensions {
    pub skills: Skills,
    pub artifacts: Artifacts,
    pub repositories: Repositories,
    pub mcp: McpServers,
    pub plugins: Plugins,
    pub linkedin: Arc<dyn LinkedInAccounts>,
    /// The endpoint for MCP clients.
    pub mcp_endpoint: Arc<Endpoint>,
}
