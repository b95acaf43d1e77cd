//! One request and the messages before its answer: questions to the client, progress, log lines. A
//! service asks in the same way in both eras. With a handshake the question goes out on the
//! request's own stream and the answer comes on another connection. Without one the request ends,
//! and the client calls again with its answers and with the state that was sealed for the call.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::Stop;
use super::era::Era;
use super::message::{INTERNAL_ERROR, INVALID_REQUEST, Refusal, notification};
use super::sealed::SealKey;
use super::sessions::Session;

/// How long to wait for an answer to a question; a person may have to be found first.
const PATIENCE: Duration = Duration::from_secs(300);
/// The log levels in the order of RFC 5424, the least severe first.
const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// A question to the client.
#[derive(Clone, Debug)]
pub struct Question {
    pub method: &'static str,
    pub params: Value,
}

impl Question {
    /// A form for the client's user.
    pub fn elicit(message: &str, schema: &Value) -> Self {
        let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
        Self { method: "elicitation/create", params }
    }

    fn capability(&self) -> &'static str {
        match self.method {
            "elicitation/create" => "elicitation",
            "sampling/createMessage" => "sampling",
            _ => "roots",
        }
    }
}

pub struct Exchange {
    pub(super) era: Era,
    pub(super) capabilities: Value,
    pub(super) session: Option<Arc<Session>>,
    pub(super) key: Arc<SealKey>,
    /// The call for which states are sealed: caller, method, name and arguments.
    pub(super) about: String,
    pub(super) messages: mpsc::Sender<Value>,
    /// Whether the client reads messages before the answer.
    pub(super) takes_events: bool,
    /// Whether the call continues as a task, so that the client no longer reads its messages.
    pub(super) is_left_alone: Arc<AtomicBool>,
    pub(super) meta: Value,
    pub(super) carried: Mutex<EarlierRounds>,
}

/// The data that the client sent back from earlier rounds of the same call.
#[derive(Default)]
pub(super) struct EarlierRounds {
    answers: BTreeMap<String, Value>,
    kept: BTreeMap<String, Value>,
}

impl EarlierRounds {
    /// Reads `requestState` and `inputResponses`. An invalid answer is dropped, so its question is
    /// asked again.
    pub(super) fn read(params: &Value, key: &SealKey, about: &str) -> Result<Self, Refusal> {
        let mut carried = Self::default();
        if let Some(sealed) = params["requestState"].as_str() {
            let state = key.open(sealed, about);
            let state = state.ok_or_else(|| {
                Refusal::params("requestState is not what was given for this call")
            })?;
            carried.answers.extend(entries(&state["answers"]));
            carried.kept.extend(entries(&state["kept"]));
        }
        let given = entries(&params["inputResponses"]).filter(|(_, answer)| answer.is_object());
        carried.answers.extend(given);
        Ok(carried)
    }
}

fn entries(object: &Value) -> impl Iterator<Item = (String, Value)> {
    let fields = object.as_object().cloned().unwrap_or_default();
    fields.into_iter()
}

impl Exchange {
    /// Whether the client supports this kind of question, and the question can reach the client.
    pub fn can(&self, capability: &str) -> bool {
        let declared = self.capabilities.get(capability).is_some_and(Value::is_object);
        let reached = match self.era {
            Era::Stateless => true,
            Era::Handshake => self.session.is_some() && self.takes_events,
        };
        declared && reached && !self.is_left_alone.load(Ordering::Acquire)
    }

    /// Asks all questions at once; the answers have the names of the questions.
    pub async fn ask(
        &self,
        questions: Vec<(&str, Question)>,
    ) -> Result<BTreeMap<String, Value>, Stop> {
        let out_of_reach = questions
            .iter()
            .map(|(_, question)| question.capability())
            .find(|need| !self.can(need));
        if let Some(need) = out_of_reach {
            return Err(Refusal::needs_capability(need).into());
        }
        match self.era {
            Era::Handshake => {
                let mut answers = BTreeMap::new();
                for (name, question) in questions {
                    answers.insert(name.to_owned(), self.ask_now(&question).await?);
                }
                Ok(answers)
            }
            Era::Stateless => self.ask_by_retry(&questions),
        }
    }

    async fn ask_now(&self, question: &Question) -> Result<Value, Stop> {
        let nobody = || Refusal::new(INVALID_REQUEST, "the client cannot be asked now");
        let session = self.session.as_ref().ok_or_else(nobody)?;
        let id = self.key.fresh_name();
        let open = session.expect(&id).ok_or_else(nobody)?;
        let mut params = question.params.clone();
        if question.method == "elicitation/create" {
            // Clients with a handshake support only one mode, and have no name for it.
            params.as_object_mut().map(|params| params.remove("mode"));
        }
        let message =
            json!({"jsonrpc": "2.0", "id": id, "method": question.method, "params": params});
        let answer = async {
            self.messages.send(message).await.map_err(|_| nobody())?;
            open.answer().await.map_err(|error| Refusal::new(INTERNAL_ERROR, error.to_string()))
        };
        let answer = tokio::time::timeout(PATIENCE, answer).await;
        let answer = answer.map_err(|_| {
            let seconds = PATIENCE.as_secs();
            Refusal::new(INVALID_REQUEST, format!("the client did not answer within {seconds} s"))
        })??;
        answer.map_err(|error| {
            let reason = error["message"].as_str().unwrap_or("without a reason");
            let reason: String = reason.chars().take(200).collect();
            Refusal::new(INVALID_REQUEST, format!("the client declined: {reason}")).into()
        })
    }

    fn ask_by_retry(
        &self,
        questions: &[(&str, Question)],
    ) -> Result<BTreeMap<String, Value>, Stop> {
        let carried = self.carried.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut answers, mut open) = (BTreeMap::new(), Map::new());
        for (name, question) in questions {
            match carried.answers.get(*name) {
                Some(answer) => {
                    answers.insert((*name).to_owned(), answer.clone());
                }
                None => {
                    let asked = json!({"method": question.method, "params": question.params});
                    open.insert((*name).to_owned(), asked);
                }
            }
        }
        if open.is_empty() {
            return Ok(answers);
        }
        let state = json!({"answers": carried.answers, "kept": carried.kept});
        Err(Stop::InputRequired(json!({
            "resultType": "input_required",
            "inputRequests": open,
            "requestState": self.key.seal(&state, &self.about),
        })))
    }

    /// Stores a value of this call for its next round, in the era without sessions.
    pub fn keep(&self, name: &str, value: Value) {
        let mut carried = self.carried.lock().unwrap_or_else(PoisonError::into_inner);
        carried.kept.insert(name.to_owned(), value);
    }

    pub fn kept(&self, name: &str) -> Option<Value> {
        self.carried.lock().unwrap_or_else(PoisonError::into_inner).kept.get(name).cloned()
    }

    /// Reports progress, if the client asked for it.
    pub async fn progress(&self, done: u64, total: u64, message: &str) {
        let token = &self.meta["progressToken"];
        if token.is_null() {
            return;
        }
        let params = json!({
            "progressToken": token, "progress": done, "total": total, "message": message,
        });
        self.tell("notifications/progress", params).await;
    }

    /// Sends a log line, if the client wants lines of this level.
    pub async fn log(&self, level: &str, data: &str) {
        let wanted = match self.era {
            Era::Handshake => self.session.as_ref().map(|session| session.log_level),
            Era::Stateless => {
                self.meta["io.modelcontextprotocol/logLevel"].as_str().and_then(log_level)
            }
        };
        let Some((wanted, level_rank)) = wanted.zip(log_level(level)) else { return };
        if level_rank >= wanted {
            let params = json!({"level": level, "logger": "onyx", "data": data});
            self.tell("notifications/message", params).await;
        }
    }

    async fn tell(&self, method: &str, params: Value) {
        if self.takes_events {
            // A client that has gone gets no message, so a failure to send it is ignored.
            let _ = self.messages.send(notification(method, params)).await;
        }
    }
}

pub(super) fn log_level(name: &str) -> Option<usize> {
    LEVELS.iter().position(|level| *level == name)
}
