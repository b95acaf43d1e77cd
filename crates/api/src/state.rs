use std::sync::Arc;

use onyx_agent::RunManager;
use onyx_identity::Secrets;
use onyx_knowledge::Index;
use onyx_sources::Sources;
use onyx_storage::Store;

use crate::{
    Authenticator, Catalogue, Changes, Configuration, LogRing, Passing, Readiness, Traffic,
    Upstream,
};

/// What the routes share. Cheap to clone.
#[derive(Clone)]
pub struct ApiState {
    pub runs: RunManager,
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
    pub passing: Passing,
    pub logs: Arc<LogRing>,
    pub changes: Changes,
}
