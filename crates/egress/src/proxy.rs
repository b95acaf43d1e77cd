//! A proxy for programs that may reach only certain servers. They send `CONNECT`, or request an
//! address with http. The name is compared with the list, resolved and checked here, and the
//! connection goes to the checked address. A name that is not on the list is not even resolved.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::{Address, Egress, EgressError, HostPort};

/// The most connections at once; further ones wait.
const MOST_CONNECTIONS: usize = 32;
/// The longest head of a client's request.
const MOST_HEAD: usize = 8 * 1024;
const HEAD_LIMIT: Duration = Duration::from_secs(10);
const CONNECTED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
/// The pause after a failed accept, in which other connections may end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Connects its clients to the servers of one list.
#[derive(Clone)]
pub struct Proxy {
    egress: Egress,
    servers: Arc<[HostPort]>,
}

/// The request of a client.
struct ConnectRequest {
    server: HostPort,
    /// The first text for the server: the request to the proxy, rewritten as a request to the
    /// server. `None` if the client only asks for a connection.
    request: Option<String>,
}

/// Why a client is not connected, and the answer it gets.
struct Refusal {
    status: &'static str,
    why: String,
}

impl Refusal {
    fn new(status: &'static str, why: impl Into<String>) -> Self {
        Self { status, why: why.into() }
    }
}

impl Proxy {
    pub(crate) fn new(egress: Egress, servers: Vec<HostPort>) -> Self {
        Self { egress, servers: servers.into() }
    }

    /// Serves clients until the future is dropped, which ends all of its connections.
    pub async fn serve(self, listener: TcpListener) {
        let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            // The semaphore is never closed, so this always gets a permit.
            let permit = Arc::clone(&room).acquire_owned().await;
            match listener.accept().await {
                Ok((client, _)) => {
                    let proxy = self.clone();
                    connections.spawn(async move {
                        // A client may leave at any time, which is not an error.
                        let _ = proxy.connection(client).await;
                        drop(permit);
                    });
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
            while connections.try_join_next().is_some() {}
        }
    }

    async fn connection(&self, mut client: TcpStream) -> io::Result<()> {
        match self.connected(&mut client).await {
            Ok((mut server, request, early)) => {
                match request {
                    Some(request) => server.write_all(request.as_bytes()).await?,
                    None => client.write_all(CONNECTED).await?,
                }
                server.write_all(&early).await?;
                copy_bidirectional(&mut client, &mut server).await.map(drop)
            }
            Err(Refusal { status, why }) => {
                let length = why.len();
                let head = "Content-Type: text/plain; charset=utf-8\r\nConnection: close";
                let answer =
                    format!("HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {length}\r\n\r\n{why}");
                client.write_all(answer.as_bytes()).await?;
                client.shutdown().await
            }
        }
    }

    /// Connects to the requested server. Returns the connection, the first text for the server, and
    /// the bytes that the client sent after its request.
    async fn connected(
        &self,
        client: &mut TcpStream,
    ) -> Result<(TcpStream, Option<String>, Vec<u8>), Refusal> {
        let (head, early) = match tokio::time::timeout(HEAD_LIMIT, head(client)).await {
            Ok(read) => read.map_err(|error| Refusal::new("400 Bad Request", error.to_string()))?,
            Err(_) => return Err(Refusal::new("408 Request Timeout", "no request came in time")),
        };
        let ConnectRequest { server, request } = connect_request(&head)?;
        self.check(&server)?;
        let connected = self.egress.connect(&server).await.map_err(|error| {
            let status = if error.is_refusal() { "403 Forbidden" } else { "502 Bad Gateway" };
            Refusal::new(status, error.to_string())
        })?;
        Ok((connected, request, early))
    }

    fn check(&self, server: &HostPort) -> Result<(), Refusal> {
        if self.servers.contains(server) {
            return Ok(());
        }
        let names: Vec<String> = self.servers.iter().map(HostPort::to_string).collect();
        let why = format!(
            "{server} is not allowed for this command; allowed are: {}",
            if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
        );
        Err(Refusal::new("403 Forbidden", why))
    }
}

fn connect_request(head: &str) -> Result<ConnectRequest, Refusal> {
    let wrong = |why| Refusal::new("400 Bad Request", why);
    let (line, fields) = head.split_once("\r\n").unwrap_or((head, ""));
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if method == "CONNECT" {
        let server = target.parse().map_err(|_| wrong("no host:port is named"))?;
        return Ok(ConnectRequest { server, request: None });
    }
    let address: Option<Address> = target.parse().ok();
    let Some(address) = address.filter(|_| target.starts_with("http://")) else {
        return Err(wrong("no address with http is named; others go by CONNECT"));
    };
    let url = address.url();
    let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
    let mut request = format!("{method} {}{query} HTTP/1.1\r\n", url.path());
    for field in fields.lines().filter(|field| !field.is_empty() && !is_between_us(field)) {
        request.push_str(field);
        request.push_str("\r\n");
    }
    // A connection carries only one request, because the next may be for another server.
    request.push_str("Connection: close\r\n\r\n");
    Ok(ConnectRequest { server: HostPort::of(&address), request: Some(request) })
}

/// Whether the header field is meant for the proxy and not for the server.
fn is_between_us(field: &str) -> bool {
    let name = field.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
    name.starts_with("proxy-") || name == "connection" || name == "keep-alive"
}

/// The head of a request, and the bytes after it.
async fn head(client: &mut TcpStream) -> io::Result<(String, Vec<u8>)> {
    const END: &[u8] = b"\r\n\r\n";
    let mut read = Vec::new();
    loop {
        if let Some(at) = read.windows(END.len()).position(|window| window == END) {
            let early = read.split_off(at + END.len());
            let head = String::from_utf8(read).map_err(|_| io::ErrorKind::InvalidData)?;
            return Ok((head, early));
        }
        if read.len() > MOST_HEAD {
            return Err(io::Error::other("the request is too long"));
        }
        if client.read_buf(&mut read).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

impl Egress {
    /// A proxy that connects only to these servers, under the rules of this client.
    pub fn proxy_to(&self, servers: Vec<HostPort>) -> Proxy {
        Proxy::new(self.clone(), servers)
    }

    /// Connects to a server at a checked address.
    pub async fn connect(&self, server: &HostPort) -> Result<TcpStream, EgressError> {
        let unreachable = |why: String| EgressError::Unreachable { host: server.to_string(), why };
        let mut last = None;
        for address in self.checked_addresses(server).await? {
            let connecting = TcpStream::connect((address, server.port()));
            match tokio::time::timeout(self.connect_limit(), connecting).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => last = Some(unreachable(error.to_string())),
                Err(_) => last = Some(EgressError::Timeout(self.connect_limit())),
            }
        }
        Err(last.unwrap_or_else(|| EgressError::UnknownName(server.host().to_owned())))
    }
}
