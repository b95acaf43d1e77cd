//! Undoes everything that a run wrote, in one step.

use std::collections::BTreeMap;
use std::sync::Arc;

use onyx_storage::{
    Area, AuditEntry, Change, Expect, Files, History, Ledger, Object, ObjectKey, Objects, Store,
    StoreError, Version,
};
use onyx_types::{
    Actor, Author, Clock, ErrorCode, Fault, Origin, PersonId, RecordedTool, RunId, SessionId,
    SessionOrigin, Timestamp, ToolEffect, Verdict,
};

const UNDO: &str = "undo";
const REDO: &str = "redo";

/// A file to restore: as a run left it and as it was before.
struct Restoration {
    path: ObjectKey,
    current: Option<Object>,
    before: Option<Vec<u8>>,
}

/// A folder that the run wrote to, and its history.
struct Root {
    /// Prefix of the folder's paths where people read them.
    name: String,
    objects: Arc<dyn Objects>,
    history: History,
}

impl Root {
    fn name(&self, path: &ObjectKey) -> String {
        format!("{}{path}", self.name)
    }
}

/// The result of undoing or redoing a run: what happened to its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunChanges {
    pub paths: Vec<String>,
    /// Whether every file holds again what it held before the run.
    pub undone: bool,
}

/// Undoes and redoes what runs wrote. Cheap to clone.
#[derive(Clone)]
pub struct Undo {
    files: Arc<dyn Files>,
    ledger: Arc<dyn Ledger>,
    clock: Arc<dyn Clock>,
}

impl Undo {
    pub(crate) fn new(store: &Store, clock: Arc<dyn Clock>) -> Self {
        Self { files: Arc::clone(&store.files), ledger: Arc::clone(&store.ledger), clock }
    }

    /// Restores every file that the run changed to its content before the run. If any of them was
    /// changed since, nothing is touched and the error names those files. Returns the restored
    /// paths.
    pub async fn run(&self, person: &PersonId, run: RunId) -> Result<Vec<String>, Fault> {
        let (session, roots) = self.undoable(person, run).await?;
        let mut restored = Vec::new();
        for (root, steps) in plans(&roots, run).await? {
            for step in steps {
                self.restore(root, person, &step, UNDO).await?;
                restored.push(root.name(&step.path));
            }
        }
        self.record(person, session, run, UNDO, &restored).await?;
        Ok(restored)
    }

    /// Writes again what undoing took away, for all files or for none. Returns the paths.
    pub async fn redo(&self, person: &PersonId, run: RunId) -> Result<Vec<String>, Fault> {
        let (session, roots) = self.undoable(person, run).await?;
        let mut plans = Vec::new();
        for root in &roots {
            plans.push((root, redo_plan(root, run).await?));
        }
        let mut written = Vec::new();
        for (root, steps) in plans {
            for step in steps {
                self.restore(root, person, &step, REDO).await?;
                written.push(root.name(&step.path));
            }
        }
        self.record(person, session, run, REDO, &written).await?;
        Ok(written)
    }

    /// Which files a run changed, and whether that has been undone.
    pub async fn changes(&self, person: &PersonId, run: RunId) -> Result<RunChanges, Fault> {
        let (_, roots) = self.undoable(person, run).await?;
        let mut paths = Vec::new();
        let mut undone = true;
        for root in &roots {
            for (path, versions) in versions_of(&root.history, run).await? {
                let hash = current(&*root.objects, &path).await?.map(|object| object.hash);
                undone &= versions.first().is_some_and(|first| first.before == hash);
                paths.push(root.name(&path));
            }
        }
        Ok(RunChanges { undone: undone && !paths.is_empty(), paths })
    }

    /// The paths that `run` would restore; touches nothing.
    pub async fn plan(&self, person: &PersonId, run: RunId) -> Result<Vec<String>, Fault> {
        let (_, roots) = self.undoable(person, run).await?;
        let plans = plans(&roots, run).await?;
        let names = |(root, steps): &(&Root, Vec<Restoration>)| -> Vec<String> {
            steps.iter().map(|step| root.name(&step.path)).collect()
        };
        Ok(plans.iter().flat_map(names).collect())
    }

    async fn undoable(
        &self,
        person: &PersonId,
        run: RunId,
    ) -> Result<(SessionId, Vec<Root>), Fault> {
        let row = self.ledger.run(person, run).await?;
        let row = row.ok_or_else(|| no_such_run(run))?;
        if row.status.is_none() {
            return Err(Fault::new(ErrorCode::SessionBusy, "The run is still working."));
        }
        let mut roots = vec![self.root(&Area::Person(person.clone()), String::new())?];
        let session = self.ledger.session(person, row.key.session).await?;
        // A run of the persona editor works on the files of an agent.
        if session.is_some_and(|session| session.origin == SessionOrigin::AgentEditor) {
            let area = Area::Agent(row.key.agent);
            let name = format!("{}/", area.path());
            roots.push(self.root(&area, name)?);
        }
        Ok((row.key.session, roots))
    }

    fn root(&self, area: &Area, name: String) -> Result<Root, Fault> {
        let objects = self.files.objects(area)?;
        Ok(Root { name, history: self.files.history_of(area)?, objects })
    }

    async fn restore(
        &self,
        root: &Root,
        person: &PersonId,
        step: &Restoration,
        tool: &str,
    ) -> Result<(), Fault> {
        let Root { objects, history, .. } = root;
        let expect = step.current.as_ref().map_or(Expect::Absent, |o| Expect::Is(o.hash));
        // The change is recorded as the person's; the history still knows which content came from
        // outside.
        let change = Change {
            ts: self.clock.wall(),
            author: Author::Person(person.clone()),
            origin: Origin::Person,
            run: None,
            tool: tool.to_owned(),
        };
        history.keep(&step.path, step.current.as_ref(), step.before.as_deref(), change).await?;
        match &step.before {
            Some(bytes) => objects.put(&step.path, bytes, expect).await.map(|_| ()),
            None => objects.delete(&step.path, expect).await,
        }
        .map_err(Fault::from)
    }

    async fn record(
        &self,
        person: &PersonId,
        session: SessionId,
        run: RunId,
        tool: &'static str,
        restored: &[String],
    ) -> Result<(), Fault> {
        let ts: Timestamp = self.clock.wall();
        let entry = AuditEntry {
            ts,
            person: person.clone(),
            actor: Actor::Person(person.clone()),
            agent: None,
            session: Some(session),
            run: Some(run),
            tool: Some(RecordedTool::constant(tool)),
            effect: Some(ToolEffect::Write),
            decision: Some(Verdict::Allow),
            diff_summary: restored.join(", "),
            result: format!("restored {} files", restored.len()),
        };
        self.ledger.append_audit(entry).await?;
        Ok(())
    }
}

/// Plans the changes of all folders before any file is touched.
async fn plans(roots: &[Root], run: RunId) -> Result<Vec<(&Root, Vec<Restoration>)>, Fault> {
    let mut plans = Vec::new();
    for root in roots {
        plans.push((root, plan(&*root.objects, &root.history, run).await?));
    }
    Ok(plans)
}

/// The files to restore. A `version_conflict` names the files that were changed since the run.
async fn plan(
    objects: &dyn Objects,
    history: &History,
    run: RunId,
) -> Result<Vec<Restoration>, Fault> {
    let mut steps = Vec::new();
    let mut changed = Vec::new();
    for (path, versions) in versions_of(history, run).await? {
        let current = current(objects, &path).await?;
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
        steps.push(Restoration { path, current, before });
    }
    if changed.is_empty() {
        return Ok(steps);
    }
    let message = format!("Changed since the run, so nothing was undone: {}.", changed.join(", "));
    Err(Fault::new(ErrorCode::VersionConflict, message)
        .with_hint("Restore the other files one by one from their history."))
}

/// The files to write again. A `version_conflict` names the files that hold something else by now.
async fn redo_plan(root: &Root, run: RunId) -> Result<Vec<Restoration>, Fault> {
    let mut steps = Vec::new();
    let mut changed = Vec::new();
    for (path, versions) in versions_of(&root.history, run).await? {
        let current = current(&*root.objects, &path).await?;
        let hash = current.as_ref().map(|object| object.hash);
        let (Some(first), Some(last)) = (versions.first(), versions.last()) else { continue };
        if hash == last.after {
            continue;
        }
        if hash != first.before {
            changed.push(path.to_string());
            continue;
        }
        let Some(wanted) = last.after else {
            steps.push(Restoration { path, current, before: None });
            continue;
        };
        // Undoing kept the content that the run had left as a version, so it is read from the
        // history.
        let kept = root.history.versions(&path).await?;
        match kept.iter().find(|version| version.before == Some(wanted)) {
            Some(version) => {
                let before = root.history.read(version).await?;
                steps.push(Restoration { path, current, before });
            }
            None => changed.push(path.to_string()),
        }
    }
    if changed.is_empty() {
        return Ok(steps);
    }
    let message = format!("Changed meanwhile, so nothing was redone: {}.", changed.join(", "));
    Err(Fault::new(ErrorCode::VersionConflict, message)
        .with_hint("Restore the files one by one from their history."))
}

/// The versions that a run wrote, by file, each file's in the order in which they were written.
async fn versions_of(
    history: &History,
    run: RunId,
) -> Result<BTreeMap<ObjectKey, Vec<Version>>, Fault> {
    let mut by_path = BTreeMap::<ObjectKey, Vec<Version>>::new();
    for version in history.changes_of_run(run).await? {
        by_path.entry(version.path.clone()).or_default().push(version);
    }
    Ok(by_path)
}

async fn current(objects: &dyn Objects, path: &ObjectKey) -> Result<Option<Object>, Fault> {
    match objects.get(path, u64::MAX).await {
        Ok(current) => Ok(current),
        Err(StoreError::NotFound) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn no_such_run(run: RunId) -> Fault {
    Fault::new(ErrorCode::NotFound, format!("There is no run {run}."))
}
