use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::{DISCORD_TOKEN, DiscordData, DiscordState};
use crate::fakes::networks::trouble::strikes;

const HEARTBEAT_MILLIS: u64 = 150;
/// How many earlier events come again when a session is resumed.
const AGAIN: usize = 3;

type Socket = WebSocketStream<TcpStream>;

pub(super) async fn serve(listener: TcpListener, state: Arc<DiscordState>) {
    while let Ok((stream, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        // Some tests are about clients that leave early, so errors are ignored.
        tokio::spawn(async move { connection(stream, &state).await });
    }
}

/// How far an open connection has come.
struct Progress {
    number: u64,
    /// How many events of the session were sent; `None` before it began.
    sent: Option<usize>,
}

/// The outcome of a connection at an event.
enum Turn {
    Well,
    Cut,
    Silenced,
    Moved,
    SessionLost,
}

async fn connection(stream: TcpStream, state: &DiscordState) -> Option<()> {
    let mut socket = tokio_tungstenite::accept_async(stream).await.ok()?;
    let number = {
        let mut inner = state.inner();
        inner.gateway.connection += 1;
        inner.gateway.connection
    };
    silence(state).await;
    let hello = json!({"op": 10, "d": {"heartbeat_interval": HEARTBEAT_MILLIS}});
    socket.send(text(&hello)).await.ok()?;
    let mut progress = Progress { number, sent: None };
    loop {
        let came = state.came.notified();
        silence(state).await;
        pump(&mut socket, state, &mut progress).await?;
        tokio::select! {
            message = socket.next() => {
                let message = message?.ok()?;
                if let Message::Text(words) = message {
                    let words: Value = serde_json::from_str(&words).ok()?;
                    hear(&mut socket, state, &mut progress, &words).await?;
                }
            }
            () = came => {}
        }
    }
}

/// Waits as long as the fake is set to be deaf.
async fn silence(state: &DiscordState) {
    loop {
        let came = state.came.notified();
        if !state.inner().is_deaf {
            return;
        }
        came.await;
    }
}

async fn hear(
    socket: &mut Socket,
    state: &DiscordState,
    progress: &mut Progress,
    message: &Value,
) -> Option<()> {
    match message["op"].as_u64()? {
        1 => socket.send(text(&json!({"op": 11}))).await.ok(),
        2 => {
            if message["d"]["token"] != format!("Bot {DISCORD_TOKEN}") {
                return close(socket, 4_004).await;
            }
            state.inner().begin_session();
            progress.sent = Some(0);
            Some(())
        }
        6 => {
            let taken_up = resume(state, &message["d"]);
            match taken_up {
                Some(sent) => {
                    progress.sent = Some(sent);
                    Some(())
                }
                None => socket.send(text(&json!({"op": 9, "d": false}))).await.ok(),
            }
        }
        _ => Some(()),
    }
}

/// How many events the client already has, if its session still exists.
fn resume(state: &DiscordState, asked: &Value) -> Option<usize> {
    let mut inner = state.inner();
    let gateway = &mut inner.gateway;
    let is_living =
        gateway.is_alive && asked["session_id"] == format!("session-{}", gateway.session);
    if !is_living {
        return None;
    }
    gateway.resumes += 1;
    gateway.dispatch("RESUMED", &json!({}));
    let sent = asked["seq"].as_u64().and_then(|seq| usize::try_from(seq).ok()).unwrap_or(0);
    let chance = inner.trouble.redelivers;
    let again = inner.dice.as_mut().is_some_and(|dice| strikes(dice, chance));
    Some(if again { sent.saturating_sub(AGAIN) } else { sent })
}

async fn pump(socket: &mut Socket, state: &DiscordState, progress: &mut Progress) -> Option<()> {
    while let Some((turn, payloads)) = next(state, progress) {
        match turn {
            Turn::Well => {}
            Turn::Cut => return None,
            Turn::Silenced => {
                // The connection is open but dead, which the other side has to notice.
                tokio::time::sleep(Duration::from_secs(5)).await;
                return None;
            }
            Turn::Moved => return socket.send(text(&json!({"op": 7, "d": null}))).await.ok(),
            Turn::SessionLost => {
                state.inner().gateway.lose();
                return socket.send(text(&json!({"op": 9, "d": false}))).await.ok();
            }
        }
        for payload in payloads {
            socket.send(text(&payload)).await.ok()?;
        }
    }
    Some(())
}

/// The next events for this connection, or the trouble that happens to it instead.
fn next(state: &DiscordState, progress: &mut Progress) -> Option<(Turn, Vec<Value>)> {
    let mut guard = state.inner();
    let DiscordData { gateway, trouble, dice, .. } = &mut *guard;
    let sent = progress.sent?;
    if gateway.connection != progress.number || !gateway.is_alive || sent >= gateway.events.len() {
        return None;
    }
    let numbered = |events: &[Value], at: usize| {
        let mut event = events[at].clone();
        event["s"] = json!(at + 1);
        event["d"]["resume_gateway_url"] = if event["t"] == "READY" {
            json!(state.gateway_url)
        } else {
            event["d"]["resume_gateway_url"].clone()
        };
        event
    };
    let Some(dice) = dice.as_mut() else {
        gateway.numbered = gateway.numbered.max(sent + 1);
        progress.sent = Some(sent + 1);
        return Some((Turn::Well, vec![numbered(&gateway.events, sent)]));
    };
    let turns = [
        (trouble.cut, Turn::Cut),
        (trouble.silenced, Turn::Silenced),
        (trouble.moved, Turn::Moved),
        (trouble.session_lost, Turn::SessionLost),
    ];
    // The first events of a session are let through, because otherwise no session could begin.
    if sent >= 2 {
        for (chance, turn) in turns {
            if strikes(dice, chance) {
                progress.sent = None;
                return Some((turn, Vec::new()));
            }
        }
    }
    let reorders = sent >= 2 && strikes(dice, trouble.reorders);
    let doubles = strikes(dice, trouble.redelivers);
    let channel = |at: usize| gateway.events.get(at).map(|event| event["d"]["channel_id"].clone());
    // Messages of one channel keep their order, but those of different ones may not. An event that
    // was sent under a number keeps it: a client that has stored the number would never ask for
    // another event under it.
    let is_new = sent >= gateway.numbered;
    let may_swap = is_new && sent + 1 < gateway.events.len() && channel(sent) != channel(sent + 1);
    if reorders && may_swap {
        gateway.events.swap(sent, sent + 1);
    }
    gateway.numbered = gateway.numbered.max(sent + 1);
    progress.sent = Some(sent + 1);
    let mut order = vec![sent];
    if doubles && sent >= 2 {
        order.push(sent);
    }
    let payloads = order.into_iter().map(|at| numbered(&gateway.events, at)).collect();
    Some((Turn::Well, payloads))
}

async fn close(socket: &mut Socket, code: u16) -> Option<()> {
    use tokio_tungstenite::tungstenite::protocol::CloseFrame;
    let frame = CloseFrame { code: code.into(), reason: "".into() };
    socket.send(Message::Close(Some(frame))).await.ok()?;
    None
}

fn text(value: &Value) -> Message {
    Message::text(value.to_string())
}
