//! Keeps rendered prompts per session, so that every prompt of a session begins with the same bytes
//! and the provider's prompt cache is hit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use onyx_storage::Files;
use onyx_tools::Skills;
use onyx_types::{AgentId, Clock, Fault, SessionId, SessionKey, Visibility};

use super::files::PromptFiles;
use super::judge::{ForeignFile, Judge};
use super::mask::SecretMask;
use super::snapshot::{PromptSnapshot, PromptSources};
use super::untrusted::UntrustedPiece;
use crate::agents::AgentProfile;

/// A session that was idle for this long is rendered again. No provider's cache lives longer, so
/// that costs nothing.
const IDLE: Duration = Duration::from_secs(60 * 60);
const MOST_KEPT: usize = 128;

/// Rendered prompts of recent sessions.
pub(crate) struct PromptSnapshots {
    files: Arc<dyn Files>,
    clock: Arc<dyn Clock>,
    mask: SecretMask,
    judge: Judge,
    recent: Mutex<HashMap<(SessionId, AgentId), CachedSnapshot>>,
    /// The skills of the home; empty where they are not supported.
    skills: OnceLock<Skills>,
}

/// The stable part of a run's prompts, and content that may not be part of it.
pub(crate) struct RenderedPrompt {
    pub(crate) snapshot: Arc<PromptSnapshot>,
    /// Untrusted pieces of memory; empty where the session's log has them already.
    pub(crate) untrusted: Vec<UntrustedPiece>,
    /// Foreign files that would give the agent instructions.
    pub(crate) foreign: Vec<ForeignFile>,
}

struct CachedSnapshot {
    snapshot: Arc<PromptSnapshot>,
    /// The texts that people write. When they change, the prompt is rendered again. Changes that
    /// agents make to memory do not count, because they would invalidate the provider's cache at
    /// every step.
    written_by_people: Arc<PromptSources>,
    used: Duration,
}

impl PromptSnapshots {
    pub(crate) fn new(files: Arc<dyn Files>, clock: Arc<dyn Clock>, mask: SecretMask) -> Self {
        let judge = Judge::new(Arc::clone(&files));
        Self { files, clock, mask, judge, recent: Mutex::default(), skills: OnceLock::new() }
    }

    /// The session's rendering, and the parts of memory that may be shown only as untrusted text.
    /// The prompt is rendered again if a person edited its files or the session was idle.
    pub(crate) async fn current(
        &self,
        key: &SessionKey,
        agent: &AgentProfile,
    ) -> Result<RenderedPrompt, Fault> {
        let now = self.clock.now();
        let files = self.files_of(key, agent);
        // Both are read together, so that a store on another machine is asked once.
        let (written, skills) = tokio::join!(files.written_by_people(), self.skills_of(key, agent));
        let (mut written, mut foreign) = written?;
        written.skills = skills?;
        let id = (key.session, agent.id.clone());
        if let Some(snapshot) = self.unchanged(&id, &written, now.mono) {
            return Ok(RenderedPrompt { snapshot, untrusted: Vec::new(), foreign });
        }
        let mut sources = written.clone();
        let zone = self.clock.zone_of(&key.person);
        let mut untrusted = files.add_memory(&mut sources, &mut foreign, &zone, now.wall).await?;
        untrusted.extend(foreign.iter().map(ForeignFile::piece));
        let rendered = sources.render_with(|text| self.mask.text(text));
        let snapshot = self.keep(id, rendered, written, now.mono);
        Ok(RenderedPrompt { snapshot, untrusted, foreign })
    }

    fn unchanged(
        &self,
        id: &(SessionId, AgentId),
        written: &PromptSources,
        now: Duration,
    ) -> Option<Arc<PromptSnapshot>> {
        let mut kept = self.lock();
        let found = kept.get_mut(id)?;
        if now.saturating_sub(found.used) >= IDLE || *found.written_by_people != *written {
            return None;
        }
        found.used = now;
        Some(Arc::clone(&found.snapshot))
    }

    fn keep(
        &self,
        id: (SessionId, AgentId),
        snapshot: PromptSnapshot,
        written_by_people: PromptSources,
        used: Duration,
    ) -> Arc<PromptSnapshot> {
        let mut kept = self.lock();
        if kept.len() >= MOST_KEPT {
            let oldest = kept.iter().min_by_key(|(_, kept)| kept.used).map(|(id, _)| id.clone());
            oldest.map(|id| kept.remove(&id));
        }
        // Most sessions of a person with an agent have the same rendering, so they share one copy.
        let alike = kept.values().find(|kept| {
            *kept.snapshot == snapshot && *kept.written_by_people == written_by_people
        });
        let (snapshot, written_by_people) = match alike {
            Some(kept) => (Arc::clone(&kept.snapshot), Arc::clone(&kept.written_by_people)),
            None => (Arc::new(snapshot), Arc::new(written_by_people)),
        };
        kept.insert(
            id,
            CachedSnapshot { snapshot: Arc::clone(&snapshot), written_by_people, used },
        );
        snapshot
    }

    /// Renders a prompt without the agent's notes about the person, for one run.
    pub(crate) async fn without_memory(
        &self,
        key: &SessionKey,
        agent: &AgentProfile,
    ) -> Result<RenderedPrompt, Fault> {
        let (mut written, foreign) = self.files_of(key, agent).written_by_people().await?;
        written.skills = self.skills_of(key, agent).await?;
        let snapshot = Arc::new(written.render_with(|text| self.mask.text(text)));
        Ok(RenderedPrompt { snapshot, untrusted: Vec::new(), foreign })
    }

    pub(crate) fn set_skills(&self, skills: Skills) {
        // The skills are set once, because a process serves one home.
        let _ = self.skills.set(skills);
    }

    /// The list of skills for the prompt; `None` if the agent does not have the tool that opens
    /// them.
    async fn skills_of(
        &self,
        key: &SessionKey,
        agent: &AgentProfile,
    ) -> Result<Option<String>, Fault> {
        match self.skills.get() {
            Some(skills) if agent.policy.visibility("skill") == Visibility::Offered => {
                skills.prompt_text(&key.person, &agent.id).await
            }
            Some(_) | None => Ok(None),
        }
    }

    /// Renders a prompt for a run whose answer others hear too. It says who the agent is and
    /// nothing about the person.
    pub(crate) async fn before_others(
        &self,
        key: &SessionKey,
        agent: &AgentProfile,
    ) -> Result<RenderedPrompt, Fault> {
        // Foreign files are left out too, because some of them are the person's.
        let (mut written, _) = self.files_of(key, agent).written_by_people().await?;
        written.user = None;
        written.standing_instructions = None;
        let snapshot = Arc::new(written.render_with(|text| self.mask.text(text)));
        Ok(RenderedPrompt { snapshot, untrusted: Vec::new(), foreign: Vec::new() })
    }

    fn files_of<'a>(&'a self, key: &'a SessionKey, agent: &'a AgentProfile) -> PromptFiles<'a> {
        PromptFiles { files: &*self.files, agent, person: &key.person, judge: &self.judge }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(SessionId, AgentId), CachedSnapshot>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
