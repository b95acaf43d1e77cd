//! Small things surfaces need to know that only the manager does.

use onyx_types::{ErrorCode, Fault, PersonId, RunId, SessionId, Timestamp, ToolCall};

use crate::RunManager;
use crate::prompt::{self, UntrustedPiece};

impl RunManager {
    pub fn now(&self) -> Timestamp {
        self.inner.clock.wall()
    }

    /// For what a surface must name: a request, an answer that nobody stores.
    pub fn fresh_id(&self) -> String {
        let now = self.now();
        self.mint().uuid(now).simple().to_string()
    }

    /// What a call would do, in one line for people.
    pub fn call_summary(&self, call: &ToolCall) -> String {
        self.inner.toolbox.summary(call)
    }

    /// The model that a name means: `<provider>/<model>` itself, an agent's, or the default agent's.
    /// `None`: the one that answers where none is named.
    pub fn model_named(&self, name: Option<&str>) -> Result<Option<String>, Fault> {
        let roster = self.roster();
        let unknown = |name: &str| {
            Fault::new(ErrorCode::ModelNotFound, format!("There is no model or agent {name:?}."))
        };
        let agent = match name {
            Some(model) if model.contains('/') => return Ok(Some(model.to_owned())),
            None => roster.default_agent(),
            Some(name) => {
                let id = name.strip_prefix("onyx:").unwrap_or(name).parse().ok();
                id.and_then(|id| roster.get(&id)).ok_or_else(|| unknown(name))?
            }
        };
        Ok(agent.model.primary.clone())
    }

    /// Evidence that a client brings, fenced so that nothing in it can pass for more.
    pub fn untrusted_block(&self, pieces: &[UntrustedPiece]) -> Option<String> {
        let now = self.now();
        let (session, turn) = {
            let mut mint = self.mint();
            (mint.session(now), mint.turn(now))
        };
        prompt::untrusted_block(&self.inner.options.fence_secret, session, turn, pieces)
    }

    /// Where a run of this person happened.
    pub async fn session_of(
        &self,
        person: &PersonId,
        run: RunId,
    ) -> Result<Option<SessionId>, Fault> {
        let row = self.inner.store.ledger.run(person, run).await?;
        Ok(row.map(|row| row.key.session))
    }
}
