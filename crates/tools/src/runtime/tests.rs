//! Which servers a command with network access can reach.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use onyx_egress::{HostPort, SystemResolver};
use onyx_sandbox::{Program, Sandbox, SandboxKind};
use onyx_storage::{Home, Store};
use onyx_test_support::{Page, Site};
use onyx_types::{Cancel, IdGenerator, Scope, ScopeSet, SessionKey, SystemClock, Taint};
use serde_json::json;

use super::{CommandRequest, CommandResult, CommandRunner, Ending, Network, VaultAccess};
use crate::{Decisions, LiveOutput, OfferState, PathRules, ToolCx, ToolError, Web, WebSettings};

/// The commands below start in this test: the sandbox runs this test program again.
#[test]
#[ignore = "the child of the test below"]
#[allow(clippy::disallowed_methods, reason = "this process is the sandbox's own")]
fn sandbox_child() {
    let arguments: Vec<String> = std::env::args().collect();
    let own = arguments.iter().position(|word| word.ends_with("sandbox_child")).unwrap();
    let code = onyx_sandbox::child(arguments.into_iter().skip(own + 1));
    std::process::exit(i32::from(code != std::process::ExitCode::SUCCESS));
}

fn sandbox(kind: SandboxKind) -> Sandbox {
    let path: PathBuf = std::env::current_exe().unwrap();
    let arguments = ["--ignored", "--exact", "--nocapture", "runtime::tests::sandbox_child"];
    Sandbox::on(kind, Program { path, arguments: arguments.map(str::to_owned).to_vec() })
}

fn context(store: &Store) -> ToolCx {
    let clock = Arc::new(SystemClock::new());
    let at = onyx_types::Clock::wall(&*clock);
    let mut mint = IdGenerator::new(7);
    let (person, agent) = ("ada".parse().unwrap(), "main".parse().unwrap());
    ToolCx {
        key: SessionKey { person, agent, session: mint.session(at) },
        agent: "main".parse().unwrap(),
        run: mint.run(at),
        view: None,
        scopes: ScopeSet::new("ada".parse().unwrap(), vec![Scope::Person]),
        memories: Arc::new([]),
        cancel: Cancel::new(),
        taint: Taint::Clean,
        clock,
        files: Arc::clone(&store.files),
        paths: Arc::new(PathRules::default()),
        addresses: Arc::default(),
        live: LiveOutput::nowhere(),
        pending: Arc::default(),
        decisions: Decisions::none(Duration::from_secs(60)),
        standing: None,
        audience: crate::Audience::default(),
        offered: OfferState::Now,
    }
}

/// Runs curl in a sandbox that may reach these servers. The config allows all servers of this
/// machine, so only the list can keep the command from one.
async fn curl(
    kind: SandboxKind,
    servers: Vec<HostPort>,
    words: &[&str],
) -> Result<CommandResult, ToolError> {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let store = Store::open_embedded(home, Arc::new(SystemClock::new())).await.unwrap();
    let cx = context(&store);
    let settings: WebSettings =
        serde_json::from_value(json!({"allowPrivateHosts": ["127.0.0.1"]})).unwrap();
    let web = Web::new(Arc::new(SystemResolver), &settings).unwrap();
    let runner = CommandRunner::new(sandbox(kind), folder.path().to_owned()).with_web(web);
    let words = ["curl", "-sS", "--max-time", "20"].iter().chain(words);
    let argv = words.map(|word| (*word).to_owned()).collect();
    let (access, network) = (VaultAccess::Look, Network::Servers(servers));
    let tool = "exec".to_owned();
    let workspace = runner.workspace(None, &cx).await?;
    let order =
        CommandRequest { argv, workspace, folder: None, access, network, beside: None, tool };
    runner.run(order, Duration::from_secs(60), &cx).await
}

#[tokio::test]
async fn a_command_reaches_the_servers_of_its_plan_and_no_other_listener_of_this_machine() {
    let named = Site::start(|_| Page::html("the one that was named")).await;
    let other = Site::start(|_| Page::html("nobody named this one")).await;
    let servers = vec![named.address().to_string().parse().unwrap()];
    let url = |site: &Site| format!("http://{}/", site.address());
    let ran = curl(SandboxKind::Bubblewrap, servers.clone(), &[&url(&named)]).await.unwrap();
    assert_eq!(ran.ending, Ending::Exited(0), "{}", ran.output);
    assert!(ran.output.contains("the one that was named"), "{}", ran.output);
    let ran = curl(SandboxKind::Bubblewrap, servers.clone(), &[&url(&other)]).await.unwrap();
    assert!(ran.output.contains("is not allowed for this command"), "{}", ran.output);
    // A command that does not use the proxy cannot reach a server that is not allowed either.
    let direct = ["--noproxy", "*", &url(&other)];
    let ran = curl(SandboxKind::Bubblewrap, servers.clone(), &direct).await.unwrap();
    assert!(ran.output.contains("curl: (7) Failed to connect"), "{}", ran.output);
    let error =
        curl(SandboxKind::Landlock, servers, &[&url(&named)]).await.err().unwrap().to_string();
    assert!(error.contains("commands have no network on this machine"), "{error}");
    assert_eq!(other.requests(), Vec::<String>::new());
}
