//! The home folder, and the files in it that belong to the binary.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use onyx_storage::{Home, HomePaths};

use crate::env;

#[derive(Clone, Debug)]
pub(crate) struct HomeFolder(HomePaths);

impl HomeFolder {
    /// `$ONYX_HOME`, or else `onyx` in the user's config folder. The folder is not created here.
    pub(crate) fn find() -> Result<Self> {
        let folder = match env::onyx_home() {
            Some(folder) => folder,
            None => env::config_folder()
                .context("neither ONYX_HOME nor HOME is set, so there is no home folder")?
                .join("onyx"),
        };
        let absolute = std::path::absolute(&folder)
            .with_context(|| format!("{} is not a folder", folder.display()))?;
        Ok(Self::at(&absolute))
    }

    pub(crate) fn at(folder: &Path) -> Self {
        Self(Home::paths_only(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.root()
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.0.config()
    }

    pub(crate) fn dotenv(&self) -> PathBuf {
        self.0.env_file()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.0.socket()
    }

    /// The key that the socket requires in addition to the same user; each socket has a new one.
    pub(crate) fn socket_key(&self) -> PathBuf {
        self.path().join("onyx.sock.key")
    }

    /// The person's own data about models, which overrides the built-in data.
    pub(crate) fn model_facts(&self) -> PathBuf {
        self.path().join("models.json")
    }

    /// Weights of local models.
    pub(crate) fn models(&self) -> PathBuf {
        self.path().join("models")
    }

    pub(crate) fn last_good_config(&self) -> PathBuf {
        self.0.cache().join("onyx.json.good")
    }

    /// A file that is written to test whether the disk works.
    pub(crate) fn write_probe(&self) -> PathBuf {
        self.0.cache().join("write-probe")
    }

    /// The sizes of the home at earlier runs of `onyx doctor`.
    pub(crate) fn sizes(&self) -> PathBuf {
        self.0.cache().join("home-sizes.json")
    }

    /// Complete outputs that were too long for a model.
    pub(crate) fn artifacts(&self) -> PathBuf {
        self.0.cache().join("artifacts")
    }

    /// The folder in which runtimes work, each in an empty folder of its own.
    pub(crate) fn runtimes(&self) -> PathBuf {
        self.0.cache().join("runtimes")
    }

    pub(crate) fn token(&self) -> PathBuf {
        self.path().join("token")
    }

    pub(crate) fn chat_history(&self) -> PathBuf {
        self.path().join("chat_history")
    }
}
