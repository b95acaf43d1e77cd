use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A folder for temporary files of one command. It is removed when dropped; leftovers of a crash
/// are removed when the next one is made.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn make(root: &Path) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        std::fs::create_dir_all(root)?;
        let root = root.canonicalize()?;
        let own = own_prefix();
        remove_leftovers(&root, own);
        loop {
            let path = root.join(format!("{own}{}", NEXT.fetch_add(1, Ordering::Relaxed)));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Removes the folders that earlier processes left. Must be called when a process begins to own
    /// the folder.
    pub fn clean(root: &Path) {
        remove_leftovers(root, own_prefix());
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

/// The real path of a folder. Its links are resolved, because they are the owner's own.
pub fn real_path(folder: &Path) -> io::Result<PathBuf> {
    folder.canonicalize()
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that cannot be removed now is removed by the next process.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The prefix of this process's folders. It also holds the time, because the first process of every
/// container has the same id.
#[allow(
    clippy::disallowed_methods,
    reason = "a name that no earlier process had; nothing is timed"
)]
fn own_prefix() -> &'static str {
    static OWN: OnceLock<String> = OnceLock::new();
    OWN.get_or_init(|| {
        let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        format!("{}-{}-", std::process::id(), begun.as_nanos())
    })
}

/// Removes the folders of other processes. Only one process owns a home, so the others are gone.
fn remove_leftovers(root: &Path, own: &str) {
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(own) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_scratch_folder_goes_with_its_job_and_leftovers_with_the_next() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("0-7/deep")).unwrap();
        // This folder belongs to a process that had the same id.
        let before = format!("{}-7", std::process::id());
        std::fs::create_dir_all(root.path().join(before)).unwrap();
        let (one, two) = (Scratch::make(root.path()).unwrap(), Scratch::make(root.path()).unwrap());
        std::fs::write(one.path().join("file"), "x").unwrap();
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 2);
        let mode = std::fs::metadata(one.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "nobody else looks into it");
        drop((one, two));
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
    }
}
