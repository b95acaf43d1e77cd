//! The command line: one definition gives the parser, the help and the completions.

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use onyx_types::{AgentId, SessionId};

use crate::exit;

/// A home for your AI agents.
#[derive(Debug, Parser)]
#[command(name = "onyx", version, about, after_help = exit::TABLE)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the home on this machine (what plain `onyx` does)
    Serve(ServeArguments),
    /// Talk to an agent: one message, or a conversation
    Chat(ChatArguments),
    /// Look at conversations
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Who can answer: providers, whether they work, how they do
    #[command(subcommand)]
    Providers(ProvidersCommand),
    /// What can be chosen, and what it costs
    #[command(subcommand)]
    Models(ModelsCommand),
    /// What was spent today, beside its limits
    Budgets(BudgetArguments),
    /// Make a home: config and the agent's first files. Overwrites nothing
    Init,
    /// Check config, storage, providers and token, and say how to mend what is broken
    Doctor(DoctorArguments),
    /// Build everything derived (session lists, the index) anew from the files
    Reindex,
    /// Print a completion script for a shell
    Completions { shell: Shell },
}

#[derive(Debug, Default, Args)]
pub(crate) struct ServeArguments {
    /// The port, instead of the config's; 0 takes a free one
    #[arg(long)]
    pub(crate) port: Option<u16>,
}

#[derive(Debug, Args)]
pub(crate) struct ChatArguments {
    /// The agent, instead of the default one
    #[arg(short, long)]
    pub(crate) agent: Option<AgentId>,
    /// Go on with this session
    #[arg(short, long)]
    pub(crate) session: Option<SessionId>,
    /// Print the events as they come, one JSON object a line (NDJSON schema v2)
    #[arg(long)]
    pub(crate) json: bool,
    /// Show what tools would do; do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The message; without it a conversation begins (or the message is read from a pipe)
    #[arg(value_name = "MESSAGE", trailing_var_arg = true)]
    pub(crate) message: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// The newest sessions
    List(ListArguments),
    /// One conversation, as a person reads it
    Show {
        session: SessionId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// One conversation, to take away
    Export {
        session: SessionId,
        #[arg(short, long, value_enum, default_value_t)]
        format: ExportFormat,
        /// The same as `--format jsonl`
        #[arg(long, conflicts_with = "format")]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProvidersCommand {
    /// Every provider of the config; keys shortened
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Ask a provider, or all of them, and say in words what is wrong
    Test {
        provider: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// The models that a provider says it has
    Models {
        provider: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// How providers have done since the server started
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// The models to choose from
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// What is known of one
    Info {
        /// <provider>/<model>
        model: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct BudgetArguments {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Only this agent's
    #[arg(short, long)]
    pub(crate) agent: Option<AgentId>,
    /// Archived ones too
    #[arg(long)]
    pub(crate) all: bool,
    /// How many
    #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) limit: u32,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    #[default]
    Jsonl,
    Markdown,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
