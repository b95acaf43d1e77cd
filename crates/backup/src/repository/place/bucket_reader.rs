//! Reads an object at chosen positions, some megabytes with each request, because the chunks of a
//! pack are mostly requested in their order.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use onyx_storage::BlockingBucket;

use super::ReadAt;

const AHEAD: u64 = 4 * 1024 * 1024;
/// How much is read at the end of an object: when a repository is opened, only the list at the end
/// of each pack is needed.
const END: u64 = 32 * 1024;

pub(super) struct BucketReader {
    bucket: Arc<BlockingBucket>,
    name: String,
    length: u64,
    window: Mutex<Window>,
}

/// The bytes of the last read.
#[derive(Default)]
struct Window {
    offset: u64,
    bytes: Vec<u8>,
}

impl BucketReader {
    pub(super) fn new(bucket: Arc<BlockingBucket>, name: &str, length: u64) -> Self {
        Self { bucket, name: name.to_owned(), length, window: Mutex::default() }
    }

    fn fetch(&self, offset: u64, end: u64) -> io::Result<Window> {
        let last = self.length.saturating_sub(END);
        let (from, to) = if offset >= last {
            (last, self.length)
        } else {
            (offset, end.max(offset + AHEAD).min(self.length))
        };
        let bytes = self.bucket.get_range(&self.name, from..to).map_err(io::Error::other)?;
        Ok(Window { offset: from, bytes })
    }
}

impl Window {
    fn part(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        self.bytes.get(start..start.checked_add(length)?)
    }
}

impl ReadAt for BucketReader {
    fn length(&self) -> io::Result<u64> {
        Ok(self.length)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let end = offset.checked_add(buffer.len() as u64).filter(|end| *end <= self.length);
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        if window.part(offset, buffer.len()).is_none() {
            *window = self.fetch(offset, end)?;
        }
        let part = window.part(offset, buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(part);
        Ok(())
    }
}
