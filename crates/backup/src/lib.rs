//! Backups of a home, made while a server works on it, kept in a folder or a bucket of their own,
//! verified and restored; and the export of a home as plain files.
//!
//! A repository (`repository/`) holds packs of chunks and one manifest for each snapshot. Files are
//! cut into chunks that are named by their content, so that content that two snapshots share is
//! stored once. A manifest is written last: a backup that is killed earlier leaves no snapshot, and
//! the next backup uses what it wrote. `home/` knows which files of a home are kept and how they
//! are read beside a running server; `restore/` and `export/` write them out again.
//!
//! All calls wait for disks and buckets, so callers must not be on a thread that answers requests.
//! Callers decide who may back up or restore what. No prompt or server code may enter, and the
//! network only through the store's own client of buckets.

mod aside;
mod error;
mod export;
mod folder;
mod home;
mod keep;
mod last;
mod named_path;
mod repository;
mod restore;
mod server;
mod take;
mod verify;

pub use error::BackupError;
pub use export::{ExportReport, export_everything};
pub use home::LEFT_OUT;
pub use last::{LastBackup, last_backup};
pub use repository::{
    BackupPlace, Encryption, Passphrase, SnapshotInfo, SnapshotListing, is_encrypted, list,
};
pub use restore::{
    RestoreReport, RestoreRequest, RestoredFile, RestoredSession, SessionRequest, SnapshotFile,
    SnapshotSession, Source, WhenDamaged, read_file, read_session, restore_file, restore_home,
    restore_session,
};
pub use take::{BackupReport, BackupRequest, back_up};
pub use verify::{Damage, Repair, VerifyReport, verify};
