//! A bucket of the test's own in a real S3 server, and its objects as others see them.

use onyx_backup::BackupPlace;
use onyx_storage::{BlockingBucket, ObjectsUrl, S3Settings};
use onyx_test_support::Servers;

pub(crate) const PREFIX: &str = "of/anna";

pub(crate) struct TestBucket {
    pub(crate) servers: Servers,
    pub(crate) name: String,
}

impl TestBucket {
    pub(crate) fn make() -> Self {
        let servers = Servers::start();
        let name = format!("b{}", fresh_name());
        servers.make_bucket(&name);
        Self { servers, name }
    }

    pub(crate) fn place(&self) -> BackupPlace {
        place_at(&self.servers.objects, &self.name)
    }

    /// The objects beneath the prefix, read without the repository's code.
    pub(crate) fn objects(&self) -> BlockingBucket {
        BlockingBucket::new(url(&self.name), &settings(&self.servers.objects)).unwrap()
    }

    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        self.objects().list(folder).unwrap().into_iter().map(|found| found.name).collect()
    }

    pub(crate) fn flip(&self, name: &str, at: usize) {
        let objects = self.objects();
        let mut bytes = objects.get(name).unwrap().unwrap();
        bytes[at] ^= 0x10;
        objects.put(name, bytes).unwrap();
    }
}

/// A bucket of the S3 server that listens at this host.
pub(crate) fn place_at(host: &str, bucket: &str) -> BackupPlace {
    BackupPlace::Bucket { url: url(bucket), settings: settings(host) }
}

fn url(bucket: &str) -> ObjectsUrl {
    ObjectsUrl::parse(&format!("s3://{bucket}/{PREFIX}")).unwrap()
}

fn settings(host: &str) -> S3Settings {
    S3Settings {
        endpoint: Some(format!("http://{host}")),
        region: None,
        access_key_id: Some("test".into()),
        secret_access_key: Some("test".into()),
        path_style: true,
    }
}

fn fresh_name() -> String {
    let mut random = [0; 8];
    getrandom::fill(&mut random).unwrap();
    format!("{:016x}", u64::from_le_bytes(random))
}
