//! As much of an HTTP server as a fake network needs. It has every way to fail that a socket has.

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
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl HttpRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// How a request is answered, or is not.
#[derive(Clone, Debug)]
pub enum HttpReply {
    Answer {
        status: u16,
        content_type: &'static str,
        body: Vec<u8>,
    },
    /// The connection is closed without a word.
    Close,
    /// The answer breaks off in the middle.
    HalfClose {
        body: Vec<u8>,
    },
    /// Nothing comes for so long; then the connection is closed.
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

/// Serves until it is dropped.
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
                // A client that goes away early is what some tests are about.
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
