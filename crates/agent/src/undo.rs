//! Taking back what a run wrote, as one.

use std::collections::BTreeMap;

use onyx_storage::{
    Area, AuditEntry, Change, Expect, History, Object, ObjectKey, Objects, StoreError, Version,
};
use onyx_types::{
    Author, ErrorCode, Fault, Origin, PersonId, RunId, SessionId, Timestamp, ToolEffect, Verdict,
};
use std::sync::Arc;

use crate::RunManager;

/// A file as a run left it and as it was before.
struct Step {
    path: ObjectKey,
    current: Option<Object>,
    before: Option<Vec<u8>>,
}

impl RunManager {
    /// Restores every file the run changed to what it held before, or none: a file that somebody
    /// changed since is named and nothing is touched. Returns the restored paths.
    pub async fn undo(&self, person: &PersonId, run: RunId) -> Result<Vec<String>, Fault> {
        let (session, objects, history) = self.undoable(person, run).await?;
        let steps = plan(&*objects, &history, run).await?;
        let mut restored = Vec::new();
        for step in steps {
            self.restore(&*objects, &history, person, &step).await?;
            restored.push(step.path.to_string());
        }
        self.record_undo(person, session, run, &restored).await?;
        Ok(restored)
    }

    /// The paths that `undo` would restore; touches nothing.
    pub async fn undo_plan(&self, person: &PersonId, run: RunId) -> Result<Vec<String>, Fault> {
        let (_, objects, history) = self.undoable(person, run).await?;
        let steps = plan(&*objects, &history, run).await?;
        Ok(steps.into_iter().map(|step| step.path.to_string()).collect())
    }

    /// Where a run of the person's happened; `NotFound` when they have none of this id.
    pub async fn session_of_run(&self, person: &PersonId, run: RunId) -> Result<SessionId, Fault> {
        let row = self.inner.store.ledger.run(person, run).await?;
        row.map(|row| row.key.session).ok_or_else(|| no_such_run(run))
    }

    async fn undoable(
        &self,
        person: &PersonId,
        run: RunId,
    ) -> Result<(SessionId, Arc<dyn Objects>, History), Fault> {
        let row = self.inner.store.ledger.run(person, run).await?;
        let row = row.ok_or_else(|| no_such_run(run))?;
        if row.status.is_none() {
            return Err(Fault::new(ErrorCode::SessionBusy, "The run is still at work."));
        }
        let objects = self.inner.store.files.objects(&Area::Person(person.clone()))?;
        let history = History::new(Arc::clone(&objects));
        Ok((row.key.session, objects, history))
    }

    async fn restore(
        &self,
        objects: &dyn Objects,
        history: &History,
        person: &PersonId,
        step: &Step,
    ) -> Result<(), Fault> {
        let expect = step.current.as_ref().map_or(Expect::Absent, |o| Expect::Is(o.hash));
        let change = Change {
            ts: self.inner.clock.wall(),
            author: Author::Person(person.clone()),
            origin: Origin::Person,
            run: None,
            tool: "undo".to_owned(),
        };
        let current = step.current.as_ref().map(|object| object.bytes.as_slice());
        let after = step.before.as_deref().map(onyx_types::Hash::of);
        history.keep(&step.path, current, after, change).await?;
        match &step.before {
            Some(bytes) => objects.put(&step.path, bytes, expect).await.map(|_| ()),
            None => objects.delete(&step.path, expect).await,
        }
        .map_err(Fault::from)
    }

    async fn record_undo(
        &self,
        person: &PersonId,
        session: SessionId,
        run: RunId,
        restored: &[String],
    ) -> Result<(), Fault> {
        let ts: Timestamp = self.inner.clock.wall();
        let entry = AuditEntry {
            ts,
            person: person.clone(),
            actor_kind: "person".to_owned(),
            actor: person.to_string(),
            agent: None,
            session: Some(session),
            run: Some(run),
            tool: Some("undo".to_owned()),
            effect: Some(ToolEffect::Write),
            decision: Some(Verdict::Allow),
            diff_summary: restored.join(", "),
            result: format!("restored {} files", restored.len()),
        };
        self.inner.store.ledger.append_audit(entry).await?;
        Ok(())
    }
}

/// What is to be restored; a `version_conflict` naming the files that changed since.
async fn plan(objects: &dyn Objects, history: &History, run: RunId) -> Result<Vec<Step>, Fault> {
    let mut by_path = BTreeMap::<ObjectKey, Vec<Version>>::new();
    for version in history.changes_of_run(run).await? {
        by_path.entry(version.path.clone()).or_default().push(version);
    }
    let mut steps = Vec::new();
    let mut changed = Vec::new();
    for (path, versions) in by_path {
        let current = match objects.get(&path, u64::MAX).await {
            Ok(current) => current,
            Err(StoreError::NotFound) => None,
            Err(error) => return Err(error.into()),
        };
        let hash = current.as_ref().map(|object| object.hash);
        let Some(first) = versions.first() else { continue };
        if hash == first.before {
            continue;
        }
        if !versions.iter().any(|version| version.after == hash) {
            changed.push(path.to_string());
            continue;
        }
        let before = history.read(first).await?;
        steps.push(Step { path, current, before });
    }
    if changed.is_empty() {
        return Ok(steps);
    }
    let message = format!("Changed since the run, so nothing was undone: {}.", changed.join(", "));
    Err(Fault::new(ErrorCode::VersionConflict, message)
        .with_hint("Restore the other files one by one from their history."))
}

fn no_such_run(run: RunId) -> Fault {
    Fault::new(ErrorCode::NotFound, format!("There is no run {run}."))
}
