//! Looks up many files and folders in one query. Every run looks at the files of its prompt, and
//! each single lookup would cost a trip to the database.

use super::objects::PostgresObjects;
use super::rows::{self, Entry, FolderAsked};
use crate::postgres::connect::Database;
use crate::{Expect, FileLookup, FoundObject, ObjectKey, ObjectMeta, StoreError};

/// Looks up everything that is wanted. The answers are in the order of the questions, each of which
/// comes with its area.
pub(super) async fn find(
    database: &Database,
    wanted: &[(PostgresObjects, &FileLookup)],
) -> Result<Vec<Result<FoundObject, StoreError>>, StoreError> {
    let people: Vec<&str> = wanted.iter().map(|(area, _)| area.person.as_str()).collect();
    let paths: Vec<String> = wanted.iter().map(|(area, one)| area.path(key(one))).collect();
    let (places, folders) = folders(wanted, &paths);
    let reader = database.reader().await?;
    let entries = rows::several(&*reader, &people, &paths);
    let (entries, listed) = if folders.is_empty() {
        (entries.await?, Vec::new())
    } else {
        // Both queries are sent together, which takes one trip.
        let (entries, listed) = tokio::join!(entries, rows::children(&*reader, &folders));
        (entries?, listed?)
    };
    let mut found: Vec<Option<Entry>> = wanted.iter().map(|_| None).collect();
    for (place, entry) in entries {
        found[place] = Some(entry);
    }
    let mut children: Vec<Vec<ObjectMeta>> = wanted.iter().map(|_| Vec::new()).collect();
    for row in &listed {
        let place = places[rows::asked_at(row)?];
        children[place].extend(rows::child(row, &wanted[place].0.root)?);
    }
    let mut answers = Vec::with_capacity(wanted.len());
    for (((area, one), entry), children) in wanted.iter().zip(found).zip(children) {
        answers.push(answer(area, one, entry, children).await);
    }
    Ok(answers)
}

fn key(wanted: &FileLookup) -> &ObjectKey {
    match wanted {
        FileLookup::File { key, .. }
        | FileLookup::End { key, .. }
        | FileLookup::Folder { key, .. } => key,
    }
}

/// The folders among the questions, and their indexes there.
fn folders<'a>(
    wanted: &'a [(PostgresObjects, &FileLookup)],
    paths: &'a [String],
) -> (Vec<usize>, Vec<FolderAsked<'a>>) {
    let (mut places, mut folders) = (Vec::new(), Vec::new());
    for (place, ((area, one), path)) in wanted.iter().zip(paths).enumerate() {
        if let FileLookup::Folder { limit, .. } = one {
            places.push(place);
            folders.push(FolderAsked { person: &area.person, path, limit: *limit });
        }
    }
    (places, folders)
}

async fn answer(
    area: &PostgresObjects,
    wanted: &FileLookup,
    entry: Option<Entry>,
    children: Vec<ObjectMeta>,
) -> Result<FoundObject, StoreError> {
    let is_folder = entry.as_ref().is_some_and(|entry| entry.is_folder);
    match wanted {
        FileLookup::File { max_bytes, .. } => match rows::check(entry, Expect::Anything)? {
            Some(entry) => area.object(entry, *max_bytes).await.map(FoundObject::File),
            None => Ok(FoundObject::Nothing),
        },
        FileLookup::End { max_bytes, .. } => match rows::check(entry, Expect::Anything)? {
            Some(entry) => area.end_of(entry, *max_bytes).await.map(FoundObject::End),
            None => Ok(FoundObject::Nothing),
        },
        FileLookup::Folder { .. } if is_folder || !children.is_empty() => {
            Ok(FoundObject::Folder(children))
        }
        FileLookup::Folder { .. } => Ok(FoundObject::Nothing),
    }
}
