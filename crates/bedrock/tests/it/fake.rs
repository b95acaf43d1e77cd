//! A stand-in for the service's endpoint: it serves one answer a connection and frames the event
//! stream by hand.

use serde_json::Value;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The bytes with which a connection is answered.
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    end: End,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum End {
    Proper,
    /// The connection closes before the body has its length.
    Cut,
    Hang,
}

pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    /// Heads and bodies of the requests, in order.
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Reply {
    pub(crate) fn stream(frames: &[Vec<u8>]) -> Self {
        let kind = ("content-type", "application/vnd.amazon.eventstream".to_owned());
        Self { status: 200, headers: vec![kind], body: frames.concat(), end: End::Proper }
    }

    pub(crate) fn error(status: u16, kind: &str) -> Self {
        let headers = vec![
            ("content-type", "application/json".to_owned()),
            ("x-amzn-errortype", kind.to_owned()),
        ];
        let body = br#"{"message":"scripted"}"#.to_vec();
        Self { status, headers, body, end: End::Proper }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Sends only the first bytes of the body, and then this end.
    pub(crate) fn after(mut self, bytes: usize, end: End) -> Self {
        self.body.truncate(bytes);
        self.end = end;
        self
    }

    pub(crate) fn len(&self) -> usize {
        self.body.len()
    }
}

impl Fake {
    pub(crate) async fn answering(reply: Reply) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                if let Some(request) = read(&mut stream).await {
                    record.lock().unwrap().push(request);
                    write(&mut stream, &reply).await;
                }
            }
        });
        Self { address, requests }
    }

    pub(crate) fn request(&self) -> (String, Value) {
        self.requests.lock().unwrap().last().unwrap().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

async fn read(stream: &mut TcpStream) -> Option<(String, Value)> {
    let mut bytes = Vec::new();
    loop {
        let head_end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = head_end {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            let length: usize = length.unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                let body = serde_json::from_slice(&bytes[end + 4..]).unwrap_or(Value::Null);
                return Some((head, body));
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

async fn write(stream: &mut TcpStream, reply: &Reply) {
    let mut head = format!("HTTP/1.1 {} Scripted\r\nconnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match reply.end {
        End::Proper => head.push_str(&format!("content-length: {}\r\n", reply.body.len())),
        End::Cut | End::Hang => {
            head.push_str(&format!("content-length: {}\r\n", reply.body.len() + 1));
        }
    }
    head.push_str("\r\n");
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(&reply.body).await;
    if reply.end == End::Hang {
        let _ = stream.read(&mut [0]).await;
    }
}

/// One event of the stream.
pub(crate) fn event(kind: &str, payload: &Value) -> Vec<u8> {
    frame(&[(":message-type", "event"), (":event-type", kind)], payload)
}

pub(crate) fn exception(kind: &str) -> Vec<u8> {
    let headers = [(":message-type", "exception"), (":exception-type", kind)];
    frame(&headers, &serde_json::json!({"message": "scripted"}))
}

/// A frame: lengths and their checksum, headers, payload, and a checksum of everything.
fn frame(headers: &[(&str, &str)], payload: &Value) -> Vec<u8> {
    let mut fields = Vec::new();
    for (name, value) in headers.iter().chain(&[(":content-type", "application/json")]) {
        fields.push(u8::try_from(name.len()).unwrap());
        fields.extend_from_slice(name.as_bytes());
        // Type 7 is a string.
        fields.push(7);
        fields.extend_from_slice(&u16::try_from(value.len()).unwrap().to_be_bytes());
        fields.extend_from_slice(value.as_bytes());
    }
    let payload = payload.to_string().into_bytes();
    let total = 12 + fields.len() + payload.len() + 4;
    let mut frame = Vec::new();
    frame.extend_from_slice(&u32::try_from(total).unwrap().to_be_bytes());
    frame.extend_from_slice(&u32::try_from(fields.len()).unwrap().to_be_bytes());
    frame.extend_from_slice(&crc32fast::hash(&frame).to_be_bytes());
    frame.extend_from_slice(&fields);
    frame.extend_from_slice(&payload);
    frame.extend_from_slice(&crc32fast::hash(&frame).to_be_bytes());
    frame
}
