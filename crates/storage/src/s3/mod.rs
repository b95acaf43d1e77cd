//! The object store of server mode: immutable objects whose names are the hashes of their contents.
//! The database knows which objects exist (`postgres/files`); nothing is decided here.

mod blocking;
mod refusals;
mod settings;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{
    ClientOptions, Error, ObjectStore as _, ObjectStoreExt as _, PutPayload, RetryConfig,
};

use onyx_types::Timestamp;

use crate::{ServerError, StoreError};

pub use blocking::{BlockingBucket, ListedObject};
pub use refusals::ObjectsRight;
use refusals::{NamingConnector, is_refusal};
pub use settings::{ObjectsUrl, S3Settings};

/// The time after which a request fails, including its repetitions.
const PATIENCE: Duration = Duration::from_secs(30);

/// One prefix of one bucket. Cloning is cheap.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    store: Arc<AmazonS3>,
    url: ObjectsUrl,
}

impl Bucket {
    pub(crate) fn new(url: ObjectsUrl, settings: &S3Settings) -> Result<Self, ServerError> {
        Self::with_patience(url, settings, PATIENCE)
    }

    fn with_patience(
        url: ObjectsUrl,
        settings: &S3Settings,
        patience: Duration,
    ) -> Result<Self, ServerError> {
        let retries =
            RetryConfig { max_retries: 3, retry_timeout: patience, ..RetryConfig::default() };
        let options =
            ClientOptions::new().with_timeout(patience).with_connect_timeout(PATIENCE / 6);
        let region = settings.region.as_deref().unwrap_or("us-east-1");
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&url.bucket)
            .with_region(region)
            .with_retry(retries)
            .with_client_options(options)
            .with_http_connector(NamingConnector::default())
            // One object is deleted at a time, and only the answer to a single deletion says by its
            // status why it was refused.
            .with_disable_bulk_delete(true)
            .with_virtual_hosted_style_request(!settings.path_style);
        if let Some(endpoint) = &settings.endpoint {
            builder = builder
                .with_endpoint(endpoint.trim_end_matches('/'))
                .with_allow_http(endpoint.starts_with("http://"));
        }
        if let Some(id) = &settings.access_key_id {
            builder = builder.with_access_key_id(id);
        }
        if let Some(secret) = &settings.secret_access_key {
            builder = builder.with_secret_access_key(secret);
        }
        let store = builder.build().map_err(|error| ServerError::Objects(error.to_string()))?;
        Ok(Self { store: Arc::new(store), url })
    }

    /// Tries each operation that the store will be asked for once, on an object made for that.
    pub(crate) async fn probe(&self, name: &str) -> Result<(), ServerError> {
        let content = b"Onyx tests whether it can write here.";
        let path = self.path(&format!("probe/{name}"));
        let refused = |right| move |error: Error| self.refused(right, &error);
        let payload = PutPayload::from_static(content);
        self.store.put(&path, payload).await.map_err(refused(ObjectsRight::Put))?;
        let whole = self.store.get(&path).await.map_err(refused(ObjectsRight::Get))?;
        if whole.bytes().await.map_err(refused(ObjectsRight::Get))? != content[..] {
            return Err(ServerError::Objects("it does not return what was stored".to_owned()));
        }
        let part =
            self.store.get_range(&path, 5..10).await.map_err(refused(ObjectsRight::GetRange))?;
        if part[..] != content[5..10] {
            return Err(ServerError::Objects(
                "it does not return the range that is asked for".to_owned(),
            ));
        }
        let folder = self.path("probe");
        self.store.list_with_delimiter(Some(&folder)).await.map_err(refused(ObjectsRight::List))?;
        self.store.delete(&path).await.map_err(refused(ObjectsRight::Delete))
    }

    pub(crate) async fn look(&self) -> Result<(), ServerError> {
        let Err(error) = self.store.list_with_delimiter(Some(&self.path(""))).await else {
            return Ok(());
        };
        // If the bucket is missing, the error of a listing has no kind of its own. Asking for an
        // object gives `NotFound` then, so this asks for one as well.
        let missing = self.store.head(&self.path("probe/none")).await;
        match (&error, missing) {
            (Error::Generic { .. }, Err(missing @ Error::NotFound { .. })) => {
                Err(self.refused(ObjectsRight::List, &missing))
            }
            (_, Ok(_) | Err(_)) => Err(self.refused(ObjectsRight::List, &error)),
        }
    }

    fn refused(&self, right: ObjectsRight, error: &Error) -> ServerError {
        let bucket = self.url.bucket.clone();
        match error {
            Error::NotFound { .. } => ServerError::NoBucket { bucket },
            refusal if is_refusal(refusal) => ServerError::NoBucketRights { bucket, right },
            other => ServerError::Objects(other.to_string()),
        }
    }

    pub(crate) async fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        let payload = PutPayload::from(bytes);
        self.store
            .put(&self.path(name), payload)
            .await
            .map(drop)
            .map_err(self.failed(ObjectsRight::Put))
    }

    pub(crate) async fn get(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        let found =
            self.store.get(&self.path(name)).await.map_err(self.failed(ObjectsRight::Get))?;
        Ok(found.bytes().await.map_err(self.failed(ObjectsRight::Get))?.into())
    }

    async fn get_if_any(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        match self.store.get(&self.path(name)).await {
            Ok(found) => {
                Ok(Some(found.bytes().await.map_err(self.failed(ObjectsRight::Get))?.into()))
            }
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(ObjectsRight::Get)(error)),
        }
    }

    async fn length(&self, name: &str) -> Result<Option<u64>, StoreError> {
        match self.store.head(&self.path(name)).await {
            Ok(found) => Ok(Some(found.size)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(ObjectsRight::Get)(error)),
        }
    }

    /// Lists the objects directly in a folder of the prefix, ordered by name. Folders appear only
    /// by their names.
    async fn list(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        let found = self.store.list_with_delimiter(Some(&self.path(folder))).await;
        let found = found.map_err(self.failed(ObjectsRight::List))?;
        let skipped = if self.url.prefix.is_empty() { 0 } else { self.url.prefix.len() + 1 };
        let name = |path: &Path| path.as_ref().get(skipped..).unwrap_or_default().to_owned();
        let objects = found.objects.iter().map(|object| ListedObject {
            name: name(&object.location),
            size: object.size,
            modified: Timestamp::from_millis(object.last_modified.timestamp_millis()),
        });
        let folders = found.common_prefixes.iter().map(|path| ListedObject {
            name: name(path),
            size: 0,
            modified: Timestamp::from_millis(0),
        });
        let mut all: Vec<ListedObject> = objects.chain(folders).collect();
        all.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    pub(crate) async fn get_range(
        &self,
        name: &str,
        range: Range<u64>,
    ) -> Result<Vec<u8>, StoreError> {
        let found = self.store.get_range(&self.path(name), range).await;
        let found = found.map_err(self.failed(ObjectsRight::GetRange))?;
        Ok(found.into())
    }

    /// Deletes an object. Deleting one that does not exist is no error.
    pub(crate) async fn delete(&self, name: &str) -> Result<(), StoreError> {
        match self.store.delete(&self.path(name)).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed(ObjectsRight::Delete)(error)),
        }
    }

    fn path(&self, name: &str) -> Path {
        // An empty prefix does no harm, because `Path` drops empty parts.
        Path::from(format!("{}/{name}", self.url.prefix))
    }

    /// Turns an error of the store into one for the caller. `right` says what the store was asked
    /// to do.
    fn failed(&self, right: ObjectsRight) -> impl Fn(Error) -> StoreError + '_ {
        move |error| match error {
            // The database says that the object exists, so its absence is damage.
            Error::NotFound { path, .. } => {
                StoreError::Damaged(format!("the object store has lost {path}"))
            }
            // The key had these rights when the gateway started, so they were taken away since.
            refusal if is_refusal(&refusal) => self.refused(right, &refusal).into(),
            other => StoreError::Unavailable(format!("the object store: {other}")),
        }
    }
}
