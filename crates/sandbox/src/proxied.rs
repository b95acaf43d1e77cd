//! The only port of a command with a proxied network, and how it is handed out.
//!
//! The child listens on it inside the command's own network namespace and sends the listening
//! socket up through its standard input, which is one end of a pair of sockets. A socket belongs to
//! the namespace in which it was made, so the process outside answers connections from inside
//! without a helper in between. The pair is closed before the command runs.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use tokio::net::UnixStream;

/// The port of the proxy inside the command. It is always free, because nothing else runs in a
/// fresh namespace.
pub const PROXY_PORT: u16 = 3128;

/// The variables by which programs find a proxy.
const VARIABLES: [&str; 6] =
    ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

pub(crate) fn variables() -> impl Iterator<Item = (&'static str, String)> {
    VARIABLES.iter().map(|name| (*name, format!("http://127.0.0.1:{PROXY_PORT}")))
}

/// Runs in the child: listens, and sends the listening socket to the process outside.
pub(crate) fn hand_out() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PROXY_PORT))?;
    let sockets = [listener.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    message.push(SendAncillaryMessage::ScmRights(&sockets));
    // A descriptor can be sent only together with at least one byte.
    sendmsg(io::stdin().as_fd(), &[IoSlice::new(&[0])], &mut message, SendFlags::empty())?;
    Ok(())
}

/// Runs outside: receives the listening socket from the child.
pub(crate) async fn take(from: &UnixStream) -> io::Result<TcpListener> {
    let listener = loop {
        from.readable().await?;
        match from.try_io(tokio::io::Interest::READABLE, || receive(from)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            received => break TcpListener::from(received?),
        }
    };
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn receive(from: &UnixStream) -> io::Result<OwnedFd> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    recvmsg(from, &mut [IoSliceMut::new(&mut byte)], &mut message, RecvFlags::CMSG_CLOEXEC)?;
    let sent = message.drain().find_map(|part| match part {
        RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
        _ => None,
    });
    // The child ended before it could listen, and its error stream says why.
    sent.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
}
