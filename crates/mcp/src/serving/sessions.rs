//! The clients of the eras with a handshake: what each supports, and the open questions to it. Every
//! gateway knows every session, so a client may speak with any of them, and its answer reaches the
//! call that asked wherever that call works. A client whose session has ended begins again, as the
//! protocol defines.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onyx_storage::{ShortLived, ShortLivedEntry, ShortLivedKind, ShortLivedRoom, StoreError};
use onyx_types::PersonId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;

const LASTS: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The most sessions of a person; a further one replaces the oldest.
const MOST_SESSIONS: ShortLivedRoom = ShortLivedRoom::of_entries(256);
/// The most open questions to one client.
const MOST_QUESTIONS: usize = 32;
/// The answers of a person's clients that came to another gateway than the one that asked.
const MOST_ANSWERS: ShortLivedRoom = ShortLivedRoom { entries: 64, bytes: 16 * 1024 * 1024 };
/// How long such an answer waits: as long as the question does.
const ANSWER_LASTS: Duration = Duration::from_secs(300);
/// How often a call looks for an answer that came to another gateway.
const LOOK: Duration = Duration::from_millis(500);

/// The result that the client gave, or its error.
type Answer = Result<Value, Value>;

/// A session as it is stored.
#[derive(Serialize, Deserialize)]
struct SessionRow {
    capabilities: Value,
    log_level: usize,
}

/// A session as one request found it.
pub(super) struct Session {
    name: String,
    person: PersonId,
    pub(super) capabilities: Value,
    pub(super) log_level: usize,
    sessions: Sessions,
}

#[derive(Clone)]
pub(super) struct Sessions {
    store: Arc<dyn ShortLived>,
    /// The questions of calls of this process, by session and by their own names.
    open: Arc<Mutex<BTreeMap<QuestionName, oneshot::Sender<Answer>>>>,
}

type QuestionName = (String, String);

impl Sessions {
    pub(super) fn new(store: Arc<dyn ShortLived>) -> Self {
        Self { store, open: Arc::default() }
    }

    pub(super) async fn begin(
        &self,
        name: &str,
        person: &PersonId,
        capabilities: Value,
    ) -> Result<(), StoreError> {
        self.put(name, person, &SessionRow { capabilities, log_level: 0 }).await
    }

    /// The session with this name, if it is the person's.
    pub(super) async fn get(
        &self,
        name: &str,
        person: &PersonId,
    ) -> Result<Option<Session>, StoreError> {
        let key = ShortLivedEntry::key_of(person, name);
        let Some(found) = self.store.get(ShortLivedKind::McpSession, key).await? else {
            return Ok(None);
        };
        let row: SessionRow =
            serde_json::from_str(&found.value).map_err(|error| unreadable(&error))?;
        Ok(Some(Session {
            name: name.to_owned(),
            person: person.clone(),
            capabilities: row.capabilities,
            log_level: row.log_level,
            sessions: self.clone(),
        }))
    }

    /// Ends a session; `false` if there was none.
    pub(super) async fn end(&self, name: &str, person: &PersonId) -> Result<bool, StoreError> {
        let key = ShortLivedEntry::key_of(person, name);
        Ok(self.store.take(ShortLivedKind::McpSession, key).await?.is_some())
    }

    async fn put(&self, name: &str, person: &PersonId, row: &SessionRow) -> Result<(), StoreError> {
        let value = serde_json::to_string(row).map_err(|error| unreadable(&error))?;
        let entry = ShortLivedEntry::of(person, name, value, LASTS);
        self.store.put(ShortLivedKind::McpSession, entry, MOST_SESSIONS).await
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<QuestionName, oneshot::Sender<Answer>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// Opens a question, whose answer comes on another connection. `None`: too many are open.
    pub(super) fn expect(&self, question: &str) -> Option<OpenQuestion> {
        let mut open = self.sessions.open();
        if open.keys().filter(|(session, _)| *session == self.name).count() >= MOST_QUESTIONS {
            return None;
        }
        let name = (self.name.clone(), question.to_owned());
        let (sender, waiting) = oneshot::channel();
        open.insert(name.clone(), sender);
        let (person, sessions) = (self.person.clone(), self.sessions.clone());
        Some(OpenQuestion { name, person, sessions, waiting })
    }

    /// Takes an answer of the client. It is kept for a while if its question is not open here,
    /// because the call that asked may work at another gateway.
    pub(super) async fn answered(&self, message: &mut Value) -> Result<(), StoreError> {
        let Some(question) = message["id"].as_str().map(str::to_owned) else { return Ok(()) };
        let answer: Answer = match message.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => Err(message["error"].take()),
        };
        let name = (self.name.clone(), question);
        let waiting = self.sessions.open().remove(&name);
        if let Some(waiting) = waiting {
            // The call that waits for the answer may be gone.
            let _ = waiting.send(answer);
            return Ok(());
        }
        let value = serde_json::to_string(&answer).map_err(|error| unreadable(&error))?;
        let entry = ShortLivedEntry::of(&self.person, &answer_name(&name), value, ANSWER_LASTS);
        self.sessions.store.put(ShortLivedKind::McpAnswer, entry, MOST_ANSWERS).await
    }

    /// Sets from which level on the client wants log lines.
    pub(super) async fn set_log_level(&self, log_level: usize) -> Result<(), StoreError> {
        let row = SessionRow { capabilities: self.capabilities.clone(), log_level };
        self.sessions.put(&self.name, &self.person, &row).await
    }
}

/// A question that waits for its answer, until it is dropped.
pub(super) struct OpenQuestion {
    name: QuestionName,
    person: PersonId,
    sessions: Sessions,
    waiting: oneshot::Receiver<Answer>,
}

impl OpenQuestion {
    pub(super) async fn answer(mut self) -> Result<Answer, StoreError> {
        loop {
            tokio::select! {
                answer = &mut self.waiting => {
                    let gone = || StoreError::Failed("the question is closed".to_owned());
                    return answer.map_err(|_| gone());
                }
                () = tokio::time::sleep(LOOK) => {}
            }
            if let Some(answer) = self.answer_from_another_gateway().await? {
                return Ok(answer);
            }
        }
    }

    async fn answer_from_another_gateway(&self) -> Result<Option<Answer>, StoreError> {
        let key = ShortLivedEntry::key_of(&self.person, &answer_name(&self.name));
        let store = &self.sessions.store;
        if store.get(ShortLivedKind::McpAnswer, key).await?.is_none() {
            return Ok(None);
        }
        let Some(taken) = store.take(ShortLivedKind::McpAnswer, key).await? else {
            return Ok(None);
        };
        serde_json::from_str(&taken).map(Some).map_err(|error| unreadable(&error))
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.sessions.open().remove(&self.name);
    }
}

fn answer_name((session, question): &QuestionName) -> String {
    format!("{session} {question}")
}

fn unreadable(error: &serde_json::Error) -> StoreError {
    StoreError::Failed(format!("a session of an MCP client is not understood: {error}"))
}

#[cfg(test)]
mod tests {
    use onyx_storage::LocalShortLived;
    use onyx_types::SystemClock;
    use serde_json::json;

    use super::*;

    /// Two gateways that share a store.
    fn two() -> (Sessions, Sessions) {
        let store: Arc<dyn ShortLived> =
            Arc::new(LocalShortLived::new(Arc::new(SystemClock::new())));
        (Sessions::new(Arc::clone(&store)), Sessions::new(store))
    }

    fn person(name: &str) -> PersonId {
        name.parse().unwrap()
    }

    #[tokio::test]
    async fn a_session_is_its_persons_alone_at_any_gateway() {
        let (one, two) = two();
        let (ann, bob) = (person("ann"), person("bob"));
        one.begin("s", &ann, json!({"elicitation": {}})).await.unwrap();
        let there = two.get("s", &ann).await.unwrap().unwrap();
        assert_eq!((there.capabilities, there.log_level), (json!({"elicitation": {}}), 0));
        assert!(two.get("s", &bob).await.unwrap().is_none());
        assert!(!two.end("s", &bob).await.unwrap());
        one.get("s", &ann).await.unwrap().unwrap().set_log_level(5).await.unwrap();
        assert_eq!(two.get("s", &ann).await.unwrap().unwrap().log_level, 5);
        assert!(two.end("s", &ann).await.unwrap());
        assert!(one.get("s", &ann).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn an_answer_reaches_who_asked_from_any_gateway() {
        let (one, two) = two();
        let ann = person("ann");
        one.begin("s", &ann, json!({})).await.unwrap();
        let here = one.get("s", &ann).await.unwrap().unwrap();
        let elsewhere = two.get("s", &ann).await.unwrap().unwrap();
        let question = here.expect("q1").unwrap();
        here.answered(&mut json!({"id": "other", "result": {}})).await.unwrap();
        here.answered(&mut json!({"id": "q1", "result": {"action": "accept"}})).await.unwrap();
        assert_eq!(question.answer().await.unwrap(), Ok(json!({"action": "accept"})));
        let question = here.expect("q2").unwrap();
        elsewhere.answered(&mut json!({"id": "q2", "error": {"code": -1}})).await.unwrap();
        assert_eq!(question.answer().await.unwrap(), Err(json!({"code": -1})));
        assert!(one.open().is_empty(), "nothing is left open");
    }

    #[tokio::test]
    async fn a_client_is_asked_so_many_questions_at_a_time() {
        let (one, _) = two();
        let ann = person("ann");
        one.begin("s", &ann, json!({})).await.unwrap();
        let session = one.get("s", &ann).await.unwrap().unwrap();
        let mut open: Vec<_> =
            (0..MOST_QUESTIONS).map(|n| session.expect(&n.to_string()).unwrap()).collect();
        assert!(session.expect("one more").is_none());
        open.pop();
        assert!(session.expect("one more").is_some());
    }
}
