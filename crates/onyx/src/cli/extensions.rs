//! Commands for what comes from outside: other networks, other programs' tools, skills, plugins.

use clap::Subcommand;
use onyx_types::AgentId;

use super::{AsJson, named_value};

#[derive(Debug, Subcommand)]
pub(crate) enum ConnectorsCommand {
    /// Every account, how it is, and who waits to be let in
    List(AsJson),
    /// Connect an account; its token is read from the terminal or from standard input
    Add {
        /// telegram
        network: String,
        /// A short name for the account: a-z, 0-9, `-` and `_`
        #[arg(default_value = "main")]
        account: String,
        /// Peers that need no pairing, by the network's ids
        #[arg(long)]
        allow: Vec<String>,
        /// Where the network's API is, if not where it usually is
        #[arg(long)]
        api_base: Option<String>,
        /// Widget: a site whose pages may show it, as https://www.example.org
        #[arg(long)]
        origin: Vec<String>,
        /// Widget: answer visitors without pairing, and without anything private
        #[arg(long)]
        open: bool,
        #[command(flatten)]
        json: AsJson,
    },
    /// Let in whoever was given this code
    Pair {
        code: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Ask the network about an account's token
    Test {
        network: String,
        #[arg(default_value = "main")]
        account: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Take an account out of the config
    Remove {
        network: String,
        #[arg(default_value = "main")]
        account: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Every MCP server: how it is, and how many of its tools wait for you
    List(AsJson),
    /// Add a server: a command with its arguments, or an address; or the JSON of another client
    Add {
        /// Its name; left out with --from
        #[arg(required_unless_present = "from")]
        name: Option<String>,
        /// Where it answers over HTTP, instead of a command
        #[arg(long, conflicts_with = "command")]
        url: Option<String>,
        /// A file with `mcpServers`, as other clients write it
        #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "url", "command"])]
        from: Option<std::path::PathBuf>,
        /// NAME=VALUE for the command; a value may be secret:<name>
        #[arg(long, value_name = "NAME=VALUE", value_parser = named_value)]
        env: Vec<(String, String)>,
        /// NAME=VALUE for the address; a value may be secret:<name>
        #[arg(long, value_name = "NAME=VALUE", value_parser = named_value)]
        header: Vec<(String, String)>,
        /// A host that the command may reach
        #[arg(long, value_name = "HOST")]
        network: Vec<String>,
        /// A folder that the command may read
        #[arg(long, value_name = "FOLDER")]
        read: Vec<std::path::PathBuf>,
        /// A folder that the command may change
        #[arg(long, value_name = "FOLDER")]
        write: Vec<std::path::PathBuf>,
        /// The program and its arguments, after --
        #[arg(last = true)]
        command: Vec<String>,
        #[command(flatten)]
        json: AsJson,
    },
    /// Start a server anew, look at its tools and its log
    Test {
        server: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// The tools of a server, and what waits for you
    Tools {
        server: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Let agents use tools as they describe themselves now
    Accept {
        server: String,
        /// All that wait, without it
        tools: Vec<String>,
        #[command(flatten)]
        json: AsJson,
    },
    /// Offer an agent's tools to another program over stdio; started by that program
    Serve {
        /// Whose tools; the default agent's without it
        #[arg(short, long)]
        agent: Option<AgentId>,
    },
    /// Sign in at a server that asks for it, with your browser
    Login {
        server: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Forget the sign-in at a server
    Logout {
        server: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Write this Onyx into another program's config: shows what it will write first
    Install {
        client: McpClient,
        /// Write it without asking
        #[arg(long)]
        yes: bool,
    },
    /// Take a server out of the config
    Remove {
        server: String,
        #[command(flatten)]
        json: AsJson,
    },
}

/// Programs whose config is known.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum McpClient {
    Claude,
    Cursor,
    Vscode,
    Zed,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PluginsCommand {
    /// Every plugin, whether it is on, and what waits for you
    List(AsJson),
    /// Bring a plugin along, or another version of one: a folder, a .zip file, or the address of a
    /// git repository
    #[command(visible_alias = "install")]
    Add {
        from: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// One plugin: what it asks for, and what has changed since you accepted it
    Show {
        plugin: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Accept a plugin and what it asks for, as it is now
    Accept {
        plugin: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Switch an accepted plugin on; one that failed too often starts again
    Enable {
        plugin: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Switch a plugin off
    Disable {
        plugin: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// The last lines that its program wrote
    Logs {
        plugin: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Take a plugin away, with its settings and what it kept
    Remove {
        plugin: String,
        #[command(flatten)]
        json: AsJson,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// Every skill, and what waits for you
    List(AsJson),
    /// One skill: what it says, and what has changed since you accepted it
    Show {
        skill: String,
        /// The agent in whose folder it lies; the vault's without it
        #[arg(short, long)]
        agent: Option<AgentId>,
        #[command(flatten)]
        json: AsJson,
    },
    /// Bring skills along: a folder, a .zip or .md file, or the address of a git repository
    Add {
        from: String,
        /// Accept them at once: you have read them
        #[arg(long)]
        accept: bool,
        #[command(flatten)]
        json: AsJson,
    },
    /// Let agents open a skill as it is now
    Accept {
        skill: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Take a skill away
    Remove {
        skill: String,
        #[command(flatten)]
        json: AsJson,
    },
}
