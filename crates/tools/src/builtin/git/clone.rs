//! Fetches the files of a repository that a person names, in the sandbox and from that one server.

use std::path::Path;
use std::time::Duration;

use onyx_storage::{LocalObjects, ObjectKey, Objects as _, StoreError};
use onyx_types::{ErrorCode, Fault};

use super::remote::{GitRemotes, RemoteAddress};
use crate::ToolError;
use crate::runtime::{CommandRunner, Ending, IsolatedCommand};

const CLONE_TIME: Duration = Duration::from_secs(120);
const FOLDER: &str = "repository";
const MOST_FILES: usize = 5_000;
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// Fetches the files of other people's repositories. Cheap to clone.
#[derive(Clone)]
pub struct Repositories {
    runner: CommandRunner,
    remotes: GitRemotes,
}

impl Repositories {
    pub fn new(runner: CommandRunner, remotes: GitRemotes) -> Self {
        Self { runner, remotes }
    }

    /// The files of the newest commit at an https address, without links. Nothing of the repository
    /// is run: hooks are off, and no settings of a repository are read before it is cloned.
    pub async fn files(&self, address: &str) -> Result<Vec<(String, Vec<u8>)>, Fault> {
        let address = self.remotes.web_address(address).map_err(|error| fault(&error))?;
        let network = address.network().map_err(|error| fault(&error))?;
        let argv = |folder: &Path| clone_command(&address, &folder.join(FOLDER));
        let cloned = self
            .runner
            .run_alone(argv, network, CLONE_TIME)
            .await
            .map_err(|error| fault(&error))?;
        match cloned.ending {
            Ending::Exited(0) => Ok(read_all(&cloned).await?),
            Ending::Exited(_) | Ending::Killed | Ending::Cancelled | Ending::TimedOut => {
                let last_line = cloned.output.lines().last().unwrap_or_default().to_owned();
                let message = format!("{address} could not be cloned: {last_line}");
                Err(Fault::new(ErrorCode::ToolFailed, message)
                    .with_hint("Check the address, and that anyone can read the repository."))
            }
        }
    }
}

fn clone_command(address: &RemoteAddress, to: &Path) -> Vec<String> {
    let settings = [
        "core.hooksPath=/dev/null",
        "core.symlinks=false",
        "core.fsmonitor=false",
        "credential.helper=",
        "protocol.allow=never",
        "protocol.http.allow=always",
        "protocol.https.allow=always",
        "http.followRedirects=false",
        "submodule.recurse=false",
        "filter.lfs.smudge=",
        "filter.lfs.required=false",
    ];
    let mut argv: Vec<String> = ["env", "GIT_TERMINAL_PROMPT=0", "git"].map(str::to_owned).into();
    for setting in settings {
        argv.extend(["-c".to_owned(), setting.to_owned()]);
    }
    let clone =
        ["clone", "--quiet", "--depth=1", "--single-branch", "--no-tags", "--template=", "--"];
    argv.extend(clone.map(str::to_owned));
    argv.extend([address.as_str().to_owned(), to.display().to_string()]);
    argv
}

/// Reads the files through a handle of the folder, so that no link in the repository leads out of
/// it.
async fn read_all(cloned: &IsolatedCommand) -> Result<Vec<(String, Vec<u8>)>, Fault> {
    let objects = LocalObjects::open(&cloned.folder.path().join(FOLDER))?;
    let (mut files, mut bytes) = (Vec::new(), 0);
    let mut folders: Vec<Option<ObjectKey>> = vec![None];
    while let Some(folder) = folders.pop() {
        for entry in objects.list(folder.as_ref(), MOST_FILES + 1).await? {
            if entry.key.as_str() == ".git" {
                continue;
            }
            if entry.is_folder {
                folders.push(Some(entry.key));
                continue;
            }
            bytes += entry.size;
            if files.len() == MOST_FILES || bytes > MOST_BYTES {
                let message = "The repository holds more files than skills have.";
                return Err(Fault::new(ErrorCode::TooLarge, message));
            }
            match objects.get(&entry.key, MOST_BYTES).await {
                Ok(Some(object)) => files.push((entry.key.to_string(), object.bytes)),
                Ok(None) | Err(StoreError::Refused(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(files)
}

fn fault(error: &ToolError) -> Fault {
    Fault::new(error.code(), error.to_string())
}
