use onyx_storage::{AccountKey, ConnectorLedger, StoreError};

use crate::networks::is_visitor;

/// How many visitors of an open widget are remembered. There is a bound because any browser can
/// become a visitor. A forgotten visitor begins a new conversation with its next message.
pub(crate) const MOST_VISITORS: usize = 2_000;

/// Forgets the visitors that were idle longest until at most `most` are left. Their sessions stay
/// in the app.
pub(crate) async fn forget_idle_visitors(
    ledger: &dyn ConnectorLedger,
    account: &AccountKey,
    most: usize,
) -> Result<usize, StoreError> {
    // The peers are sorted by when they were last seen, the latest first.
    let peers = ledger.peers(account).await?;
    let visitors = peers.into_iter().filter(|peer| is_visitor(&peer.key.peer));
    let mut forgotten = 0;
    for idle in visitors.skip(most) {
        ledger.remove_peer(&idle.key).await?;
        forgotten += 1;
    }
    Ok(forgotten)
}
