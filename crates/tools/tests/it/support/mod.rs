mod ledger;
mod lost_life;
mod meddling;
mod probe;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use onyx_knowledge::{Index, IndexSettings};
use onyx_storage::{AuditRow, Home, Ledger, LocalObjects, Store};
use onyx_test_support::ManualClock;
use onyx_tools::{
    Artifacts, Decisions, Execution, LiveOutput, Masker, OfferState, PathRules, Policy, Services,
    Tool, ToolCx, ToolSettings, Toolbox, builtin_tools, index_tools,
};
use onyx_types::{
    Attendance, Cancel, IdGenerator, RecordedTool, Scope, ScopeSet, SessionKey, Taint, Tier,
    ToolCall, ToolOutcome, ToolUseId,
};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) use ledger::BrokenAudit;
pub(crate) use lost_life::LostLife;
pub(crate) use meddling::{Meddling, When};
pub(crate) use probe::{Behaviour, Probe};

/// A real home in a temporary folder, with a toolbox and a run of Ada's agent `main`.
pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) store: Store,
    pub(crate) toolbox: Toolbox,
    pub(crate) cx: ToolCx,
    pub(crate) policy: Policy,
    pub(crate) attendance: Attendance,
    pub(crate) execution: Execution,
}

impl World {
    /// A world with the built-in tools, at tier `act`.
    pub(crate) async fn new() -> Self {
        Self::with(builtin_tools(), Masker::default()).await
    }

    /// A world that also has an index over the home.
    pub(crate) async fn indexed() -> Self {
        let mut world = Self::new().await;
        let settings = IndexSettings {
            home: world.folder.path().to_owned(),
            chunking: onyx_knowledge::Chunking::default(),
        };
        let index = Index::new(world.store.clone(), Arc::clone(&world.cx.clock), settings);
        world.cx.files = index.observe(Arc::clone(&world.store.files));
        let tools = [builtin_tools(), index_tools(&index)].concat();
        let ledger = Arc::clone(&world.store.ledger);
        world.audited_by(tools, ledger).at(Tier::Act)
    }

    pub(crate) async fn with(tools: Vec<Arc<dyn Tool>>, masker: Masker) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new());
        let home = Home::open(folder.path()).unwrap();
        let artifacts = home.paths().cache().join("artifacts");
        std::fs::create_dir_all(&artifacts).unwrap();
        let store = Store::open_embedded(home, clock.clone()).await.unwrap();
        let artifacts = Artifacts::new(Arc::new(LocalObjects::open(&artifacts).unwrap()));
        let (ledger, drafts) = (Arc::clone(&store.ledger), Arc::clone(&store.drafts));
        let services = Services { ledger, drafts, artifacts, masker };
        let toolbox = Toolbox::new(tools, services).unwrap();
        let policy = policy(Tier::Act, &toolbox);
        let cx = context(&store, clock);
        let (attendance, execution) = (Attendance::Attended, Execution::Real);
        let world = Self { folder, store, toolbox, cx, policy, attendance, execution };
        std::fs::create_dir_all(world.vault()).unwrap();
        world
    }

    pub(crate) fn at(mut self, tier: Tier) -> Self {
        self.policy = policy(tier, &self.toolbox);
        self
    }

    pub(crate) fn tainted(mut self) -> Self {
        self.cx.taint = Taint::Tainted;
        self
    }

    pub(crate) fn clean(mut self) -> Self {
        self.cx.taint = Taint::Clean;
        self
    }

    /// The same world with other tools.
    pub(crate) fn with_tools(mut self, tools: Vec<Arc<dyn Tool>>, masker: Masker) -> Self {
        let artifacts = self.folder.path().join("cache/artifacts");
        let artifacts = Artifacts::new(Arc::new(LocalObjects::open(&artifacts).unwrap()));
        let ledger = Arc::clone(&self.store.ledger);
        let drafts = Arc::clone(&self.store.drafts);
        let services = Services { ledger, drafts, artifacts, masker };
        self.toolbox = Toolbox::new(tools, services).unwrap();
        self.policy = policy(Tier::Act, &self.toolbox);
        self
    }

    pub(crate) fn at_clock(mut self, clock: Arc<dyn onyx_types::Clock>) -> Self {
        self.cx.clock = clock;
        self
    }

    /// The same world with another ledger behind the toolbox.
    pub(crate) fn audited_by(mut self, tools: Vec<Arc<dyn Tool>>, ledger: Arc<dyn Ledger>) -> Self {
        let artifacts = self.folder.path().join("cache/artifacts");
        let artifacts = Artifacts::new(Arc::new(LocalObjects::open(&artifacts).unwrap()));
        let drafts = Arc::clone(&self.store.drafts);
        let services = Services { ledger, drafts, artifacts, masker: Masker::default() };
        self.toolbox = Toolbox::new(tools, services).unwrap();
        self
    }

    pub(crate) async fn call(&self, tool: &str, input: Value) -> ToolOutcome {
        self.toolbox
            .call(&call(tool, input), &self.policy, self.attendance, self.execution, &self.cx)
            .await
    }

    /// Makes a call that must succeed and returns its output.
    pub(crate) async fn done(&self, tool: &str, input: Value) -> String {
        let outcome = self.call(tool, input).await;
        assert!(!outcome.is_error, "{}", outcome.output);
        outcome.output
    }

    /// Makes a call that must fail and returns its message.
    pub(crate) async fn failed(&self, tool: &str, input: Value) -> String {
        let outcome = self.call(tool, input).await;
        assert!(outcome.is_error, "{}", outcome.output);
        outcome.output
    }

    /// Makes a call that must wait for a person and returns its summary.
    pub(crate) async fn asked(&self, tool: &str, input: Value) -> String {
        let outcome = self.call(tool, input).await;
        assert!(outcome.draft.is_some(), "{}", outcome.output);
        outcome.summary
    }

    /// The folder of the person's files.
    pub(crate) fn own(&self) -> PathBuf {
        self.folder.path().join("people/ada")
    }

    pub(crate) fn vault(&self) -> PathBuf {
        self.own().join("vault")
    }

    pub(crate) fn memory(&self) -> PathBuf {
        self.own().join("memory/main")
    }

    /// Writes a file of the vault as the person does with an editor.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.vault().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.vault().join(path)).unwrap()
    }

    /// The audit rows, oldest first.
    pub(crate) async fn audit(&self) -> Vec<AuditRow> {
        let mut rows = self.store.ledger.audit(&self.cx.key.person, None, 1_000).await.unwrap();
        rows.reverse();
        rows
    }

    /// Each row as `tool effect decision summary: result`.
    pub(crate) async fn audit_lines(&self) -> Vec<String> {
        let line = |row: AuditRow| {
            let entry = row.entry;
            format!(
                "{} {} {} {}: {}",
                entry.tool.as_ref().map_or("", RecordedTool::as_str),
                entry.effect.map_or("-", |effect| effect.as_str()),
                entry.decision.map_or("-", |verdict| verdict.as_str()),
                entry.diff_summary,
                entry.result
            )
        };
        self.audit().await.into_iter().map(line).collect()
    }
}

pub(crate) fn call(tool: &str, input: Value) -> ToolCall {
    ToolCall { id: ToolUseId("call_1".into()), name: tool.to_owned(), input }
}

pub(crate) fn policy(tier: Tier, toolbox: &Toolbox) -> Policy {
    // Only an agent whose config names Docker's tools has them. Without Docker all tools are
    // allowed, also later ones.
    let tools = toolbox.tools();
    let specs = tools.specs();
    let has_docker = specs.iter().any(|spec| spec.group == "docker");
    let all = || specs.iter().map(|spec| spec.name.to_string()).collect();
    let settings = ToolSettings { allow: has_docker.then(all), ..ToolSettings::default() };
    Policy::resolve(tier, &settings, &tools.known()).unwrap().0
}

fn context(store: &Store, clock: Arc<ManualClock>) -> ToolCx {
    let mut mint = IdGenerator::new(7);
    let at = onyx_types::Clock::wall(&*clock);
    ToolCx {
        key: SessionKey {
            person: "ada".parse().unwrap(),
            agent: "main".parse().unwrap(),
            session: mint.session(at),
        },
        agent: "main".parse().unwrap(),
        run: mint.run(at),
        view: None,
        scopes: ScopeSet::new(
            "ada".parse().unwrap(),
            vec![Scope::Person, Scope::Agent("main".parse().unwrap()), Scope::Shared],
        ),
        memories: Arc::new(["helper".parse().unwrap()]),
        cancel: Cancel::new(),
        taint: Taint::Clean,
        clock,
        files: Arc::clone(&store.files),
        paths: Arc::new(PathRules::default()),
        addresses: Arc::default(),
        live: LiveOutput::nowhere(),
        pending: Arc::default(),
        decisions: Decisions::none(Duration::from_secs(86_400)),
        standing: None,
        audience: onyx_tools::Audience::default(),
        offered: OfferState::Now,
    }
}
