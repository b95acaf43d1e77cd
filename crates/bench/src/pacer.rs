//! A model that streams tokens at a steady pace, each with the time at which it was sent. It is
//! lighter than the scripted model, whose own work would be mistaken for Onyx's when thousands
//! stream on the same cores.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

#[derive(Debug)]
pub(crate) struct Pacer {
    address: SocketAddr,
    accepting: AbortHandle,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) every: Duration,
    pub(crate) tokens: u32,
    /// The moment from which the tokens' times are counted.
    pub(crate) epoch: Instant,
}

impl Pacer {
    pub(crate) async fn start(pace: Pace) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    Ok((stream, _)) = listener.accept() => {
                        connections.spawn(serve(stream, pace));
                    }
                    Some(_) = connections.join_next() => {}
                }
            }
        });
        Ok(Self { address, accepting: accepting.abort_handle() })
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(mut stream: TcpStream, pace: Pace) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    while read_request(&mut stream, &mut buffer).await? {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).await?;
        let mut next = tokio::time::Instant::now();
        for _ in 0..pace.tokens {
            tokio::time::sleep_until(next).await;
            next += pace.every;
            let sent = pace.epoch.elapsed().as_micros();
            let frame = format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{sent} \"}}}}]}}\n\n"
            );
            stream.write_all(chunk(&frame).as_bytes()).await?;
        }
        let last = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        stream.write_all(format!("{}0\r\n\r\n", chunk(last)).as_bytes()).await?;
    }
    Ok(())
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// Reads one whole request from the stream; `false` at its end.
async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<bool> {
    loop {
        if let Some(end) = whole_request(buffer) {
            buffer.drain(..end);
            return Ok(true);
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(false);
        }
    }
}

fn whole_request(buffer: &[u8]) -> Option<usize> {
    let head = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&buffer[..head]).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
    (buffer.len() >= head + length).then_some(head + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_ends_with_its_body() {
        let request = b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(whole_request(request), Some(request.len()));
        assert_eq!(whole_request(&request[..request.len() - 1]), None);
        assert_eq!(whole_request(b"GET / HTTP/1.1\r\n\r\nrest"), Some(18));
    }
}
