//! Processes that keep running between calls.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onyx_types::{Cancel, SessionKey};
use tokio::io::AsyncWriteExt;
use tokio::sync::{Notify, mpsc};

use super::{CommandRequest, CommandRunner, OutputBuffer, RunningCommand};
use crate::{LiveOutput, ToolCx, ToolError};

/// The most processes of one session.
const MOST: usize = 4;
const LONGEST: Duration = Duration::from_secs(30 * 60);
/// The most bytes of output that wait to be polled; older output is dropped.
const UNREAD: usize = 256 * 1024;
const WORDS_WAITING: usize = 16;

/// The processes of every session.
#[derive(Clone, Default)]
pub(crate) struct Processes(Arc<Mutex<Table>>);

#[derive(Default)]
struct Table {
    last: u64,
    all: BTreeMap<u64, Process>,
}

struct Process {
    session: SessionKey,
    words: mpsc::Sender<String>,
    shared: Arc<SharedOutput>,
    stop: Cancel,
}

/// The output that was not polled yet, and how the process ended.
#[derive(Default)]
struct SharedOutput {
    output: Mutex<ProcessOutput>,
    news: Notify,
}

#[derive(Default)]
struct ProcessOutput {
    unread: String,
    dropped: usize,
    ended: Option<String>,
}

pub(crate) struct ProcessNumber(pub(crate) u64);

impl Processes {
    pub(crate) async fn start(
        &self,
        runner: &CommandRunner,
        order: CommandRequest<'_>,
        cx: &ToolCx,
    ) -> Result<ProcessNumber, ToolError> {
        self.room(&cx.key)?;
        let at_work = runner.start(order, Stdio::piped(), cx).await?;
        let (words, waiting) = mpsc::channel(WORDS_WAITING);
        let (shared, stop) = (Arc::<SharedOutput>::default(), Cancel::new());
        let mut follow = Follow { at_work, waiting, shared: Arc::clone(&shared) };
        // The call that started the process is over when the process ends, so nothing is shown live
        // then.
        let cx_of_end = ToolCx { live: LiveOutput::nowhere(), ..cx.clone() };
        let (of_run, of_process, longest) =
            (cx.cancel.clone(), stop.clone(), cx.clock.sleep(LONGEST));
        tokio::spawn(async move {
            let shared = Arc::clone(&follow.shared);
            let mut ended = tokio::select! {
                ended = follow.until_end() => ended,
                () = of_run.cancelled() => "stopped with its run".to_owned(),
                () = of_process.cancelled() => "stopped".to_owned(),
                () = longest => format!("stopped after {} s", LONGEST.as_secs()),
            };
            match follow.at_work.end(&cx_of_end).await {
                Ok(left) => ended.push_str(&left.note()),
                Err(error) => ended.push_str(&format!("; what it wrote is not known: {error}")),
            }
            shared.lock().ended = Some(ended);
            shared.news.notify_one();
        });
        let mut table = self.table();
        table.last += 1;
        let id = table.last;
        table.all.insert(id, Process { session: cx.key.clone(), words, shared, stop });
        Ok(ProcessNumber(id))
    }

    /// Waits a while for new output and returns it.
    pub(crate) async fn poll(
        &self,
        id: u64,
        patience: Duration,
        cx: &ToolCx,
    ) -> Result<String, ToolError> {
        let shared = self.find(id, cx, |process| Arc::clone(&process.shared))?;
        if shared.lock().is_quiet() {
            // If nothing new comes in time, the answer says so.
            let _ = cx.clock.within(patience, shared.news.notified()).await;
        }
        let mut latest = shared.lock();
        let mut output = std::mem::take(&mut latest.unread);
        if latest.dropped > 0 {
            output = format!("[{} bytes left out]\n{output}", std::mem::take(&mut latest.dropped));
        }
        match &latest.ended {
            Some(ended) => {
                output.push_str(&format!("\n[process {id} {ended}]"));
                self.table().all.remove(&id);
            }
            None => output.push_str(&format!("\n[process {id} runs]")),
        }
        Ok(output.trim_start_matches('\n').to_owned())
    }

    pub(crate) fn write(&self, id: u64, text: &str, cx: &ToolCx) -> Result<(), ToolError> {
        let words = self.find(id, cx, |process| process.words.clone())?;
        words.try_send(text.to_owned()).map_err(|_| {
            ToolError::Failed(format!("process {id} takes no input: it ended or does not read"))
        })
    }

    pub(crate) fn kill(&self, id: u64, cx: &ToolCx) -> Result<(), ToolError> {
        self.find(id, cx, |process| process.stop.cancel())
    }

    fn room(&self, session: &SessionKey) -> Result<(), ToolError> {
        let mut table = self.table();
        // A process whose end and whole output were polled is removed.
        let ids: Vec<u64> = table.of(session).map(|(id, _)| *id).collect();
        if ids.len() < MOST {
            return Ok(());
        }
        let over = table.of(session).find(|(_, process)| process.shared.lock().ended.is_some());
        match over.map(|(id, _)| *id) {
            Some(id) => {
                table.all.remove(&id);
                Ok(())
            }
            None => Err(ToolError::Failed(format!("{MOST} processes run already: {ids:?}"))),
        }
    }

    /// Finds a process of this session. Those of other sessions are not found.
    fn find<T>(
        &self,
        id: u64,
        cx: &ToolCx,
        look: impl FnOnce(&Process) -> T,
    ) -> Result<T, ToolError> {
        let table = self.table();
        let process = table.all.get(&id).filter(|process| process.session == cx.key);
        process.map(look).ok_or_else(|| ToolError::NotFound(format!("process {id} here")))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn of(&self, session: &SessionKey) -> impl Iterator<Item = (&u64, &Process)> {
        self.all.iter().filter(move |(_, process)| process.session == *session)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.all.values().for_each(|process| process.stop.cancel());
    }
}

impl SharedOutput {
    fn lock(&self) -> MutexGuard<'_, ProcessOutput> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProcessOutput {
    fn is_quiet(&self) -> bool {
        self.unread.is_empty() && self.ended.is_none()
    }

    fn add(&mut self, text: &str) {
        self.unread.push_str(text);
        if self.unread.len() > 2 * UNREAD {
            let cut = self.unread.ceil_char_boundary(self.unread.len() - UNREAD);
            self.dropped += cut;
            self.unread.drain(..cut);
        }
    }
}

struct Follow {
    at_work: RunningCommand,
    waiting: mpsc::Receiver<String>,
    shared: Arc<SharedOutput>,
}

impl Follow {
    async fn until_end(&mut self) -> String {
        let mut stdin = self.at_work.running.take_stdin();
        let mut gathered = OutputBuffer::default();
        loop {
            tokio::select! {
                piece = self.at_work.running.next_output() => match piece {
                    Ok(Some(piece)) => {
                        self.shared.lock().add(&gathered.add(&piece));
                        self.shared.news.notify_one();
                    }
                    Ok(None) => break,
                    Err(error) => return format!("can no longer be read: {error}"),
                },
                Some(words) = self.waiting.recv() => {
                    if let Some(pipe) = &mut stdin
                        && pipe.write_all(words.as_bytes()).await.is_err()
                    {
                        stdin = None;
                        self.waiting.close();
                    }
                }
            }
        }
        match self.at_work.running.wait().await {
            Ok(status) => match status.code() {
                Some(code) => format!("ended with exit code {code}"),
                None => "was killed".to_owned(),
            },
            Err(error) => format!("is lost: {error}"),
        }
    }
}
