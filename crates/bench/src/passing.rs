//! Measures the cost of a request that passes through Onyx to a provider, compared with the
//! provider asked directly.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use onyx_test_support::{AgentClient, Answer, DEFAULT_KEY, Script};
use reqwest::Method;
use serde_json::json;

use crate::measure::Bench;
use crate::process::CpuClock;

/// The number of chunks in a long answer.
const CHUNKS: usize = 50;
/// The text of each chunk, which appears nowhere else in an answer.
const WORD: &str = "word ";

#[derive(Debug)]
pub(crate) struct PassThrough {
    /// An answer of one word.
    pub(crate) short: Answered,
    /// An answer of many chunks, which are sent at once.
    pub(crate) long: Answered,
}

#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) chunks: usize,
    /// The CPU time that onyx takes for a request.
    pub(crate) cpu: Duration,
    /// The time that onyx adds to the first word. `whole` is the time added to the end of the
    /// answer.
    pub(crate) first: Spread,
    pub(crate) whole: Spread,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spread {
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

/// The times of one answer, counted from sending the request.
#[derive(Debug, Clone, Copy)]
struct Times {
    first: Duration,
    whole: Duration,
}

impl Bench {
    pub(crate) async fn pass_through(&self) -> Result<PassThrough> {
        Ok(PassThrough { short: self.answered(1).await?, long: self.answered(CHUNKS).await? })
    }

    /// Asks directly and through onyx in turn, so that the state of the machine affects both alike.
    async fn answered(&self, chunks: usize) -> Result<Answered> {
        let (model, process) = self.pair().await;
        model.set_default(Answer::script(Script::text_pieces(vec![WORD; chunks])));
        let directly = AgentClient::new(model.base_url(), DEFAULT_KEY);
        let clock = CpuClock::of(&process)?;
        let both = async || {
            let direct = ask(&directly, "/chat/completions", "some-model", chunks).await?;
            let through = ask(&process, "/v1/chat/completions", "mine/some-model", chunks).await?;
            anyhow::Ok((direct, through))
        };
        for _ in 0..self.turns / 10 {
            both().await?;
        }
        let before = clock.now()?;
        let (mut direct, mut through) = (Vec::new(), Vec::new());
        for _ in 0..self.turns {
            let (one, other) = both().await?;
            direct.push(one);
            through.push(other);
        }
        let cpu = (clock.now()? - before) / self.turns;
        let of = |which: fn(&Times) -> Duration| {
            added(direct.iter().map(which).collect(), through.iter().map(which).collect())
        };
        Ok(Answered { chunks, cpu, first: of(|times| times.first), whole: of(|times| times.whole) })
    }
}

/// The times of a streamed answer, which must be complete.
async fn ask(client: &AgentClient, path: &str, model: &str, chunks: usize) -> Result<Times> {
    let message = json!({"role": "user", "content": "hello"});
    let body = json!({"model": model, "stream": true, "messages": [message]});
    let began = Instant::now();
    let mut response = client.request(Method::POST, path).json(&body).send().await?;
    let status = response.status();
    let (mut answer, mut first) = (Vec::new(), None);
    while let Some(bytes) = response.chunk().await? {
        answer.extend_from_slice(&bytes);
        if first.is_none() && holds_a_word(&answer) {
            first = Some(began.elapsed());
        }
    }
    let whole = began.elapsed();
    let answer = String::from_utf8_lossy(&answer);
    ensure!(
        status == 200 && answer.matches(WORD).count() == chunks && answer.contains("[DONE]"),
        "an answer of {status} that is not the model's: {answer}"
    );
    Ok(Times { first: first.context("an answer without words")?, whole })
}

fn holds_a_word(answer: &[u8]) -> bool {
    answer.windows(WORD.len()).any(|bytes| bytes == WORD.as_bytes())
}

/// The time that onyx adds, as the difference at the same ranks.
fn added(direct: Vec<Duration>, through: Vec<Duration>) -> Spread {
    let (direct, through) = (spread(direct), spread(through));
    Spread {
        p50: through.p50.saturating_sub(direct.p50),
        p99: through.p99.saturating_sub(direct.p99),
    }
}

fn spread(mut times: Vec<Duration>) -> Spread {
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    Spread { p50: at(50), p99: at(99) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_between_the_same_ranks() {
        let ms = Duration::from_millis;
        let added = added((1..=100).map(ms).collect(), (3..=102).map(ms).collect());
        assert_eq!(added, Spread { p50: ms(2), p99: ms(2) });
    }
}
