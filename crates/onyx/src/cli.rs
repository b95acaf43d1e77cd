//! The command line: one definition gives the parser, the help and the completions.

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use onyx_types::{AgentId, RunId, SessionId, TurnId};

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
    /// Look at conversations, name them, put them away
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Take back what a run wrote, as one
    Undo(UndoArguments),
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
    /// Sessions whose title or newest words hold a text
    Search {
        text: String,
        #[command(flatten)]
        list: ListArguments,
    },
    /// Give a session a title of your own
    Rename {
        session: SessionId,
        title: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Put a session away; it is kept
    Archive {
        session: SessionId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Bring an archived session back
    Restore {
        session: SessionId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a session for good
    Delete {
        session: SessionId,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Copy a session up to a turn into a new one
    Fork {
        session: SessionId,
        /// The last turn to copy; without it, all of them
        #[arg(long)]
        turn: Option<TurnId>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct UndoArguments {
    /// The run, as `onyx chat --json` and the web app show it
    pub(crate) run: RunId,
    /// Show what would be restored; do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
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
    #[arg(long, conflicts_with = "archived")]
    pub(crate) all: bool,
    /// Archived ones only
    #[arg(long)]
    pub(crate) archived: bool,
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
