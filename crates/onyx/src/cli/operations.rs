//! Commands for operating a server: its log, usage, the system service, man pages and device pairing.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use onyx_types::PersonId;

use super::AsJson;

#[derive(Debug, Args)]
pub(crate) struct LogsArguments {
    /// Keep printing new lines until Ctrl-C
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// The lowest level to show
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) level: Level,
    /// Show only lines whose message, source or details contain this text
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) search: Option<String>,
    /// The number of newest lines to show
    #[arg(short = 'n', long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=2_000))]
    pub(crate) limit: u32,
    /// Print one JSON object per line
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
    /// The level's name in the server's API.
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
    /// What each line adds up
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) by: UsageBy,
    /// The first day, as YYYY-MM-DD; without it, 30 days before the last day
    #[arg(long, value_name = "DAY")]
    pub(crate) since: Option<String>,
    /// The last day, as YYYY-MM-DD; without it, today
    #[arg(long, value_name = "DAY")]
    pub(crate) until: Option<String>,
    /// Count only this person
    #[arg(short, long)]
    pub(crate) person: Option<String>,
    /// Count only this agent
    #[arg(short, long)]
    pub(crate) agent: Option<String>,
    /// Count only this model
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
    /// Install the service: start the server now and whenever the machine starts
    Install {
        #[command(flatten)]
        place: ServicePlace,
        /// The user to run as, with --system; without it, the user who called sudo
        #[arg(long, value_name = "NAME", requires = "system")]
        user: Option<String>,
    },
    /// Stop the server and remove the service; the home is kept
    Uninstall {
        #[command(flatten)]
        place: ServicePlace,
    },
    /// Show whether the service is installed and running
    Status {
        #[command(flatten)]
        place: ServicePlace,
        #[command(flatten)]
        json: AsJson,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ServicePlace {
    /// Use a service of the whole machine, not of the current user; needs root
    #[arg(long)]
    pub(crate) system: bool,
    /// Use a system in this folder, such as an image: the service is enabled, not started
    #[arg(long, value_name = "FOLDER", requires = "system")]
    pub(crate) root: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// The folder to write the pages to
    #[arg(
        long,
        value_name = "FOLDER",
        conflicts_with = "markdown",
        required_unless_present = "markdown"
    )]
    pub(crate) to: Option<PathBuf>,
    /// Print all commands as one page of the manual
    #[arg(long)]
    pub(crate) markdown: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PairCommand {
    /// List the devices that wait
    List(AsJson),
    /// Approve the device with this code
    Approve {
        code: String,
        /// The person it signs in as, instead of the owner
        #[arg(short, long)]
        person: Option<PersonId>,
        #[command(flatten)]
        json: AsJson,
    },
    /// Reject the device with this code
    Reject {
        code: String,
        #[command(flatten)]
        json: AsJson,
    },
}
