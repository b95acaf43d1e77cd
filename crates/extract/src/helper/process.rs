use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::Task;
use crate::LONGEST_TEXT;

/// The longest answer of a helper, because JSON may write one byte of text as six. It is also more
/// than the largest picture.
const LONGEST_ANSWER: u64 = 6 * LONGEST_TEXT as u64 + 1024 * 1024;

/// The program that becomes a helper, with its fixed arguments.
#[derive(Clone, Debug)]
pub(crate) struct HelperProcess {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
}

/// Why a helper gave no answer.
pub(crate) enum NoHelperAnswer {
    NotStarted(io::Error),
    /// It took too long, or the kernel ended it at one of its limits.
    Ended,
    /// It ended by itself and reported a failure.
    Failed,
}

impl HelperProcess {
    /// Starts a helper for the task, sends it the bytes and waits for its answer.
    pub(crate) async fn ask(
        &self,
        task: &Task,
        bytes: &[u8],
        patience: Duration,
    ) -> Result<Vec<u8>, NoHelperAnswer> {
        let asked = tokio::time::timeout(patience, self.answer(task, bytes)).await;
        asked.unwrap_or(Err(NoHelperAnswer::Ended))
    }

    async fn answer(&self, task: &Task, bytes: &[u8]) -> Result<Vec<u8>, NoHelperAnswer> {
        let mut child = self.start(task).map_err(NoHelperAnswer::NotStarted)?;
        let (Some(mut into), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(NoHelperAnswer::Ended);
        };
        let send = async move {
            // The helper may answer and close its input before it has read everything.
            let _ = into.write_all(bytes).await;
            let _ = into.shutdown().await;
        };
        let mut answer = Vec::new();
        let mut from = from.take(LONGEST_ANSWER);
        let ((), read) = tokio::join!(send, from.read_to_end(&mut answer));
        read.map_err(|_| NoHelperAnswer::Ended)?;
        let ended = child.wait().await.map_err(|_| NoHelperAnswer::Ended)?;
        match ended.code() {
            Some(0) => Ok(answer),
            Some(_) => Err(NoHelperAnswer::Failed),
            None => Err(NoHelperAnswer::Ended),
        }
    }

    fn start(&self, task: &Task) -> io::Result<Child> {
        Command::new(&self.program)
            .args(&self.arguments)
            .args(task.to_arguments())
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
    }
}
