//! A home on a disk of its own that can be filled and emptied again.

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

const PAGE: u64 = 4096;

/// A tmpfs of a fixed size, unmounted when dropped.
#[derive(Debug)]
pub struct SmallDisk {
    at: PathBuf,
}

impl SmallDisk {
    /// Mounts the disk. Fails the test if mounting is not permitted, because the test would
    /// otherwise prove nothing.
    pub fn mount(at: &Path, bytes: u64) -> Self {
        let options = CString::new(format!("size={bytes},mode=700")).expect("no zero byte");
        mount("tmpfs", at, "tmpfs", MountFlags::empty(), options.as_c_str()).unwrap_or_else(
            |error| panic!("cannot mount a small disk ({error}): this test must run as root"),
        );
        Self { at: at.to_owned() }
    }

    /// Fills the disk except for this many pages of 4 KiB.
    pub fn fill_but(&self, pages: u64) {
        let ballast = self.ballast();
        let mut file = OpenOptions::new().create(true).append(true).open(&ballast).expect("a file");
        let page = [0x55; PAGE as usize];
        while file.write_all(&page).is_ok() {}
        let full = file.metadata().expect("the ballast").len();
        let whole = full - full % PAGE;
        file.set_len(whole.saturating_sub(pages * PAGE)).expect("shorter is always possible");
    }

    /// Frees the space again.
    pub fn empty(&self) {
        let _ = File::options().write(true).truncate(true).open(self.ballast());
    }

    fn ballast(&self) -> PathBuf {
        self.at.join("ballast")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The unmount is lazy, because a process that is still ending may hold a file there.
        if let Err(error) = unmount(&self.at, UnmountFlags::DETACH) {
            eprintln!("cannot unmount {}: {error}", self.at.display());
        }
    }
}
