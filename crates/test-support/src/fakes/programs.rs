//! Fake programs in place of the Claude CLI and the Pi sidecar: scripts that speak their protocols,
//! with faults. They write down what they receive.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

const CLAUDE: &str = include_str!("../../fakes/claude.py");
const PI: &str = include_str!("../../fakes/pi.py");
/// The module that both programs import.
const UPSTREAM: &str = include_str!("../../fakes/upstream.py");

/// A folder with a program and its script. Dropping it removes the folder; the program's processes
/// end with those that started them.
#[derive(Debug)]
pub struct FakeProgram(tempfile::TempDir);

impl FakeProgram {
    /// A Claude CLI that gives these answers in order, whichever of its processes is asked.
    pub fn claude(answers: impl IntoIterator<Item = Value>) -> Self {
        let answers: Vec<Value> = answers.into_iter().collect();
        Self::scripted_claude(&json!({"answers": answers}))
    }

    /// Makes a Claude CLI from a whole script: `answers`, `auth`, `start`, `version`.
    pub fn scripted_claude(script: &Value) -> Self {
        Self::make(CLAUDE, script)
    }

    /// Makes a Pi sidecar from a whole script: `answers`, `sign_ins`, `start`, `version`.
    pub fn scripted_pi(script: &Value) -> Self {
        Self::make(PI, script)
    }

    /// A Claude CLI whose answers come from this model; `model` is the address of its chat wire.
    pub fn claude_before(model: &str) -> Self {
        Self::make(CLAUDE, &json!({"answers": [], "upstream": model}))
    }

    /// A Pi sidecar whose answers come from this model.
    pub fn pi_before(model: &str) -> Self {
        Self::make(PI, &json!({"answers": [], "upstream": model}))
    }

    fn make(content: &str, script: &Value) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("script.json"), script.to_string()).expect("the script");
        std::fs::write(folder.path().join("upstream.py"), UPSTREAM).expect("the script");
        let program = folder.path().join("program");
        // The file is closed before the program is run, because a file that is open for writing
        // cannot be run.
        let mut file = std::fs::File::create(&program).expect("the program");
        file.write_all(content.as_bytes()).expect("the program");
        file.set_permissions(PermissionsExt::from_mode(0o755)).expect("the program");
        drop(file);
        Self(folder)
    }

    pub fn program(&self) -> PathBuf {
        self.0.path().join("program")
    }

    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// Everything that the program's processes wrote down.
    pub fn heard(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.0.path().join("heard.jsonl")).unwrap_or_default();
        // The last line may not be complete yet.
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The values of one field in everything that was written down.
    pub fn noted(&self, field: &str) -> Vec<Value> {
        self.heard().into_iter().filter_map(|entry| entry.get(field).cloned()).collect()
    }

    /// The processes that were started to answer, without those that only checked who is signed in.
    pub fn processes(&self) -> Vec<u32> {
        let started = self.heard().into_iter().filter(|entry| {
            entry["argv"].as_array().is_some_and(|argv| argv.first() != Some(&json!("auth")))
        });
        started.filter_map(|entry| u32::try_from(entry["pid"].as_u64()?).ok()).collect()
    }
}
