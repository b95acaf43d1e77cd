//! Tests sockets: no command in any kind of sandbox reaches those of this machine, and a command
//! with a network reaches one port.

use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::process::Stdio;
use std::time::Duration;

use onyx_sandbox::{Network, PROXY_PORT, Running, SandboxKind, SandboxedCommand};

use crate::support::{ATTEMPTS, KINDS, Place};

/// Tries every way to a socket. The listeners' paths are in the vault, so that the file system does
/// not already keep the command from them.
const TRY: &str = r#"
attempt("unix stream", connect(socket.AF_UNIX, socket.SOCK_STREAM, "stream.sock"))
attempt("unix datagram", connect(socket.AF_UNIX, socket.SOCK_DGRAM, "datagram.sock"))
attempt("unix packets", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
def by_pair(kind):
    def act():
        one, other = socket.socketpair(socket.AF_UNIX, kind)
        one.sendto(b"hello", "datagram.sock")
    return act
attempt("datagram by a pair", by_pair(socket.SOCK_DGRAM))
attempt("datagram by a raw pair", by_pair(socket.SOCK_RAW))
def stream_by_pair():
    one, other = socket.socketpair()
    one.connect("stream.sock")
attempt("stream by a pair", stream_by_pair)
attempt("tcp", connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", tcp)))
attempt("udp", connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", udp)))
attempt("dns", connect(socket.AF_INET, socket.SOCK_DGRAM, ("9.9.9.9", 53)))
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("vsock", lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))
attempt("alg", lambda: socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET))
one, other = socket.socketpair()
one.send(b"both ends are ours")
print("pair:", other.recv(64).decode())
"#;

async fn said(running: &mut Running) -> String {
    let all = async {
        let mut output = Vec::new();
        while let Some(piece) = running.next_output().await.unwrap() {
            output.extend(piece);
        }
        String::from_utf8_lossy(&output).into_owned()
    };
    tokio::time::timeout(Duration::from_secs(120), all).await.expect("the command ends")
}

fn proxied(place: &Place, argv: &[&str]) -> SandboxedCommand {
    SandboxedCommand { network: Network::Proxied, ..place.command(argv) }
}

#[tokio::test]
async fn no_job_makes_a_unix_socket_or_leads_to_one_by_a_pair() {
    let with = KINDS.map(|kind| (kind, Network::None));
    for (kind, network) in with.into_iter().chain([(SandboxKind::Bubblewrap, Network::Proxied)]) {
        let place = Place::on(kind);
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let stream = UnixListener::bind(place.path("vault/stream.sock")).unwrap();
        let datagram = UnixDatagram::bind(place.path("vault/datagram.sock")).unwrap();
        std::fs::write(place.path("vault/try.py"), format!("{ATTEMPTS}{TRY}")).unwrap();
        let ports = [tcp.local_addr().unwrap(), udp.local_addr().unwrap()];
        let [tcp_port, udp_port] = ports.map(|address| address.port().to_string());
        let argv = ["python3", "-I", "try.py", &tcp_port, &udp_port];
        let command = SandboxedCommand { network, ..place.command(&argv) };
        let mut running = place.sandbox.start(command, Stdio::null()).await.unwrap();
        let _port = running.take_listener().await;
        let told = said(&mut running).await;
        assert!(!told.contains("OPEN"), "{kind:?} {network:?}: {told}");
        assert_eq!(told.matches("closed").count(), 15, "{kind:?} {network:?}: {told}");
        assert!(told.contains("pair: both ends are ours"), "{kind:?} {network:?}: {told}");
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        stream.set_nonblocking(true).unwrap();
        datagram.set_nonblocking(true).unwrap();
        assert!(tcp.accept().is_err() && stream.accept().is_err(), "{kind:?} {network:?}");
        assert!(udp.recv(&mut [0; 8]).is_err(), "{kind:?} {network:?}");
        assert!(datagram.recv(&mut [0; 8]).is_err(), "{kind:?} {network:?}");
    }
}

#[tokio::test]
async fn a_job_with_a_network_reaches_the_port_that_its_starter_answers() {
    let place = Place::on(SandboxKind::Bubblewrap);
    let script = format!(
        "import os, socket\ns = socket.create_connection(('127.0.0.1', {PROXY_PORT}))\n\
         s.sendall(b'from inside')\nprint('heard', s.recv(64).decode())\n\
         print(os.environ['https_proxy'], repr(os.read(0, 1)))\nprint(os.listdir('/proc/self/fd'))"
    );
    let command = proxied(&place, &["python3", "-I", "-c", &script]);
    let mut running = place.sandbox.start(command, Stdio::null()).await.unwrap();
    let listener = running.take_listener().await.expect("a port").unwrap();
    assert!(running.take_listener().await.is_none(), "it is handed out once");
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let (stream, from) = listener.accept().await.unwrap();
    assert!(from.ip().is_loopback());
    let mut stream = stream.into_std().unwrap();
    stream.set_nonblocking(false).unwrap();
    let mut words = [0; 11];
    stream.read_exact(&mut words).unwrap();
    assert_eq!(&words, b"from inside");
    stream.write_all(b"from outside").unwrap();
    let told = said(&mut running).await;
    assert!(told.contains("heard from outside"), "{told}");
    assert!(told.contains(&format!("http://127.0.0.1:{PROXY_PORT} b''")), "{told}");
    assert_eq!(told.lines().last(), Some(&*open_without_network().await), "nothing of ours stays");
    // The same port of this machine is a different port.
    assert!(std::net::TcpStream::connect(("127.0.0.1", PROXY_PORT)).is_err());
}

/// The descriptors that are open in a command without a network, which are those that this process
/// itself was started with.
async fn open_without_network() -> String {
    let place = Place::on(SandboxKind::Bubblewrap);
    let script = "import os, socket\ns = open('/dev/null')\nprint(os.listdir('/proc/self/fd'))";
    let command = place.command(&["python3", "-I", "-c", script]);
    let mut running = place.sandbox.start(command, Stdio::null()).await.unwrap();
    said(&mut running).await.lines().last().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_program_that_knows_no_proxy_gets_through_by_the_relay() {
    let place = Place::on(SandboxKind::Bubblewrap);
    let relay = place.sandbox.proxy_command().replace("%h", "code.example").replace("%p", "22");
    let command =
        proxied(&place, &["sh", "-c", &format!("(echo ping; cat) < /dev/null | {relay}")]);
    let mut running = place.sandbox.start(command, Stdio::null()).await.unwrap();
    let listener = running.take_listener().await.expect("a port").unwrap();
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let stream = listener.accept().await.unwrap().0.into_std().unwrap();
    stream.set_nonblocking(false).unwrap();
    let asked = tokio::task::spawn_blocking(move || {
        let (mut stream, mut head) = (stream, Vec::new());
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello ").unwrap();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        stream.write_all(rest.as_bytes()).unwrap();
        String::from_utf8(head).unwrap()
    });
    assert_eq!(said(&mut running).await, "hello ping\n");
    assert!(asked.await.unwrap().starts_with("CONNECT code.example:22 HTTP/1.1\r\n"));
}

#[tokio::test]
async fn where_there_are_no_namespaces_there_is_no_network_and_it_is_said() {
    let place = Place::on(SandboxKind::Landlock);
    let command = proxied(&place, &["true"]);
    let error = place.sandbox.start(command, Stdio::null()).await.unwrap_err().to_string();
    assert!(error.contains("commands have no network on this machine"), "{error}");
    assert!(error.contains("Install the package `bubblewrap`"), "{error}");
}
