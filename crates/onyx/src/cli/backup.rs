//! Commands that back up, restore, export and move a home.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use onyx_types::SessionId;

use super::AsJson;

#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    #[command(subcommand)]
    pub(crate) command: Option<BackupCommand>,
    /// A folder or s3://bucket/prefix, instead of `jobs.backup.to` of the config; created if missing
    #[arg(long, value_name = "PLACE")]
    pub(crate) to: Option<String>,
    /// Encrypt the backup: asks for a passphrase, or uses ONYX_BACKUP_PASSPHRASE
    #[arg(long)]
    pub(crate) encrypt: bool,
    /// Keep only this many of the newest snapshots
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) keep: Option<u32>,
    #[command(flatten)]
    pub(crate) json: AsJson,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BackupCommand {
    /// List the snapshots
    List {
        #[arg(long, value_name = "PLACE")]
        to: Option<String>,
        #[command(flatten)]
        json: AsJson,
    },
    /// Verify all backups: read every byte and name what is damaged
    Verify {
        #[arg(long, value_name = "PLACE")]
        to: Option<String>,
        /// Remove what is damaged, so that the next backup stores it again
        #[arg(long)]
        repair: bool,
        #[command(flatten)]
        json: AsJson,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// Where the backups are: a folder or s3://bucket/prefix
    #[arg(value_name = "FROM")]
    pub(crate) from: String,
    /// The snapshot whose id begins with this, instead of the newest
    #[arg(long, value_name = "ID")]
    pub(crate) snapshot: Option<String>,
    /// Restore one session into the current home; as a new session if it still exists
    #[arg(long, value_name = "ID", conflicts_with = "file")]
    pub(crate) session: Option<SessionId>,
    /// Restore one file, by its path in the home; an existing file stays, the copy is put beside it
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// Restore what is intact, and name what is damaged
    #[arg(long, conflicts_with_all = ["session", "file"])]
    pub(crate) skip_damaged: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// Export everything: files, readable conversations, ledgers
    #[arg(long)]
    pub(crate) everything: bool,
    /// A new or empty folder to write to
    #[arg(value_name = "FOLDER")]
    pub(crate) to: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StorageCommand {
    /// Copy everything to the other place and compare it there; the original is kept
    Move {
        /// The source: the folder of a home, or `server` for what `storage` in onyx.json names
        #[arg(long)]
        from: String,
        /// The destination: `server`, or an empty folder
        #[arg(long)]
        to: String,
    },
}
