//! Makes a session as long as wanted by repeating, with fresh ids, what the server itself wrote for its first message.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use onyx_types::{Mint, Turn};

/// The log of a session, wherever its person and agent are.
pub(crate) fn find_log(home: &Path, session: &str) -> Result<PathBuf> {
    let name = format!("{session}.jsonl");
    for person in folders(&home.join("people"))? {
        for agent in folders(&person.join("sessions"))? {
            let log = agent.join(&name);
            if log.is_file() {
                return Ok(log);
            }
        }
    }
    bail!("no log of session {session} under {}", home.display())
}

fn folders(path: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        std::fs::read_dir(path).with_context(|| format!("cannot list {}", path.display()))?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

/// Appends whole runs until the log has at least `length` turns; answers how many it has.
pub(crate) fn lengthen(log: &Path, length: usize) -> Result<usize> {
    let text =
        std::fs::read_to_string(log).with_context(|| format!("cannot read {}", log.display()))?;
    let pattern: Vec<Turn> = text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .context("a line of the log is no turn")?;
    let Some(last) = pattern.last() else { bail!("{} is empty", log.display()) };

    let mut now = last.ts;
    let mut mint = Mint::new(1);
    let mut turns = pattern.len();
    let mut file = BufWriter::new(OpenOptions::new().append(true).open(log)?);
    while turns < length {
        let run = mint.run(now);
        for turn in &pattern {
            now = now.saturating_add(Duration::from_millis(1));
            let turn =
                Turn { id: mint.turn(now), ts: now, run: turn.run.map(|_| run), ..turn.clone() };
            serde_json::to_writer(&mut file, &turn)?;
            file.write_all(b"\n")?;
        }
        turns += pattern.len();
    }
    file.flush()?;
    Ok(turns)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const LINE: &str = r#"{"id":"01890000-0000-7000-8000-000000000001","ts":"2026-11-01T00:00:00.000Z","run_id":"01890000-0000-7000-8000-000000000002","lane":0,"author":"person:owner","origin":"person","type":"user","content":"hello"}"#;

    #[test]
    fn a_log_is_lengthened_by_turns_of_its_own_kind_with_ids_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("people/owner/sessions/main/s.jsonl");
        std::fs::create_dir_all(log.parent().unwrap()).unwrap();
        std::fs::write(&log, format!("{LINE}\n")).unwrap();

        assert_eq!(find_log(folder.path(), "s").unwrap(), log);
        assert_eq!(lengthen(&log, 25).unwrap(), 25);

        let text = std::fs::read_to_string(&log).unwrap();
        let turns: Vec<Turn> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let ids: HashSet<String> = turns.iter().map(|turn| turn.id.to_string()).collect();
        assert_eq!(ids.len(), 25);
        assert!(turns.iter().all(|turn| turn.body == turns[0].body));
    }
}
