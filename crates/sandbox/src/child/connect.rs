//! A way through the proxy for programs that do not support one, for example ssh with its
//! `ProxyCommand`: copies input to a host and port, and the answers to the output.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::process::ExitCode;

use crate::PROXY_PORT;

/// The most lines that are read of the proxy's answer; a proxy of ours sends fewer.
const MOST_LINES: usize = 64;

pub(super) fn connect(host: &str, port: &str) -> Result<ExitCode, String> {
    let lost = |error: io::Error| format!("the connection to {host}:{port} is lost: {error}");
    let mut to = TcpStream::connect((Ipv4Addr::LOCALHOST, PROXY_PORT))
        .map_err(|error| format!("the proxy does not answer: {error}"))?;
    let place = format!("{host}:{port}");
    write!(to, "CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n").map_err(lost)?;
    let mut from = BufReader::new(to.try_clone().map_err(lost)?);
    agreed(&mut from, &place)?;
    std::thread::spawn(move || {
        // One side has ended its part, so the connection ends.
        let _ = io::copy(&mut io::stdin().lock(), &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    let mut out = io::stdout().lock();
    loop {
        let piece = from.fill_buf().map_err(lost)?;
        if piece.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        // Each piece is written at once, because the other side may wait for an answer to it.
        out.write_all(piece).and_then(|()| out.flush()).map_err(lost)?;
        let count = piece.len();
        from.consume(count);
    }
}

/// Reads the proxy's answer, up to the first byte of the other side.
fn agreed(from: &mut impl BufRead, place: &str) -> Result<(), String> {
    let mut first = None;
    for _ in 0..MOST_LINES {
        let mut line = String::new();
        let count = from.read_line(&mut line).map_err(|error| format!("{place}: {error}"))?;
        let line = line.trim_end();
        if count == 0 {
            break;
        }
        if !line.is_empty() {
            first.get_or_insert_with(|| line.to_owned());
            continue;
        }
        let status = first.unwrap_or_default();
        if status.split(' ').nth(1) == Some("200") {
            return Ok(());
        }
        return Err(format!("{place} cannot be reached: {status}"));
    }
    Err(format!("the proxy gave no answer for {place}"))
}
