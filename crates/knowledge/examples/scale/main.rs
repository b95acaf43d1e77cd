//! Measures a large index: how fast it is made, opened and searched, how much memory it takes, and
//! which share of the results of an exact vector search it finds. For comparison it measures
//! SQLite's FTS5 and a scan of all vectors. `make bench-index` runs it.
//!
//! The texts and questions are real documentation. 20,000 of the vectors come from the embedded
//! model, and the rest are near these. `make judge` measures how good the search by meaning is.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a command-line tool that reports by printing"
)]

mod ask;
mod corpus;
mod facts;
mod logs;
mod make;
mod messages;
mod peer;
mod prose;
mod sessions;
mod table;
mod vectors;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use onyx_knowledge::{Chunking, Index, IndexSettings, Search};
use onyx_storage::{Home, Store};
use onyx_test_support::Occasion;
use onyx_types::{Clock, PersonId, Scope, ScopeSet, SystemClock};

use crate::corpus::Corpus;
use crate::table::Row;

#[derive(Debug, Parser)]
struct Arguments {
    /// The binary whose server embeds.
    #[arg(long, value_name = "PATH", required_unless_present = "only")]
    onyx: Option<PathBuf>,
    /// A folder of weights, as `onyx models pull` creates it.
    #[arg(long, value_name = "FOLDER", required_unless_present = "only")]
    weights: Option<PathBuf>,
    /// A folder that contains documentation at any depth.
    #[arg(long, value_name = "FOLDER")]
    documentation: PathBuf,
    /// The folder in which texts and vectors are kept between runs.
    #[arg(long, value_name = "FOLDER")]
    corpus: PathBuf,
    /// The commit from which the binary was built, for the record.
    #[arg(long, value_name = "COMMIT", default_value = "unknown")]
    commit: String,
    /// A folder to which the numbers are written, in addition to the table.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    chunks: usize,
    /// The number of vectors that the model makes; those of the other chunks are made from these.
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    real: usize,
    /// The number of files with one line each, which are measured separately.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    tiny: usize,
    /// The largest number of conversations.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    sessions: usize,
    /// The number of messages with token vectors.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    messages: usize,
    /// The number of chunks of the largest index, which is only made and searched.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    large: usize,
    /// Measures only this, with vectors that the program makes itself.
    #[arg(long, value_name = "WHAT")]
    only: Option<Only>,
    #[arg(long, hide = true, requires = "home")]
    part: Option<Part>,
    #[arg(long, hide = true)]
    home: Option<PathBuf>,
}

/// The parts that can be measured without an embedding model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Only {
    Facts,
    Messages,
    Sessions,
}

/// The parts of the measurement. Each runs in a process of its own, so that its memory is measured
/// separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    Corpus,
    Texts,
    Make,
    Ask,
    Tiny,
    Facts,
    Sessions,
    Messages,
    AskMessages,
    ByTheModel,
    Large,
    AskLarge,
}

impl Arguments {
    /// The paths of the binary and of the embedding model's weights.
    fn model(&self) -> (&Path, &Path) {
        (self.onyx.as_deref().unwrap(), self.weights.as_deref().unwrap())
    }
}

#[tokio::main]
async fn main() {
    let arguments = Arguments::parse();
    let corpus = Corpus::new(&arguments.corpus);
    let rows = match (arguments.part, &arguments.home) {
        (Some(Part::Corpus), _) => {
            let (onyx, weights) = arguments.model();
            let Arguments { documentation, real, .. } = &arguments;
            corpus.complete(onyx, weights, documentation, *real).await;
            Vec::new()
        }
        (Some(Part::Texts), _) => {
            corpus.complete_texts(&arguments.documentation);
            Vec::new()
        }
        (Some(Part::Make), Some(home)) => make::measure(home, &corpus, arguments.chunks).await,
        (Some(Part::Ask), Some(home)) => ask::measure(home, &corpus).await,
        (Some(Part::Tiny), Some(home)) => make::measure_tiny(home, arguments.tiny).await,
        (Some(Part::Facts), Some(home)) => facts::measure(home).await,
        (Some(Part::Sessions), Some(home)) => sessions::measure(home, arguments.sessions).await,
        (Some(Part::Messages), Some(home)) => {
            messages::make(home, &corpus, arguments.messages).await
        }
        (Some(Part::AskMessages), Some(home)) => messages::ask(home, &corpus).await,
        (Some(Part::ByTheModel), _) => {
            let (onyx, weights) = arguments.model();
            messages::by_the_model(onyx, weights, &corpus).await
        }
        (Some(Part::Large), Some(home)) => {
            make::measure(home, &corpus, arguments.large).await;
            Vec::new()
        }
        (Some(Part::AskLarge), Some(home)) => ask::measure_large(home, &corpus).await,
        (Some(_), None) | (None, _) => return report(&arguments),
    };
    println!("{}", serde_json::to_string(&rows).unwrap());
}

/// Measures what was asked for, prints it and writes it to a file.
fn report(arguments: &Arguments) {
    let folder = tempfile::tempdir().unwrap();
    run(if arguments.only.is_some() { Part::Texts } else { Part::Corpus }, folder.path());
    // The record begins after the embedding, which is not measured.
    let begun = Occasion::begin();
    let rows = match arguments.only {
        Some(Only::Facts) => run_all(&[Part::Facts]),
        Some(Only::Messages) => run_all(&[Part::Messages, Part::AskMessages]),
        Some(Only::Sessions) => run_all(&[Part::Sessions]),
        None => every_row(arguments),
    };
    let occasion = begun.end(&arguments.commit);
    table::print(&rows, &occasion.load);
    if let Some(out) = &arguments.out {
        table::write(&rows, &occasion, out);
    }
}

fn every_row(arguments: &Arguments) -> Vec<Row> {
    let mut rows = run_all(&[Part::Make, Part::Ask]);
    if arguments.tiny > 0 {
        rows.extend(run_all(&[Part::Tiny]));
    }
    rows.extend(run_all(&[Part::Facts]));
    if arguments.sessions > 0 {
        rows.extend(run_all(&[Part::Sessions]));
    }
    if arguments.messages > 0 {
        rows.extend(run_all(&[Part::Messages, Part::AskMessages, Part::ByTheModel]));
    }
    if arguments.large > 0 {
        rows.extend(run_all(&[Part::Large, Part::AskLarge]));
    }
    rows
}

/// Runs parts that work on the same home, in order.
fn run_all(parts: &[Part]) -> Vec<Row> {
    let folder = tempfile::tempdir().unwrap();
    parts.iter().flat_map(|part| run(*part, folder.path())).collect()
}
fn run(part: Part, home: &Path) -> Vec<Row> {
    let name = part.to_possible_value().unwrap();
    let done = Command::new(std::env::current_exe().unwrap())
        .args(std::env::args_os().skip(1))
        .args(["--part", name.get_name(), "--home"])
        .arg(home)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap();
    assert!(done.status.success(), "{part:?} failed");
    serde_json::from_slice(&done.stdout).unwrap()
}

async fn open(home: &Path) -> (Index, Store) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let settings = IndexSettings { home: home.to_owned(), chunking: Chunking::default() };
    let home = Home::open(home).unwrap();
    let store = Store::open_embedded(home, Arc::clone(&clock)).await.unwrap();
    (Index::new(store.clone(), clock, settings), store)
}

const BEST: usize = 20;

fn anna() -> PersonId {
    "anna".parse().unwrap()
}

fn search_for(text: &str) -> Search {
    let agent = Scope::Agent("main".parse().unwrap());
    let scopes = ScopeSet::new(anna(), vec![Scope::Person, agent, Scope::Shared]);
    Search { text: text.to_owned(), scopes, kinds: Vec::new(), limit: BEST }
}

fn seconds(began: Instant) -> f64 {
    began.elapsed().as_secs_f64()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn cpu_seconds() -> f64 {
    cpu_time().as_secs_f64()
}

/// The CPU time of all threads of this process, including those that have ended.
fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// The most memory that this process has ever held.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: f64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    kilobytes * 1024.0 / 1e6
}

fn resident_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = status.split(' ').nth(1).unwrap().parse().unwrap();
    pages * rustix::param::page_size() as f64 / 1e6
}
