//! Claude Code and Codex in the versions that their makers ship, with an agent and with a provider
//! of another wire format. `make test-clients` tests more with them.

use std::path::PathBuf;
use std::process::{Output, Stdio};

use onyx_test_support::{Answer, DEFAULT_TOKEN, OnyxProcess, RecordedRequest, ScriptedCall};
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;

use super::{installed, server_answering};

/// The content of the file that the client is asked to read. It occurs nowhere else.
const SECRET: &str = "the word is heliotrope";

const QUESTION: &str = "what does hello.txt say?";

/// A program and how it is asked.
#[derive(Clone, Copy)]
enum Program {
    ClaudeCode,
    Codex,
}

use Program::{ClaudeCode, Codex};

/// A folder with the file, and a home for the program without anybody's settings.
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
    async fn command(self, onyx: &OnyxProcess, desk: &Desk, target: &str) -> Command {
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
                .env("ANTHROPIC_AUTH_TOKEN", DEFAULT_TOKEN)
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
                    .env("ONYX_TOKEN", DEFAULT_TOKEN)
                    .args(["exec", "--skip-git-repo-check"])
                    .args(["--dangerously-bypass-approvals-and-sandbox"])
                    .args(["-c", "model_provider=onyx", "-c", &provider, "-m", target])
            }
        };
        command
    }

    async fn ask(self, onyx: &OnyxProcess, desk: &Desk, target: &str, words: &str) -> Output {
        let mut command = self.command(onyx, desk, target).await;
        match self {
            ClaudeCode => command.args(["-p", words]),
            Codex => command.arg(words),
        };
        let limit = std::time::Duration::from_secs(100);
        tokio::time::timeout(limit, command.output()).await.expect("it ends").unwrap()
    }

    /// The call of this program's tool that reads the file.
    fn reading(self, file: &std::path::Path) -> ScriptedCall {
        match self {
            ClaudeCode => ScriptedCall::new("call_1", "Read", &json!({"file_path": file})),
            Codex => ScriptedCall::new("call_1", "exec_command", &json!({"cmd": "cat hello.txt"})),
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

/// A model that greets, and reads the file when it is asked for its content.
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
        let output = program.ask(&onyx, &desk, target, "say hello").await;
        answered(&output, "Hello from the script.", &onyx);
        let output = program.ask(&onyx, &desk, target, QUESTION).await;
        answered(&output, SECRET, &onyx);
    }
}

#[tokio::test]
async fn claude_code_talks_and_uses_its_tools_with_an_agent_and_on_another_wire() {
    greets_and_reads(ClaudeCode, &["onyx:main", "mine/m"]).await;
}

#[tokio::test]
async fn codex_talks_and_uses_its_tools_with_an_agent_and_on_another_wire() {
    greets_and_reads(Codex, &["onyx:main", "mine/m"]).await;
}
