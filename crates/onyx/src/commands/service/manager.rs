//! Controls systemd through `systemctl`.

use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::{Context, Result};
use onyx_types::{ErrorCode, Fault};

use super::NAME;
use crate::cli::ServicePlace;
use crate::env;

pub(super) struct Manager {
    program: PathBuf,
    /// Which of systemd's managers is used.
    owner: ServiceOwner,
}

enum ServiceOwner {
    User,
    Machine,
    /// A system in a folder that does not run, so nothing can be started in it.
    Image(PathBuf),
}

impl Manager {
    pub(super) fn find(place: &ServicePlace) -> Result<Self> {
        let program = env::program("systemctl").ok_or_else(|| {
            Fault::new(ErrorCode::NotFound, "systemd is not here: there is no systemctl on PATH")
                .with_hint("Add `onyx serve` to the service manager of this machine.")
        })?;
        let owner = match (&place.root, place.system) {
            (Some(root), _) => ServiceOwner::Image(root.clone()),
            (None, true) => ServiceOwner::Machine,
            (None, false) => ServiceOwner::User,
        };
        Ok(Self { program, owner })
    }

    /// Reads the unit that was written, enables it and starts it.
    pub(super) fn enable(&self) -> Result<()> {
        self.reload()?;
        match self.owner {
            ServiceOwner::Image(_) => self.must(&["enable", NAME]),
            ServiceOwner::User | ServiceOwner::Machine => self.must(&["enable", "--now", NAME]),
        }
    }

    /// Enables and restarts a service that already runs.
    pub(super) fn restart(&self) -> Result<()> {
        self.reload()?;
        self.must(&["enable", NAME])?;
        self.must(&["restart", NAME])
    }

    pub(super) fn give_up(&self) -> Result<()> {
        match self.owner {
            ServiceOwner::Image(_) => self.must(&["disable", NAME]),
            ServiceOwner::User | ServiceOwner::Machine => self.must(&["disable", "--now", NAME]),
        }
    }

    pub(super) fn reload(&self) -> Result<()> {
        match self.owner {
            ServiceOwner::Image(_) => Ok(()),
            ServiceOwner::User | ServiceOwner::Machine => self.must(&["daemon-reload"]),
        }
    }

    pub(super) fn is_active(&self) -> Result<bool> {
        Ok(self.says("is-active")? == "active")
    }

    /// The word that systemctl prints. Its exit code is ignored, because it is an error for any
    /// answer but yes.
    pub(super) fn says(&self, question: &str) -> Result<String> {
        if let (ServiceOwner::Image(_), "is-active") = (&self.owner, question) {
            return Ok("inactive".to_owned());
        }
        let output = self.call(&[question, NAME])?;
        let word = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(if word.is_empty() { "unknown".to_owned() } else { word })
    }

    pub(super) const fn log_command(&self) -> &'static str {
        match self.owner {
            ServiceOwner::User => "journalctl --user -u onyx, or onyx logs",
            ServiceOwner::Machine | ServiceOwner::Image(_) => "journalctl -u onyx, or onyx logs",
        }
    }

    fn must(&self, arguments: &[&str]) -> Result<()> {
        let output = self.call(arguments)?;
        if output.status.success() {
            return Ok(());
        }
        let errors = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let message = format!("systemctl {} failed: {errors}", arguments.join(" "));
        let hint = match self.owner {
            ServiceOwner::User => "Is your user manager running? Try: systemctl --user status",
            ServiceOwner::Machine | ServiceOwner::Image(_) => {
                "A service of the machine needs root: try sudo."
            }
        };
        Err(Fault::new(ErrorCode::ToolFailed, message).with_hint(hint).into())
    }

    fn call(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new(&self.program);
        match &self.owner {
            ServiceOwner::User => command.arg("--user"),
            ServiceOwner::Machine => &mut command,
            ServiceOwner::Image(root) => command.arg("--root").arg(root),
        };
        command
            .args(arguments)
            .output()
            .with_context(|| format!("cannot start {}", self.program.display()))
    }
}
