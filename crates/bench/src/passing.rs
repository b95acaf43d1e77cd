//! What a request costs that passes through to a provider, beside the provider asked directly.

use std::time::{Duration, Instant};

use anyhow::Result;
use onyx_test_support::{AgentClient, DEFAULT_KEY};
use serde_json::{Value, json};

use crate::measure::Bench;
use crate::process::CpuClock;

#[derive(Debug)]
pub(crate) struct PassThrough {
    /// Of onyx, a request.
    pub(crate) cpu: Duration,
    /// To the whole answer, directly and through onyx.
    pub(crate) direct: Spread,
    pub(crate) through: Spread,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

impl PassThrough {
    pub(crate) fn added(&self) -> Spread {
        Spread {
            p50: self.through.p50.saturating_sub(self.direct.p50),
            p99: self.through.p99.saturating_sub(self.direct.p99),
        }
    }
}

impl Bench {
    /// The two are asked in turns, so that both meet the same machine.
    pub(crate) async fn pass_through(&self) -> Result<PassThrough> {
        let (model, process) = self.pair().await;
        let directly = AgentClient::new(model.base_url(), DEFAULT_KEY);
        let clock = CpuClock::of(&process)?;
        for _ in 0..self.turns / 10 {
            ask(&directly, "/chat/completions", "some-model").await;
            ask(&process, "/v1/chat/completions", "mine/some-model").await;
        }
        let before = clock.now()?;
        let (mut direct, mut through) = (Vec::new(), Vec::new());
        for _ in 0..self.turns {
            direct.push(ask(&directly, "/chat/completions", "some-model").await);
            through.push(ask(&process, "/v1/chat/completions", "mine/some-model").await);
        }
        let cpu = (clock.now()? - before) / self.turns;
        Ok(PassThrough { cpu, direct: spread(direct), through: spread(through) })
    }
}

/// The time to the end of a streamed answer.
async fn ask(client: &AgentClient, path: &str, model: &str) -> Duration {
    let message = json!({"role": "user", "content": "hello"});
    let body: Value = json!({"model": model, "stream": true, "messages": [message]});
    let began = Instant::now();
    let _ = client.post(path, &body).await.expect(200);
    began.elapsed()
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
        let direct = spread((1..=100).map(ms).collect());
        let through = spread((3..=102).map(ms).collect());
        let added = PassThrough { cpu: ms(1), direct, through }.added();
        assert_eq!((added.p50, added.p99), (ms(2), ms(2)));
    }
}
