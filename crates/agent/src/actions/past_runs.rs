//! The finished runs of actions, read from the pages that they left in the vault.

use onyx_storage::{ObjectKey, Objects, StoreError};
use onyx_types::{ErrorCode, Fault, PersonId, RunId, SessionId, Timestamp};
use serde_json::{Map, Value};

use super::{Actions, front};
use crate::drive::PAGES_FOLDER;

/// The most entries of one folder that are looked at.
const MOST_ENTRIES: usize = 1_000;
/// Most pages are a few kilobytes. A page that is longer than this is listed without its content.
const LONGEST_PAGE: u64 = 4 * 1024 * 1024;

/// One run of an action.
#[derive(Clone, Debug, PartialEq)]
pub struct PastRun {
    pub run: RunId,
    /// The path of the run's page among the person's files.
    pub page: String,
    /// What the page says of the run; `None` where the page cannot be read any more.
    pub record: Option<PastRunRecord>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PastRunRecord {
    pub action: String,
    pub label: String,
    pub session: Option<SessionId>,
    pub status: String,
    pub model: String,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    pub cost: Option<f64>,
    /// The page without its front matter and title.
    pub text: String,
}

impl Actions {
    /// Lists past runs, the newest first. Where a run is given, only those before it are listed.
    pub async fn past_runs(
        &self,
        person: &PersonId,
        before: Option<RunId>,
        limit: usize,
    ) -> Result<Vec<PastRun>, Fault> {
        let vault = self.vault(person)?;
        let mut found = Vec::new();
        for year in folders(&*vault, &key(PAGES_FOLDER)?).await? {
            for month in folders(&*vault, &year).await? {
                for day in folders(&*vault, &month).await? {
                    for (run, page) in pages(&*vault, &day).await? {
                        if before.is_some_and(|before| run >= before) {
                            continue;
                        }
                        found.push(self.past_run(&*vault, run, &page).await?);
                        if found.len() == limit {
                            return Ok(found);
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    async fn past_run(
        &self,
        vault: &dyn Objects,
        run: RunId,
        page: &ObjectKey,
    ) -> Result<PastRun, Fault> {
        let record = match vault.get(page, LONGEST_PAGE).await {
            Ok(Some(object)) => std::str::from_utf8(&object.bytes).ok().and_then(record),
            // The page was removed meanwhile, is a link, or is longer than any page that Onyx
            // writes.
            Ok(None) | Err(StoreError::Refused(_)) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(PastRun { run, page: format!("vault/{page}"), record })
    }
}

fn key(path: &str) -> Result<ObjectKey, Fault> {
    path.parse().map_err(|error| Fault::new(ErrorCode::Internal, format!("{path}: {error}")))
}

/// The folders in a folder, the latest first: their names are years, months and days.
async fn folders(vault: &dyn Objects, folder: &ObjectKey) -> Result<Vec<ObjectKey>, Fault> {
    let mut keys: Vec<_> =
        listed(vault, folder).await?.into_iter().filter(|entry| entry.1).collect();
    keys.sort_by(|a, b| b.0.as_str().cmp(a.0.as_str()));
    Ok(keys.into_iter().map(|(key, _)| key).collect())
}

/// The pages in a folder, the latest run first.
async fn pages(vault: &dyn Objects, day: &ObjectKey) -> Result<Vec<(RunId, ObjectKey)>, Fault> {
    let files = listed(vault, day).await?.into_iter().filter(|entry| !entry.1);
    let mut pages: Vec<_> = files
        .filter_map(|(key, _)| {
            let run = key.parts().last()?.strip_suffix(".md")?.parse().ok()?;
            Some((run, key))
        })
        .collect();
    pages.sort_by_key(|(run, _)| std::cmp::Reverse(*run));
    Ok(pages)
}

/// Lists the entries of a folder, and whether each is a folder itself.
async fn listed(vault: &dyn Objects, folder: &ObjectKey) -> Result<Vec<(ObjectKey, bool)>, Fault> {
    match vault.list(Some(folder), MOST_ENTRIES).await {
        Err(StoreError::NotFound) => Ok(Vec::new()),
        listed => Ok(listed?.into_iter().map(|entry| (entry.key, entry.is_folder)).collect()),
    }
}

/// What a page says of its run. `None`: it is no longer a page that Onyx could have written.
fn record(text: &str) -> Option<PastRunRecord> {
    let (fields, body) = front::page(text)?;
    let body = body.trim_start_matches('\n');
    let (title, rest) = body.split_once('\n').unwrap_or((body, ""));
    let time = |name: &str| text_of(&fields, name).parse().ok();
    Some(PastRunRecord {
        action: text_of(&fields, "action"),
        label: title.strip_prefix("# ")?.to_owned(),
        session: text_of(&fields, "session").parse().ok(),
        status: text_of(&fields, "status"),
        model: text_of(&fields, "model"),
        started: time("started"),
        ended: time("ended"),
        cost: fields.get("cost").and_then(Value::as_f64),
        text: rest.trim_start_matches('\n').to_owned(),
    })
}

fn text_of(fields: &Map<String, Value>, name: &str) -> String {
    fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_as_it_was_written() {
        let text = "---\naction: \"tidy\"\nrun: x\nsession: 01890000-0000-7000-8000-000000000000\n\
            model: \"mine/m\"\nstatus: done\nstarted: 2026-11-16T08:00:00.000Z\n\
            ended: 2026-11-16T08:00:01.000Z\ninput_tokens: 1\noutput_tokens: 2\ncost: 0.5\n---\n\
            # Tidy up\n\n## Prompt\n\nDo it.\n";
        let read = record(text).unwrap();
        assert_eq!(
            (read.action.as_str(), read.label.as_str(), read.status.as_str(), read.cost),
            ("tidy", "Tidy up", "done", Some(0.5))
        );
        assert_eq!(read.text, "## Prompt\n\nDo it.\n");
        assert!(read.started.is_some() && read.ended > read.started);
        assert_eq!(record("Words of a person.\n"), None);
    }
}
