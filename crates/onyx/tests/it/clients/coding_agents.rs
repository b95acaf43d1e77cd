//! Claude Code and Codex as their makers ship them, against an agent and against providers of
//! their own wire and of another.

use std::path::PathBuf;
use std::process::{Output, Stdio};

use onyx_test_support::{
    Answer, DEFAULT_TOKEN, ErrorKind, Fault, OnyxProcess, RecordedRequest, ScriptedCall, wait_for,
};
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;

use super::libraries::record;
use super::{installed, server_answering};

/// What the file says that the client is to read, and nothing else does.
const SECRET: &str = "the word is heliotrope";

const QUESTION: &str = "what does hello.txt say?";

/// One program and how it is asked.
#[derive(Clone, Copy)]
enum Program {
    ClaudeCode,
    Codex,
}

use Program::{ClaudeCode, Codex};

/// A folder with the file in it, and a home in which the program finds nothing of anybody's.
struct Desk {
    home: TempDir,
    work: TempDir,
}

impl Desk {
    fn new() -> Self {
        let desk = Self { home: tempfile::tempdir().unwrap(), work: tempfile::tempdir().unwrap() };
        std::fs::write(desk.work.path().join("hello.txt"), SECRET).unwrap();
        desk
    }

    fn file(&self) -> PathBuf {
        self.work.path().join("hello.txt")
    }
}

impl Program {
    #[allow(clippy::disallowed_methods, reason = "a program of others needs the machine's PATH")]
    async fn command(self, onyx: &OnyxProcess, desk: &Desk, target: &str, token: &str) -> Command {
        let (folder, binary) = match self {
            ClaudeCode => (installed("claude_code").await, "claude"),
            Codex => (installed("codex").await, "codex"),
        };
        let mut command = Command::new(folder.join("js/node_modules/.bin").join(binary));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", desk.home.path())
            .current_dir(desk.work.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        match self {
            ClaudeCode => command
                .env("ANTHROPIC_BASE_URL", onyx.base_url())
                .env("ANTHROPIC_AUTH_TOKEN", token)
                .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
                .env("CLAUDE_CODE_MAX_RETRIES", "2")
                .args(["--model", target, "--allowedTools", "Read"]),
            Codex => {
                let provider = format!(
                    "model_providers.onyx={{name=\"Onyx\",base_url=\"{}/v1\",env_key=\"ONYX_TOKEN\",\
                     wire_api=\"responses\",request_max_retries=1,stream_max_retries=1}}",
                    onyx.base_url()
                );
                command
                    .env("CODEX_HOME", desk.home.path())
                    .env("ONYX_TOKEN", token)
                    .args(["exec", "--skip-git-repo-check"])
                    .args(["--dangerously-bypass-approvals-and-sandbox"])
                    .args(["-c", "model_provider=onyx", "-c", &provider, "-m", target])
            }
        };
        command
    }

    async fn ask(self, onyx: &OnyxProcess, target: &str, words: &str) -> Output {
        self.ask_with(onyx, &Desk::new(), target, words, DEFAULT_TOKEN).await
    }

    async fn ask_with(
        self,
        onyx: &OnyxProcess,
        desk: &Desk,
        target: &str,
        words: &str,
        token: &str,
    ) -> Output {
        let mut command = self.command(onyx, desk, target, token).await;
        match self {
            ClaudeCode => command.args(["-p", words]),
            Codex => command.arg(words),
        };
        let limit = std::time::Duration::from_secs(100);
        tokio::time::timeout(limit, command.output()).await.expect("it ends").unwrap()
    }

    /// The tool that reads the file, as this program offers it.
    fn reading(self, file: &std::path::Path) -> ScriptedCall {
        match self {
            ClaudeCode => ScriptedCall::new("call_1", "Read", &json!({"file_path": file})),
            Codex => ScriptedCall::new("call_1", "exec_command", &json!({"cmd": "cat hello.txt"})),
        }
    }

    /// An agent, a provider of the program's own wire and two of others.
    const fn targets(self) -> [&'static str; 4] {
        match self {
            ClaudeCode => ["onyx:main", "claude/m", "mine/m", "gem/m"],
            Codex => ["onyx:main", "resp/m", "mine/m", "claude/m"],
        }
    }
}

fn out(output: &Output) -> String {
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{}\n{said}\n{complained}", output.status)
}

fn answered(output: &Output, words: &str, onyx: &OnyxProcess) {
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains(words), "{}\n{}", out(output), onyx.log());
}

/// Greets, and reads the file when it is asked what it says.
fn reader(program: Program, file: PathBuf) -> impl Fn(&RecordedRequest) -> Answer {
    move |request| {
        let said = request.body.to_string();
        if said.contains(SECRET) {
            return Answer::text(format!("It says: {SECRET}."));
        }
        if said.contains(QUESTION) {
            return Answer::tool_calls([program.reading(&file)]);
        }
        Answer::text("Hello from the script.")
    }
}

async fn greets_and_reads(program: Program, targets: &[&str]) {
    let desk = Desk::new();
    let (_model, onyx) = server_answering(reader(program, desk.file())).await;
    for target in targets {
        let output = program.ask_with(&onyx, &desk, target, "say hello", DEFAULT_TOKEN).await;
        answered(&output, "Hello from the script.", &onyx);
        let output = program.ask_with(&onyx, &desk, target, QUESTION, DEFAULT_TOKEN).await;
        answered(&output, SECRET, &onyx);
    }
}

/// Everything that the table shows, with every target.
async fn whole(program: Program, name: &str) {
    let targets = program.targets();
    greets_and_reads(program, &targets).await;
    meets_trouble(program).await;
    let columns = ["plain", "stream", "tools", "refused key", "rate limit", "cut stream", "cancel"];
    let seen: Vec<String> = columns
        .iter()
        .flat_map(|column| targets.iter().map(move |target| format!("{column} {target}")))
        .collect();
    record(name, &seen.iter().map(String::as_str).collect::<Vec<_>>());
}

#[tokio::test]
async fn claude_code_talks_and_uses_its_tools_with_an_agent_and_on_another_wire() {
    greets_and_reads(ClaudeCode, &["onyx:main", "mine/m"]).await;
}

#[tokio::test]
async fn codex_talks_and_uses_its_tools_with_an_agent_and_on_another_wire() {
    greets_and_reads(Codex, &["onyx:main", "mine/m"]).await;
}

#[tokio::test]
#[ignore = "make test-clients"]
async fn claude_code_with_every_target_and_in_trouble() {
    whole(ClaudeCode, "claude_code").await;
}

#[tokio::test]
#[ignore = "make test-clients"]
async fn codex_with_every_target_and_in_trouble() {
    whole(Codex, "codex").await;
}

/// A wrong key is said to be one; a limit and a cut stream are gone over; a program that is
/// stopped stops the provider's answer.
async fn meets_trouble(program: Program) {
    for target in program.targets() {
        let (model, onyx) = server_answering(|_| Answer::text("Hello from the script.")).await;
        let refused = program.ask_with(&onyx, &Desk::new(), target, "hi", "wrong-token").await;
        let said = out(&refused).to_lowercase();
        assert!(said.contains("401") || said.contains("auth"), "{target}: {said}");
        assert_eq!(model.request_count(), 0, "{target}");

        let limited = Answer::error(ErrorKind::RateLimited).header("retry-after", "1");
        model.push(limited);
        answered(&program.ask(&onyx, target, "hi").await, "Hello from the script.", &onyx);

        model.push(Answer::text("never to be seen whole").fault(Fault::CloseAt(300)));
        let cut = program.ask(&onyx, target, "hi").await;
        let said = out(&cut);
        assert!(!said.contains("seen whole") || said.contains("rror"), "{target}: {said}");

        model.push(Answer::text("x").fault(Fault::HangAfterHead));
        let before = model.abandoned();
        let mut command = program.command(&onyx, &Desk::new(), target, DEFAULT_TOKEN).await;
        match program {
            ClaudeCode => command.args(["-p", "wait"]),
            Codex => command.arg("wait"),
        };
        let asked = model.request_count();
        let mut child = command.spawn().unwrap();
        model.wait_for_requests(asked + 1).await;
        child.kill().await.unwrap();
        wait_for("the provider's answer to be dropped", crate::SOON, async || {
            (model.abandoned() > before).then_some(())
        })
        .await;
    }
}
