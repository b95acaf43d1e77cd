//! A connection to a person's message bus, which is a socket of this machine. The kernel tells the
//! bus which user we are.

use std::io;
use std::path::PathBuf;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::KeyringError;
use super::wire::{Call, Head, Message, Writer};

/// The longest line with which a bus may answer during authentication.
const LONGEST_LINE: usize = 512;

pub(super) struct Bus {
    socket: UnixStream,
    serial: u32,
}

impl Bus {
    pub(super) async fn connect(addresses: &str) -> Result<Self, KeyringError> {
        let socket = connect(addresses).await.map_err(|error| absent(&error))?;
        let mut bus = Self { socket, serial: 0 };
        bus.introduce().await.map_err(|error| absent(&error))?;
        let hello = Call {
            to: "org.freedesktop.DBus",
            path: "/org/freedesktop/DBus",
            interface: "org.freedesktop.DBus",
            member: "Hello",
            signature: "",
            arguments: Writer::default(),
        };
        bus.call(&hello).await?;
        Ok(bus)
    }

    /// Sends a call and returns its answer. Other messages on the bus are ignored.
    pub(super) async fn call(&mut self, call: &Call<'_>) -> Result<Message, KeyringError> {
        self.serial += 1;
        let bytes = call.encode(self.serial);
        self.socket.write_all(&bytes).await.map_err(|error| absent(&error))?;
        loop {
            let message = self.receive().await?;
            if message.is_answer() && message.answers == Some(self.serial) {
                return match message.error() {
                    None => Ok(message),
                    Some(name) => {
                        Err(KeyringError::named(name, message.body().string().unwrap_or_default()))
                    }
                };
            }
        }
    }

    async fn receive(&mut self) -> Result<Message, KeyringError> {
        let mut head = [0; Head::LENGTH];
        self.socket.read_exact(&mut head).await.map_err(|error| absent(&error))?;
        let head = Head::decode(&head).ok_or_else(KeyringError::not_understood)?;
        let mut rest = vec![0; head.rest()];
        self.socket.read_exact(&mut rest).await.map_err(|error| absent(&error))?;
        Message::decode(&head, &rest).ok_or_else(KeyringError::not_understood)
    }

    /// Authenticates with `EXTERNAL` and no name: the bus asks the kernel which user owns the
    /// socket.
    async fn introduce(&mut self) -> io::Result<()> {
        self.say("\0AUTH EXTERNAL\r\n", "DATA").await?;
        self.say("DATA\r\n", "OK ").await?;
        self.socket.write_all(b"BEGIN\r\n").await
    }

    async fn say(&mut self, words: &str, expected: &str) -> io::Result<()> {
        self.socket.write_all(words.as_bytes()).await?;
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            if line.len() > LONGEST_LINE {
                return Err(io::Error::other("the bus answers with an unknown protocol"));
            }
            line.push(self.socket.read_u8().await?);
        }
        if line.starts_with(expected.as_bytes()) {
            return Ok(());
        }
        Err(io::Error::other("the bus refuses the connection"))
    }
}

fn absent(error: &io::Error) -> KeyringError {
    KeyringError::Absent(error.to_string())
}

/// Connects to the first address that works.
async fn connect(addresses: &str) -> io::Result<UnixStream> {
    let mut failed = io::Error::other("the address of the bus is not a socket");
    for place in addresses.split(';').filter_map(place_of) {
        let connected = match place {
            SocketAddress::Path(path) => UnixStream::connect(path).await,
            #[cfg(target_os = "linux")]
            SocketAddress::Abstract(name) => connect_abstract(&name),
        };
        match connected {
            Ok(socket) => return Ok(socket),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

#[cfg(target_os = "linux")]
fn connect_abstract(name: &[u8]) -> io::Result<UnixStream> {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixStream as Blocking};
    // A socket of this machine is connected at once or not at all, so this does not block.
    let socket = Blocking::connect_addr(&SocketAddr::from_abstract_name(name)?)?;
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

#[derive(Debug, PartialEq, Eq)]
enum SocketAddress {
    Path(PathBuf),
    /// An abstract name, which is not a file.
    #[cfg(target_os = "linux")]
    Abstract(Vec<u8>),
}

/// The socket of an address such as `unix:path=/run/user/1000/bus,guid=…`.
fn place_of(address: &str) -> Option<SocketAddress> {
    use std::os::unix::ffi::OsStringExt as _;
    let pairs = address.trim().strip_prefix("unix:")?;
    pairs.split(',').find_map(|pair| match pair.split_once('=')? {
        ("path", path) => {
            Some(SocketAddress::Path(std::ffi::OsString::from_vec(unescaped(path)?).into()))
        }
        #[cfg(target_os = "linux")]
        ("abstract", name) => Some(SocketAddress::Abstract(unescaped(name)?)),
        _ => None,
    })
}

/// Replaces escapes such as `%20`.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = after;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_sockets_are_understood_and_others_are_none() {
        let path = |text: &str| Some(SocketAddress::Path(text.into()));
        assert_eq!(place_of("unix:path=/run/user/1000/bus"), path("/run/user/1000/bus"));
        assert_eq!(place_of("unix:guid=0a,path=/tmp/a%20b%3b"), path("/tmp/a b;"));
        #[cfg(target_os = "linux")]
        assert_eq!(
            place_of("unix:abstract=/tmp/x"),
            Some(SocketAddress::Abstract(b"/tmp/x".to_vec()))
        );
        for other in ["", "tcp:host=localhost,port=1", "unix:runtime=yes", "unix:path=/a%2"] {
            assert_eq!(place_of(other), None, "{other}");
        }
    }
}
