//! The health of everything that Onyx uses, with a fix for each problem. `/ready` reports only what Onyx
//! cannot work well without; this reports everything to the person.

use onyx_api::{Dependency, DependencyKind};
use onyx_knowledge::EmbeddingState;
use onyx_sandbox::{NoSandbox, Sandbox, SandboxKind};
use onyx_tools::Docker;
use onyx_types::PersonId;

use super::live::Live;
use super::parts::sandbox;
use super::probe::WriteProbe;
use super::subscription;

/// With less free space than this, writes will soon fail.
const LOW_SPACE: u64 = 200 * 1024 * 1024;

/// Checks of the machine itself.
pub(super) struct Machine {
    /// The sandbox is tried once, because what a kernel allows does not change while it runs.
    pub(super) sandbox: Sandbox,
    pub(super) docker: Docker,
    pub(super) writable: WriteProbe,
}

impl Machine {
    pub(super) fn new(docker: Docker) -> Self {
        Self { sandbox: sandbox(), docker, writable: WriteProbe::default() }
    }
}

impl Live {
    /// The dependencies that `/ready` leaves out.
    pub(super) async fn the_rest(&self, person: &PersonId) -> Vec<Dependency> {
        let mut all = vec![self.disk(), self.indexing(), self.embedding(), self.search_engine()];
        all.push(self.sandbox().await);
        all.push(self.docker());
        all.extend(self.menos());
        all.push(self.jobs(person).await);
        all.extend(self.mcp_servers().await);
        all.extend(self.plugins().await);
        all.push(self.subscription_gateway());
        all
    }

    fn disk(&self) -> Dependency {
        let disk = match rustix::fs::statvfs(self.home.path()) {
            Ok(disk) => disk,
            Err(error) => {
                return Dependency::degraded(
                    DependencyKind::Disk,
                    format!("cannot be read: {error}"),
                );
            }
        };
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let detail = format!("{} MiB free", free / (1024 * 1024));
        if free < LOW_SPACE {
            let hint = "Free some space. A full disk stops every run.";
            return Dependency::degraded(DependencyKind::Disk, detail).with_hint(hint);
        }
        Dependency::ok(DependencyKind::Disk).with_detail(detail)
    }

    fn indexing(&self) -> Dependency {
        let work = self.index.work();
        if let Some(error) = work.error {
            let hint = "Look at the log, then start `onyx reindex`.";
            return Dependency::degraded(DependencyKind::Index, error).with_hint(hint);
        }
        let detail = match (work.is_complete, work.waiting) {
            (true, 0) => "Everything is indexed".to_owned(),
            (_, 1) => "1 file or chat is waiting".to_owned(),
            (_, waiting) => format!("{waiting} files and chats are waiting"),
        };
        let progress = work.progress.filter(|progress| progress.total > 0);
        Dependency { progress, ..Dependency::ok(DependencyKind::Index).with_detail(detail) }
    }

    fn embedding(&self) -> Dependency {
        match self.index.embedding() {
            EmbeddingState::Ready { model } => {
                Dependency::ok(DependencyKind::Embedder).with_detail(model)
            }
            EmbeddingState::Off => {
                Dependency::off(DependencyKind::Embedder, "Searches go by words, not by meaning")
                    .with_hint(
                        "Run `onyx models pull local/minilm`, or set `memory.embedder` to a model.",
                    )
            }
            EmbeddingState::Failing { model, reason } => {
                Dependency::degraded(DependencyKind::Embedder, format!("{model}: {reason}"))
                    .with_hint("Searches go by words until it works. Check its provider.")
            }
        }
    }

    fn search_engine(&self) -> Dependency {
        match self.tools.web.search_engine() {
            Some(address) => Dependency::ok(DependencyKind::Search).with_detail(address),
            None => Dependency::off(DependencyKind::Search, "Agents cannot search the web")
                .with_hint("Set `tools.web.search.baseUrl` to a SearXNG server."),
        }
    }

    async fn sandbox(&self) -> Dependency {
        match self.machine.sandbox.kind().await {
            Ok(SandboxKind::Bubblewrap) => {
                Dependency::ok(DependencyKind::Sandbox).with_detail("bubblewrap")
            }
            Ok(SandboxKind::Landlock) => Dependency::ok(DependencyKind::Sandbox)
                .with_detail("Landlock and seccomp")
                .with_hint("Install the package `bubblewrap` to isolate commands better."),
            Err(NoSandbox { bubblewrap, landlock }) => {
                let why = format!("bubblewrap: {bubblewrap}; Landlock: {landlock}");
                Dependency::degraded(
                    DependencyKind::Sandbox,
                    format!("Agents cannot run commands. {why}"),
                )
                .with_hint("Install the package `bubblewrap`.")
            }
        }
    }

    fn docker(&self) -> Dependency {
        match self.machine.docker.is_here() {
            Ok(()) => Dependency::ok(DependencyKind::Docker),
            Err(why) => Dependency::off(DependencyKind::Docker, why)
                .with_hint("Only agents that are given Docker's tools need it."),
        }
    }

    /// The check is reported only if a content vault is configured, which few homes have.
    fn menos(&self) -> Option<Dependency> {
        let address = self.tools.menos.address()?;
        Some(match self.tools.menos.is_ready()? {
            Ok(()) => Dependency::ok(DependencyKind::Menos).with_detail(address),
            Err(why) => Dependency::degraded(DependencyKind::Menos, why)
                .with_hint("Set the secret that `tools.menos.key` names."),
        })
    }

    async fn jobs(&self, person: &PersonId) -> Dependency {
        let (jobs, troubles) =
            (self.agent.jobs.list(person).await, self.agent.jobs.troubles(person).await);
        let (jobs, troubles) = match (jobs, troubles) {
            (Ok(jobs), Ok(troubles)) => (jobs, troubles),
            (Err(fault), _) | (_, Err(fault)) => {
                return Dependency::degraded(DependencyKind::Jobs, fault.message);
            }
        };
        let troubled = troubles.values().filter(|count| **count > 0).count();
        match (jobs.len(), troubled) {
            (0, _) => Dependency::off(DependencyKind::Jobs, "There are no jobs"),
            (_, 0) => Dependency::ok(DependencyKind::Jobs)
                .with_detail(format!("{} scheduled", jobs.len())),
            (_, 1) => Dependency::degraded(DependencyKind::Jobs, "1 job failed or was missed")
                .with_hint("The Jobs page shows why."),
            (_, some) => Dependency::degraded(
                DependencyKind::Jobs,
                format!("{some} jobs failed or were missed"),
            )
            .with_hint("The Jobs page shows why."),
        }
    }

    /// The subscription gateway, through which models of a personal subscription are used.
    fn subscription_gateway(&self) -> Dependency {
        subscription::dependency(&self.models.get().registry)
    }

    async fn plugins(&self) -> Vec<Dependency> {
        match self.extensions.plugins.list().await {
            Ok(plugins) => plugins.into_iter().filter_map(Dependency::of_plugin).collect(),
            Err(fault) => vec![Dependency {
                name: "plugins".to_owned(),
                ..Dependency::degraded(DependencyKind::Plugin, fault.message)
            }],
        }
    }

    async fn mcp_servers(&self) -> Vec<Dependency> {
        match self.extensions.mcp.list().await {
            Ok(servers) if servers.is_empty() => {
                vec![Dependency::off(DependencyKind::Mcp, "No MCP servers are set up")]
            }
            Ok(servers) => servers.into_iter().map(Dependency::of_mcp_server).collect(),
            Err(fault) => vec![Dependency::degraded(DependencyKind::Mcp, fault.message)],
        }
    }
}
