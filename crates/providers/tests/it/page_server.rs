//! A server of a few fixed answers, for routes that the scripted model does not have.

use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// One request: its first line, its head, its body.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) head: String,
    pub(crate) body: Value,
}

type Respond = dyn Fn(&Asked) -> Page + Send + Sync;

struct Page {
    status: u16,
    body: String,
    location: Option<String>,
}

pub(crate) struct PageServer {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    accepting: JoinHandle<()>,
}

impl PageServer {
    /// Pages by `GET /path?query`; everything else is 404.
    pub(crate) async fn with_pages<const N: usize>(pages: [(&str, Value); N]) -> Self {
        let pages: BTreeMap<String, String> =
            pages.map(|(line, body)| (line.to_owned(), body.to_string())).into();
        Self::answering(move |asked| match pages.get(&asked.line) {
            Some(body) => (200, body.clone()),
            None => (404, r#"{"error": {"message": "no such page"}}"#.to_owned()),
        })
        .await
    }

    pub(crate) async fn answering(
        respond: impl Fn(&Asked) -> (u16, String) + Send + Sync + 'static,
    ) -> Self {
        Self::start(move |asked| {
            let (status, body) = respond(asked);
            Page { status, body, location: None }
        })
        .await
    }

    pub(crate) async fn redirecting(status: u16, location: String) -> Self {
        Self::start(move |_| Page { status, body: String::new(), location: Some(location.clone()) })
            .await
    }

    async fn start(respond: impl Fn(&Asked) -> Page + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (record, respond): (_, Arc<Respond>) = (Arc::clone(&asked), Arc::new(respond));
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&record), Arc::clone(&respond)));
            }
        });
        Self { address, asked, accepting }
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Serves one request a connection, which is simple and fast enough for tests.
async fn serve(mut stream: TcpStream, record: Arc<Mutex<Vec<Asked>>>, respond: Arc<Respond>) {
    let Some(asked) = read(&mut stream).await else {
        return;
    };
    let Page { status, body, location } = respond(&asked);
    let location = location.map(|to| format!("location: {to}\r\n")).unwrap_or_default();
    record.lock().unwrap().push(asked);
    let head = format!(
        "HTTP/1.1 {status} Page\r\ncontent-type: application/json\r\nconnection: close\r\n\
         {location}content-length: {}\r\n\r\n",
        body.len()
    );
    // The client may have gone; the test notices that on its own side.
    let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
            });
            let length: usize = length.unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                let line = head.lines().next()?.trim_end_matches(" HTTP/1.1").to_owned();
                let body = serde_json::from_slice(&bytes[end + 4..]).unwrap_or_default();
                return Some(Asked { line, head, body });
            }
        }
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).await.ok()?;
        if count == 0 {
            return None;
        }
        bytes.extend_from_slice(&chunk[..count]);
    }
}
