//! `onyx mcp login`: the person signs in with their browser, which then calls back this command.

use std::io::IsTerminal as _;
use std::process::Stdio;
use std::time::Duration;

use onyx_mcp::oauth::Callback;
use onyx_types::{ErrorCode, Fault};
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::{MCP, Server};
use crate::cli::AsJson;
use crate::client::{Client, ClientError};
use crate::commands::show;
use crate::output;

const PATIENCE: Duration = Duration::from_secs(600);
const PAGE: &str = "<!doctype html><meta charset=utf-8><title>Onyx</title>\
    <p>You can close this page and go back to the terminal.";

#[derive(Deserialize)]
struct SignInPage {
    address: String,
}

pub(super) async fn run(client: &Client, server: &str, json: AsJson) -> Result<(), ClientError> {
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| failed(&error))?;
    let port = listener.local_addr().map_err(|error| failed(&error))?.port();
    let redirect_uri = format!("http://127.0.0.1:{port}/callback");
    let path = format!("{MCP}/{server}/login");
    let response = client.post(&path, &json!({"redirect_uri": redirect_uri})).await?;
    let begun: SignInPage = response.json().await.map_err(ClientError::Unreachable)?;
    output::aside(&format!("Sign in with your browser: {}", begun.address));
    open(&begun.address);
    let came_back = tokio::time::timeout(PATIENCE, callback(&listener)).await;
    let callback = came_back.map_err(|_| {
        let message = "the browser did not finish the sign-in within ten minutes";
        ClientError::Refused(Fault::new(ErrorCode::InvalidRequest, message))
    })??;
    let Callback { state, code, iss, error } = callback;
    let body = json!({"state": state, "code": code, "iss": iss, "error": error});
    let response = client.post(&format!("{path}/finish"), &body).await?;
    show(response, json, |server: Server| server.lines()).await
}

fn open(address: &str) {
    if !std::io::stderr().is_terminal() {
        return;
    }
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let nothing = Stdio::null;
    let opened = std::process::Command::new(program)
        .arg(address)
        .stdin(nothing())
        .stdout(nothing())
        .stderr(nothing())
        .spawn();
    if let Err(error) = opened {
        tracing::debug!(%error, "no browser was opened");
    }
}

/// Waits for the browser's callback. Other requests, such as for an icon, are ignored.
async fn callback(listener: &TcpListener) -> Result<Callback, ClientError> {
    loop {
        let (mut stream, _) = listener.accept().await.map_err(|error| failed(&error))?;
        // A connection that says nothing useful is not the browser coming back.
        let Some(query) = query_of(&mut stream).await else { continue };
        let length = PAGE.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n{PAGE}"
        );
        // A page that cannot be sent is no error: the terminal shows the result too.
        let _ = stream.write_all(answer.as_bytes()).await;
        return Ok(Callback::read(&query));
    }
}

async fn query_of(stream: &mut TcpStream) -> Option<String> {
    let mut first = String::new();
    let mut head = BufReader::new(stream);
    let read = tokio::time::timeout(Duration::from_secs(5), head.read_line(&mut first)).await;
    read.ok()?.ok()?;
    let target = first.strip_prefix("GET ")?.split(' ').next()?;
    target.strip_prefix("/callback?").map(str::to_owned)
}

fn failed(error: &std::io::Error) -> ClientError {
    let message = format!("cannot listen for the browser: {error}");
    ClientError::Refused(Fault::new(ErrorCode::Internal, message))
}
