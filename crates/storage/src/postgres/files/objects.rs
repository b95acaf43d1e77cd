//! The files of one area.

use async_trait::async_trait;
use onyx_types::Hash;
use tokio::task::JoinSet;
use tokio_postgres::error::SqlState;

use super::blobs::Blobs;
use super::rows::{self, Entry, FolderAsked, NewContent};
use crate::postgres::connect::Database;
use crate::postgres::convert::{count, get, hash, timestamp};
use crate::postgres::gateway::{LifeFence, LifeWriter, last_statement};
use crate::postgres::query;
use crate::postgres::transaction::{TransactionError, transact};
use crate::{Expect, FileEnd, Object, ObjectKey, ObjectMeta, Objects, StoreError, TreeEntry};

/// The largest content that is stored in its row, where reading it takes one lookup instead of two.
const INLINE: usize = 32 * 1024;
/// The number of large contents that are read at the same time.
const AT_ONCE: usize = 8;

#[derive(Debug)]
pub(super) struct PostgresObjects {
    pub(super) database: Database,
    pub(super) blobs: Blobs,
    /// The gateway that writes; `None`: the program is not a gateway.
    pub(super) writer: Option<LifeWriter>,
    /// The person; empty for files that belong to no particular person.
    pub(super) person: String,
    pub(super) root: String,
}

/// A content that is ready for its row: a small one in memory, a large one stored as a blob.
struct KnownContent<'a> {
    hash: Hash,
    bytes: &'a [u8],
    blob: Option<String>,
}

impl KnownContent<'_> {
    fn content(&self) -> NewContent<'_> {
        NewContent {
            hash: self.hash,
            size: self.bytes.len() as u64,
            bytes: self.blob.is_none().then_some(self.bytes),
            blob: self.blob.as_deref(),
        }
    }
}

impl PostgresObjects {
    pub(super) fn path(&self, key: &ObjectKey) -> String {
        format!("{}/{key}", self.root)
    }

    async fn keep<'a>(&self, bytes: &'a [u8]) -> Result<KnownContent<'a>, StoreError> {
        let blob = if bytes.len() > INLINE {
            Some(self.blobs.keep(&self.person, bytes).await?)
        } else {
            None
        };
        Ok(KnownContent { hash: Hash::of(bytes), bytes, blob })
    }

    async fn bytes_of(&self, entry: Entry) -> Result<Vec<u8>, StoreError> {
        match (entry.bytes, entry.blob) {
            (Some(bytes), _) => Ok(bytes),
            (None, Some(blob)) => self.blobs.get(&self.person, &blob).await,
            (None, None) => Err(without_content()),
        }
    }

    /// Reads the object; refuses one that is larger than `max_bytes`.
    pub(super) async fn object(&self, entry: Entry, max_bytes: u64) -> Result<Object, StoreError> {
        if entry.size > max_bytes {
            return Err(StoreError::Refused(format!("it is larger than {max_bytes} bytes")));
        }
        let (modified, changed) = (entry.modified, entry.changed);
        let bytes = self.bytes_of(entry).await?;
        Ok(Object { hash: Hash::of(&bytes), bytes, modified, changed })
    }

    pub(super) async fn end_of(&self, entry: Entry, max_bytes: u64) -> Result<FileEnd, StoreError> {
        let (size, changed) = (entry.size, entry.changed);
        let before = size.saturating_sub(max_bytes);
        let bytes = match &entry.blob {
            Some(blob) if before > 0 && before < size => {
                self.blobs.end(&self.person, blob, before..size).await?
            }
            Some(_) | None => {
                let mut whole = self.bytes_of(entry).await?;
                whole.split_off(usize::try_from(before).unwrap_or(whole.len()).min(whole.len()))
            }
        };
        Ok(FileEnd { bytes, before, changed })
    }

    /// Finds a file and refuses a folder; `None` when there is nothing.
    async fn file(&self, key: &ObjectKey) -> Result<Option<Entry>, StoreError> {
        let reader = self.database.reader().await?;
        let found = rows::one(&*reader, &self.person, &self.path(key)).await?;
        rows::check(found, Expect::Anything)
    }

    /// The fence for a write that begins now.
    async fn fence(&self) -> Result<Option<LifeFence>, StoreError> {
        match &self.writer {
            Some(writer) => Ok(Some(writer.begin().await?)),
            None => Ok(None),
        }
    }

    async fn write(
        &self,
        path: &str,
        kept: &KnownContent<'_>,
        expect: Expect,
    ) -> Result<(), StoreError> {
        let (person, fence) = (self.person.as_str(), self.fence().await?);
        transact!(self.database, transaction => {
            if let Some(blob) = &kept.blob {
                self.blobs.refer(&transaction, person, blob).await?;
            }
            let found = rows::hold(&transaction, person, path).await?;
            if rows::check(found, expect)?.is_some() {
                let content = kept.content();
                let replace = rows::replace(&transaction, person, path, &content);
                return last_statement(fence.as_ref(), &transaction, replace).await;
            }
            rows::make_folders(&transaction, person, path).await?;
            if !rows::insert(&transaction, person, path, &kept.content()).await? {
                // Another writer was faster. The caller looks again at what is there now.
                return Err(raced());
            }
            let touch = rows::touch_folder(&transaction, person, rows::parent_of(path));
            last_statement(fence.as_ref(), &transaction, touch).await
        })
    }

    /// Appends to a content in its row. `false`: there is no such file, or its content is not or
    /// would not be small enough.
    async fn append_in_row(&self, key: &ObjectKey, added: &[u8]) -> Result<bool, StoreError> {
        let (person, path, fence) = (self.person.as_str(), self.path(key), self.fence().await?);
        transact!(self.database, transaction => {
            let found = rows::hold(&transaction, person, &path).await?;
            let Some(entry) = rows::check(found, Expect::Anything)? else { return Ok(false) };
            let Some(mut bytes) = entry.bytes else { return Ok(false) };
            bytes.extend_from_slice(added);
            if bytes.len() > INLINE {
                return Ok(false);
            }
            let kept = KnownContent { hash: Hash::of(&bytes), bytes: &bytes, blob: None };
            let content = kept.content();
            let replace = rows::replace(&transaction, person, &path, &content);
            last_statement(fence.as_ref(), &transaction, replace).await?;
            Ok(true)
        })
    }
}

fn without_content() -> StoreError {
    StoreError::Damaged("a file without content".to_owned())
}

fn not_read() -> StoreError {
    StoreError::Failed("a file could not be read".to_owned())
}

/// The error for a write that lost to another write of the same file, so that it is not taken for a
/// refusal.
fn raced() -> TransactionError {
    TransactionError::Store(StoreError::Busy)
}

#[async_trait]
impl Objects for PostgresObjects {
    async fn get(&self, key: &ObjectKey, max_bytes: u64) -> Result<Option<Object>, StoreError> {
        let Some(entry) = self.file(key).await? else { return Ok(None) };
        self.object(entry, max_bytes).await.map(Some)
    }

    async fn end(&self, key: &ObjectKey, max_bytes: u64) -> Result<Option<FileEnd>, StoreError> {
        let Some(entry) = self.file(key).await? else { return Ok(None) };
        self.end_of(entry, max_bytes).await.map(Some)
    }

    async fn put(&self, key: &ObjectKey, bytes: &[u8], expect: Expect) -> Result<Hash, StoreError> {
        let (path, kept) = (self.path(key), self.keep(bytes).await?);
        loop {
            match self.write(&path, &kept, expect).await {
                Ok(()) => return Ok(kept.hash),
                Err(StoreError::Busy) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Appends to a file. A small content grows in its row. A larger one is read, extended and
    /// written as a whole, because its row has a hash of the whole; if another writer changes it
    /// meanwhile, this starts again.
    async fn append(&self, key: &ObjectKey, bytes: &[u8]) -> Result<(), StoreError> {
        while !self.append_in_row(key, bytes).await? {
            let found = self.file(key).await?;
            let expect = match &found {
                Some(entry) => entry.hash.map_or(Expect::Anything, Expect::Is),
                None => Expect::Absent,
            };
            let mut whole = match found {
                Some(entry) => self.bytes_of(entry).await?,
                None => Vec::new(),
            };
            whole.extend_from_slice(bytes);
            match self.put(key, &whole, expect).await {
                Ok(_) => return Ok(()),
                Err(StoreError::Conflict) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn delete(&self, key: &ObjectKey, expect: Expect) -> Result<(), StoreError> {
        let (person, path, fence) = (self.person.as_str(), self.path(key), self.fence().await?);
        transact!(self.database, transaction => {
            let found = rows::hold(&transaction, person, &path).await?;
            if found.is_none() {
                return Err(StoreError::NotFound.into());
            }
            rows::check(found, expect)?;
            rows::remove(&transaction, person, &path).await?;
            let touch = rows::touch_folder(&transaction, person, rows::parent_of(&path));
            last_statement(fence.as_ref(), &transaction, touch).await
        })
    }

    async fn rename(
        &self,
        from: &ObjectKey,
        to: &ObjectKey,
        expect: Expect,
    ) -> Result<(), StoreError> {
        let (person, fence) = (self.person.as_str(), self.fence().await?);
        let (from, to) = (self.path(from), self.path(to));
        transact!(self.database, transaction => {
            let found = rows::hold(&transaction, person, &from).await?;
            if found.is_none() {
                return Err(StoreError::NotFound.into());
            }
            rows::check(found, expect)?;
            rows::make_folders(&transaction, person, &to).await?;
            match rows::rename(&transaction, person, &from, &to).await {
                Err(TransactionError::Database(error))
                    if error.code() == Some(&SqlState::UNIQUE_VIOLATION) =>
                {
                    return Err(StoreError::Conflict.into());
                }
                renamed => renamed?,
            }
            let mut folders = [rows::parent_of(&from), rows::parent_of(&to)];
            // The folders are locked in a fixed order, so that two renames do not wait for each
            // other.
            folders.sort_unstable();
            rows::touch_folder(&transaction, person, folders[0]).await?;
            let touch = rows::touch_folder(&transaction, person, folders[1]);
            last_statement(fence.as_ref(), &transaction, touch).await
        })
    }

    async fn list(
        &self,
        folder: Option<&ObjectKey>,
        limit: usize,
    ) -> Result<Vec<ObjectMeta>, StoreError> {
        let place = folder.map_or_else(|| self.root.clone(), |folder| self.path(folder));
        let reader = self.database.reader().await?;
        let asked = [FolderAsked { person: &self.person, path: &place, limit }];
        let found = rows::children(&*reader, &asked);
        // Both queries are sent together, so that one trip tells an empty folder from one that does
        // not exist.
        let itself = rows::one(&*reader, &self.person, &place);
        let (found, itself) = tokio::join!(found, itself);
        let (found, itself) = (found?, itself?);
        let is_there = folder.is_none() || itself.is_some_and(|entry| entry.is_folder);
        if found.is_empty() && !is_there {
            return Err(StoreError::NotFound);
        }
        found.iter().filter_map(|row| rows::child(row, &self.root).transpose()).collect()
    }

    /// Lists everything below a folder. The range uses only the order of paths: `0` is the
    /// character after `/`, so everything below a folder sorts between the two.
    async fn tree(
        &self,
        folder: Option<&ObjectKey>,
        limit: usize,
    ) -> Result<Vec<TreeEntry>, StoreError> {
        let place = folder.map_or_else(|| self.root.clone(), |folder| self.path(folder));
        let (from, to) = (format!("{place}/"), format!("{place}0"));
        let (client, limit) =
            (self.database.client().await?, i64::try_from(limit).unwrap_or(i64::MAX));
        let found = query::rows(
            &client,
            "SELECT path, size, modified, is_folder, hash FROM files
             WHERE person = $1 AND path > $2 AND path < $3 ORDER BY path LIMIT $4",
            &[&self.person, &from, &to, &limit],
        )
        .await?;
        let below = format!("{}/", self.root);
        let mut entries = Vec::with_capacity(found.len());
        for row in &found {
            let path: &str = get(row, 0)?;
            let Some(Ok(key)) = path.strip_prefix(&below).map(str::parse) else { continue };
            let hash = if get(row, 3)? { None } else { Some(hash(row, 4)?) };
            let (size, modified) = (count(row, 1)?, timestamp(row, 2)?);
            entries.push(TreeEntry { key, size, hash, modified });
        }
        Ok(entries)
    }

    /// Reads many files: the rows in one query, and the large contents a few at a time.
    async fn get_all(&self, keys: &[ObjectKey]) -> Result<Vec<Option<Object>>, StoreError> {
        let paths: Vec<String> = keys.iter().map(|key| self.path(key)).collect();
        let people = vec![self.person.as_str(); keys.len()];
        let entries = rows::several(&self.database.client().await?, &people, &paths).await?;
        let mut large = JoinSet::new();
        let mut found = vec![None; keys.len()];
        for (at, entry) in entries.into_iter().filter(|(_, entry)| !entry.is_folder) {
            let (modified, changed) = (entry.modified, entry.changed);
            let object =
                move |bytes: Vec<u8>| Object { hash: Hash::of(&bytes), bytes, modified, changed };
            match (entry.bytes, entry.blob) {
                (Some(bytes), _) => found[at] = Some(object(bytes)),
                (None, Some(blob)) => {
                    if large.len() >= AT_ONCE
                        && let Some(read) = large.join_next().await
                    {
                        let (at, object) = read.map_err(|_| not_read())??;
                        found[at] = Some(object);
                    }
                    let (blobs, person) = (self.blobs.clone(), self.person.clone());
                    large.spawn(async move {
                        Ok::<_, StoreError>((at, object(blobs.get(&person, &blob).await?)))
                    });
                }
                (None, None) => return Err(without_content()),
            }
        }
        while let Some(read) = large.join_next().await {
            let (at, object) = read.map_err(|_| not_read())??;
            found[at] = Some(object);
        }
        Ok(found)
    }

    /// Removes empty folders, the deepest first. A folder that is no longer empty stays.
    async fn remove_empty(&self, folder: &ObjectKey) -> Result<(), StoreError> {
        let (person, path, fence) = (self.person.as_str(), self.path(folder), self.fence().await?);
        transact!(self.database, transaction => {
            let below = format!("{path}/");
            let folders = query::rows(
                &transaction,
                "SELECT path FROM files
                 WHERE person = $1 AND is_folder AND (path = $2 OR starts_with(path, $3))
                 ORDER BY length(path) DESC, path FOR UPDATE",
                &[&person, &path, &below],
            )
            .await?;
            for row in &folders {
                let remove = "DELETE FROM files WHERE person = $1 AND path = $2
                    AND NOT EXISTS (SELECT 1 FROM files AS child
                                    WHERE child.person = $1 AND child.parent = $2)";
                query::execute(&transaction, remove, &[&person, &get::<&str>(row, 0)?]).await?;
            }
            last_statement(fence.as_ref(), &transaction, async { Ok(()) }).await
        })
    }
}
