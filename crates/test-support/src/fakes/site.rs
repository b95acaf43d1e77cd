//! A small website on a real socket, for tools that fetch: it answers by path, and records every
//! request that reached it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// The longest request; tests send none that is longer.
const REQUEST_BYTES: usize = 64 * 1024;

/// One answer; fields that are not set have their defaults.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The status; 0 stands for 200.
    pub status: u16,
    pub content_type: &'static str,
    pub location: Option<String>,
    pub body: Vec<u8>,
    /// Whether the body never ends.
    pub endless: bool,
    /// Whether the request is never answered.
    pub silent: bool,
    /// The request is answered after this was notified.
    pub after: Option<Arc<Notify>>,
}

impl Page {
    pub fn html(body: impl Into<String>) -> Self {
        let body = body.into().into_bytes();
        Self { content_type: "text/html; charset=utf-8", body, ..Self::default() }
    }

    pub fn json(body: impl Into<String>) -> Self {
        let body = body.into().into_bytes();
        Self { content_type: "application/json", body, ..Self::default() }
    }

    pub fn redirect(to: impl Into<String>) -> Self {
        Self { status: 302, location: Some(to.into()), ..Self::default() }
    }
}

/// A website that serves until it is dropped.
pub struct Site {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Site {
    /// Starts a site whose answer to a path with its query is the result of the function.
    pub async fn start(answer: impl Fn(&str) -> Page + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&requests), Arc::new(answer));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                // Some tests are about clients that leave early, so errors are ignored.
                tokio::spawn(async move { serve(stream, &seen, &*answer).await });
            }
        });
        Self { address, requests, task }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Every request that reached the site: request lines, headers and bodies.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    seen: &Mutex<Vec<String>>,
    answer: &(dyn Fn(&str) -> Page + Send + Sync),
) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if request.len() > REQUEST_BYTES || stream.read_buf(&mut request).await? == 0 {
            break;
        }
    }
    // The body is part of the request too.
    while request.len() < wanted(&request).min(REQUEST_BYTES) {
        if stream.read_buf(&mut request).await? == 0 {
            break;
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    seen.lock().unwrap().push(request);
    let page = answer(&path);
    if page.silent {
        return std::future::pending().await;
    }
    if let Some(after) = &page.after {
        after.notified().await;
    }
    let status = if page.status == 0 { 200 } else { page.status };
    let mut head = format!("HTTP/1.1 {status} Fine\r\nconnection: close\r\n");
    if !page.content_type.is_empty() {
        head.push_str(&format!("content-type: {}\r\n", page.content_type));
    }
    if let Some(location) = &page.location {
        head.push_str(&format!("location: {location}\r\n"));
    }
    stream.write_all(format!("{head}\r\n").as_bytes()).await?;
    stream.write_all(&page.body).await?;
    if page.endless {
        loop {
            stream.write_all(&[b'x'; 16 * 1024]).await?;
        }
    }
    stream.shutdown().await
}

/// The length of a request including its body.
fn wanted(request: &[u8]) -> usize {
    let Some(end) = request.windows(4).position(|end| end == b"\r\n\r\n") else {
        return 0;
    };
    let head = String::from_utf8_lossy(&request[..end]).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    end + 4 + length.and_then(|length| length.trim().parse::<usize>().ok()).unwrap_or(0)
}
