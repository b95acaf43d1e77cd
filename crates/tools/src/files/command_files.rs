//! Stores what a command changed in its copies of the person's files. Each change is written as any
//! other write, and only if the stored file is still the one that was copied.

use std::collections::BTreeMap;

use onyx_storage::{Expect, FileStep, ObjectKey, StoreError};
use onyx_types::{Hash, Origin};

use super::agent_files::{AgentFiles, Writer};
use crate::ToolError;

/// The longest path in bytes for which versions can be kept.
const LONGEST_PATH: usize = 800;
const RESERVED: &str = ".versions";

/// The change that a command made to one file.
pub(crate) struct CommandStep {
    pub(crate) key: ObjectKey,
    /// The hash of the copied file; `None` if there was no file.
    pub(crate) base: Option<Hash>,
    /// The new content; `None` if the file is deleted.
    pub(crate) after: Option<Vec<u8>>,
}

/// The outcome for one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StepEnd {
    Stored,
    /// The stored file has changed since it was copied, so it is kept.
    Conflict,
    Refused(String),
}

impl AgentFiles {
    /// Stores the changes that a command made, after the previous versions. Each outcome is added
    /// to `ends` at once, so that after an error it is known how far this got.
    pub(crate) async fn store(
        &self,
        steps: &[CommandStep],
        by: &Writer<'_>,
        origin: Origin,
        ends: &mut Vec<(ObjectKey, StepEnd)>,
    ) -> Result<(), ToolError> {
        let keys: Vec<ObjectKey> = steps.iter().map(|step| step.key.clone()).collect();
        let held = self.objects().get_all(&keys).await?;
        let mut open = Vec::with_capacity(steps.len());
        for (step, held) in steps.iter().zip(&held) {
            let now = held.as_ref().map(|object| object.hash);
            if let Some(why) = why_refused(&step.key) {
                ends.push((step.key.clone(), StepEnd::Refused(why.to_owned())));
            } else if now == step.after.as_deref().map(Hash::of) {
                ends.push((step.key.clone(), StepEnd::Stored));
            } else if now != step.base {
                ends.push((step.key.clone(), StepEnd::Conflict));
            } else {
                open.push((step, held));
            }
        }
        let mut files = Vec::with_capacity(open.len());
        for (step, held) in &open {
            let (before, after) = (held.as_ref(), step.after.as_deref());
            files.push(FileStep { path: self.path(&step.key)?, before, after });
        }
        self.history().keep_all(&files, &by.change(origin)).await?;
        for (step, _) in open {
            ends.push((step.key.clone(), self.store_plainly(step).await?));
        }
        Ok(())
    }

    /// Stores a change without keeping a version, for files inside a repository, which has its own
    /// versions.
    pub(crate) async fn store_plainly(&self, step: &CommandStep) -> Result<StepEnd, ToolError> {
        let expect = step.base.map_or(Expect::Absent, Expect::Is);
        let stored = match &step.after {
            Some(bytes) => self.objects().put(&step.key, bytes, expect).await.map(drop),
            None => self.objects().delete(&step.key, expect).await,
        };
        match stored {
            Ok(()) => Ok(StepEnd::Stored),
            Err(StoreError::NotFound) if step.after.is_none() => Ok(StepEnd::Stored),
            Err(StoreError::Conflict) => Ok(StepEnd::Conflict),
            Err(StoreError::Refused(why)) => Ok(StepEnd::Refused(why)),
            Err(error) => Err(error.into()),
        }
    }

    /// The hash of every stored file below a folder.
    pub(crate) async fn hashes_below(
        &self,
        folder: &ObjectKey,
    ) -> Result<BTreeMap<ObjectKey, Hash>, ToolError> {
        let entries = self.objects().tree(Some(folder), usize::MAX).await?;
        Ok(entries.into_iter().filter_map(|entry| Some((entry.key, entry.hash?))).collect())
    }

    /// Removes a folder that the command removed, if it is empty in the store too.
    pub(crate) async fn remove_empty(&self, folder: &ObjectKey) -> Result<(), ToolError> {
        Ok(self.objects().remove_empty(folder).await?)
    }
}

fn why_refused(key: &ObjectKey) -> Option<&'static str> {
    if key.parts().any(|part| part == RESERVED) {
        return Some("its name is reserved");
    }
    (key.as_str().len() > LONGEST_PATH).then_some("its path is too long")
}
