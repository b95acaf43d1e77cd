//! Commands that keep a home elsewhere and bring it back.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use onyx_types::SessionId;

use super::AsJson;

#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    #[command(subcommand)]
    pub(crate) command: Option<BackupCommand>,
    /// A folder or s3://bucket/prefix, instead of `jobs.backup.to` of the config; made if there is none
    #[arg(long, value_name = "PLACE")]
    pub(crate) to: Option<String>,
    /// Encrypt it: asks for a passphrase, or takes ONYX_BACKUP_PASSPHRASE
    #[arg(long)]
    pub(crate) encrypt: bool,
    /// Keep so many of the newest snapshots
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) keep: Option<u32>,
    #[command(flatten)]
    pub(crate) json: AsJson,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BackupCommand {
    /// Every snapshot that is kept there
    List {
        #[arg(long, value_name = "PLACE")]
        to: Option<String>,
        #[command(flatten)]
        json: AsJson,
    },
    /// Read every byte of all backups and name what is damaged
    Verify {
        #[arg(long, value_name = "PLACE")]
        to: Option<String>,
        /// Take away what is damaged, so that the next backup keeps it anew
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
    /// The beginning of a snapshot's id, instead of the newest
    #[arg(long, value_name = "ID")]
    pub(crate) snapshot: Option<String>,
    /// One session, into the home as it is; as another one where it is still there
    #[arg(long, value_name = "ID", conflicts_with = "file")]
    pub(crate) session: Option<SessionId>,
    /// One file, by its path in the home; beside what is there
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// Restore what is whole, and name what is not
    #[arg(long, conflicts_with_all = ["session", "file"])]
    pub(crate) skip_damaged: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// Everything: files, conversations to read, ledgers
    #[arg(long)]
    pub(crate) everything: bool,
    /// A new or empty folder
    #[arg(value_name = "FOLDER")]
    pub(crate) to: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StorageCommand {
    /// Bring everything to the other place and compare it there; nothing is taken away where it was
    Move {
        /// The folder of a home, or `server`: what `storage` in onyx.json names
        #[arg(long)]
        from: String,
        /// `server`, or an empty folder
        #[arg(long)]
        to: String,
    },
}
