//! A network that a plugin provides, in the form of a connector.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onyx_connectors::{
    Author, Batch, Connector, Identity, Incoming, Listening, NetworkError, NetworkTraits, Outgoing,
    OutgoingKind, Press, TextFormat, Update,
};
use onyx_storage::PeerKind;
use onyx_types::Clock;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::PluginError;
use crate::host::Host;
use crate::package::ConnectorPart;
use crate::process::{Connection, PluginRequest};

/// How long to wait for a message before reporting that none came.
const POLL: Duration = Duration::from_secs(30);
/// How long sending a message may take.
const SEND_LIMIT: Duration = Duration::from_secs(30);
const LONGEST_ID: usize = 200;
const LONGEST_TEXT: usize = 100_000;
const INVALID_PARAMS: i64 = -32_602;

pub(crate) struct PluginConnector {
    host: Arc<Host>,
    part: ConnectorPart,
    clock: Arc<dyn Clock>,
    /// Updates that were passed on but may not be stored yet.
    handed: tokio::sync::Mutex<HandedBatch>,
}

#[derive(Default)]
struct HandedBatch {
    number: u64,
    cursor: String,
    updates: Vec<HandedUpdate>,
}

/// An update, and the plugin's requests that delivered it.
struct HandedUpdate {
    update: Update,
    requests: Vec<(Arc<Connection>, Value)>,
}

/// The parameters of `message.in`.
#[derive(Deserialize)]
struct PluginMessage {
    id: String,
    peer: String,
    text: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    thread: String,
    #[serde(default)]
    author: Option<Author>,
    #[serde(default)]
    group: bool,
    /// Whether the message is addressed to the agent; in a group, only such messages are answered.
    #[serde(default)]
    addressed: bool,
    /// The button that was pressed, if one was.
    #[serde(default)]
    press: Option<Press>,
}

impl PluginConnector {
    pub(crate) fn new(host: &Arc<Host>, part: ConnectorPart, clock: Arc<dyn Clock>) -> Self {
        Self { host: Arc::clone(host), part, clock, handed: tokio::sync::Mutex::default() }
    }

    pub(crate) fn network(&self) -> &str {
        &self.part.name
    }

    /// Waits a while for messages. An invalid one is refused, so that the plugin does not send it
    /// again.
    async fn take(&self, handed: &mut HandedBatch) {
        let Some(mailbox) = self.host.mailbox(&self.part.name) else { return };
        let arrived = self.clock.within(POLL, mailbox.take()).await.unwrap_or_default();
        for (connection, PluginRequest { id, params }) in arrived {
            match update(params) {
                Ok(update) => handed.add(update, connection, id),
                Err(why) => {
                    let answer = json!({"ok": false, "error": why});
                    // A program that has ended needs no answer, so a failure to send it is ignored.
                    let _ = connection.answer(&id, &answer).await;
                }
            }
        }
        handed.number += 1;
        // The numbers begin anew in each process, so the cursor of an earlier process must not
        // match the current updates.
        handed.cursor = format!("{:x}-{}", self.clock.wall().as_millis(), handed.number);
    }
}

impl HandedBatch {
    /// Adds an update. An update that is sent twice is added only once.
    fn add(&mut self, update: Update, connection: Arc<Connection>, id: Value) {
        match self.updates.iter_mut().find(|known| known.update.id == update.id) {
            Some(known) => known.requests.push((connection, id)),
            None => self.updates.push(HandedUpdate { update, requests: vec![(connection, id)] }),
        }
    }

    fn batch(&self) -> Batch {
        let updates: Vec<Update> = self.updates.iter().map(|one| one.update.clone()).collect();
        let cursor = (!updates.is_empty()).then(|| self.cursor.clone());
        Batch { updates, cursor }
    }

    /// Acknowledges all updates that were passed on, because they are stored. The plugin need not
    /// send them again.
    async fn acknowledge(&mut self) {
        for HandedUpdate { requests, .. } in std::mem::take(&mut self.updates) {
            for (connection, id) in requests {
                // A program that has ended will send the update again, and its id is then
                // recognised.
                let _ = connection.answer(&id, &json!({"ok": true})).await;
            }
        }
    }
}

#[async_trait]
impl Connector for PluginConnector {
    fn traits(&self) -> NetworkTraits {
        NetworkTraits::of_program(
            "plugin",
            TextFormat::Markdown,
            self.part.length,
            Listening::Polls,
        )
    }

    async fn identity(&self) -> Result<Identity, NetworkError> {
        Ok(Identity { name: self.host.name().to_owned(), link: None })
    }

    async fn receive(&self, cursor: Option<&str>) -> Result<Batch, NetworkError> {
        let mut handed = self.handed.lock().await;
        if !handed.updates.is_empty() {
            if cursor != Some(handed.cursor.as_str()) {
                return Ok(handed.batch());
            }
            handed.acknowledge().await;
        }
        self.host.running().await.map_err(|error| not_reached(&error))?;
        self.take(&mut handed).await;
        Ok(handed.batch())
    }

    async fn send(&self, message: &Outgoing) -> Result<String, NetworkError> {
        let (text, buttons) = match &message.what {
            OutgoingKind::Text { text, buttons } => (&text.plain, buttons.as_slice()),
            OutgoingKind::Edit { text, .. } => (&text.plain, [].as_slice()),
            // The plugin acknowledges presses of its buttons itself, and accepts no files.
            OutgoingKind::PressAnswer { .. } | OutgoingKind::File(_) => return Ok(String::new()),
        };
        let buttons: Vec<Value> =
            buttons.iter().map(|b| json!({"label": b.label, "data": b.data})).collect();
        let params = json!({
            "connector": self.part.name, "key": message.key, "peer": message.peer,
            "thread": message.thread, "text": text, "buttons": buttons,
        });
        let sent = self
            .host
            .ask("message.send", &params, SEND_LIMIT)
            .await
            .map_err(|error| not_sent(&error))?;
        Ok(sent["id"].as_str().unwrap_or(&message.key).to_owned())
    }

    async fn typing(&self, peer: &str, thread: &str) -> Result<(), NetworkError> {
        let params = json!({"connector": self.part.name, "peer": peer, "thread": thread});
        self.host.tell("typing", params);
        Ok(())
    }
}

fn not_reached(error: &PluginError) -> NetworkError {
    NetworkError::Unreachable(error.to_string())
}

fn not_sent(error: &PluginError) -> NetworkError {
    let words = error.to_string();
    match error {
        PluginError::NotStarted(_) | PluginError::NotRunning(_) | PluginError::Lie(_) => {
            NetworkError::Unreachable(words)
        }
        PluginError::Gone(_) | PluginError::Timeout(_) => NetworkError::NoAnswer(words),
        PluginError::Answered { code: INVALID_PARAMS, .. } => NetworkError::Refused(words),
        PluginError::Answered { .. } => NetworkError::Failed(words),
    }
}

/// A message in the form that the hub accepts, or the reason why it is not valid.
fn update(params: Value) -> Result<Update, String> {
    let message: PluginMessage =
        serde_json::from_value(params).map_err(|error| error.to_string())?;
    for (name, value) in [("id", &message.id), ("peer", &message.peer)] {
        if value.is_empty() || value.len() > LONGEST_ID {
            return Err(format!("{name}: 1 to {LONGEST_ID} characters"));
        }
    }
    if message.text.len() > LONGEST_TEXT {
        return Err(format!("text: at most {LONGEST_TEXT} bytes"));
    }
    let called = message.name.unwrap_or_else(|| message.peer.clone());
    let author =
        message.author.unwrap_or_else(|| Author { id: message.peer.clone(), name: called.clone() });
    let incoming = Incoming {
        peer_name: called,
        kind: if message.group { PeerKind::Group } else { PeerKind::Person },
        thread: message.thread,
        guild: None,
        message: message.id.clone(),
        author,
        text: message.text,
        is_addressed: message.addressed || !message.group,
        quoted: None,
        files: Vec::new(),
        press: message.press,
        peer: message.peer.clone(),
    };
    Ok(Update { id: format!("{}:{}", message.peer, message.id), incoming })
}
