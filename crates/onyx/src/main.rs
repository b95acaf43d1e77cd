//! The `onyx` binary: command line, config, wiring, shutdown. It holds no logic: decisions about
//! agents, tools, models or sessions belong to the crates of these names.

mod allocator;
mod cli;
mod client;
mod commands;
mod config;
mod cores;
mod env;
mod exit;
mod files;
mod gateway;
mod home;
mod logging;
mod open_files;
mod output;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Parser;
use onyx_api::LogRing;
use onyx_extract::Confinement;
use onyx_sandbox::MayRead;
use onyx_types::Fault;

use cli::{Cli, Command, ServeArguments};
use exit::Exit;
use gateway::Unreachable;
use home::HomeFolder;

/// The first argument of the process that a sandboxed command starts in.
const SANDBOX_CHILD: &str = "sandbox-child";

fn main() -> ExitCode {
    // This comes first, because such a process is not Onyx but becomes a sandboxed command.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == gateway::RUNTIME_CHILD) {
        return onyx_providers::exec_child(arguments);
    }
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(SANDBOX_CHILD) {
        return onyx_sandbox::child(arguments);
    }
    allocator::give_large_blocks_back();
    let command =
        Cli::parse().command.unwrap_or(Command::Serve(ServeArguments { open: true, port: None }));
    if let Command::LocalWorker = command {
        // The worker starts without a runtime, logs or a home: it needs only its model.
        onyx_local::serve_worker(|inputs| {
            warn_if_open(onyx_sandbox::hold_this_process(MayRead::SystemAnd(inputs)));
        });
        return ExitCode::SUCCESS;
    }
    if let Command::ReadDocument { task } = &command {
        return match commands::read_document::run(task, confined) {
            Ok(exit) => exit.into(),
            Err(error) => failed(&error.into()).into(),
        };
    }
    // One crypto provider is installed before any TLS client exists: two in one process would panic at first use.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let logs = logging::start(&command);
    match start(command, logs) {
        Ok(exit) => exit,
        Err(error) => failed(&error),
    }
    .into()
}

/// Isolates the reader of documents from everything it does not need, as far as this machine can.
fn confined(confinement: Confinement<'_>) {
    warn_if_open(match confinement {
        Confinement::Parser => onyx_sandbox::hold_this_process(MayRead::Nothing),
        Confinement::Program { installed } => onyx_sandbox::hold_for_program(installed),
    });
}

fn warn_if_open(held: Result<(), String>) {
    if let Err(error) = held {
        output::warning(&format!("this helper process could not be isolated: {error}"));
    }
}

fn start(command: Command, logs: Arc<LogRing>) -> Result<Exit> {
    if let Command::Completions { shell } = command {
        return Ok(commands::completions::run(shell));
    }
    if let Command::Man(arguments) = &command {
        return commands::man::run(arguments);
    }
    let home = HomeFolder::find()?;
    let runtime = cores::first().context("cannot start the runtime")?;
    let result = runtime.block_on(run(&home, command, logs));
    // A blocked read of the terminal must not hold the process.
    runtime.shutdown_background();
    result
}

async fn run(home: &HomeFolder, command: Command, logs: Arc<LogRing>) -> Result<Exit> {
    match command {
        Command::Serve(arguments) => commands::serve::run(home, &arguments, logs).await,
        Command::Chat(arguments) => commands::chat::run(home, arguments).await,
        Command::Sessions(command) => commands::sessions::run(home, command).await,
        Command::Drafts(command) => commands::drafts::run(home, command).await,
        Command::Audit(command) => commands::audit::run(home, command).await,
        Command::Actions(command) => commands::actions::run(home, command).await,
        Command::Jobs(command) => commands::jobs::run(home, command).await,
        Command::Mcp(command) => commands::mcp::run(home, command).await,
        Command::Plugins(command) => commands::plugins::run(home, command).await,
        Command::Skills(command) => commands::skills::run(home, command).await,
        Command::Connectors(command) => commands::connectors::run(home, command).await,
        Command::Undo(arguments) => commands::undo::run(home, &arguments).await,
        Command::People(command) => commands::people::run(home, command).await,
        Command::Tokens(command) => commands::tokens::run(home, command).await,
        Command::Pair(command) => commands::pair::run(home, command).await,
        Command::Memory(command) => commands::memory::run(home, command).await,
        Command::Secrets(command) => commands::secrets::run(home, command).await,
        Command::Linkedin(command) => commands::linkedin::linkedin(home, command).await,
        Command::Providers(command) => commands::models::providers(home, command).await,
        Command::Models(command) => commands::models::models(home, command).await,
        Command::Budgets(arguments) => commands::models::budgets(home, &arguments).await,
        Command::Usage(arguments) => commands::usage::run(home, &arguments).await,
        Command::Logs(arguments) => commands::logs::run(home, &arguments).await,
        Command::Service(command) => commands::service::run(home, command),
        Command::Init => commands::init::run(home),
        Command::Doctor(arguments) => commands::doctor::run(home, &arguments).await,
        Command::Backup(arguments) => commands::backup::run(home, arguments).await,
        Command::Restore(arguments) => commands::backup::restore(home, arguments).await,
        Command::Export(arguments) => commands::backup::export(home, arguments).await,
        Command::Import(arguments) => commands::import::run(home, arguments).await,
        Command::Reindex => commands::reindex::run(home).await,
        Command::Migrate => commands::migrate::run(home).await,
        Command::Storage(command) => commands::storage::run(home, command).await,
        Command::Completions { shell } => Ok(commands::completions::run(shell)),
        Command::Man(arguments) => commands::man::run(&arguments),
        // `main` handles both before the runtime starts.
        Command::ReadDocument { .. } | Command::LocalWorker => Ok(Exit::Done),
    }
}

fn failed(error: &anyhow::Error) -> Exit {
    if let Some(fault) = error.downcast_ref::<Fault>() {
        output::fault(fault);
        return Exit::of(fault.code);
    }
    output::error(&format!("{error:#}"));
    if error.is::<Unreachable>() { Exit::Unreachable } else { Exit::Failed }
}
