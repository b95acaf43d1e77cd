//! Commands for connectors, MCP servers, plugins and skills.

use clap::Subcommand;
use onyx_types::AgentId;

use super::{AsJson, named_value};

#[derive(Debug, Subcommand)]
pub(crate) enum ConnectorsCommand {
    /// List accounts, their state and pending pairing requests
    List(AsJson),
    /// Connect an account; its token is read from the terminal or from standard input
    Add {
        /// The network, such as telegram
        network: String,
        /// A short name for the account: a-z, 0-9, `-` and `_`
        #[arg(default_value = "main")]
        account: String,
        /// A person or group that needs no pairing, by the network's id
        #[arg(long)]
        allow: Vec<String>,
        /// The address of the network's API, instead of the usual one
        #[arg(long)]
        api_base: Option<String>,
        /// Widget: a site whose pages may show it, such as https://www.example.org
        #[arg(long)]
        origin: Vec<String>,
        /// Widget: answer visitors without pairing, and without access to anything private
        #[arg(long)]
        open: bool,
        #[command(flatten)]
        json: AsJson,
    },
    /// Let in the person or group with this pairing code
    Pair {
        code: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Test an account's token with its network
    Test {
        network: String,
        #[arg(default_value = "main")]
        account: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Remove an account from the config
    Remove {
        network: String,
        #[arg(default_value = "main")]
        account: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// List MCP servers, their state, and how many of their tools wait for your acceptance
    List(AsJson),
    /// Add a server: a command with its arguments, an address, or the JSON of another client
    Add {
        /// A name for the server; omitted with --from
        #[arg(required_unless_present = "from")]
        name: Option<String>,
        /// The server's HTTP address, instead of a command
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
    /// Restart a server, and show its tools and its log
    Test {
        server: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// List the tools of a server, and which wait for your acceptance
    Tools {
        server: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Accept tools as they describe themselves now, so that agents may use them
    Accept {
        server: String,
        /// The tools to accept; without names, all that wait
        tools: Vec<String>,
        #[command(flatten)]
        json: AsJson,
    },
    /// Serve an agent's tools to another program over stdio; started by that program
    Serve {
        /// The agent, instead of the default one
        #[arg(short, long)]
        agent: Option<AgentId>,
    },
    /// Sign in to a server that asks for it, with your browser
    Login {
        server: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Sign out of a server: delete its tokens here
    Logout {
        server: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Add Onyx to another program's config; shows first what it will write
    Install {
        client: McpClient,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Remove a server from the config
    Remove {
        server: String,
        #[command(flatten)]
        json: AsJson,
    },
}

/// The programs whose config `onyx mcp install` can write.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum McpClient {
    Claude,
    Cursor,
    Vscode,
    Zed,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PluginsCommand {
    /// List plugins, whether they are enabled, and which wait for your acceptance
    List(AsJson),
    /// Add a plugin, or another version of one, from a folder, a .zip file, or the address of a git
    /// repository
    #[command(visible_alias = "install")]
    Add {
        from: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Show a plugin: the permissions it requests, and what has changed since you accepted it
    Show {
        plugin: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Accept the current version of a plugin and the permissions it requests
    Accept {
        plugin: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Enable an accepted plugin; one that failed too often starts again
    Enable {
        plugin: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Disable a plugin
    Disable {
        plugin: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Show the last lines that the plugin's program wrote
    Logs {
        plugin: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Remove a plugin, with its settings and its stored data
    Remove {
        plugin: String,
        #[command(flatten)]
        json: AsJson,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List skills, and which wait for your acceptance
    List(AsJson),
    /// Show a skill: its text, and what has changed since you accepted it
    Show {
        skill: String,
        /// The agent whose folder holds the skill, instead of the vault
        #[arg(short, long)]
        agent: Option<AgentId>,
        #[command(flatten)]
        json: AsJson,
    },
    /// Add skills from a folder, a .zip or .md file, or the address of a git repository
    Add {
        from: String,
        /// Accept the skills at once, because you have read them
        #[arg(long)]
        accept: bool,
        #[command(flatten)]
        json: AsJson,
    },
    /// Accept a skill in its current version, so that agents may open it
    Accept {
        skill: String,
        #[command(flatten)]
        json: AsJson,
    },
    /// Remove a skill
    Remove {
        skill: String,
        #[command(flatten)]
        json: AsJson,
    },
}
