//! `onyx serve`: runs the server until it is told to stop.

use std::io::{ErrorKind, IsTerminal};
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use onyx_api::LogRing;
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::refused;
use crate::cli::ServeArguments;
use crate::client::ClientError;
use crate::cores::Cores;
use crate::exit::Exit;
use crate::gateway::{Claim, Connection, Gateway, Unreachable, claim};
use crate::home::HomeFolder;
use crate::{open_files, output};

/// When memory is returned after the start. The start's background work is mostly done after the
/// first of these times, and the first sync of files and the loading of models after the second.
const START_TAILS: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(15)];

pub(crate) async fn run(
    home: &HomeFolder,
    arguments: &ServeArguments,
    logs: Arc<LogRing>,
) -> Result<Exit> {
    open_files::raise_limit();
    let taken = match claim(home)? {
        Claim::Ours(taken) => taken,
        Claim::Theirs(_) if arguments.open => return show_running(home).await,
        Claim::Theirs(held) => return Err(Unreachable(held).into()),
    };
    let mut gateway = Gateway::open(home, taken).await?;
    gateway.show_logs(logs);
    let mut address = gateway.address();
    if let Some(port) = arguments.port {
        address.set_port(port);
    }
    let listener = bind(address).await?;
    let address = listener.local_addr().context("the listener has no address")?;
    // Whoever sees that the server answers may end it in an orderly way at once.
    let mut signals = EndSignals::listen()?;
    gateway.serve_home()?;
    let cores = Cores::start().context("cannot start a runtime for each core")?;
    gateway.serve_network(listener, address, cores.connection_runtimes()).await?;
    gateway.tidy_up();
    gateway.tend_index();
    gateway.fire_jobs();
    gateway.connect().await;
    output::line(&format!("Onyx is running at http://{address}"));
    output::line(&format!("The owner's token is in {}", gateway.token_place()));
    match gateway.create_link().await {
        Ok(Some(link)) => invite(&link, arguments),
        Ok(None) => {}
        // The server already serves; a missing link is no reason to stop it.
        Err(error) => {
            tracing::warn!(%error, "the sign-in link could not be created; `onyx serve --open` creates one");
        }
    }
    tokio::spawn(async {
        for tail in START_TAILS {
            tokio::time::sleep(tail).await;
            crate::allocator::give_code_back();
        }
    });
    let cause = signals.next().await;
    tracing::info!(cause, "stopping; running answers have a moment to finish");
    let mut later_signals = EndSignals::listen()?;
    tokio::select! {
        () = gateway.close() => {}
        // A second signal stops the process at once; the files on disk are consistent at any
        // moment.
        _ = later_signals.next() => {}
    }
    Ok(Exit::Done)
}

#[derive(Deserialize)]
struct Link {
    url: String,
}

/// A server already runs: only opens the browser.
async fn show_running(home: &HomeFolder) -> Result<Exit> {
    let connection = Connection::open(home).await?;
    let link = async {
        let response = connection.client().post("/api/admin/links", &json!({})).await?;
        response.json::<Link>().await.map_err(ClientError::Unreachable)
    };
    let link = link.await;
    connection.close().await;
    Ok(match link {
        Ok(link) => {
            output::line("Onyx is already running.");
            invite(&link.url, &ServeArguments { open: true, port: None });
            Exit::Done
        }
        Err(error) => refused(&error),
    })
}

/// Prints the one-time sign-in link for a person at this machine; it is never logged.
fn invite(link: &str, arguments: &ServeArguments) {
    output::line(&format!("Sign in on this machine (once, within ten minutes): {link}"));
    if arguments.open && std::io::stdout().is_terminal() {
        let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        let opened = std::process::Command::new(program)
            .arg(link)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        if let Err(error) = opened {
            tracing::debug!(%error, "no browser was opened");
        }
    }
}

async fn bind(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => anyhow::anyhow!(
            "port {} is in use by another program; choose one with --port or gateway.port in onyx.json",
            address.port()
        ),
        _ => anyhow::Error::new(error).context(format!("cannot listen on {address}")),
    })
}

/// The signals that ask the server to end. Until they are listened for, they end the process at
/// once.
struct EndSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl EndSignals {
    fn listen() -> Result<Self> {
        let terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
        let interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
        Ok(Self { terminate, interrupt })
    }

    /// Waits for the next signal and returns its name.
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
