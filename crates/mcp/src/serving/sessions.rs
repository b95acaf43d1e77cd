//! The clients of the eras with a handshake: what each supports, and the open questions to it.
//! Sessions are kept in memory; a client whose session is gone begins again, as the protocol
//! defines.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::oneshot;

/// The most sessions; a further one replaces the oldest.
const MOST_SESSIONS: usize = 1_000;
/// The most open questions to one client.
const MOST_QUESTIONS: usize = 32;

pub(super) struct Session {
    /// The caller that owns the session; no other caller can use it.
    caller: String,
    pub(super) capabilities: Value,
    questions: Mutex<BTreeMap<String, oneshot::Sender<Result<Value, Value>>>>,
    log_level: Mutex<usize>,
}

impl Session {
    /// Waits for the client's answer, which comes on another connection.
    pub(super) fn expect(&self, id: &str) -> Option<oneshot::Receiver<Result<Value, Value>>> {
        let mut questions = lock(&self.questions);
        if questions.len() >= MOST_QUESTIONS {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        questions.insert(id.to_owned(), sender);
        Some(receiver)
    }

    pub(super) fn forget(&self, id: &str) {
        lock(&self.questions).remove(id);
    }

    /// Takes an answer of the client. An answer without an open question is ignored.
    pub(super) fn answered(&self, message: &mut Value) {
        let Some(id) = message["id"].as_str() else { return };
        let Some(waiting) = lock(&self.questions).remove(id) else { return };
        let answer = match message.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => Err(message["error"].take()),
        };
        // The call that waits for the answer may be gone.
        let _ = waiting.send(answer);
    }

    pub(super) fn set_log_level(&self, level: usize) {
        *lock(&self.log_level) = level;
    }

    pub(super) fn log_level(&self) -> usize {
        *lock(&self.log_level)
    }
}

#[derive(Default)]
pub(super) struct Sessions(Mutex<SessionTable>);

#[derive(Default)]
struct SessionTable {
    by_id: BTreeMap<String, Arc<Session>>,
    /// The sessions in the order in which they began.
    order: VecDeque<String>,
}

impl Sessions {
    pub(super) fn begin(&self, id: String, caller: &str, capabilities: Value) {
        let session = Session {
            caller: caller.to_owned(),
            capabilities,
            questions: Mutex::default(),
            log_level: Mutex::default(),
        };
        let mut known = lock(&self.0);
        if known.order.len() >= MOST_SESSIONS
            && let Some(oldest) = known.order.pop_front()
        {
            known.by_id.remove(&oldest);
        }
        known.order.push_back(id.clone());
        known.by_id.insert(id, Arc::new(session));
    }

    pub(super) fn get(&self, id: &str, caller: &str) -> Option<Arc<Session>> {
        let known = lock(&self.0);
        known.by_id.get(id).filter(|session| session.caller == caller).cloned()
    }

    /// Ends a session; `false` if there was none.
    pub(super) fn end(&self, id: &str, caller: &str) -> bool {
        if self.get(id, caller).is_none() {
            return false;
        }
        let mut known = lock(&self.0);
        known.order.retain(|other| other != id);
        known.by_id.remove(id).is_some()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_session_is_its_callers_alone_and_the_oldest_makes_room() {
        let sessions = Sessions::default();
        for number in 0..=MOST_SESSIONS {
            sessions.begin(format!("s{number}"), "ann", json!({}));
        }
        assert!(sessions.get("s0", "ann").is_none(), "the oldest is forgotten");
        assert!(sessions.get("s1", "ann").is_some());
        assert!(sessions.get("s1", "bob").is_none());
        assert!(!sessions.end("s1", "bob"));
        assert!(sessions.end("s1", "ann"));
        assert!(sessions.get("s1", "ann").is_none());
    }

    #[tokio::test]
    async fn an_answer_reaches_who_asked_and_no_question_twice() {
        let sessions = Sessions::default();
        sessions.begin("s".to_owned(), "ann", json!({}));
        let session = sessions.get("s", "ann").unwrap();
        let waiting = session.expect("q1").unwrap();
        session.answered(&mut json!({"id": "other", "result": {}}));
        session.answered(&mut json!({"id": "q1", "result": {"action": "accept"}}));
        assert_eq!(waiting.await.unwrap(), Ok(json!({"action": "accept"})));
        let refused = session.expect("q2").unwrap();
        session.answered(&mut json!({"id": "q2", "error": {"code": -1}}));
        assert_eq!(refused.await.unwrap(), Err(json!({"code": -1})));
    }
}
