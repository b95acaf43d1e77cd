//! Measures the cost of a turn with many files in the vault, compared with a few.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use onyx_test_support::{OnyxProcess, Recording, ScriptedModel};

use crate::measure::{Bench, cost_of_turns, only_what_is_asked, until_rest};
use crate::process::CpuClock;

const FEW: usize = 10;
const FILES_A_FOLDER: usize = 100;
/// How many rounds are measured. The two servers take turns in each, so that other load on the
/// machine affects both.
const ROUNDS: u32 = 10;
/// How often in a row a server must be idle.
const LOOKS_AT_REST: u32 = 8;
const PATIENCE: Duration = Duration::from_secs(600);

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct TurnByFiles {
    pub(crate) many: usize,
    /// The median of the cost of a turn with many files, as a multiple of its cost with ten.
    pub(crate) times: f64,
}

pub(crate) async fn turn_by_files(bench: &Bench, many: usize) -> Result<TurnByFiles> {
    let model = ScriptedModel::start().await;
    model.set_recording(Recording::Last(1));
    let few = with_files(bench, &model, FEW).await?;
    let large = with_files(bench, &model, many).await?;
    let turns = (bench.turns / ROUNDS).max(1);
    let mut times = Vec::new();
    for round in 0..=ROUNDS {
        let small = cost_of_turns(&few, None, turns).await?.cpu.as_secs_f64();
        let big = cost_of_turns(&large, None, turns).await?.cpu.as_secs_f64();
        if round > 0 {
            times.push(big / small);
            continue;
        }
        // The first turns create folders, so the files are looked through once more: those that
        // were written just before they were indexed are read again.
        until_long_rest(&few).await?;
        until_long_rest(&large).await?;
    }
    times.sort_by(f64::total_cmp);
    Ok(TurnByFiles { many, times: times[times.len() / 2] })
}

/// Waits until the server is idle for a while, because background work may begin a moment later.
async fn until_long_rest(process: &OnyxProcess) -> Result<()> {
    for _ in 0..LOOKS_AT_REST {
        until_rest(CpuClock::of(process)?).await?;
    }
    Ok(())
}

/// A server that has indexed its files.
async fn with_files(bench: &Bench, model: &ScriptedModel, count: usize) -> Result<OnyxProcess> {
    let mut builder = OnyxProcess::builder()
        .binary(&bench.onyx)
        .base_url(model.base_url())
        .merge(only_what_is_asked());
    for number in 0..count {
        let path = format!("people/owner/vault/{}/{number}.md", number / FILES_A_FOLDER);
        builder = builder.file(path, format!("# Note {number}\n\nAbout thing {}.\n", number % 997));
    }
    let process = builder.start().await;
    let began = Instant::now();
    loop {
        let status = process.get("/v1/memory/status").await.expect(200).json();
        if status["complete"] == true && status["sources"].as_u64() >= Some(count as u64) {
            break;
        }
        if began.elapsed() > PATIENCE {
            bail!("the index of {count} files is not whole: {status}");
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    until_rest(CpuClock::of(&process)?).await?;
    Ok(process)
}
