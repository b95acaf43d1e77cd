//! The measurements. Each starts a server on a home of its own and stops it when done.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use onyx_test_support::{AgentClient, OnyxProcess, Recording, ScriptedModel};
use serde_json::{Value, json};

use crate::history;
use crate::process::{CpuClock, resident_bytes};

const STARTS: usize = 5;

#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) onyx: PathBuf,
    pub(crate) turns: u32,
}

#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) cpu_to_healthy: Duration,
    pub(crate) idle_bytes: u64,
}

#[derive(Debug)]
pub(crate) struct TurnCost {
    pub(crate) hello_bytes: usize,
    pub(crate) fresh_sessions: Cost,
    pub(crate) one_session: Cost,
    pub(crate) bytes_after: u64,
}

/// The average cost of one turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) cpu: Duration,
    pub(crate) wall: Duration,
}

#[derive(Debug)]
pub(crate) struct AtLength {
    pub(crate) length: usize,
    /// The CPU time of the first turn after a start, which has to open the session.
    pub(crate) first: Duration,
    /// The CPU time after that turn until the server is idle: the search index reads a log that it
    /// does not know yet.
    pub(crate) learning: Duration,
    pub(crate) next: Cost,
    pub(crate) request_bytes: usize,
    /// The CPU time for showing the newest messages.
    pub(crate) last_page: Duration,
}

impl Bench {
    /// The CPU time until `/health` answers, as the median of several starts, and the memory of an
    /// idle server.
    pub(crate) async fn start(&self) -> Result<Start> {
        let mut times = Vec::new();
        let mut idle_bytes = 0;
        for _ in 0..STARTS {
            let process = OnyxProcess::builder().binary(&self.onyx).start().await;
            times.push(CpuClock::of(&process)?.now()?);
            // Work that the start left over must be done before the memory is measured.
            idle_bytes = process.settled_bytes().await;
        }
        times.sort_unstable();
        Ok(Start { cpu_to_healthy: times[STARTS / 2], idle_bytes })
    }

    pub(crate) async fn turns(&self) -> Result<TurnCost> {
        let (model, process) = self.pair().await;
        say_hello(&process, None).await?;
        let hello_bytes = model.last_request().raw.len();

        self.warm_up(&process, None).await?;
        let fresh_sessions = cost_of_turns(&process, None, self.turns).await?;
        let session = say_hello(&process, None).await?;
        let one_session = cost_of_turns(&process, Some(&session), self.turns).await?;

        let bytes_after = resident_bytes(&process)?;
        Ok(TurnCost { hello_bytes, fresh_sessions, one_session, bytes_after })
    }

    pub(crate) async fn turns_at_length(&self, length: usize) -> Result<AtLength> {
        let (model, mut process) = self.pair().await;
        let session = say_hello(&process, None).await?;
        process.terminate().await;
        let length = history::lengthen(&process.home(), session.parse()?, length).await?;
        process.restart().await;
        // Turns of another session come first, so that costs of only the first turn of a process
        // are not counted.
        self.warm_up(&process, None).await?;

        let clock = CpuClock::of(&process)?;
        let before = clock.now()?;
        say_hello(&process, Some(&session)).await?;
        let answered = clock.now()?;
        let first = answered - before;
        let learning = until_rest(clock).await? - answered;
        // The first turns after so much new text make the index merge its parts once, which must
        // not be counted.
        for _ in 0..self.turns.div_ceil(50) {
            say_hello(&process, Some(&session)).await?;
        }
        until_rest(clock).await?;

        let next = cost_of_turns(&process, Some(&session), (self.turns / 5).max(1)).await?;
        let request_bytes = model.last_request().raw.len();
        let last_page = cost_of_last_page(&process, &session).await?;
        Ok(AtLength { length, first, learning, next, request_bytes, last_page })
    }

    pub(crate) async fn pair(&self) -> (ScriptedModel, OnyxProcess) {
        let model = ScriptedModel::start().await;
        model.set_recording(Recording::Last(1));
        let process = OnyxProcess::builder()
            .binary(&self.onyx)
            .base_url(model.base_url())
            .merge(only_what_is_asked())
            .start()
            .await;
        (model, process)
    }

    async fn warm_up(&self, process: &OnyxProcess, session: Option<&str>) -> Result<()> {
        for _ in 0..self.turns / 10 {
            say_hello(process, session).await?;
        }
        Ok(())
    }
}

/// Settings without titles by a model: such a title is a second, silent turn, which would be
/// counted with the first.
pub(crate) fn only_what_is_asked() -> Value {
    json!({"agents": {"defaults": {"titles": "words"}}})
}

/// Waits until the process uses hardly any CPU, and returns its CPU time then.
pub(crate) async fn until_rest(clock: CpuClock) -> Result<Duration> {
    const LOOK: Duration = Duration::from_millis(300);
    const HARDLY_ANY: Duration = Duration::from_millis(3);
    const PATIENCE: u32 = 200;
    let mut before = clock.now()?;
    for _ in 0..PATIENCE {
        tokio::time::sleep(LOOK).await;
        let now = clock.now()?;
        if now - before < HARDLY_ANY {
            return Ok(now);
        }
        before = now;
    }
    anyhow::bail!("the server does not come to rest")
}

pub(crate) async fn cost_of_turns(
    process: &OnyxProcess,
    session: Option<&str>,
    turns: u32,
) -> Result<Cost> {
    let clock = CpuClock::of(process)?;
    let (cpu, wall) = (clock.now()?, Instant::now());
    for _ in 0..turns {
        say_hello(process, session).await?;
    }
    Ok(Cost { cpu: (clock.now()? - cpu) / turns, wall: wall.elapsed() / turns })
}

async fn cost_of_last_page(process: &OnyxProcess, session: &str) -> Result<Duration> {
    const PAGES: u32 = 20;
    let path = format!("/api/agent/session/history?session_id={session}&limit=50");
    let clock = CpuClock::of(process)?;
    let before = clock.now()?;
    for _ in 0..PAGES {
        let _ = process.get(&path).await.expect(200);
    }
    Ok((clock.now()? - before) / PAGES)
}

/// Does one turn through the agent API, and returns its session.
pub(crate) async fn say_hello(client: &AgentClient, session: Option<&str>) -> Result<String> {
    let mut body = json!({"message": "hello"});
    if let Some(session) = session {
        body["session_id"] = Value::from(session);
    }
    let events = client.chat_stream(&body).await;
    let last = events.last().context("the stream held no event")?;
    if last["type"] != "done" || last["status"] != "done" {
        bail!("a turn did not succeed: {events:#?}");
    }
    Ok(last["session_id"].as_str().context("the last event names no session")?.to_owned())
}
