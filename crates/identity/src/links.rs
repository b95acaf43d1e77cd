//! One-time links for a browser on this machine: the code proves that its reader can see what the
//! server prints. It is random and long, so it cannot be guessed, and failures of others never
//! block a valid one.

use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{ShortLived, ShortLivedEntry, ShortLivedKind, ShortLivedRoom};
use onyx_types::{Fault, Hash};

use crate::issuing::Permit;
use crate::random::Secret;

const LASTS: Duration = Duration::from_secs(10 * 60);
/// How many links can wait; a new one replaces the oldest.
const MAX_LINKS: ShortLivedRoom = ShortLivedRoom::of_entries(8);

pub(crate) struct Links(Arc<dyn ShortLived>);

impl Links {
    pub(crate) fn new(waiting: Arc<dyn ShortLived>) -> Self {
        Self(waiting)
    }

    pub(crate) async fn make(&self, permit: &Permit) -> Result<Secret, Fault> {
        let code = Secret::fresh("")?;
        let entry = ShortLivedEntry::of_nobody(code.hash(), permit.written()?, LASTS);
        self.0.put(ShortLivedKind::Link, entry, MAX_LINKS).await?;
        Ok(code)
    }

    /// Redeems a code, which is valid once across all gateways.
    pub(crate) async fn redeem(&self, code: &str) -> Result<Option<Permit>, Fault> {
        let taken = self.0.take(ShortLivedKind::Link, Hash::of(code.as_bytes())).await?;
        taken.as_deref().map(Permit::read).transpose()
    }
}
