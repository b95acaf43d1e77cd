//! Moves files: everything in the folders of people and agents and in the shared folder, except
//! logs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::server_side::ServerSide;
use super::{MoveCounts, MoveError};
use crate::postgres::convert::get;
use crate::postgres::files::PostgresFiles;
use crate::postgres::query::{execute, row, rows};
use crate::{Expect, ObjectKey, Objects, StoreError};

/// The content of a file, and when it was last written.
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    pub(super) modified: SystemTime,
}

/// The person of a file, as its row has it; empty for files of agents and shared files.
pub(super) fn person_of(name: &str) -> &str {
    name.strip_prefix("people/").and_then(|rest| rest.split('/').next()).unwrap_or_default()
}

/// Splits a path into the root folder of its area and the path within it.
fn split(name: &str) -> Option<(&str, &str)> {
    if let Some(rest) = name.strip_prefix("shared/") {
        return Some(("shared", rest));
    }
    let first = name.find('/')?;
    let second = first + 1 + name[first + 1..].find('/')?;
    Some((&name[..second], &name[second + 1..]))
}

pub(super) async fn into_server(
    server: &ServerSide,
    name: &str,
    content: &Content,
    moved: &mut MoveCounts,
) -> Result<(), MoveError> {
    moved.files += 1;
    moved.bytes += content.bytes.len() as u64;
    let (objects, key) = area_of(server, name)?;
    if objects.get(&key, u64::MAX).await?.is_some_and(|there| there.bytes == content.bytes) {
        moved.already_there += 1;
        return Ok(());
    }
    objects.put(&key, &content.bytes, Expect::Anything).await?;
    date(server, name, content).await
}

/// Adds a file if nothing has its name. Says whether it did.
pub(super) async fn add(
    server: &ServerSide,
    name: &str,
    content: &Content,
) -> Result<bool, MoveError> {
    let (objects, key) = area_of(server, name)?;
    match objects.put(&key, &content.bytes, Expect::Absent).await {
        Ok(_) => {}
        Err(StoreError::Conflict) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    date(server, name, content).await?;
    Ok(true)
}

/// The place on the server for a file with this path in a home.
fn area_of(
    server: &ServerSide,
    name: &str,
) -> Result<(impl Objects + use<>, ObjectKey), MoveError> {
    let no_place =
        || MoveError::File { path: name.to_owned(), why: "it belongs to no area".to_owned() };
    let (root, key) = split(name).ok_or_else(no_place)?;
    let key: ObjectKey = key.parse().map_err(|_| no_place())?;
    let files = PostgresFiles::new(server.database.clone(), server.blobs.clone());
    Ok((files.of(person_of(name), root), key))
}

async fn date(server: &ServerSide, name: &str, content: &Content) -> Result<(), MoveError> {
    let client = server.database.client().await?;
    let date = "UPDATE files SET modified = $3 WHERE person = $1 AND path = $2";
    let at = millis(content.modified);
    execute(&client, date, &[&person_of(name), &name, &at]).await.map_err(StoreError::from)?;
    Ok(())
}

/// Lists the paths of the files in order. Files that every gateway derives for itself are left out.
pub(super) async fn of_server(server: &ServerSide) -> Result<Vec<String>, MoveError> {
    let client = server.database.client().await?;
    let select = "SELECT path FROM files WHERE NOT is_folder AND NOT starts_with(path, 'cache/')
                  ORDER BY path";
    let found = rows(&client, select, &[]).await.map_err(StoreError::from)?;
    found.iter().map(|row| Ok(get(row, 0)?)).collect()
}

pub(super) async fn content(server: &ServerSide, name: &str) -> Result<Content, MoveError> {
    let client = server.database.client().await?;
    let select = "SELECT bytes, sha256, modified FROM files WHERE person = $1 AND path = $2";
    let found = row(&client, select, &[&person_of(name), &name]).await.map_err(StoreError::from)?;
    drop(client);
    let bytes = match (get::<Option<Vec<u8>>>(&found, 0)?, get::<Option<String>>(&found, 1)?) {
        (Some(bytes), _) => bytes,
        (None, Some(blob)) => server.blobs.get(person_of(name), &blob).await?,
        (None, None) => {
            return Err(StoreError::Damaged(format!("{name} has no content")).into());
        }
    };
    let since = Duration::from_millis(u64::try_from(get::<i64>(&found, 2)?).unwrap_or_default());
    Ok(Content { bytes, modified: UNIX_EPOCH + since })
}

/// The time in milliseconds since 1970; times before 1970 count as zero.
fn millis(at: SystemTime) -> i64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
