//! Stands between a gateway and its database and loses what it is told to lose.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What happens to a thing that a client sends, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It never reaches the server.
    LoseRequest,
    /// The server answers, and nobody hears it.
    LoseAnswer,
    /// The server gets it and works on, the client is cut off at once.
    CutOff,
}

pub(crate) struct FaultProxy {
    pub(crate) address: SocketAddr,
    next: Pending,
}

/// A fault, and how many things are let through before it.
type Pending = Arc<Mutex<Option<(usize, Fault)>>>;

impl FaultProxy {
    pub(crate) async fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let next = Pending::default();
        let faults = Arc::clone(&next);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(server).await.unwrap();
                tokio::spawn(carry(client, server, Arc::clone(&faults)));
            }
        });
        Self { address, next }
    }

    pub(crate) fn lose(&self, fault: Fault) {
        self.lose_after(0, fault);
    }

    pub(crate) fn lose_after(&self, let_through: usize, fault: Fault) {
        *self.next.lock().unwrap() = Some((let_through, fault));
    }

    /// Has it happened?
    pub(crate) fn is_clear(&self) -> bool {
        self.next.lock().unwrap().is_none()
    }
}

fn take(pending: &Pending) -> Option<Fault> {
    let mut pending = pending.lock().unwrap();
    match *pending {
        Some((0, fault)) => {
            *pending = None;
            Some(fault)
        }
        Some((more, fault)) => {
            *pending = Some((more - 1, fault));
            None
        }
        None => None,
    }
}

async fn carry(mut client: TcpStream, mut server: TcpStream, faults: Pending) {
    let (mut asked, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(length @ 1..) = read else { return };
                let fault = take(&faults);
                if fault == Some(Fault::LoseRequest) {
                    return;
                }
                if server.write_all(&asked[..length]).await.is_err() {
                    return;
                }
                match fault {
                    Some(Fault::LoseAnswer) => {
                        // It has happened when the server answers.
                        let _ = server.readable().await;
                        return;
                    }
                    Some(Fault::CutOff) => {
                        drop(client);
                        // The server's side stays open, as when a network is cut.
                        while let Ok(1..) = server.read(&mut answered).await {}
                        return;
                    }
                    Some(Fault::LoseRequest) | None => {}
                }
            }
            read = server.read(&mut answered) => {
                let Ok(length @ 1..) = read else { return };
                if client.write_all(&answered[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}
