//! Measures how much memory is kept after many turns: what the process allocated. Pages of its file
//! are left out, because how many of them the kernel maps around a fault differs from start to start.

use anyhow::{Context, Result};
use onyx_test_support::{AgentClient, OnyxProcess};
use tokio::task::JoinSet;

use crate::measure::{Bench, say_hello};
use crate::process::anonymous_bytes;

/// The number of conversations at once. `TURNS_OF_ONE` is how many turns each has before the next
/// one begins.
const TALKERS: u32 = 16;
const TURNS_OF_ONE: u32 = 50;
/// One in this many turns comes before the first measurement, because memory that a process
/// allocates only once is not growth.
const WARM_UP: u32 = 20;
const LOOKS: u32 = 25;

#[derive(Debug, Default)]
pub(crate) struct Growth {
    /// The number of turns so far and the allocated bytes, for each measurement.
    pub(crate) looks: Vec<(u32, u64)>,
}

impl Growth {
    pub(crate) fn turns(&self) -> u32 {
        self.looks.last().map_or(0, |(turns, _)| *turns)
    }

    /// The growth from the first measurement to the last.
    pub(crate) fn bytes(&self) -> u64 {
        match (self.looks.first(), self.looks.last()) {
            (Some((_, first)), Some((_, last))) => last.saturating_sub(*first),
            _ => 0,
        }
    }
}

pub(crate) async fn growth(bench: &Bench, turns: u32) -> Result<Growth> {
    let (_model, process) = bench.pair().await;
    talk(&process, turns / WARM_UP).await?;
    let mut looks = vec![(0, anonymous_bytes(&process)?)];
    for look in 1..=LOOKS {
        let target = turns / LOOKS * look;
        talk(&process, target - looks.last().map_or(0, |(turns, _)| *turns)).await?;
        looks.push((target, anonymous_bytes(&process)?));
    }
    Ok(Growth { looks })
}

async fn talk(process: &OnyxProcess, turns: u32) -> Result<()> {
    let mut talkers = JoinSet::new();
    for talker in 0..TALKERS {
        let client = process.client().clone();
        let share = turns / TALKERS + u32::from(talker < turns % TALKERS);
        talkers.spawn(async move { talk_alone(&client, share).await });
    }
    while let Some(ended) = talkers.join_next().await {
        ended?.with_context(|| process.log())?;
    }
    Ok(())
}

async fn talk_alone(client: &AgentClient, turns: u32) -> Result<()> {
    let mut session = None;
    for turn in 0..turns {
        if turn % TURNS_OF_ONE == 0 {
            session = None;
        }
        session = Some(say_hello(client, session.as_deref()).await?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_from_the_first_look_to_the_last() {
        let growth = Growth { looks: vec![(0, 20), (5, 40), (10, 25)] };
        assert_eq!((growth.turns(), growth.bytes()), (10, 5));
        let shrunk = Growth { looks: vec![(0, 20), (10, 15)] };
        assert_eq!(shrunk.bytes(), 0);
    }
}
