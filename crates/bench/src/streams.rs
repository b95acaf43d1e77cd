//! Measures many answers at once: how much later a token arrives after the one before it, beyond
//! the model's own pace.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use onyx_test_support::{DEFAULT_TOKEN, OnyxProcess};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::measure::{Bench, only_what_is_asked};
use crate::pacer::{Pace, Pacer};
use crate::process::{CpuClock, resident_bytes};

/// The model sends 20 tokens a second.
const EVERY: Duration = Duration::from_millis(50);
/// How long is measured after every stream has begun.
const MEASURED: Duration = Duration::from_secs(8);
/// How many streams are opened at the same time.
const OPENING: usize = 64;

/// How many streams were requested, and their measurement or why there is none.
#[derive(Debug)]
pub(crate) struct AskedStreams {
    pub(crate) count: usize,
    pub(crate) measured: Result<Streams, String>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Streams {
    /// The percentiles of the added gaps.
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    /// The CPU time of onyx per second, in cores.
    pub(crate) cores: f64,
    pub(crate) bytes: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Cap {
    pub(crate) allowed: usize,
    pub(crate) streamed: usize,
    /// Streams that were answered with 503 and the time for a retry.
    pub(crate) refused: usize,
    pub(crate) asked: usize,
}

/// When a token was sent and when it arrived.
type Token = (Duration, Duration);

impl Bench {
    pub(crate) async fn streams(&self, count: usize) -> Result<Streams> {
        let epoch = Instant::now();
        // Opening the streams takes a while on few cores, and the first stream must not end before
        // the last has begun.
        let opening = Duration::from_millis(20 * count as u64) + Duration::from_secs(2);
        let tokens = ((opening + MEASURED).as_millis() / EVERY.as_millis()) as u32;
        let pacer = Pacer::start(Pace { every: EVERY, tokens, epoch }).await?;
        let process = self.with_cap(&pacer, count).await;
        let opened = Arc::new(Semaphore::new(OPENING));
        let mut streams = JoinSet::new();
        for _ in 0..count {
            let place = Arc::clone(&opened).acquire_owned().await?;
            let host = host_of(&process);
            streams.spawn(async move {
                let mut stream = Stream::open(&host, epoch).await?;
                let status = stream.status().await?;
                if status != 200 {
                    bail!("a stream was refused with {status} below the cap");
                }
                let first = stream.token().await?;
                drop(place);
                let mut tokens: Vec<Token> = first.into_iter().collect();
                while let Some(token) = stream.token().await? {
                    tokens.push(token);
                }
                Ok(tokens)
            });
        }
        let _all = opened.acquire_many(OPENING as u32).await?;
        let (clock, from) = (CpuClock::of(&process)?, epoch.elapsed());
        let before = clock.now()?;
        tokio::time::sleep(MEASURED).await;
        let (cpu, until) = (clock.now()? - before, epoch.elapsed());
        let bytes = resident_bytes(&process)?;
        let mut gaps = Vec::new();
        while let Some(tokens) = streams.join_next().await {
            let tokens = tokens??;
            if tokens.first().is_none_or(|first| first.1 > from)
                || tokens.last().is_none_or(|last| last.1 < until)
            {
                bail!("a stream was over before all were measured: opening took too long");
            }
            gaps.extend(added_gaps(&tokens, from, until));
        }
        gaps.sort_unstable();
        Ok(Streams {
            p50: percentile(&gaps, 50).context("no token arrived")?,
            p99: percentile(&gaps, 99).context("no token arrived")?,
            cores: cpu.as_secs_f64() / (until - from).as_secs_f64(),
            bytes,
        })
    }

    /// Requests more runs than are allowed.
    pub(crate) async fn cap(&self, allowed: usize) -> Result<Cap> {
        let epoch = Instant::now();
        let pacer = Pacer::start(Pace { every: EVERY, tokens: 100, epoch }).await?;
        let process = self.with_cap(&pacer, allowed).await;
        let asked = allowed * 2;
        let mut streams = Vec::new();
        for _ in 0..asked {
            streams.push(Stream::open(&host_of(&process), epoch).await?);
        }
        let mut cap = Cap { allowed, streamed: 0, refused: 0, asked };
        for stream in &mut streams {
            match stream.status().await? {
                200 => cap.streamed += 1,
                503 if stream.head()?.contains("\r\nretry-after:") => cap.refused += 1,
                other => bail!("an answer of {other} beyond the cap"),
            }
        }
        Ok(cap)
    }

    async fn with_cap(&self, pacer: &Pacer, cap: usize) -> OnyxProcess {
        OnyxProcess::builder()
            .binary(&self.onyx)
            .base_url(pacer.base_url())
            .merge(only_what_is_asked())
            .merge(json!({"gateway": {"maxRuns": cap}}))
            .start()
            .await
    }
}

fn host_of(process: &OnyxProcess) -> String {
    process.base_url().trim_start_matches("http://").to_owned()
}

/// One answer, read with as little work as possible: the reader shares the cores with what it
/// measures.
struct Stream {
    stream: TcpStream,
    buffer: Vec<u8>,
    epoch: Instant,
}

impl Stream {
    async fn open(host: &str, epoch: Instant) -> Result<Self> {
        let mut stream = TcpStream::connect(host).await?;
        let body = json!({"message": "hello"}).to_string();
        let request = format!(
            "POST /api/agent/chat-stream HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {DEFAULT_TOKEN}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await?;
        Ok(Self { stream, buffer: Vec::new(), epoch })
    }

    async fn status(&mut self) -> Result<u16> {
        while !self.buffer.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
            self.read().await?;
        }
        let status = self.head()?.split(' ').nth(1).and_then(|code| code.parse().ok());
        status.context("the answer has no status")
    }

    fn head(&self) -> Result<String> {
        let end = self.buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        let head = &self.buffer[..end.context("the answer has no head")?];
        Ok(String::from_utf8_lossy(head).to_ascii_lowercase())
    }

    async fn read(&mut self) -> Result<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => bail!("the answer broke off"),
            _ => Ok(()),
        }
    }

    /// The next token; `None` when the answer is over.
    async fn token(&mut self) -> Result<Option<Token>> {
        loop {
            while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                if let Some(sent) = sent_at(&line) {
                    return Ok(Some((sent, self.epoch.elapsed())));
                }
                if line.starts_with(b"{\"type\":\"done\"") {
                    return Ok(None);
                }
            }
            self.read().await?;
        }
    }
}

/// The time in a line's token. Tokens that share a chunk count as the last of them.
fn sent_at(line: &[u8]) -> Option<Duration> {
    let text = std::str::from_utf8(line).ok()?.strip_prefix("{\"type\":\"text\",\"delta\":\"")?;
    let newest = text.split('"').next()?.split_ascii_whitespace().next_back()?;
    Some(Duration::from_micros(newest.parse().ok()?))
}

/// How much longer the reader waited for each token than the model's pace requires.
fn added_gaps(tokens: &[Token], from: Duration, until: Duration) -> Vec<Duration> {
    let measured = |arrived: Duration| from <= arrived && arrived <= until;
    let pairs = tokens.windows(2).filter(|pair| measured(pair[0].1) && measured(pair[1].1));
    pairs.map(|pair| (pair[1].1 - pair[0].1).saturating_sub(pair[1].0 - pair[0].0)).collect()
}

fn percentile(sorted: &[Duration], percent: usize) -> Option<Duration> {
    sorted.get((sorted.len() * percent / 100).min(sorted.len().checked_sub(1)?)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn a_gap_counts_only_beyond_the_models_own() {
        let tokens = [(ms(0), ms(10)), (ms(50), ms(60)), (ms(100), ms(140)), (ms(150), ms(160))];
        assert_eq!(added_gaps(&tokens, ms(0), ms(1_000)), [ms(0), ms(30), ms(0)]);
        assert_eq!(added_gaps(&tokens, ms(50), ms(150)), [ms(30)]);
    }

    #[test]
    fn a_token_says_when_it_was_sent() {
        let line = b"{\"type\":\"text\",\"delta\":\"1500 2500 \"}\n";
        assert_eq!(sent_at(line), Some(Duration::from_micros(2_500)));
        assert_eq!(sent_at(b"{\"type\":\"start\"}\n"), None);
        assert_eq!(sent_at(b"1f\r\n"), None);
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let values: Vec<Duration> = (0..100).map(ms).collect();
        assert_eq!(percentile(&values, 50), Some(ms(50)));
        assert_eq!(percentile(&values, 99), Some(ms(99)));
        assert_eq!(percentile(&[], 99), None);
    }
}
