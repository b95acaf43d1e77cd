//! The rows of files and folders.

use deadpool_postgres::{GenericClient, Transaction};
use onyx_types::{Hash, Timestamp};
use tokio_postgres::Row;

use crate::postgres::convert::{count, get, hash, integer, timestamp};
use crate::postgres::query::{execute, row_if_any, rows};
use crate::postgres::transaction::TransactionError;
use crate::{Expect, ObjectMeta, StoreError};

/// A file or folder, with its content if that is small.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) is_folder: bool,
    pub(super) hash: Option<Hash>,
    pub(super) size: u64,
    pub(super) bytes: Option<Vec<u8>>,
    /// The name of the blob that holds a large content.
    pub(super) blob: Option<String>,
    pub(super) modified: Timestamp,
    pub(super) changed: Timestamp,
}

/// A content that is to be written into a row.
#[derive(Debug)]
pub(super) struct NewContent<'a> {
    pub(super) hash: Hash,
    pub(super) size: u64,
    pub(super) bytes: Option<&'a [u8]>,
    pub(super) blob: Option<&'a str>,
}

/// The database's time in milliseconds. It is used for `changed`, which nobody may set to an
/// earlier time.
const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::BIGINT";

pub(super) async fn one(
    client: &impl GenericClient,
    person: &str,
    path: &str,
) -> Result<Option<Entry>, StoreError> {
    let select = "SELECT is_folder, hash, size, bytes, sha256, modified, changed
                  FROM files WHERE person = $1 AND path = $2";
    let found = row_if_any(client, select, &[&person, &path]).await?;
    found.as_ref().map(entry).transpose()
}

/// Reads many rows in one query. Each comes with the index of its question.
pub(super) async fn several(
    client: &impl GenericClient,
    people: &[&str],
    paths: &[String],
) -> Result<Vec<(usize, Entry)>, StoreError> {
    let select = "SELECT is_folder, hash, size, bytes, sha256, modified, changed, number
                  FROM unnest($1::TEXT[], $2::TEXT[]) WITH ORDINALITY
                           AS asked (person, path, number)
                       JOIN files USING (person, path)";
    let found = rows(client, select, &[&people, &paths]).await?;
    found.iter().map(|row| Ok((place(row, 7)?, entry(row)?))).collect()
}

/// A folder whose children are wanted.
pub(super) struct FolderAsked<'a> {
    pub(super) person: &'a str,
    pub(super) path: &'a str,
    pub(super) limit: usize,
}

/// Lists the children of several folders in one query. `asked_at` and `child` read the rows.
pub(super) async fn children(
    client: &impl GenericClient,
    asked: &[FolderAsked<'_>],
) -> Result<Vec<Row>, StoreError> {
    let people: Vec<&str> = asked.iter().map(|folder| folder.person).collect();
    let folders: Vec<&str> = asked.iter().map(|folder| folder.path).collect();
    let most = |folder: &FolderAsked<'_>| i64::try_from(folder.limit).unwrap_or(i64::MAX);
    let limits: Vec<i64> = asked.iter().map(most).collect();
    let select = "SELECT number, path, size, modified, changed, is_folder
                  FROM unnest($1::TEXT[], $2::TEXT[], $3::BIGINT[]) WITH ORDINALITY
                           AS asked (owner, folder, most, number)
                       CROSS JOIN LATERAL (
                           SELECT path, size, modified, changed, is_folder FROM files
                           WHERE person = owner AND parent = folder
                           ORDER BY path LIMIT most) AS child
                  ORDER BY number, path";
    Ok(rows(client, select, &[&people, &folders, &limits]).await?)
}

/// The index of the question that a row of `children` answers.
pub(super) fn asked_at(row: &Row) -> Result<usize, StoreError> {
    place(row, 0)
}

/// The object in a row of `children`, for the area with this root; `None` if its name is not a
/// valid key.
pub(super) fn child(row: &Row, root: &str) -> Result<Option<ObjectMeta>, StoreError> {
    let path: &str = get(row, 1)?;
    let below = path.strip_prefix(root).and_then(|rest| rest.strip_prefix('/'));
    let Some(Ok(key)) = below.map(str::parse) else { return Ok(None) };
    Ok(Some(ObjectMeta {
        key,
        size: count(row, 2)?,
        modified: timestamp(row, 3)?,
        changed: timestamp(row, 4)?,
        is_folder: get(row, 5)?,
    }))
}

/// Turns a number that the database counts from one into an index.
fn place(row: &Row, column: usize) -> Result<usize, StoreError> {
    let number = usize::try_from(get::<i64>(row, column)?).unwrap_or_default();
    Ok(number.saturating_sub(1))
}

/// Reads the row of a path and locks it until the transaction ends.
pub(super) async fn hold(
    transaction: &Transaction<'_>,
    person: &str,
    path: &str,
) -> Result<Option<Entry>, TransactionError> {
    let select = "SELECT is_folder, hash, size, bytes, sha256, modified, changed
                  FROM files WHERE person = $1 AND path = $2 FOR UPDATE";
    let found = row_if_any(transaction, select, &[&person, &path]).await?;
    Ok(found.as_ref().map(entry).transpose()?)
}

fn entry(row: &Row) -> Result<Entry, StoreError> {
    let is_folder: bool = get(row, 0)?;
    Ok(Entry {
        is_folder,
        hash: if is_folder { None } else { Some(hash(row, 1)?) },
        size: count(row, 2)?,
        bytes: get(row, 3)?,
        blob: get(row, 4)?,
        modified: timestamp(row, 5)?,
        changed: timestamp(row, 6)?,
    })
}

/// Checks a file against what is expected of it and refuses a folder; `None` if there is no file.
pub(super) fn check(found: Option<Entry>, expect: Expect) -> Result<Option<Entry>, StoreError> {
    if found.as_ref().is_some_and(|entry| entry.is_folder) {
        return Err(StoreError::Refused("it is a folder".to_owned()));
    }
    let holds = match (expect, &found) {
        (Expect::Anything, _) | (Expect::Absent, None) => true,
        (Expect::Absent, Some(_)) | (Expect::Is(_), None) => false,
        (Expect::Is(hash), Some(entry)) => entry.hash == Some(hash),
    };
    if holds { Ok(found) } else { Err(StoreError::Conflict) }
}

/// Creates the folders of a path and locks them, so that meanwhile none of them is removed or
/// becomes a file.
pub(super) async fn make_folders(
    transaction: &Transaction<'_>,
    person: &str,
    path: &str,
) -> Result<(), TransactionError> {
    let folders = folders_of(path);
    let parents: Vec<&str> = folders.iter().map(|folder| parent_of(folder)).collect();
    let now = [
        "INSERT INTO files
                    (person, path, parent, is_folder, hash, size, version, modified, changed)
                SELECT $1::TEXT, folder, parent, TRUE, '', 0, 0, ",
        NOW,
        ", ",
        NOW,
        "
                FROM unnest($2::TEXT[], $3::TEXT[]) AS made (folder, parent)
                ON CONFLICT DO NOTHING",
    ];
    execute(transaction, &now.concat(), &[&person, &folders, &parents]).await?;
    let held = "SELECT is_folder FROM files WHERE person = $1 AND path = ANY ($2)
                ORDER BY path FOR KEY SHARE";
    for row in &rows(transaction, held, &[&person, &folders]).await? {
        if !get::<bool>(row, 0)? {
            return Err(StoreError::Refused("a part of the path is a file".to_owned()).into());
        }
    }
    Ok(())
}

/// The folders of a path, from the root of its area downwards.
fn folders_of(path: &str) -> Vec<&str> {
    let ends = path.match_indices('/').map(|(at, _)| &path[..at]);
    ends.filter(|folder| folder.contains('/') || *folder == "shared").collect()
}

pub(super) fn parent_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Updates a folder's time, because an entry was added to it or removed from it.
pub(super) async fn touch_folder(
    transaction: &Transaction<'_>,
    person: &str,
    folder: &str,
) -> Result<(), TransactionError> {
    let touch = [
        "UPDATE files SET modified = ",
        NOW,
        ", changed = ",
        NOW,
        " WHERE person = $1 AND path = $2",
    ];
    execute(transaction, &touch.concat(), &[&person, &folder]).await?;
    Ok(())
}

/// Inserts a new file. `false`: there is something with this name by now.
pub(super) async fn insert(
    transaction: &Transaction<'_>,
    person: &str,
    path: &str,
    content: &NewContent<'_>,
) -> Result<bool, TransactionError> {
    let insert = [
        "INSERT INTO files (person, path, parent, is_folder, hash, size, version, bytes,
                                      sha256, modified, changed)
                   VALUES ($1, $2, $3, FALSE, $4, $5, 1, $6, $7, ",
        NOW,
        ", ",
        NOW,
        ")
                   ON CONFLICT DO NOTHING",
    ];
    let added = execute(
        transaction,
        &insert.concat(),
        &[
            &person,
            &path,
            &parent_of(path),
            &content.hash.to_string(),
            &integer(content.size),
            &content.bytes,
            &content.blob,
        ],
    )
    .await?;
    Ok(added > 0)
}

/// Replaces the content of a file whose row the transaction has locked.
pub(super) async fn replace(
    transaction: &Transaction<'_>,
    person: &str,
    path: &str,
    content: &NewContent<'_>,
) -> Result<(), TransactionError> {
    let replace = [
        "UPDATE files SET hash = $3, size = $4, bytes = $5, sha256 = $6,
                                     version = version + 1, modified = ",
        NOW,
        ", changed = ",
        NOW,
        " WHERE person = $1 AND path = $2",
    ];
    execute(
        transaction,
        &replace.concat(),
        &[
            &person,
            &path,
            &content.hash.to_string(),
            &integer(content.size),
            &content.bytes,
            &content.blob,
        ],
    )
    .await?;
    Ok(())
}

pub(super) async fn rename(
    transaction: &Transaction<'_>,
    person: &str,
    from: &str,
    to: &str,
) -> Result<(), TransactionError> {
    let rename = [
        "UPDATE files SET path = $3, parent = $4, version = version + 1, changed = ",
        NOW,
        " WHERE person = $1 AND path = $2",
    ];
    execute(transaction, &rename.concat(), &[&person, &from, &to, &parent_of(to)]).await?;
    Ok(())
}

pub(super) async fn remove(
    transaction: &Transaction<'_>,
    person: &str,
    path: &str,
) -> Result<(), TransactionError> {
    let remove = "DELETE FROM files WHERE person = $1 AND path = $2";
    execute(transaction, remove, &[&person, &path]).await?;
    Ok(())
}
