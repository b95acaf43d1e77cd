//! The part of an HTTP server that a fake network needs. It can fail in every way in which a socket
//! can.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

const LARGEST: usize = 8 * 1024 * 1024;

#[derive(Clone, Debug)]
pub struct HttpRequest {
    pub method: String,
    pub path: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl HttpRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// The answer to a request, or the way in which it fails.
#[derive(Clone, Debug)]
pub enum HttpReply {
    Answer {
        status: u16,
        content_type: &'static str,
        body: Vec<u8>,
    },
    /// The connection is closed without an answer.
    Close,
    /// The answer breaks off in the middle.
    HalfClose {
        body: Vec<u8>,
    },
    /// Nothing is sent for this long; then the connection is closed.
    Hang(Duration),
}

impl HttpReply {
    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        let body = body.to_string().into_bytes();
        Self::Answer { status, content_type: "application/json", body }
    }
}

pub type Respond =
    Arc<dyn Fn(HttpRequest) -> Pin<Box<dyn Future<Output = HttpReply> + Send>> + Send + Sync>;

/// An HTTP server that serves until it is dropped.
pub struct FakeHttp {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl FakeHttp {
    pub async fn start(respond: Respond) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let respond = Arc::clone(&respond);
                // Some tests are about clients that leave early, so errors are ignored.
                tokio::spawn(async move { serve(stream, respond).await });
            }
        });
        Self { address, task }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for FakeHttp {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, respond: Respond) -> Option<()> {
    let request = read(&mut stream).await?;
    match respond(request).await {
        HttpReply::Answer { status, content_type, body } => {
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\
                 connection: close\r\n\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes()).await.ok()?;
            stream.write_all(&body).await.ok()?;
        }
        HttpReply::Close => {}
        HttpReply::HalfClose { body } => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len() + 64);
            stream.write_all(head.as_bytes()).await.ok()?;
            stream.write_all(&body).await.ok()?;
        }
        HttpReply::Hang(how_long) => tokio::time::sleep(how_long).await,
    }
    stream.shutdown().await.ok()
}

async fn read(stream: &mut TcpStream) -> Option<HttpRequest> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 8192];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        let count = stream.read(&mut chunk).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&chunk[..count]);
        if bytes.len() > LARGEST {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = bytes.split_off(end);
    while body.len() < length {
        let count = stream.read(&mut chunk).await.ok().filter(|count| *count > 0)?;
        body.extend_from_slice(&chunk[..count]);
    }
    Some(HttpRequest { method, path, headers, body })
}
