//! Allows one writer at a time in a bucket, without conditional requests: a writer puts an object
//! of its own under `locks/`, then looks for others. Two writers that begin together both see the
//! other one, and at least one of them gives up. A lock is renewed while its process lives, and
//! only the clock of the store decides how old it is. A lock of a process of this machine that is
//! gone no longer counts.

use std::fs;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread::JoinHandle;
use std::time::Duration;

use onyx_storage::{BlockingBucket, ListedObject, StoreError};
use onyx_types::{Clock as _, SystemClock};
use serde::{Deserialize, Serialize};

use super::super::seal;

pub(super) const LOCKS: &str = "locks";
const RENEWED_EVERY: Duration = Duration::from_secs(60);
/// A lock that was not renewed for this long is free.
const LIFE_MS: i64 = 10 * 60 * 1000;

/// The holder of a lock, as far as a process on the same machine can recognise it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Holder {
    /// Identifies a boot of the machine, and its process namespace.
    machine: String,
    process: u32,
    /// When the process began, in ticks of the machine, because process ids are reused.
    began: String,
}

impl Holder {
    fn this_process() -> Self {
        let process = std::process::id();
        Self { machine: machine(), process, began: began(process).unwrap_or_default() }
    }

    fn is_gone(&self) -> bool {
        !self.machine.is_empty()
            && self.machine == machine()
            && began(self.process).is_none_or(|began| began != self.began)
    }
}

/// The name of this boot and process namespace; empty if the system does not report them.
fn machine() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let space = fs::read_link("/proc/self/ns/pid");
    match (boot, space) {
        (Ok(boot), Ok(space)) => format!("{} {}", boot.trim(), space.display()),
        (Err(_), _) | (_, Err(_)) => String::new(),
    }
}

/// When a process began; `None` if there is no such process.
fn began(process: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program may contain anything, so the fields are read after its last bracket.
    let fields = stat.rsplit_once(')')?.1;
    fields.split_whitespace().nth(19).map(str::to_owned)
}

/// The lock, removed when dropped.
pub(super) struct BucketLock {
    bucket: Arc<BlockingBucket>,
    name: String,
    /// Dropping this sender ends the thread that renews the lock.
    stop: Option<SyncSender<()>>,
    renewing: Option<JoinHandle<()>>,
}

impl BucketLock {
    /// Takes the lock; `None` if another process writes.
    pub(super) fn take(bucket: &Arc<BlockingBucket>) -> Result<Option<Self>, StoreError> {
        let random = seal::random::<8>()?;
        let name = format!("{LOCKS}/{:016x}.lock", u64::from_le_bytes(random));
        let text = serde_json::to_vec(&Holder::this_process());
        let text = text.map_err(|error| StoreError::Failed(error.to_string()))?;
        bucket.put(&name, text.clone())?;
        let bucket = Arc::clone(bucket);
        let mut lock = Self { bucket, name, stop: None, renewing: None };
        // From here on, dropping `lock` removes it.
        if !lock.is_only_one()? {
            return Ok(None);
        }
        lock.renew(text);
        Ok(Some(lock))
    }

    fn is_only_one(&self) -> Result<bool, StoreError> {
        let all = self.bucket.list(LOCKS)?;
        let own = all.iter().find(|found| found.name == self.name);
        let Some(now) = own.map(|own| own.modified.as_millis()) else { return Ok(false) };
        for other in all.iter().filter(|found| found.name != self.name) {
            if !is_over(&self.bucket, other, now)? {
                return Ok(false);
            }
            self.bucket.delete(&other.name)?;
        }
        Ok(true)
    }

    fn renew(&mut self, text: Vec<u8>) {
        let (stop, stopped) = mpsc::sync_channel(1);
        let (bucket, name) = (Arc::clone(&self.bucket), self.name.clone());
        self.stop = Some(stop);
        self.renewing = Some(std::thread::spawn(move || {
            while stopped.recv_timeout(RENEWED_EVERY) == Err(RecvTimeoutError::Timeout) {
                // A lock that was removed is not created again, because another process may be
                // writing now.
                if !matches!(bucket.length(&name), Ok(Some(_))) {
                    continue;
                }
                // If this fails, the lock is valid for some more minutes, and the next try comes
                // before they are over.
                drop(bucket.put(&name, text.clone()));
            }
        }));
    }

    pub(super) fn is_there(&self) -> Result<bool, StoreError> {
        Ok(self.bucket.length(&self.name)?.is_some())
    }
}

impl Drop for BucketLock {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(renewing) = self.renewing.take() {
            // The thread ends at once; its error no longer matters.
            drop(renewing.join());
        }
        // If the lock cannot be removed, others see that its process is gone.
        drop(self.bucket.delete(&self.name));
    }
}

/// Whether the lock's process is gone, or the lock was not renewed for long before `now`. The store
/// sets the dates of locks.
fn is_over(bucket: &BlockingBucket, lock: &ListedObject, now: i64) -> Result<bool, StoreError> {
    if now - lock.modified.as_millis() > LIFE_MS {
        return Ok(true);
    }
    let Some(text) = bucket.get(&lock.name)? else { return Ok(true) };
    let holder = serde_json::from_slice::<Holder>(&text);
    Ok(holder.is_ok_and(|holder| holder.is_gone()))
}

/// Whether no process writes to the bucket. A reader can only use the clock of this machine.
pub(super) fn is_free(bucket: &BlockingBucket) -> Result<bool, StoreError> {
    let now = SystemClock::new().wall().as_millis();
    for lock in bucket.list(LOCKS)? {
        if !is_over(bucket, &lock, now)? {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_of_a_process_that_is_gone_counts_no_longer() {
        let this = Holder::this_process();
        assert!(!this.is_gone());
        assert!(
            Holder { began: "1".to_owned(), ..this.clone() }.is_gone(),
            "the number came again"
        );
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let process = child.id();
        child.wait().unwrap();
        assert!(Holder { process, ..this.clone() }.is_gone());
        assert!(!Holder { process, machine: "another".to_owned(), ..this }.is_gone());
    }
}
