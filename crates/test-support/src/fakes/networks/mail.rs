//! A mail server (the part of RFC 5321 that a sender needs) that keeps letters and can be told to
//! refuse them.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// The trouble that happens to the next letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailTrouble {
    /// The server asks to come back later, as servers do with unknown senders.
    Greylist,
    /// The server refuses the letter for good.
    Refuse,
    /// The server accepts the letter, but the connection ends before it says so.
    TakeAndVanish,
}

/// A letter as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptLetter {
    pub from: String,
    pub to: String,
    /// Headers and body.
    pub data: String,
}

impl KeptLetter {
    pub fn header(&self, name: &str) -> Option<String> {
        let head = self.data.split("\r\n\r\n").next()?.replace("\r\n ", " ");
        let mut lines = head.lines().map(str::to_owned);
        let start = format!("{}:", name.to_lowercase());
        lines.find_map(|line| {
            line.to_lowercase().starts_with(&start).then(|| line[start.len()..].trim().to_owned())
        })
    }
}

#[derive(Default)]
struct MailState {
    kept: Vec<KeptLetter>,
    troubles: VecDeque<MailTrouble>,
    logins: Vec<String>,
}

/// A mail server that runs until it is dropped.
pub struct FakeMail {
    address: SocketAddr,
    state: Arc<Mutex<MailState>>,
    task: tokio::task::JoinHandle<()>,
}

impl FakeMail {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state: Arc<Mutex<MailState>> = Arc::default();
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A sender that leaves only ends its own conversation.
                tokio::spawn(converse(stream, Arc::clone(&shared)));
            }
        });
        Self { address, state, task }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Sets the troubles of the letters to come, one after the other.
    pub fn make_trouble(&self, troubles: impl IntoIterator<Item = MailTrouble>) {
        self.state.lock().unwrap().troubles.extend(troubles);
    }

    pub fn letters(&self) -> Vec<KeptLetter> {
        self.state.lock().unwrap().kept.clone()
    }

    /// The credentials with which senders signed in, as they sent them (base64).
    pub fn logins(&self) -> Vec<String> {
        self.state.lock().unwrap().logins.clone()
    }
}

impl Drop for FakeMail {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn converse(stream: TcpStream, state: Arc<Mutex<MailState>>) -> std::io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    let (mut from, mut to) = (String::new(), String::new());
    writer.write_all(b"220 mail.test ready\r\n").await?;
    while let Some(line) = lines.next_line().await? {
        let verb = line.split([' ', ':']).next().unwrap_or_default().to_uppercase();
        let answer = match verb.as_str() {
            "EHLO" => "250-mail.test\r\n250-8BITMIME\r\n250 AUTH PLAIN LOGIN",
            "AUTH" => {
                state.lock().unwrap().logins.push(line.clone());
                "235 welcome"
            }
            "MAIL" => {
                from = address(&line);
                "250 ok"
            }
            "RCPT" => {
                to = address(&line);
                let next = state.lock().unwrap().troubles.front().copied();
                match next {
                    Some(MailTrouble::Greylist) => {
                        state.lock().unwrap().troubles.pop_front();
                        "451 4.7.1 Greylisted, come back later"
                    }
                    Some(MailTrouble::Refuse) => {
                        state.lock().unwrap().troubles.pop_front();
                        "550 5.1.1 No such person here"
                    }
                    Some(MailTrouble::TakeAndVanish) | None => "250 ok",
                }
            }
            "DATA" => {
                writer.write_all(b"354 go on\r\n").await?;
                let mut data = String::new();
                while let Some(line) = lines.next_line().await? {
                    if line == "." {
                        break;
                    }
                    data.push_str(line.strip_prefix('.').unwrap_or(&line));
                    data.push_str("\r\n");
                }
                let letter = KeptLetter { from: from.clone(), to: to.clone(), data };
                let mut state = state.lock().unwrap();
                state.kept.push(letter);
                if state.troubles.pop_front().is_some() {
                    return Ok(());
                }
                "250 taken"
            }
            "RSET" | "NOOP" => "250 ok",
            "QUIT" => {
                writer.write_all(b"221 bye\r\n").await?;
                return Ok(());
            }
            _ => "502 not here",
        };
        writer.write_all(format!("{answer}\r\n").as_bytes()).await?;
    }
    Ok(())
}

/// The address between the angle brackets.
fn address(line: &str) -> String {
    let rest = line.split_once('<').map_or("", |(_, rest)| rest);
    rest.split('>').next().unwrap_or_default().to_owned()
}
