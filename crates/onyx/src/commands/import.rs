//! `onyx import`: reads all data of another program here, then the gateway writes it.

use anyhow::{Context, Result};
use onyx_import::{BrokenFiles, Counts, ImportReport, Kind, Outcome, Source, read};
use onyx_types::Fault;

use super::through;
use crate::cli::{ImportArguments, ImportSource};
use crate::client::ClientError;
use crate::exit::Exit;
use crate::home::HomeFolder;
use crate::output;

pub(crate) async fn run(home: &HomeFolder, arguments: ImportArguments) -> Result<Exit> {
    let ImportArguments { from, path, dry_run, skip_broken, json } = arguments;
    let source = Source::from(from);
    let broken = if skip_broken { BrokenFiles::Skip } else { BrokenFiles::Stop };
    let reading = tokio::task::spawn_blocking(move || read(source, &path, broken));
    let import = reading.await.context("the import stopped unexpectedly")?.map_err(Fault::from)?;
    let lines = import.lines().context("the imported data cannot be encoded")?;
    let from = source.as_str();
    let route = format!("/api/admin/import?from={from}&form=items&dry_run={dry_run}");
    through(home, async |client| {
        let response = client.post_bytes(&route, lines).await?;
        let report: ImportReport = response.json().await.map_err(ClientError::Unreachable)?;
        if json.json {
            output::json(&report);
        } else {
            report_lines(from, &report).iter().for_each(|line| output::line(line));
        }
        Ok(())
    })
    .await
}

impl From<ImportSource> for Source {
    fn from(from: ImportSource) -> Self {
        match from {
            ImportSource::OpenClaw => Self::OpenClaw,
            ImportSource::Nanobot => Self::Nanobot,
            ImportSource::OpenWebUi => Self::OpenWebUi,
            ImportSource::ChatGpt => Self::ChatGpt,
            ImportSource::Claude => Self::Claude,
        }
    }
}

fn report_lines(from: &str, report: &ImportReport) -> Vec<String> {
    let mut lines = vec![match (report.dry_run, report.has_changes()) {
        (true, _) => format!("This would be imported from {from}; nothing was written."),
        (false, true) => format!("Imported from {from}:"),
        (false, false) => format!("Everything from {from} was already here; nothing was changed."),
    }];
    for (kind, counts) in &report.counts {
        lines.push(format!("  {:<13} {}", kind.as_str(), counted(counts)));
    }
    let skipped = report.entries.iter().filter(|entry| entry.outcome == Outcome::Kept);
    let skipped: Vec<String> = skipped
        .map(|entry| format!("{}: {}", entry.name, entry.why.as_deref().unwrap_or_default()))
        .collect();
    section(&mut lines, "Not imported, because of what is already here:", skipped);
    let renamed = report.renamed.iter().map(|it| format!("{} is {} here", it.what, it.why));
    section(&mut lines, "Renamed here:", renamed.collect());
    let left_out = report.left_out.iter().map(|it| format!("{}: {}", it.what, it.why));
    section(&mut lines, "Left out:", left_out.collect());
    let waits = |kind: &Kind| report.counts.get(kind).is_some_and(|counts| counts.new > 0);
    if [Kind::Job, Kind::Skill, Kind::Memory].iter().any(waits) {
        lines.push(
            "Jobs and skills wait in the Inbox until you accept them; memory counts as foreign \
             until you accept it."
                .to_owned(),
        );
    }
    lines
}

fn section(lines: &mut Vec<String>, title: &str, entries: Vec<String>) {
    if !entries.is_empty() {
        lines.push(title.to_owned());
        lines.extend(entries.into_iter().map(|entry| format!("  {entry}")));
    }
}

fn counted(counts: &Counts) -> String {
    let parts = [
        (counts.new, "new"),
        (counts.added, "added to"),
        (counts.already_there, "already here"),
        (counts.kept, "not imported"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    parts.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}
