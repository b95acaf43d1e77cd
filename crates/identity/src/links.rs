//! One-time links for a browser on this machine: the code proves that its reader can see what the
//! server prints. It is random and long, so it cannot be guessed, and failures of others never keep
//! a good one out.

use std::time::Duration;

use onyx_types::{Clock, Fault, Hash};

use crate::minting::Permit;
use crate::random::Secret;

const LASTS: Duration = Duration::from_secs(10 * 60);
/// Links that wait; a new one takes the place of the oldest.
const MAX_LINKS: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Links(Vec<Link>);

#[derive(Debug)]
struct Link {
    code: Hash,
    until: Duration,
    permit: Permit,
}

impl Links {
    pub(crate) fn make(&mut self, permit: Permit, clock: &dyn Clock) -> Result<Secret, Fault> {
        let code = Secret::fresh("")?;
        if self.0.len() == MAX_LINKS {
            self.0.remove(0);
        }
        self.0.push(Link { code: code.hash(), until: clock.now().mono + LASTS, permit });
        Ok(code)
    }

    /// A code is good once.
    pub(crate) fn redeem(&mut self, code: &str, clock: &dyn Clock) -> Option<Permit> {
        let now = clock.now().mono;
        self.0.retain(|link| link.until > now);
        let hash = Hash::of(code.as_bytes());
        let found = self.0.iter().position(|link| link.code == hash)?;
        Some(self.0.remove(found).permit)
    }
}
