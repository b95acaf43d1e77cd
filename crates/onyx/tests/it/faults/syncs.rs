//! A disk that reports an I/O error when it has to sync.

use std::path::Path;
use std::process::Stdio;

use onyx_test_support::{OnyxProcess, ScriptedModel, wait_until};
use serde_json::json;
use tokio::process::{Child, Command};

use super::{assert_goes_on, in_session, new_session, writes};
use crate::witness::{self, Told};
use crate::{SOON, onyx};

/// Makes every sync of one file or folder fail until it is dropped.
struct FailingSyncs(Child);

impl FailingSyncs {
    async fn of(onyx: &OnyxProcess, path: &Path) -> Self {
        let process = onyx.process_id().unwrap();
        let strace = Command::new("strace")
            .args(["-f", "-o", "/dev/null", "-e", "trace=fsync,fdatasync"])
            .args(["-e", "inject=fsync,fdatasync:error=EIO", "-P"])
            .arg(path)
            .args(["-p", &process.to_string()])
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("strace is installed (make setup)");
        wait_until("strace to hold every thread", SOON, || all_traced(process)).await;
        Self(strace)
    }

    async fn end(mut self, onyx: &OnyxProcess) {
        self.0.kill().await.unwrap();
        let process = onyx.process_id().unwrap();
        wait_until("strace to let go", SOON, || tracers(process).iter().all(|id| *id == 0)).await;
    }
}

fn all_traced(process: u32) -> bool {
    tracers(process).iter().all(|id| *id != 0)
}

/// The tracer of each thread; 0 if there is none.
fn tracers(process: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    let tracer = |path: std::path::PathBuf| {
        let status = std::fs::read_to_string(path.join("status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
        line.and_then(|id| id.trim().parse().ok()).unwrap_or(0)
    };
    tasks.map(|task| tracer(task.path())).collect()
}

fn log_of(onyx: &OnyxProcess, session: &str) -> std::path::PathBuf {
    onyx.home().join(format!("people/owner/sessions/main/{session}.jsonl"))
}

#[tokio::test]
async fn a_failed_sync_of_a_log_makes_that_session_read_only_and_no_other() {
    let model = ScriptedModel::start().await;
    let mut onyx = onyx(&model).await;
    let (broken, other) = (new_session(&onyx).await, new_session(&onyx).await);
    let before = onyx.history(&broken).await;
    let failing = FailingSyncs::of(&onyx, &log_of(&onyx, &broken)).await;
    let asked = model.request_count();
    let told = witness::talk(onyx.client(), &in_session(&broken, "lost?")).await;
    let code = told.refused.as_ref().or(told.error.as_ref());
    assert_eq!(code.map(String::as_str), Some("storage_failed"), "{told:?}");
    assert_ne!(told.status.as_deref(), Some("done"), "{told:?}");
    assert_eq!(model.request_count(), asked, "no model is asked what is not on disk");
    assert_goes_on(&onyx, &other, &Told::default()).await;
    failing.end(&onyx).await;

    // The disk works again, but it is unknown what it holds of this session.
    let still = witness::talk(onyx.client(), &in_session(&broken, "again")).await;
    let code = still.refused.as_ref().or(still.error.as_ref());
    assert_eq!(code.map(String::as_str), Some("storage_failed"), "{still:?}");
    assert_eq!(onyx.history(&broken).await[..before.len()], before[..]);
    onyx.restart().await;
    assert_goes_on(&onyx, &broken, &told).await;
}

#[tokio::test]
async fn a_failed_sync_of_the_ledger_is_no_success_and_is_over_when_the_disk_is_well() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let session = new_session(&onyx).await;
    let failing = FailingSyncs::of(&onyx, &onyx.home().join("onyx.db-wal")).await;
    let told = witness::talk(onyx.client(), &in_session(&session, "go")).await;
    assert_eq!(told.refused.as_deref(), Some("storage_failed"), "{told:?}");
    assert_eq!(onyx.history(&session).await.len(), 2);
    failing.end(&onyx).await;
    assert_goes_on(&onyx, &session, &told).await;
    witness::audit(&onyx.home()).await.unwrap();
}

#[tokio::test]
async fn a_write_that_the_disk_did_not_keep_is_told_to_the_model_as_failed() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    model.push(writes("first.md"));
    witness::talk(onyx.client(), &json!({"message": "makes the folder"})).await;
    let failing = FailingSyncs::of(&onyx, &onyx.home().join("people/owner/vault")).await;
    model.push(writes("second.md"));
    let told = witness::talk(onyx.client(), &json!({"message": "write"})).await;
    assert_eq!(
        (told.results.get("write"), told.status.as_deref()),
        (Some(&false), Some("done")),
        "{told:?}"
    );
    failing.end(&onyx).await;
    assert_goes_on(&onyx, &told.session.clone().unwrap(), &told).await;
}
