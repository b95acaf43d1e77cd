//! How a server is started or reached.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;

use onyx_egress::Address;
use onyx_sandbox::{Bounds, CommandInput, Network, SandboxedCommand, Scratch};
use tokio::net::TcpListener;

use super::McpSetup;
use crate::oauth::{SignIn, SignInSetup};
use crate::program::ProgramLog;
use crate::transport::{HttpAccess, HttpTransport, StdioTransport, Task, Transport};
use crate::{McpError, ServerSettings};

const SECRET: &str = "secret:";

/// Opens a way to the server; no message has been sent yet.
pub(super) async fn open(
    setup: &McpSetup,
    settings: &ServerSettings,
    sign_in: Option<Arc<SignIn>>,
    log: &ProgramLog,
) -> Result<Transport, McpError> {
    match &settings.url {
        Some(url) => {
            let headers = opened(setup, &settings.headers)?;
            let access = HttpAccess { headers, sign_in, ..HttpAccess::default() };
            let http = HttpTransport::new(address(url)?, &setup.web.egress(), access);
            Ok(Transport::Http(Arc::new(http)))
        }
        None => started(setup, settings, log).await.map(Box::new).map(Transport::Stdio),
    }
}

fn address(url: &str) -> Result<Address, McpError> {
    url.parse().map_err(|error: onyx_egress::EgressError| McpError::Unreachable(error.to_string()))
}

/// The sign-in of a server at an address. It is made without a request. `None` for a program.
pub(super) fn sign_in(
    setup: &McpSetup,
    name: &str,
    settings: &ServerSettings,
) -> Result<Option<Arc<SignIn>>, McpError> {
    let Some(url) = &settings.url else { return Ok(None) };
    let mut oauth = settings.oauth.clone();
    if let Some(secret) = &oauth.client_secret {
        let named = BTreeMap::from([("clientSecret".to_owned(), secret.clone())]);
        oauth.client_secret = opened(setup, &named)?.into_values().next();
    }
    let sign_in = SignIn::new(SignInSetup {
        name: name.to_owned(),
        address: address(url)?,
        egress: setup.web.egress(),
        settings: oauth,
        keeper: Arc::clone(&setup.tokens),
        clock: Arc::clone(&setup.clock),
    })?;
    Ok(Some(Arc::new(sign_in)))
}

/// Starts the program with only what it was granted: the system's programs, the folders that the
/// owner named, a folder of its own, and the environment in the config.
async fn started(
    setup: &McpSetup,
    settings: &ServerSettings,
    log: &ProgramLog,
) -> Result<StdioTransport, McpError> {
    let failed = |why: String| McpError::Unreachable(why);
    let root = setup.scratch.clone();
    let scratch = tokio::task::spawn_blocking(move || Scratch::make(&root)).await;
    let scratch = scratch.map_err(|error| failed(error.to_string()))?;
    let scratch =
        scratch.map_err(|error| failed(format!("its folder cannot be created: {error}")))?;
    let real = |paths: &[std::path::PathBuf]| {
        let real = |path: &std::path::PathBuf| {
            onyx_sandbox::real_path(path)
                .map_err(|error| failed(format!("the folder {}: {error}", path.display())))
        };
        paths.iter().map(real).collect::<Result<Vec<_>, _>>()
    };
    let mut writable = real(&settings.folders.write)?;
    writable.push(scratch.path().to_owned());
    let hosts = settings.hosts().map_err(failed)?;
    let sandboxed = SandboxedCommand {
        argv: argv(setup, settings)?,
        folder: scratch.path().to_owned(),
        readable: real(&settings.folders.read)?,
        writable,
        scratch: scratch.path().to_owned(),
        network: if hosts.is_empty() { Network::None } else { Network::Proxied },
        input: CommandInput::Written,
        bounds: Bounds { cpu_seconds: u64::from(u32::MAX), ..Bounds::default() },
    };
    let running = setup.sandbox.start(sandboxed, Stdio::piped()).await;
    let mut running = running.map_err(|error| failed(error.to_string()))?;
    let proxy = match running.take_listener().await {
        None => None,
        Some(listener) => {
            let listener = listener.and_then(TcpListener::from_std);
            let listener = listener.map_err(|error| failed(format!("its network: {error}")))?;
            let proxy = setup.web.egress().proxy_to(hosts);
            Some(Task(tokio::spawn(proxy.serve(listener))))
        }
    };
    StdioTransport::over(running, scratch, proxy, log.clone())
}

/// The command line. It sets the environment itself, because the sandbox gives the command a clean
/// one.
fn argv(setup: &McpSetup, settings: &ServerSettings) -> Result<Vec<String>, McpError> {
    let command = settings.command.clone().unwrap_or_default();
    let mut argv = Vec::new();
    if !settings.env.is_empty() {
        argv.push("env".to_owned());
        let values = opened(setup, &settings.env)?;
        argv.extend(values.into_iter().map(|(name, value)| format!("{name}={value}")));
    }
    argv.push(command);
    argv.extend(settings.args.iter().cloned());
    if argv.iter().any(|word| word.contains('\0')) {
        return Err(McpError::Unreachable("an argument holds a NUL character".to_owned()));
    }
    Ok(argv)
}

/// The values with references to secrets replaced by the secrets.
fn opened(
    setup: &McpSetup,
    values: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, McpError> {
    let open = |(name, value): (&String, &String)| {
        let Some(secret) = value.strip_prefix(SECRET) else {
            return Ok((name.clone(), value.clone()));
        };
        match (setup.secrets)(secret) {
            Ok(Some(value)) => Ok((name.clone(), value)),
            Ok(None) => Err(McpError::Unreachable(format!(
                "there is no secret {secret}; `onyx secrets set {secret}` creates it"
            ))),
            Err(fault) => Err(McpError::Unreachable(fault.message)),
        }
    };
    values.iter().map(open).collect()
}
