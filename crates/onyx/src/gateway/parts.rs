//! Builds everything that a config describes, or nothing: a config is usable only if each part of
//! it is.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use onyx_agent::{JobsSettings, Roster, Titles};
use onyx_api::{ConnectionLimits, Exposure, Extensions, Front};
use onyx_connectors::ResolvedConnectors;
use onyx_egress::SystemResolver;
use onyx_identity::{DeclaredPeople, PersonSettings, Secrets, Token};
use onyx_knowledge::{Index, MemorySettings};
use onyx_mcp::oauth::TokenKeeper;
use onyx_mcp::serving::{Endpoint, EndpointKeys};
use onyx_mcp::{McpServers, McpSettings, McpSetup};
use onyx_plugins::{Plugins, PluginsSettings, PluginsSetup, WaitTimes};
use onyx_sandbox::{Program, Sandbox};
use onyx_storage::{LocalObjects, Store};
use onyx_tools::{
    Artifacts, CommandRunner, Delegates, Docker, GitRemotes, JobOutside, JobPort, LinkedIn, Masker,
    Menos, ModelRouter, PersonaPort, Repositories, Services, Skills, Spaces, Tool, Toolbox, Web,
    artifact_tools, builtin_tools, command_tools, delegation_tools, docker_tools, find_tools,
    git_tools, index_tools, job_tools, linkedin_tools, menos_tools, model_tools, persona_tools,
    session_tools, skill_tools, space_tools, web_tools,
};
use onyx_types::{Clock, PersonId, Zone};

use super::cluster::SharedLogins;
use super::late_gateway::LateGateway;
use super::linkedin::{LinkedInAdmin, LinkedInLogins};
use super::live::{log, roster, titles};
use super::logins::KeptTokens;
use super::models::LiveModels;
use super::secrets::mask;
use super::storage::{SharedStorage, load_config};
use super::token::{self, TokenPlace};
use super::tool_services::ToolServices;
use crate::config::{Config, ConfigError, last_good};
use crate::home::HomeFolder;
use crate::{env, files, open_files};

pub(super) struct Parts {
    pub(super) address: SocketAddr,
    pub(super) max_runs: usize,
    pub(super) connections: ConnectionLimits,
    pub(super) declared: DeclaredPeople,
    pub(super) front: Front,
    pub(super) masker: Masker,
    pub(super) token_place: TokenPlace,
    pub(super) toolbox: Arc<Toolbox>,
    /// The gateway for the tools. It is empty here, because the gateway is made from these parts.
    pub(super) late_gateway: Arc<LateGateway>,
    pub(super) extensions: Extensions,
    pub(super) docker: Docker,
    pub(super) tools: ToolServices,
    pub(super) roster: Roster,
    pub(super) titles: Titles,
    pub(super) models: Arc<LiveModels>,
    pub(super) memory: MemorySettings,
    pub(super) jobs: JobsSettings,
    pub(super) mcp: McpSettings,
    pub(super) plugins: PluginsSettings,
    /// The port by which jobs run commands and reach addresses.
    pub(super) outside: JobOutside,
    pub(super) zones: BTreeMap<PersonId, Zone>,
    pub(super) connectors: ResolvedConnectors,
    /// The address at which people open the app from other machines.
    pub(super) link: Option<String>,
}

impl Parts {
    /// Reads the config file or, if it is broken, the last good one, together with the reason: a
    /// bad edit must not keep a server from starting.
    pub(super) fn of_usable_config(base: &GatewayBase<'_>) -> Result<(Self, Option<ConfigError>)> {
        let folder = base.folder;
        let config = load_config(folder, base.shared);
        let broken = match config.and_then(|config| Self::of(base, &config)) {
            Ok(parts) => return Ok((parts, None)),
            // What is in the database was checked before it was written there.
            Err(broken) if base.shared.is_some() => return Err(broken.into()),
            Err(broken) => broken,
        };
        let good = last_good::load(folder).ok_or_else(|| broken.clone())?;
        let parts = good.and_then(|config| Self::of(base, &config));
        let parts = parts.map_err(|_| broken.clone())?;
        tracing::error!(error = %broken, "the last config that worked is used");
        Ok((parts, Some(broken)))
    }

    fn of(base: &GatewayBase<'_>, config: &Config) -> Result<Self, ConfigError> {
        let folder = base.folder;
        let address = config.gateway.address(base.exposure)?;
        let connections = connections(config)?;
        let token = token::token(folder, config).map_err(|error| ConfigError::of(&error))?;
        // From here on the sign-ins add their new tokens to the masker.
        let masker = Masker::default();
        let models = models(base, config, &masker, &token);
        let web = web(config)?;
        let remotes = remotes(base, config)?;
        let declared = declared(config, token)?;
        let owner = declared.owner().map_err(ConfigError::from)?;
        let menos = menos(base, config, &web, owner.clone())?;
        let linkedin = Arc::new(linkedin(base, config, &web, &masker)?);
        let backends = ToolBackends {
            late_gateway: Arc::new(LateGateway::default()),
            docker: Docker::new(&config.tools.docker, owner.clone()),
            skills: skills(base),
            artifacts: artifacts(base).map_err(|error| ConfigError::of(&error))?,
            runner: runner(base, &web),
            models,
            services: ToolServices { web, remotes, menos, linkedin },
        };
        let toolbox = toolbox(base, &masker, backends.tools(base), &backends.artifacts)
            .map_err(|error| ConfigError::of(&error))?;
        let toolbox = Arc::new(toolbox);
        let (roster, warnings) = roster(config, &toolbox)?;
        log(&warnings);
        check_jobs(config)?;
        config.mcp.check().map_err(|error| ConfigError::new(error.to_string()))?;
        config.plugins.check().map_err(|error| ConfigError::new(error.to_string()))?;
        let extensions = backends.extensions(base, &masker, &toolbox, owner)?;
        let knows = |agent: &onyx_types::AgentId| roster.get(agent).is_some();
        let connectors = super::connectors::resolve(config, &knows, base.secrets)?;
        masker.add(connectors.secrets());
        let front = config.gateway.front();
        let front = front.map_err(|fault| ConfigError::in_section("gateway.publicUrl", &fault))?;
        base.index.set_search(config.memory.search().map_err(ConfigError::new)?);
        remember(folder, config);
        Ok(Self {
            address,
            max_runs: config.gateway.max_runs(),
            connections,
            titles: titles(config),
            declared,
            front,
            masker,
            token_place: token::place(folder, config),
            toolbox,
            late_gateway: backends.late_gateway,
            extensions,
            docker: backends.docker,
            roster,
            models: backends.models,
            memory: config.memory.clone(),
            jobs: config.jobs.clone(),
            mcp: config.mcp.clone(),
            plugins: config.plugins.clone(),
            outside: JobOutside::new(backends.runner, backends.services.web.clone()),
            zones: zones(config),
            connectors,
            link: config.gateway.public_url.clone(),
            tools: backends.services,
        })
    }
}

/// What the built-in tools work with.
struct ToolBackends {
    services: ToolServices,
    models: Arc<LiveModels>,
    runner: CommandRunner,
    docker: Docker,
    skills: Skills,
    artifacts: Artifacts,
    late_gateway: Arc<LateGateway>,
}

impl ToolBackends {
    /// The built-in tools, in the order in which models are told of them.
    fn tools(&self, base: &GatewayBase<'_>) -> Vec<Arc<dyn Tool>> {
        let ToolServices { web, remotes, menos, linkedin } = &self.services;
        let router = Arc::clone(&self.models) as Arc<dyn ModelRouter>;
        let delegates = Arc::clone(&self.late_gateway) as Arc<dyn Delegates>;
        let personas = Arc::clone(&self.late_gateway) as Arc<dyn PersonaPort>;
        let jobs = Arc::clone(&self.late_gateway) as Arc<dyn JobPort>;
        [
            builtin_tools(),
            index_tools(base.index),
            space_tools(&spaces(base), &base.store.ledger),
            web_tools(web),
            menos_tools(menos),
            linkedin_tools(&linkedin.tools),
            command_tools(&self.runner),
            git_tools(&self.runner, remotes),
            docker_tools(&self.docker),
            session_tools(base.store),
            delegation_tools(&delegates, Arc::clone(&router)),
            model_tools(router),
            persona_tools(&personas),
            job_tools(&jobs),
            skill_tools(&self.skills),
            artifact_tools(&self.artifacts),
            find_tools(),
        ]
        .concat()
    }

    /// What the API shows and manages besides the agent. Servers and plugins add their tools to the
    /// toolbox.
    fn extensions(
        &self,
        base: &GatewayBase<'_>,
        masker: &Masker,
        toolbox: &Arc<Toolbox>,
        owner: PersonId,
    ) -> Result<Extensions, ConfigError> {
        let ToolServices { web, remotes, linkedin, .. } = &self.services;
        let mcp = mcp(base, web, owner.clone(), Arc::new(base.tokens(masker)));
        mcp.set_toolbox(Arc::clone(toolbox));
        let plugins = plugins(base, web, &self.skills, owner);
        toolbox.set_hooks(Arc::new(plugins.clone()));
        Ok(Extensions {
            skills: self.skills.clone(),
            artifacts: self.artifacts.clone(),
            repositories: Repositories::new(self.runner.clone(), remotes.clone()),
            mcp,
            plugins,
            linkedin: Arc::clone(linkedin) as Arc<dyn onyx_api::LinkedInAccounts>,
            mcp_endpoint: Arc::new(mcp_endpoint(base)?),
        })
    }
}

/// The sandbox. It starts this program as its child, even if the program's file was replaced
/// meanwhile.
pub(crate) fn sandbox() -> Sandbox {
    let arguments = vec![crate::SANDBOX_CHILD.to_owned()];
    Sandbox::new(Program { path: "/proc/self/exe".into(), arguments })
}

/// What the parts of a config are made from.
pub(super) struct GatewayBase<'a> {
    pub(super) folder: &'a HomeFolder,
    pub(super) store: &'a Store,
    pub(super) index: &'a Index,
    pub(super) secrets: &'a Arc<Secrets>,
    pub(super) clock: &'a Arc<dyn Clock>,
    pub(super) exposure: Exposure,
    /// The shared storage of server mode.
    pub(super) shared: Option<&'a SharedStorage>,
    /// Sign-ins that all gateways share.
    pub(super) sign_ins: Option<&'a Arc<SharedLogins>>,
}

impl GatewayBase<'_> {
    /// The store for tokens of sign-ins, which are masked in every text.
    fn tokens(&self, masker: &Masker) -> KeptTokens {
        KeptTokens {
            secrets: Arc::clone(self.secrets),
            masker: masker.clone(),
            shared: self.sign_ins.cloned(),
        }
    }
}

/// The models of the config. Their keys and the other secrets of the home are masked from here on.
fn models(
    base: &GatewayBase<'_>,
    config: &Config,
    masker: &Masker,
    token: &Token,
) -> Arc<LiveModels> {
    let models = LiveModels::new(
        base.folder,
        config,
        Arc::clone(&base.store.ledger),
        Arc::clone(base.clock),
        Arc::clone(base.secrets),
        base.tokens(masker),
    );
    mask(masker, &models.get().registry, token, base.secrets);
    masker.add(config.storage_secrets());
    Arc::new(models)
}

fn web(config: &Config) -> Result<Web, ConfigError> {
    Web::new(Arc::new(SystemResolver), &config.tools.web)
        .map_err(|error| ConfigError::new(error.to_string()))
}

fn remotes(base: &GatewayBase<'_>, config: &Config) -> Result<GitRemotes, ConfigError> {
    GitRemotes::new(&config.tools, super::secrets::opener(base.secrets))
        .map_err(|error| ConfigError::new(error.to_string()))
}

fn menos(
    base: &GatewayBase<'_>,
    config: &Config,
    web: &Web,
    owner: PersonId,
) -> Result<Menos, ConfigError> {
    let open = super::secrets::opener(base.secrets);
    Menos::new(&config.tools.menos, web.clone(), open, owner)
        .map_err(|error| ConfigError::new(error.to_string()))
}

/// The runner of commands. In server mode the vaults are not on this machine's disk, so commands
/// work on copies.
fn runner(base: &GatewayBase<'_>, web: &Web) -> CommandRunner {
    let runner = CommandRunner::new(sandbox(), base.folder.path().to_owned()).with_web(web.clone());
    runner.clean();
    if base.shared.is_some() { runner.with_copies() } else { runner }
}

fn spaces(base: &GatewayBase<'_>) -> Spaces {
    if base.shared.is_some() {
        return Spaces::elsewhere();
    }
    Spaces::new(base.folder.path().to_owned())
}

/// The skills of the home; they do not depend on the config.
fn skills(base: &GatewayBase<'_>) -> Skills {
    let (files, accepted) = (&base.store.files, &base.store.acceptances);
    Skills::new(Arc::clone(files), Arc::clone(accepted), Arc::clone(base.clock))
}

/// The MCP servers of the config; none is started here.
fn mcp(
    base: &GatewayBase<'_>,
    web: &Web,
    owner: PersonId,
    tokens: Arc<dyn TokenKeeper>,
) -> McpServers {
    McpServers::new(McpSetup {
        sandbox: sandbox(),
        scratch: base.folder.path().join("cache/scratch"),
        web: web.clone(),
        secrets: super::secrets::opener(base.secrets),
        tokens,
        acceptances: Arc::clone(&base.store.acceptances),
        clock: Arc::clone(base.clock),
        owner,
    })
}

/// The plugins of the home; none is started here.
fn plugins(base: &GatewayBase<'_>, web: &Web, skills: &Skills, owner: PersonId) -> Plugins {
    let home = base.folder.path();
    Plugins::new(PluginsSetup {
        folder: home.join("plugins"),
        cache: home.join("cache/plugins"),
        scratch: home.join("cache/scratch"),
        sandbox: sandbox(),
        web: web.clone(),
        secrets: super::secrets::opener(base.secrets),
        skills: skills.clone(),
        acceptances: Arc::clone(&base.store.acceptances),
        clock: Arc::clone(base.clock),
        owner,
        wait_times: WaitTimes::default(),
    })
}

/// The endpoint for MCP clients. Several gateways seal with one key, so that a client may continue
/// a call at any of them; a single process has a key of its own.
fn mcp_endpoint(base: &GatewayBase<'_>) -> Result<Endpoint, ConfigError> {
    let shared = base.shared.map(|shared| shared.master.derived("onyx: states of MCP calls"));
    let sealing = shared.map_or_else(random_key, Ok)?;
    let keys = EndpointKeys { sealing, naming: random_key()? };
    Ok(Endpoint::new(keys, Arc::clone(&base.store.short_lived)))
}

fn random_key() -> Result<[u8; 32], ConfigError> {
    let mut key = [0; 32];
    let filled = getrandom::fill(&mut key);
    filled.map_err(|error| ConfigError::new(format!("no random numbers: {error}")))?;
    Ok(key)
}

/// The client for LinkedIn, and the sign-ins of people there.
fn linkedin(
    base: &GatewayBase<'_>,
    config: &Config,
    web: &Web,
    masker: &Masker,
) -> Result<LinkedInAdmin, ConfigError> {
    let tokens = base.tokens(masker);
    let open = super::secrets::opener(base.secrets);
    let logins = LinkedInLogins::new(Arc::new(tokens), Arc::clone(base.clock), open);
    let logins = Arc::new(logins);
    let accounts = Arc::clone(&logins) as Arc<dyn onyx_tools::Accounts>;
    let tools = LinkedIn::new(&config.tools.linkedin, web.clone(), accounts)
        .map_err(|error| ConfigError::new(error.to_string()))?;
    logins.follow(&config.tools.linkedin);
    Ok(LinkedInAdmin { logins, tools, clock: Arc::clone(base.clock) })
}

/// The connection limits of a config, as far as the system allows.
pub(super) fn connections(config: &Config) -> Result<ConnectionLimits, ConfigError> {
    let limits = config.gateway.connection_limits(open_files::limit());
    limits.map_err(|fault| ConfigError::in_section("gateway.connections", &fault))
}

/// The people of a config and of the environment.
pub(super) fn declared(config: &Config, token: Token) -> Result<DeclaredPeople, ConfigError> {
    let valid_persons = config.environment.get(env::VALID_PERSONS);
    DeclaredPeople::new(config.people.clone(), valid_persons.as_deref(), token)
        .map_err(|fault| ConfigError::in_section("people", &fault))
}

/// Checks the settings of jobs. The result does not depend on the owner.
pub(super) fn check_jobs(config: &Config) -> Result<(), ConfigError> {
    let owner = onyx_identity::OWNER.parse().map_err(|error| ConfigError::at("jobs", error))?;
    let checked = config.jobs.check(&owner);
    checked.map(drop).map_err(|fault| ConfigError::in_section("jobs", &fault))
}

/// The time zones that the config gives to people.
pub(super) fn zones(config: &Config) -> BTreeMap<PersonId, Zone> {
    config.people.iter().filter_map(PersonSettings::zone).collect()
}

/// Keeps a copy of a working config in case a later one is broken.
pub(super) fn remember(folder: &HomeFolder, config: &Config) {
    if let Err(error) = last_good::keep(folder, config) {
        tracing::warn!(%error, "the working config could not be stored for a later start");
    }
}

/// The store for outputs that were too long for a model.
fn artifacts(base: &GatewayBase<'_>) -> Result<Artifacts> {
    if let Some(shared) = base.shared {
        return Ok(Artifacts::new(shared.membership.artifacts()));
    }
    let folder = base.folder.artifacts();
    files::make_folder(&folder)?;
    Ok(Artifacts::new(Arc::new(LocalObjects::open(&folder)?)))
}

fn toolbox(
    base: &GatewayBase<'_>,
    masker: &Masker,
    tools: Vec<Arc<dyn Tool>>,
    artifacts: &Artifacts,
) -> Result<Toolbox> {
    let services = Services {
        ledger: Arc::clone(&base.store.ledger),
        drafts: Arc::clone(&base.store.drafts),
        artifacts: artifacts.clone(),
        masker: masker.clone(),
    };
    Ok(Toolbox::new(tools, services)?)
}
