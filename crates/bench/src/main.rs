//! Measures a built `onyx` from outside, against a scripted model that answers at once, and prints
//! a table of numbers and targets. No code of the product is used: what is measured is a process
//! with a socket and files.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool reports by printing"
)]

mod chart;
mod heartbeat;
mod history;
mod local;
mod measure;
mod memory;
mod pacer;
mod passing;
mod process;
mod report;
mod streams;
mod table;
mod vault;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use onyx_test_support::Occasion;

use crate::streams::AskedStreams;

/// Measures an onyx binary and prints a table of numbers and targets.
#[derive(Debug, Parser)]
struct Arguments {
    /// The binary to measure.
    #[arg(long, value_name = "PATH")]
    onyx: PathBuf,
    /// Turns to measure each cost over, after a tenth as many to warm up.
    #[arg(long, value_name = "N", default_value_t = 500)]
    turns: u32,
    /// Lengths of the sessions (in turns of the log) on which a turn is measured.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [10, 100, 1_000, 10_000, 100_000])]
    lengths: Vec<usize>,
    /// Files in the vault with which a turn is measured, beside ten; 0 leaves it out.
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    files: usize,
    /// Turns over which memory may grow; 0 leaves it out.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    growth: u32,
    /// Answers that stream at once.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [250, 500, 1_000, 2_000])]
    streams: Vec<usize>,
    /// A folder of weights as `onyx models pull` makes it; without it local models are left out.
    #[arg(long, value_name = "FOLDER")]
    weights: Option<PathBuf>,
    /// What the binary was built from, for the record.
    #[arg(long, value_name = "COMMIT", default_value = "unknown")]
    commit: String,
    /// Where the numbers and curves go, beside the table.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// A small cap, which few streams are enough to reach.
const CAP: usize = 64;

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<()> {
    let begun = Occasion::begin();
    let bench = measure::Bench { onyx: arguments.onyx.clone(), turns: arguments.turns.max(1) };

    let start = bench.start().await?;
    let turn = bench.turns().await?;
    let mut lengths = Vec::new();
    for length in &arguments.lengths {
        lengths.push(bench.turns_at_length(*length).await?);
    }
    let by_files = match arguments.files {
        0 => None,
        many => Some(vault::turn_by_files(&bench, many).await?),
    };
    let growth = match arguments.growth {
        0 => memory::Growth::default(),
        turns => memory::growth(&bench, turns).await?,
    };
    let mut streams = Vec::new();
    for count in &arguments.streams {
        // A failed measurement is reported in its row; the other numbers are still valid.
        let measured = bench.streams(*count).await.map_err(|error| format!("{error:#}"));
        if let Err(why) = &measured {
            eprintln!("bench: {count} streams were not measured: {why}");
        }
        streams.push(AskedStreams { count: *count, measured });
    }
    let cap = bench.cap(CAP).await?;
    let passing = bench.pass_through().await?;
    let heartbeats = heartbeat::heartbeats(&bench).await?;
    let local = match &arguments.weights {
        Some(weights) => Some(local::local(&bench, weights).await?),
        None => None,
    };

    let occasion = begun.end(&arguments.commit);
    let measured = report::Measured {
        occasion,
        start,
        turn,
        lengths,
        by_files,
        growth,
        streams,
        cap,
        passing,
        heartbeats,
        local,
    };
    let rows = table::rows(&measured);
    print!("{}", table::render(&rows, &measured.lengths, &measured.streams));
    print!("{}", table::how_measured(bench.turns));
    if let Some(folder) = &arguments.out {
        measured.write_to(folder)?;
    }
    Ok(())
}
