//! Where a command works on the person's files: in the vault itself where that lies on this machine's disk, else in a copy
//! of it. Tools see a folder either way; what a command did there is looked at when it has ended.

mod aftermath;
mod checkout;
mod found;
mod left;
mod write_back;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use onyx_storage::{Area, LocalObjects, ObjectKey, Objects, OpenCommand, note_changed};
use onyx_types::{Hash, Origin};

pub(crate) use left::{CommandChanges, Steering};

use crate::{ToolCx, ToolError};
use aftermath::Aftermath;
use checkout::Checkout;
use write_back::{Author, write_back};

/// A folder that stands for the top of the person's vault. A copy goes when this is dropped.
pub(crate) struct Workspace {
    root: PathBuf,
    /// `None`: it is the vault.
    checkout: Option<Checkout>,
}

/// What files are compared by, where their content is not looked at.
pub(crate) enum Stamps {
    /// Files are compared by what the file system says of them.
    FileSystem,
    /// Files are compared by what they held when they were copied.
    Contents(std::collections::BTreeMap<ObjectKey, Hash>),
}

/// Says whose work it is what a command writes, and what it may write.
#[derive(Clone, Debug)]
pub(crate) struct Authorship {
    pub(crate) tool: String,
    pub(crate) origin: Origin,
    pub(crate) steering: Steering,
}

/// What is looked at again when a command has ended.
pub(crate) struct Watch {
    authorship: Authorship,
    /// `None`: it works on a copy, which is compared with the store.
    here: Option<WatchHere>,
}

struct WatchHere {
    /// `None`: the vault holds too many files.
    aftermath: Option<Aftermath>,
    /// Until the command's end is recorded, every change in the vault may be its work.
    open: OpenCommand,
}

impl Workspace {
    /// The vault on this machine's disk; it is made if this is the first that happens in it.
    pub(super) async fn here(vault: PathBuf, cx: &ToolCx) -> Result<Self, ToolError> {
        cx.files.objects(&Area::Vault(cx.key.person.clone()))?;
        let root = tokio::task::spawn_blocking(move || onyx_sandbox::real_path(&vault)).await;
        let root = root
            .map_err(|_| ToolError::Failed("the vault cannot be looked at".into()))?
            .map_err(|error| ToolError::Failed(format!("the vault: {error}")))?;
        Ok(Self { root, checkout: None })
    }

    /// A copy of a folder of the vault, or of all of it.
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

    /// A copy has no modes of its own.
    pub(crate) fn is_copy(&self) -> bool {
        self.checkout.is_some()
    }

    /// Its files, read without leaving it.
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

    /// Must be called before a command begins that may change files.
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

    /// Must be called when no process of the command is left.
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
        // If anything above failed, the record stays open, and what changes meanwhile has no known author.
        cx.files.origins().end_command(open.id).await?;
        Ok(left.unwrap_or_else(CommandChanges::unwatched))
    }
}

impl Watch {
    /// The command did not begin after all.
    pub(super) async fn end(self, cx: &ToolCx) -> Result<(), ToolError> {
        if let Some(WatchHere { open, .. }) = self.here {
            cx.files.origins().end_command(open.id).await?;
        }
        Ok(())
    }
}
