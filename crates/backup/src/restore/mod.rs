//! Restores from a snapshot: a whole home where there is none, or one file or session into a home
//! that is in use, under a new name. Every chunk is compared with its name.

mod home;
mod one;
mod reading;
mod session;
mod writing;

use crate::repository::{BackupPlace, Passphrase};

pub use home::{RestoreReport, RestoreRequest, WhenDamaged, restore_home};
pub use one::{RestoredFile, restore_file};
pub use reading::{SnapshotFile, SnapshotSession, read_file, read_session};
pub use session::{RestoredSession, SessionRequest, restore_session};

/// The snapshot to restore from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub place: &'a BackupPlace,
    /// The beginning of a snapshot's id; `None` is the newest snapshot.
    pub snapshot: Option<&'a str>,
    pub passphrase: Option<&'a Passphrase>,
}
