//! A server with repositories to pull from and push to: git's own server program behind a real
//! socket. It records all requests.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::task::JoinHandle;

/// The server. It runs until it is dropped.
pub(crate) struct Forge {
    pub(crate) folder: tempfile::TempDir,
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

#[derive(Clone)]
struct Rules {
    folder: PathBuf,
    /// The required `Authorization` header.
    credential: Option<String>,
    /// The address to which all requests are redirected.
    redirect: Option<String>,
}

impl Forge {
    pub(crate) async fn open() -> Self {
        Self::with(None, None).await
    }

    pub(crate) async fn asking_for(credential: &str) -> Self {
        Self::with(Some(credential.to_owned()), None).await
    }

    pub(crate) async fn redirecting_to(address: &str) -> Self {
        Self::with(None, Some(address.to_owned())).await
    }

    async fn with(credential: Option<String>, redirect: Option<String>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let rules = Rules { folder: folder.path().to_owned(), credential, redirect };
        let seen = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (rules, seen) = (rules.clone(), Arc::clone(&seen));
                // A client that disconnects early causes no error.
                tokio::spawn(async move { serve(stream, &rules, &seen).await });
            }
        });
        Self { folder, address, requests, task }
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn url(&self, name: &str) -> String {
        format!("http://{}/{name}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// An empty repository that accepts pushes.
    pub(crate) fn repository(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        git(self.folder.path(), &["init", "--quiet", "--bare", "--initial-branch=main", name]);
        git(&path, &["config", "http.receivepack", "true"]);
        path
    }
}

impl Drop for Forge {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Runs git as the person does in their own terminal.
pub(crate) fn git(folder: &Path, words: &[&str]) -> String {
    let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let output = std::process::Command::new("git")
        .args(identity)
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

async fn serve(
    mut stream: TcpStream,
    rules: &Rules,
    seen: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut request = Vec::new();
    let head_end = loop {
        if let Some(at) = request.windows(4).position(|end| end == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    };
    let head = String::from_utf8_lossy(&request[..head_end]).into_owned();
    let header = |name: &str| {
        let line = head.lines().find(|line| {
            line.split_once(':').is_some_and(|(key, _)| key.eq_ignore_ascii_case(name))
        });
        line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
    };
    let length: usize = header("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
    while request.len() < head_end + length {
        if stream.read_buf(&mut request).await? == 0 {
            break;
        }
    }
    seen.lock().unwrap().push(head.clone());
    let mut words = head.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if let Some(to) = &rules.redirect {
        let answer = format!("HTTP/1.1 301 Moved\r\nLocation: {to}{target}\r\n\r\n");
        stream.write_all(answer.as_bytes()).await?;
        return stream.shutdown().await;
    }
    if rules.credential.is_some() && header("authorization") != rules.credential {
        let answer = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"forge\"\r\n\r\n";
        stream.write_all(answer.as_bytes()).await?;
        return stream.shutdown().await;
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut backend = Command::new("git");
    backend
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", &rules.folder)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REQUEST_METHOD", method)
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("CONTENT_TYPE", header("content-type").unwrap_or_default())
        .env("CONTENT_LENGTH", length.to_string())
        .env("GIT_PROTOCOL", header("git-protocol").unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    if let Some(encoding) = header("content-encoding") {
        backend.env("HTTP_CONTENT_ENCODING", encoding);
    }
    let mut child = backend.spawn()?;
    let mut stdin = child.stdin.take().unwrap();
    let body = request[head_end..].to_vec();
    let feed = tokio::spawn(async move { stdin.write_all(&body).await });
    let output = child.wait_with_output().await?.stdout;
    let _ = feed.await;
    let said = String::from_utf8_lossy(&output);
    let status = said.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    stream.write_all(format!("HTTP/1.1 {status}\r\nConnection: close\r\n").as_bytes()).await?;
    stream.write_all(&output).await?;
    stream.shutdown().await
}
