use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use onyx_egress::SystemResolver;
use onyx_plugins::{
    PackageFiles, PluginStatus, PluginView, Plugins, PluginsSettings, PluginsSetup, WaitTimes,
};
use onyx_sandbox::{Program, Sandbox, SandboxKind};
use onyx_storage::{Home, Store};
use onyx_test_support::wait_for;
use onyx_tools::{HookAnswer, HookedCall, Hooks as _, Skills, Web, WebSettings};
use onyx_types::{
    Approver, ApproverKind, Clock, Grant, PersonId, RunId, SessionId, SystemClock, ToolEffect, Zone,
};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const SOON: Duration = Duration::from_secs(60);
/// Every kind is tested; one that does not work on this machine fails its tests.
pub(crate) const KINDS: [SandboxKind; 2] = [SandboxKind::Bubblewrap, SandboxKind::Landlock];

/// A home with plugins.
pub(crate) struct House {
    pub(crate) folder: TempDir,
    _store: Store,
    pub(crate) plugins: Plugins,
    pub(crate) skills: Skills,
}

impl House {
    pub(crate) async fn new() -> Self {
        Self::on(None, quick()).await
    }

    pub(crate) async fn on(kind: Option<SandboxKind>, wait_times: WaitTimes) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::in_zone(Zone::utc()));
        let home = Home::open(&folder.path().join("home")).unwrap();
        let store = Store::open_embedded(home, Arc::clone(&clock)).await.unwrap();
        let (files, accepted) = (Arc::clone(&store.files), Arc::clone(&store.acceptances));
        let skills = Skills::new(files, accepted, Arc::clone(&clock));
        let path = PathBuf::from(env!("CARGO_BIN_EXE_onyx-plugins-child"));
        let program = Program { path, arguments: Vec::new() };
        let sandbox = match kind {
            Some(kind) => Sandbox::on(kind, program),
            None => Sandbox::new(program),
        };
        let root = folder.path().join("home");
        let plugins = Plugins::new(PluginsSetup {
            folder: root.join("plugins"),
            cache: root.join("cache/plugins"),
            scratch: root.join("cache/scratch"),
            sandbox,
            web: Web::new(Arc::new(SystemResolver), &WebSettings::default()).unwrap(),
            secrets: Arc::new(|name| Ok((name == "kept").then(|| "value of kept".to_owned()))),
            skills: skills.clone(),
            acceptances: Arc::clone(&store.acceptances),
            clock,
            owner: owner(),
            wait_times,
        });
        Self { folder, _store: store, plugins, skills }
    }

    pub(crate) fn place(&self, plugin: &str) -> PathBuf {
        self.folder.path().join("home/plugins").join(plugin)
    }

    /// Adds a plugin, accepts it unchanged and enables it.
    pub(crate) async fn enable(&self, name: &str, part: Value, config: Value) -> PluginView {
        self.add(name, part).await;
        self.accept(name).await;
        self.follow(&[(name, config)]).await;
        self.plugins.get(name).await.unwrap()
    }

    pub(crate) async fn add(&self, name: &str, part: Value) -> PluginView {
        self.plugins.add(PackageFiles::of_files(package(name, &part)).unwrap()).await.unwrap()
    }

    pub(crate) async fn accept(&self, name: &str) -> PluginView {
        let seen = self.plugins.get(name).await.unwrap().hash.unwrap();
        self.plugins.accept(&approver(), name, seen).await.unwrap()
    }

    /// Enables exactly these plugins.
    pub(crate) async fn follow(&self, all: &[(&str, Value)]) {
        let enabled: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        let mut written = json!({"enabled": enabled});
        for (name, config) in all {
            written[*name] = config.clone();
        }
        let settings: PluginsSettings = serde_json::from_value(written).unwrap();
        settings.check().unwrap();
        self.plugins.follow(&settings).await.unwrap();
        self.plugins.begin();
    }

    pub(crate) async fn status(&self, name: &str) -> PluginStatus {
        self.plugins.get(name).await.unwrap().status
    }

    pub(crate) async fn wait_for_status(
        &self,
        name: &str,
        is_it: impl Fn(&PluginStatus) -> bool,
    ) -> PluginStatus {
        wait_for(&format!("the status of {name}"), SOON, async || {
            let status = self.status(name).await;
            is_it(&status).then_some(status)
        })
        .await
    }

    pub(crate) async fn wait_for_log(&self, name: &str, words: &str) -> Vec<String> {
        wait_for(&format!("{words} in the log of {name}"), SOON, async || {
            let log = self.plugins.get(name).await.unwrap().log;
            log.iter().any(|line| line.contains(words)).then_some(log)
        })
        .await
    }

    /// The answer of the hooks to a call.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> HookAnswer {
        let (person, agent) = (owner(), "main".parse().unwrap());
        let call = HookedCall {
            person: &person,
            agent: &agent,
            session: "01900000-0000-7000-8000-000000000001".parse::<SessionId>().unwrap(),
            run: "01900000-0000-7000-8000-000000000002".parse::<RunId>().unwrap(),
            tool,
            effect: ToolEffect::Write,
            summary: "write something",
            arguments: &arguments,
        };
        self.plugins.before_tool(call).await
    }

    /// The reason why the hooks veto a call, if they do.
    pub(crate) async fn no_to(&self, tool: &str, arguments: Value) -> Option<String> {
        self.call(tool, arguments).await.veto.map(|veto| format!("{}: {}", veto.by, veto.why))
    }
}

pub(crate) fn owner() -> PersonId {
    "owner".parse().unwrap()
}

pub(crate) fn approver() -> Approver {
    let grants = [Grant::Write].into_iter().collect();
    Approver::new(&owner(), ApproverKind::Owner, grants).unwrap()
}

/// Waiting times that are as short as possible.
pub(crate) fn quick() -> WaitTimes {
    WaitTimes {
        start: Duration::from_secs(20),
        first_wait: Duration::from_millis(20),
        longest_wait: Duration::from_millis(100),
        most_failures: 3,
        stop: Duration::from_millis(500),
        look: Duration::from_millis(100),
        ..WaitTimes::default()
    }
}

/// A package with the scripted program and our part.
pub(crate) fn package(name: &str, part: &Value) -> Vec<(String, Vec<u8>)> {
    let manifest = json!({
        "$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
        "name": name, "version": "1.0.0", "description": "For tests.",
    });
    vec![
        ("plugin.json".to_owned(), manifest.to_string().into_bytes()),
        ("dev.onyx/onyx.json".to_owned(), part.to_string().into_bytes()),
        ("plugin.py".to_owned(), include_bytes!("plugin.py").to_vec()),
    ]
}

/// A part whose only hook guards `write_file`.
pub(crate) fn guard() -> Value {
    json!({
        "command": ["python3", "plugin.py"],
        "hooks": [{"event": "before_tool", "veto": true, "tools": ["write_file"], "deadline_ms": 10_000}],
        "grants": {"events": ["before_tool"], "people": ["*"], "content": true},
    })
}
