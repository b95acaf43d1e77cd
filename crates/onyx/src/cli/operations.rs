//! Commands for whoever runs a server: its log, what was used, starting it with the machine, backups.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use onyx_types::SessionId;

use super::AsJson;

#[derive(Debug, Args)]
pub(crate) struct LogsArguments {
    /// Go on with what is logged from now on, until Ctrl-C
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// This level and worse
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) level: Level,
    /// Only lines that have this text in their words, their source or a detail
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) search: Option<String>,
    /// The newest so many
    #[arg(short = 'n', long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=2_000))]
    pub(crate) limit: u32,
    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    Trace,
    Debug,
    #[default]
    Info,
    Warn,
    Error,
}

impl Level {
    /// The word that the server takes.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct UsageArguments {
    /// One line for each of these
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) by: UsageBy,
    /// The first day, as YYYY-MM-DD; 30 days before the last without it
    #[arg(long, value_name = "DAY")]
    pub(crate) since: Option<String>,
    /// The last day, as YYYY-MM-DD; today without it
    #[arg(long, value_name = "DAY")]
    pub(crate) until: Option<String>,
    /// Only this person's
    #[arg(short, long)]
    pub(crate) person: Option<String>,
    /// Only this agent's
    #[arg(short, long)]
    pub(crate) agent: Option<String>,
    /// Only this model's
    #[arg(short, long)]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) json: AsJson,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum UsageBy {
    #[default]
    Day,
    Agent,
    Model,
    Person,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServiceCommand {
    /// Start the server with the machine, and now
    Install {
        #[command(flatten)]
        place: ServicePlace,
        /// Who it runs as, with --system; whoever called sudo without it
        #[arg(long, value_name = "NAME", requires = "system")]
        user: Option<String>,
    },
    /// Stop the server and start it no more; the home stays
    Uninstall {
        #[command(flatten)]
        place: ServicePlace,
    },
    /// Is it installed, does it run?
    Status {
        #[command(flatten)]
        place: ServicePlace,
        #[command(flatten)]
        json: AsJson,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ServicePlace {
    /// A service of the machine, not of the user who is signed in; needs root
    #[arg(long)]
    pub(crate) system: bool,
    /// A system that lies in this folder, such as an image: the service is enabled, not started
    #[arg(long, value_name = "FOLDER", requires = "system")]
    pub(crate) root: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// The folder that the pages are written to
    #[arg(
        long,
        value_name = "FOLDER",
        conflicts_with = "markdown",
        required_unless_present = "markdown"
    )]
    pub(crate) to: Option<PathBuf>,
    /// Print all of them as one page of the manual
    #[arg(long)]
    pub(crate) markdown: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    #[command(subcommand)]
    pub(crate) command: Option<BackupCommand>,
    /// The folder of backups, instead of `jobs.backup.to` of the config; made if there is none
    #[arg(long, value_name = "FOLDER")]
    pub(crate) to: Option<PathBuf>,
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
    /// Every snapshot in a folder of backups
    List {
        #[arg(long, value_name = "FOLDER")]
        to: Option<PathBuf>,
        #[command(flatten)]
        json: AsJson,
    },
    /// Read every byte of a folder of backups and name what is damaged
    Verify {
        #[arg(long, value_name = "FOLDER")]
        to: Option<PathBuf>,
        /// Take away what is damaged, so that the next backup keeps it anew
        #[arg(long)]
        repair: bool,
        #[command(flatten)]
        json: AsJson,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// The folder of backups
    #[arg(value_name = "FROM")]
    pub(crate) from: PathBuf,
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
