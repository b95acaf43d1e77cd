//! Reads one HTTP/1.1 request, with only the part of the protocol that model clients use.

use bytes::{Buf, Bytes, BytesMut};
use serde::Serialize;
use serde_json::Value;
use std::io;
use std::time::Instant;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

const MAX_HEAD: usize = 64 * 1024;
const MAX_BODY: usize = 256 * 1024 * 1024;

#[derive(Clone, Debug, Serialize)]
pub struct RecordedRequest {
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers in the order in which they were sent, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as JSON; null if it is not JSON.
    pub body: Value,
    #[serde(skip)]
    pub raw: Bytes,
    #[serde(skip)]
    pub received: Instant,
}

impl RecordedRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The path without its query.
    pub fn route(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }
}

/// The next request of a connection; `None` if the client closed the connection after the last one.
pub(super) async fn read(
    stream: &mut TcpStream,
    buffer: &mut BytesMut,
) -> io::Result<Option<RecordedRequest>> {
    let Some(head_length) = read_head(stream, buffer).await? else {
        return Ok(None);
    };
    let head = String::from_utf8_lossy(&buffer[..head_length]).into_owned();
    buffer.advance(head_length);
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let method = words.next().unwrap_or_default().to_owned();
    let path = words.next().unwrap_or_default().to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let raw = read_body(stream, buffer, &headers).await?;
    Ok(Some(RecordedRequest {
        method,
        path,
        headers,
        body: serde_json::from_slice(&raw).unwrap_or(Value::Null),
        raw,
        received: Instant::now(),
    }))
}

async fn read_head(stream: &mut TcpStream, buffer: &mut BytesMut) -> io::Result<Option<usize>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            return Ok(Some(end + 4));
        }
        if buffer.len() > MAX_HEAD {
            return Err(invalid("request head too long"));
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

async fn read_body(
    stream: &mut TcpStream,
    buffer: &mut BytesMut,
    headers: &[(String, String)],
) -> io::Result<Bytes> {
    let field = |wanted: &str| headers.iter().find(|(name, _)| name == wanted);
    if field("transfer-encoding").is_some() {
        return Err(invalid("chunked request bodies are not scripted"));
    }
    let length = match field("content-length") {
        Some((_, value)) => value.parse().map_err(|_| invalid("content-length"))?,
        None => 0,
    };
    if length > MAX_BODY {
        return Err(invalid("request body too long"));
    }
    if field("expect").is_some() {
        use tokio::io::AsyncWriteExt;
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    while buffer.len() < length {
        if stream.read_buf(buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(buffer.split_to(length).freeze())
}

fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
