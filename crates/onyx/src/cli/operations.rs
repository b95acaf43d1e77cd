//! Commands for whoever runs a server: its log, what was used, starting it with the machine, devices that wait.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use onyx_types::PersonId;

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

#[derive(Debug, Subcommand)]
pub(crate) enum PairCommand {
    /// Devices that wait
    List(AsJson),
    /// Let the device with this code in
    Approve {
        code: String,
        /// As whom; without it the owner
        #[arg(short, long)]
        person: Option<PersonId>,
        #[command(flatten)]
        json: AsJson,
    },
    /// Turn the device with this code away
    Reject {
        code: String,
        #[command(flatten)]
        json: AsJson,
    },
}
