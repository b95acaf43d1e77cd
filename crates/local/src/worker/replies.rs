//! Sends the replies of a model's process.

use std::io::Write;

use super::protocol::{FailedClass, Reply};

/// Why a model cannot be loaded or answer.
pub(crate) type Refusal = (FailedClass, String);

/// The output for an engine's replies. When nobody reads it any more, the process must end.
pub(crate) struct Replies(std::io::Stdout);

#[derive(Clone, Copy, Debug)]
pub(crate) struct NobodyListens;

impl Replies {
    /// Replies to the process that started this one.
    pub(crate) fn to_starter() -> Self {
        Self(std::io::stdout())
    }

    pub(crate) fn send(&mut self, reply: &Reply) -> Result<(), NobodyListens> {
        let mut line = serde_json::to_vec(reply).map_err(|_| NobodyListens)?;
        line.push(b'\n');
        let mut out = self.0.lock();
        out.write_all(&line).and_then(|()| out.flush()).map_err(|_| NobodyListens)
    }
}
