//! A disk that fails, writes too little and counts its calls, as a test demands.

use std::fs::File;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use onyx_storage::{FileOps, SystemFiles};

#[derive(Debug, Default)]
pub(crate) struct FaultyFiles {
    write: Mutex<Option<WriteFault>>,
    pub(crate) sync_fails: AtomicBool,
    pub(crate) truncate_fails: AtomicBool,
    counts: [AtomicU64; 4],
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum WriteFault {
    Full,
    /// Only this many bytes fit.
    Short(usize),
}

/// How often the disk was called since the counts were last taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) writes: u64,
    pub(crate) data_syncs: u64,
    pub(crate) full_syncs: u64,
    pub(crate) bytes_read: u64,
}

impl FaultyFiles {
    pub(crate) fn break_writes(&self, fault: WriteFault) {
        *self.write.lock().unwrap() = Some(fault);
    }

    pub(crate) fn mend_writes(&self) {
        *self.write.lock().unwrap() = None;
    }

    pub(crate) fn take_calls(&self) -> Calls {
        let [writes, data_syncs, full_syncs, bytes_read] =
            self.counts.each_ref().map(|count| count.swap(0, Ordering::SeqCst));
        Calls { writes, data_syncs, full_syncs, bytes_read }
    }

    fn count(&self, which: usize, by: usize) {
        self.counts[which].fetch_add(by as u64, Ordering::SeqCst);
    }

    fn sync(&self) -> io::Result<()> {
        if self.sync_fails.load(Ordering::SeqCst) {
            Err(io::Error::from_raw_os_error(5))
        } else {
            Ok(())
        }
    }
}

impl FileOps for FaultyFiles {
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        self.count(0, 1);
        let fault = *self.write.lock().unwrap();
        match fault {
            None => SystemFiles.write(file, bytes),
            Some(WriteFault::Full | WriteFault::Short(0)) => Err(io::ErrorKind::StorageFull.into()),
            Some(WriteFault::Short(fits)) => {
                self.break_writes(WriteFault::Short(fits - fits.min(bytes.len())));
                SystemFiles.write(file, &bytes[..fits.min(bytes.len())])
            }
        }
    }

    fn read_at(&self, file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = SystemFiles.read_at(file, buffer, offset)?;
        self.count(3, read);
        Ok(read)
    }

    fn set_len(&self, file: &File, len: u64) -> io::Result<()> {
        if self.truncate_fails.load(Ordering::SeqCst) {
            Err(io::Error::from_raw_os_error(5))
        } else {
            SystemFiles.set_len(file, len)
        }
    }

    fn sync_data(&self, file: &File) -> io::Result<()> {
        self.count(1, 1);
        self.sync()?;
        SystemFiles.sync_data(file)
    }

    fn sync_all(&self, file: &File) -> io::Result<()> {
        self.count(2, 1);
        self.sync()?;
        SystemFiles.sync_all(file)
    }
}
