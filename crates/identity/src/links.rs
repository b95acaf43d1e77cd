//! One-time links for a browser on this machine: the code proves that its reader can see what the
//! server prints.

use std::time::Duration;

use onyx_types::{Clock, Fault, Hash};

use crate::random::Secret;

const LASTS: Duration = Duration::from_secs(10 * 60);
/// Links that wait; a new one takes the place of the oldest.
const MAX_LINKS: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Links(Vec<(Hash, Duration)>);

impl Links {
    pub(crate) fn make(&mut self, clock: &dyn Clock) -> Result<Secret, Fault> {
        let code = Secret::fresh("")?;
        if self.0.len() == MAX_LINKS {
            self.0.remove(0);
        }
        self.0.push((code.hash(), clock.now().mono + LASTS));
        Ok(code)
    }

    /// A code is good once.
    pub(crate) fn redeem(&mut self, code: &str, clock: &dyn Clock) -> bool {
        let now = clock.now().mono;
        self.0.retain(|(_, until)| *until > now);
        let hash = Hash::of(code.as_bytes());
        let found = self.0.iter().position(|(known, _)| *known == hash);
        found.map(|at| self.0.remove(at)).is_some()
    }
}
