//! How the process ends. The numbers are part of the interface: scripts rely on them.

use std::process::ExitCode;

use onyx_types::ErrorCode;

/// The exit codes as `onyx --help` shows them.
pub(crate) const TABLE: &str = "\
Exit codes:
  0    done
  1    it failed; the message says why
  2    wrong usage
  3    the home is in use, or its server cannot be reached
  4    there is no such session, agent or model
  5    the session is busy
  130  stopped by Ctrl-C";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Failed,
    Unreachable,
    NotFound,
    Busy,
    Stopped,
}

impl Exit {
    pub(crate) const fn of(code: ErrorCode) -> Self {
        match code {
            ErrorCode::NotFound | ErrorCode::ModelNotFound => Self::NotFound,
            ErrorCode::SessionBusy => Self::Busy,
            ErrorCode::Cancelled => Self::Stopped,
            _ => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Unreachable => 3,
            Exit::NotFound => 4,
            Exit::Busy => 5,
            Exit::Stopped => 130,
        })
    }
}
