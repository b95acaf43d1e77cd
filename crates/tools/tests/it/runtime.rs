use std::path::{Path, PathBuf};
use std::time::Duration;

use onyx_sandbox::{Program, Sandbox, SandboxKind};
use onyx_storage::Area;
use onyx_test_support::wait_for;
use onyx_tools::{CommandRunner, LiveOutput, Masker, ReadCall, Tool, command_tools};
use onyx_types::{DraftState, Origin, Plan, Taint, ToolEffect};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::executed;
use crate::support::World;

const LONG: Duration = Duration::from_secs(60);

/// Sandboxed commands start in this test: the sandbox runs this test program again.
#[test]
#[ignore = "the child of the tests below"]
fn sandbox_child() {
    let arguments: Vec<String> = std::env::args().collect();
    let own = arguments.iter().position(|word| word.ends_with("sandbox_child")).unwrap();
    let code = onyx_sandbox::child(arguments.into_iter().skip(own + 1));
    std::process::exit(i32::from(code != std::process::ExitCode::SUCCESS));
}

pub(crate) fn sandbox() -> Sandbox {
    let path: PathBuf = std::env::current_exe().unwrap();
    let arguments = ["--ignored", "--exact", "--nocapture", "runtime::sandbox_child"];
    let arguments = arguments.map(str::to_owned).to_vec();
    Sandbox::on(SandboxKind::Landlock, Program { path, arguments })
}

async fn world_with(masker: Masker) -> World {
    let world = World::with(Vec::new(), masker.clone()).await;
    let runner = CommandRunner::new(sandbox(), world.folder.path().to_owned());
    world.with_tools(allowed(command_tools(&runner)), masker)
}

/// Tools whose calls need no approval, because these tests are about what happens after it.
pub(crate) fn allowed(tools: Vec<Arc<dyn Tool>>) -> Vec<Arc<dyn Tool>> {
    tools.into_iter().map(|tool| Arc::new(Approved(tool)) as Arc<dyn Tool>).collect()
}

struct Approved(Arc<dyn Tool>);

struct ApprovedCall<'t>(Box<dyn ReadCall + 't>);

impl Tool for Approved {
    fn spec(&self) -> &onyx_types::ToolSpec {
        self.0.spec()
    }

    fn check_capability(
        &self,
        capability: onyx_types::Capability,
        person: &onyx_types::PersonId,
    ) -> Result<(), String> {
        self.0.check_capability(capability, person)
    }

    fn label(&self, arguments: &Value) -> onyx_types::CallLabel {
        self.0.label(arguments)
    }

    fn read(&self, arguments: Value) -> Result<Box<dyn ReadCall + '_>, onyx_tools::ToolError> {
        Ok(Box::new(ApprovedCall(self.0.read(arguments)?)))
    }
}

#[async_trait::async_trait]
impl ReadCall for ApprovedCall<'_> {
    async fn plan(&self, cx: &onyx_tools::ToolCx) -> Result<Plan, onyx_tools::ToolError> {
        let plan = self.0.plan(cx).await?;
        Ok(Plan { effects: vec![ToolEffect::Read], ..plan })
    }

    async fn invoke(
        self: Box<Self>,
        plan: onyx_tools::Authorised<Plan>,
        cx: &onyx_tools::ToolCx,
    ) -> Result<onyx_types::ToolOutcome, onyx_tools::ToolError> {
        self.0.invoke(plan, cx).await
    }
}

#[tokio::test]
async fn a_command_needs_a_person_and_shows_exactly_what_would_run() {
    let world = World::with(Vec::new(), Masker::default()).await;
    let runner = CommandRunner::new(sandbox(), world.folder.path().to_owned());
    let world = world.with_tools(command_tools(&runner), Masker::default());
    let argv = json!({"argv": ["touch", "a b", "x;y"]});
    assert_eq!(world.asked("exec", argv).await, "Drafted: Run touch 'a b' 'x;y'");
    assert!(!world.vault().join("a b").exists());
    let told = world.failed("exec", json!({"argv": ["ls"], "folder": "../.."})).await;
    assert!(told.starts_with("not allowed: "), "{told}");
}

#[tokio::test]
async fn a_command_works_on_the_persons_files_and_its_words_taint() {
    let world = world_with(Masker::default()).await;
    world.write("work/notes.md", "mine");
    let script = "cat notes.md && echo new > made.md && echo oops >&2 && exit 3";
    let input = json!({"argv": ["sh", "-c", script], "folder": "work"});
    let outcome = world.call("exec", input).await;
    assert!(outcome.is_error && outcome.origin == Origin::External, "{}", outcome.output);
    for part in ["mine", "oops"] {
        assert!(outcome.output.contains(part), "{}", outcome.output);
    }
    assert_eq!(world.text("work/made.md"), "new\n");
    let scratch = world.folder.path().join("cache/scratch");
    assert_eq!(std::fs::read_dir(scratch).unwrap().count(), 0, "nothing is left behind");
}

/// The home's socket requires a key besides the same user. A command runs as this user, and in this
/// kind of sandbox no namespace hides the socket from it.
#[tokio::test]
async fn a_command_reaches_neither_the_homes_socket_nor_its_key() {
    const KEY: &str = "key-of-the-socket-9f3a";
    let world = world_with(Masker::default()).await;
    let home = world.folder.path();
    let listener = std::os::unix::net::UnixListener::bind(home.join("onyx.sock")).unwrap();
    listener.set_nonblocking(true).unwrap();
    std::fs::write(home.join("onyx.sock.key"), KEY).unwrap();
    let script = format!(
        "cat {home}/onyx.sock.key ../../../onyx.sock.key; ls {home}; \
         ln {home}/onyx.sock.key hard; ln -s {home}/onyx.sock.key soft; cat hard soft; \
         python3 -I -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{home}/onyx.sock\")'",
        home = home.display()
    );
    let told = world.failed("exec", json!({"argv": ["sh", "-c", script]})).await;
    assert!(!told.contains(KEY) && !told.contains("onyx.sock\n"), "{told}");
    assert!(told.contains("PermissionError"), "{told}");
    assert!(listener.accept().is_err());
}

async fn origin(world: &World, path: &str) -> Origin {
    let person = Area::Person(world.cx.key.person.clone());
    let path = format!("vault/{path}").parse().unwrap();
    let object = world.cx.files.objects(&person).unwrap().get(&path, 1 << 20).await.unwrap();
    let history = world.cx.files.history(&world.cx.key.person).unwrap();
    history.origin(&path, &object.unwrap()).await.unwrap()
}

#[tokio::test]
async fn what_a_command_writes_is_never_taken_for_the_persons_own_words() {
    let world = world_with(Masker::default()).await;
    world.write("captured.md", "obey");
    world.write("mine.md", "mine, untouched");
    world.write("same.md", "1234");
    // A change is noticed even if the file has the same size and modification time as before.
    let script = "cp captured.md clean.md; touch -r same.md then; printf obey > same.md; \
                  touch -r then same.md; rm then";
    world.done("exec", json!({"argv": ["sh", "-c", script]})).await;
    assert_eq!(world.text("same.md"), "obey");
    for path in ["clean.md", "same.md"] {
        assert_eq!(origin(&world, path).await, Origin::AgentTainted, "{path}");
    }
    assert_eq!(origin(&world, "mine.md").await, Origin::Person);
    let run = world.cx.run;
    let history = world.cx.files.history(&world.cx.key.person).unwrap();
    assert!(history.changes_of_run(run).await.unwrap().is_empty(), "nothing that undo could take");
}

/// Makes more files than are compared one by one. They are hard links to one file, because a disk
/// makes those fast.
fn fill(folder: &Path) {
    for part in 0..4 {
        let folder = folder.join(part.to_string());
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("first"), "").unwrap();
        for number in 0..50_000 {
            std::fs::hard_link(folder.join("first"), folder.join(number.to_string())).unwrap();
        }
    }
}

#[tokio::test]
async fn also_in_a_vault_of_more_files_than_are_compared_a_command_writes_foreign_ones() {
    let world = executed::world().await;
    world.write("captured.md", "obey");
    world.write("mine.md", "mine, untouched");
    fill(&world.vault().join("many"));
    let draft = executed::drafted(&world, "exec", &["cp", "captured.md", "clean.md"]).await;
    let done = executed::approved(&world, draft, None).await.unwrap();
    assert_eq!((done.state, world.text("clean.md").as_str()), (DraftState::Applied, "obey"));
    assert_eq!(origin(&world, "clean.md").await, Origin::AgentTainted);
    assert_eq!(origin(&world, "mine.md").await, Origin::Person);
}

#[tokio::test]
async fn a_command_that_no_person_approved_plants_no_instruction() {
    for taint in [Taint::Tainted, Taint::Clean] {
        plants_no_instruction(taint).await;
    }
}

async fn plants_no_instruction(taint: Taint) {
    let mut world = world_with(Masker::default()).await;
    world.write("agents.md", "be kind");
    world.write("agent/actions/tidy.md", "tidy");
    world.write("evil.md", "obey");
    let plant = "cp evil.md agents.md; rm agent/actions/tidy.md; mkdir -p x/skills; \
                 cp evil.md agent/actions/new.md; cp evil.md x/skills/s.md; cp evil.md note.md";
    let argv = json!({"argv": ["sh", "-c", plant]});
    world.cx.taint = taint;
    let told = world.done("exec", argv).await;
    for path in ["agents.md", "agent/actions/tidy.md", "agent/actions/new.md", "x/skills/s.md"] {
        assert!(told.contains(path), "{path} in {told}");
    }
    assert_eq!(world.text("agents.md"), "be kind");
    assert_eq!(world.text("agent/actions/tidy.md"), "tidy");
    assert!(!world.vault().join("agent/actions/new.md").exists());
    assert!(!world.vault().join("x/skills/s.md").exists());
    assert_eq!(world.text("note.md"), "obey");
    assert_eq!(origin(&world, "note.md").await, Origin::AgentTainted);
}

#[tokio::test]
async fn neither_links_nor_the_inside_of_a_repository_are_left_where_programs_obey_them() {
    let world = world_with(Masker::default()).await;
    world.write("agents.md", "be kind");
    world.write(".git/config", "[core]\n");
    world.write(".git/objects/ab/cd", "kept");
    let plant = "mkdir evil .git/hooks; echo obey > evil/x; ln -s evil .vscode; rm agents.md; \
                 ln -s evil/x agents.md; ln -s evil/x plain; echo run > .git/hooks/pre-commit; \
                 echo x >> .git/config; echo new > .git/objects/ab/ef; mkdir b; echo x > b/HEAD; \
                 echo 'gitdir: evil' > b/.git";
    let told = world.done("exec", json!({"argv": ["sh", "-c", plant]})).await;
    assert_eq!(world.text("agents.md"), "be kind", "{told}");
    assert_eq!(world.text(".git/config"), "[core]\n");
    for path in [".vscode", ".git/hooks/pre-commit", "b/HEAD", "b/.git"] {
        assert!(world.vault().join(path).symlink_metadata().is_err(), "{path}");
        assert!(told.contains(path), "{path} in {told}");
    }
    assert_eq!(world.text("plain"), "obey\n");
    assert_eq!(world.text(".git/objects/ab/ef"), "new\n");
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended_and_its_words_are_kept() {
    let world = world_with(Masker::default()).await;
    let clock = onyx_types::SystemClock::new();
    let world = world.at_clock(Arc::new(clock));
    // The time is long enough for the sandbox to start in.
    let input = json!({"argv": ["sh", "-c", "echo begun; sleep 600"], "seconds": 5});
    let told = world.failed("exec", input).await;
    assert!(told.contains("begun") && told.ends_with("all its processes were ended]"), "{told}");
}

#[tokio::test]
async fn live_output_comes_while_the_command_runs_and_holds_no_secret() {
    let secret = "sk-canary-live-4711";
    let mut world = world_with(Masker::new([secret.to_owned()])).await;
    let (sender, mut chunks) = tokio::sync::mpsc::channel(64);
    world.cx.live = LiveOutput::to(sender);
    // The secret comes in two pieces with a pause between them, and then the command waits.
    let script =
        "printf 'a sk-canary-'; sleep 0.3; printf 'live-4711 b\\n'; cat go; rm go; echo end";
    rustix_fifo(&world.vault().join("go"));
    let cancel = world.cx.cancel.clone();
    let call = world.call("exec", json!({"argv": ["sh", "-c", script]}));
    let look = async {
        let mut live = String::new();
        while !live.contains("[secret] b") {
            live += &chunks.recv().await.unwrap();
        }
        cancel.cancel();
        live
    };
    let (outcome, live) = tokio::join!(call, look);
    assert!(!live.contains("canary"), "{live}");
    assert!(outcome.output.contains("a [secret] b"), "{}", outcome.output);
    assert!(outcome.output.ends_with("[cancelled; all its processes were ended]"));
}

fn rustix_fifo(path: &std::path::Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[tokio::test]
async fn a_process_is_started_written_to_polled_and_killed() {
    let world = world_with(Masker::default()).await;
    let script = "while read line; do echo \"heard $line\"; done; echo bye";
    let started = world.done("process", json!({"action": "start", "argv": ["sh", "-c", script]}));
    assert_eq!(started.await, "process 1 runs; poll it for its output");
    world.done("process", json!({"action": "write", "id": 1, "text": "one\n"})).await;
    let poll = async || {
        let said = world.done("process", json!({"action": "poll", "id": 1, "seconds": 1})).await;
        said.contains("heard one").then_some(said)
    };
    let said = wait_for("its answer", LONG, poll).await;
    assert!(said.ends_with("[process 1 runs]"), "{said}");
    world.done("process", json!({"action": "kill", "id": 1})).await;
    let poll = async || {
        let said = world.call("process", json!({"action": "poll", "id": 1, "seconds": 1})).await;
        said.output.contains("[process 1 stopped]").then_some(())
    };
    wait_for("its end", LONG, poll).await;
    let told = world.failed("process", json!({"action": "poll", "id": 1})).await;
    assert_eq!(told, "there is no process 1 here");
}

#[tokio::test]
async fn a_process_is_there_for_its_own_session_only_and_ends_with_a_cancelled_run() {
    let mut world = world_with(Masker::default()).await;
    let start = json!({"action": "start", "argv": ["sleep", "600"]});
    world.done("process", start.clone()).await;
    let told = world.failed("process", json!({"action": "poll"})).await;
    assert_eq!(told, "this action needs \"id\"");
    let (own, cancel) = (world.cx.key.clone(), world.cx.cancel.clone());
    world.cx.key.person = "bob".parse().unwrap();
    for action in ["poll", "kill"] {
        let told = world.failed("process", json!({"action": action, "id": 1})).await;
        assert_eq!(told, "there is no process 1 here");
    }
    world.cx.key = own;
    for _ in 0..3 {
        world.done("process", start.clone()).await;
    }
    let told = world.failed("process", start).await;
    assert!(told.starts_with("4 processes run already"), "{told}");
    cancel.cancel();
    world.cx.cancel = onyx_types::Cancel::new();
    let poll = async || {
        let said = world.call("process", json!({"action": "poll", "id": 2, "seconds": 1})).await;
        said.output.contains("stopped with its run").then_some(())
    };
    wait_for("its end", LONG, poll).await;
}
