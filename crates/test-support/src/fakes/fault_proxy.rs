//! A proxy between a gateway and its database or object store, which drops the messages that a test
//! names.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A fault that happens once, to one piece of data that a client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkFault {
    /// The data never reaches the server.
    LoseRequest,
    /// The server answers, and the answer is dropped.
    LoseAnswer,
    /// The server gets the data and continues to work, but the client is cut off at once.
    CutOff,
}

#[derive(Debug)]
pub struct FaultProxy {
    pub address: SocketAddr,
    next: Pending,
    is_cut: watch::Sender<bool>,
    is_silent: watch::Sender<bool>,
    /// How many connections were refused.
    refused: watch::Receiver<usize>,
}

/// The faults in their order, with the number of pieces of data that are let through before each.
type Pending = Arc<Mutex<VecDeque<(usize, NetworkFault)>>>;

impl FaultProxy {
    pub async fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let next = Pending::default();
        let faults = Arc::clone(&next);
        let (is_cut, cut) = watch::channel(false);
        let (one_more, refused) = watch::channel(0);
        let (is_silent, silence) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if *cut.borrow() {
                    one_more.send_modify(|count| *count += 1);
                    continue;
                }
                if *silence.borrow() {
                    tokio::spawn(swallow(client));
                    continue;
                }
                let server = TcpStream::connect(server).await.unwrap();
                let (faults, mut cut) = (Arc::clone(&faults), cut.clone());
                // A connection that is opened later is not silenced.
                let mut silence = silence.clone();
                silence.mark_unchanged();
                tokio::spawn(async move {
                    tokio::select! {
                        // What is sent after a cut is not carried any more.
                        biased;
                        _ = cut.wait_for(|is_cut| *is_cut) => {}
                        () = carry(client, server, faults, silence) => {}
                    }
                });
            }
        });
        Self { address, next, is_cut, is_silent, refused }
    }

    /// Ends every connection and refuses new ones.
    pub fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    /// Swallows from now on what is sent, without closing anything, as when the other machine
    /// vanished. Connections that are opened after `heal` work; those that were open stay silent.
    pub fn silence(&self) {
        self.is_silent.send_replace(true);
    }

    /// Waits until this many connections were refused.
    pub async fn refused(&self, times: usize) {
        self.refused.clone().wait_for(|count| *count >= times).await.unwrap();
    }

    pub fn heal(&self) {
        self.is_cut.send_replace(false);
        self.is_silent.send_if_modified(std::mem::take);
    }

    pub fn lose(&self, fault: NetworkFault) {
        self.lose_after(0, fault);
    }

    pub fn lose_after(&self, let_through: usize, fault: NetworkFault) {
        self.lose_in_order([(let_through, fault)]);
    }

    /// Sets several faults, each with the number of pieces of data that are let through after the
    /// one before.
    pub fn lose_in_order(&self, faults: impl IntoIterator<Item = (usize, NetworkFault)>) {
        *self.next.lock().unwrap() = faults.into_iter().collect();
    }

    /// Whether all faults have happened.
    pub fn is_clear(&self) -> bool {
        self.next.lock().unwrap().is_empty()
    }
}

fn take(pending: &Pending) -> Option<NetworkFault> {
    let mut pending = pending.lock().unwrap();
    let (let_through, fault) = pending.front_mut()?;
    if *let_through > 0 {
        *let_through -= 1;
        return None;
    }
    let fault = *fault;
    pending.pop_front();
    Some(fault)
}

async fn carry(
    mut client: TcpStream,
    mut server: TcpStream,
    faults: Pending,
    mut silence: watch::Receiver<bool>,
) {
    let (mut asked, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            // What is sent after the silence began is not carried any more.
            biased;
            Ok(()) = silence.changed() => {
                swallow(client).await;
                return;
            }
            read = client.read(&mut asked) => {
                let Ok(length @ 1..) = read else { return };
                let fault = take(&faults);
                if fault == Some(NetworkFault::LoseRequest) {
                    return;
                }
                if server.write_all(&asked[..length]).await.is_err() {
                    return;
                }
                match fault {
                    Some(NetworkFault::LoseAnswer) => {
                        // The server has done the work when it answers.
                        let _ = server.readable().await;
                        return;
                    }
                    Some(NetworkFault::CutOff) => {
                        drop(client);
                        // The server's side stays open, as when a network is cut.
                        while let Ok(1..) = server.read(&mut answered).await {}
                        return;
                    }
                    Some(NetworkFault::LoseRequest) | None => {}
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

/// Reads what the client sends, until it closes the connection.
async fn swallow(mut client: TcpStream) {
    let mut asked = vec![0; 65_536];
    while let Ok(1..) = client.read(&mut asked).await {}
}
