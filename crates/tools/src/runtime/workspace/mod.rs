//! The place where a command works on the person's files: the vault itself if it is on this
//! machine's disk, else a copy. Tools see a folder in both cases; the command's changes are
//! examined when it has ended.

mod aftermath;
mod checkout;
mod command_changes;
mod found;
mod write_back;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use onyx_storage::{Area, LocalObjects, ObjectKey, Objects, OpenCommand, note_changed};
use onyx_types::{Hash, Origin};

pub(crate) use command_changes::{CommandChanges, Steering};

use crate::{ToolCx, ToolError};
use aftermath::Aftermath;
use checkout::Checkout;
use write_back::{Author, write_back};

/// A folder that takes the place of the vault's top. If it is a copy, it is deleted when this is
/// dropped.
pub(crate) struct Workspace {
    root: PathBuf,
    /// The copy; `None` if the folder is the vault itself.
    checkout: Option<Checkout>,
}

/// How files are compared without reading them.
pub(crate) enum Stamps {
    /// Files are compared by their metadata in the file system.
    FileSystem,
    /// Files are compared by the hashes that they had when they were copied.
    Contents(std::collections::BTreeMap<ObjectKey, Hash>),
}

/// The author and origin of a command's changes, and which files it may change.
#[derive(Clone, Debug)]
pub(crate) struct Authorship {
    pub(crate) tool: String,
    pub(crate) origin: Origin,
    pub(crate) steering: Steering,
}

/// What is needed to examine a command's changes when it has ended.
pub(crate) struct Watch {
    authorship: Authorship,
    /// The comparison with the vault; `None` for a copy, which is compared with the store.
    here: Option<WatchHere>,
}

struct WatchHere {
    /// `None` if the vault holds too many files.
    aftermath: Option<Aftermath>,
    /// The record that a command is running. Until its end is recorded, every change in the vault
    /// may be the command's.
    open: OpenCommand,
}

impl Workspace {
    /// The vault on this machine's disk. It is created if it does not exist.
    pub(super) async fn here(vault: PathBuf, cx: &ToolCx) -> Result<Self, ToolError> {
        cx.files.objects(&Area::Vault(cx.key.person.clone()))?;
        let root = tokio::task::spawn_blocking(move || onyx_sandbox::real_path(&vault)).await;
        let root = root
            .map_err(|_| ToolError::Failed("the vault cannot be looked at".into()))?
            .map_err(|error| ToolError::Failed(format!("the vault: {error}")))?;
        Ok(Self { root, checkout: None })
    }

    /// Copies a folder of the vault, or all of it.
    pub(super) async fn copied(
        scratch: PathBuf,
        folder: Option<&ObjectKey>,
        cx: &ToolCx,
    ) -> Result<Self, ToolError> {
        let checkout = Checkout::make(scratch, folder, cx).await?;
        Ok(Self { root: checkout.root().to_owned(), checkout: Some(checkout) })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether this is a copy, which keeps no file modes.
    pub(crate) fn is_copy(&self) -> bool {
        self.checkout.is_some()
    }

    /// The files of the workspace. No path leads out of it.
    pub(crate) fn files(&self, cx: &ToolCx) -> Result<Arc<dyn Objects>, ToolError> {
        if self.checkout.is_some() {
            return Ok(Arc::new(LocalObjects::open(&self.root)?));
        }
        Ok(cx.files.objects(&Area::Vault(cx.key.person.clone()))?)
    }

    pub(super) async fn stamps(&self) -> Stamps {
        match &self.checkout {
            Some(checkout) => Stamps::Contents(checkout.known.lock().await.clone()),
            None => Stamps::FileSystem,
        }
    }

    /// Notes the state before a command that may change files. It must be called before the command
    /// begins.
    pub(super) async fn watch(
        &self,
        authorship: Authorship,
        cx: &ToolCx,
    ) -> Result<Watch, ToolError> {
        if self.checkout.is_some() {
            return Ok(Watch { authorship, here: None });
        }
        let aftermath = Aftermath::before(self.root.clone(), authorship.steering, cx).await?;
        let owner = Area::Person(cx.key.person.clone()).path();
        let open = cx.files.origins().begin_command(&owner).await?;
        Ok(Watch { authorship, here: Some(WatchHere { aftermath, open }) })
    }

    /// Examines the changes of a command. All its processes must have ended.
    pub(super) async fn settle(
        &self,
        watch: Watch,
        cx: &ToolCx,
    ) -> Result<CommandChanges, ToolError> {
        let Watch { authorship: Authorship { tool, origin, steering }, here } = watch;
        if let Some(checkout) = &self.checkout {
            let author = Author { tool: &tool, origin, steering };
            return write_back(checkout, &author, cx).await;
        }
        let Some(WatchHere { aftermath, open }) = here else {
            return Ok(CommandChanges::default());
        };
        let left = match aftermath {
            Some(aftermath) => aftermath.settle(&tool, origin, cx).await?,
            None => None,
        };
        if left.is_none() {
            let area = Area::Person(cx.key.person.clone());
            note_changed(&*cx.files, &area, open.started_at, origin).await?;
        }
        // If a step above failed, the record stays open, and changes made meanwhile have no known
        // author.
        cx.files.origins().end_command(open.id).await?;
        Ok(left.unwrap_or_else(CommandChanges::unwatched))
    }
}

impl Watch {
    /// Closes the record of a command that did not begin.
    pub(super) async fn end(self, cx: &ToolCx) -> Result<(), ToolError> {
        if let Some(WatchHere { open, .. }) = self.here {
            cx.files.origins().end_command(open.id).await?;
        }
        Ok(())
    }
}
