use onyx_storage::StoreError;
use onyx_types::Timestamp;

use super::Backend;
use crate::support::{Maker, TTL};

pub(crate) async fn one_holder_at_a_time(on: Backend) {
    let mut make = Maker::new();
    let (key, other) = (make.key(), make.key());
    let lease = on.leases.acquire(&key, TTL).await.unwrap();
    assert!(matches!(on.leases.acquire(&key, TTL).await, Err(StoreError::Busy)));
    on.leases.acquire(&other, TTL).await.unwrap();
    on.leases.release(&lease).await.unwrap();
    on.leases.acquire(&key, TTL).await.unwrap();
}

pub(crate) async fn a_lease_expires_and_the_fence_grows(on: Backend) {
    let key = Maker::new().key();
    let first = on.leases.acquire(&key, TTL).await.unwrap();
    on.advance(TTL - on.slack()).await;
    assert!(matches!(on.leases.acquire(&key, TTL).await, Err(StoreError::Busy)));
    on.advance(on.slack()).await;
    let second = on.leases.acquire(&key, TTL).await.unwrap();
    assert!(second.fence > first.fence);
    on.leases.release(&second).await.unwrap();
    let third = on.leases.acquire(&key, TTL).await.unwrap();
    assert!(third.fence > second.fence);
}

pub(crate) async fn renewing_prolongs(on: Backend) {
    let key = Maker::new().key();
    let lease = on.leases.acquire(&key, TTL).await.unwrap();
    for _ in 0..5 {
        on.advance(TTL / 2).await;
        on.leases.renew(&lease, TTL).await.unwrap();
    }
    assert!(matches!(on.leases.acquire(&key, TTL).await, Err(StoreError::Busy)));
    on.advance(TTL).await;
    assert!(matches!(on.leases.renew(&lease, TTL).await, Err(StoreError::LeaseLost)));
}

pub(crate) async fn a_jump_of_the_wall_clock_takes_no_lease(on: Backend) {
    let key = Maker::new().key();
    let lease = on.leases.acquire(&key, TTL).await.unwrap();
    on.clock.jump_wall_to(Timestamp::from_millis(4_000_000_000_000));
    on.leases.renew(&lease, TTL).await.unwrap();
    on.clock.jump_wall_to(Timestamp::UNIX_EPOCH);
    assert!(matches!(on.leases.acquire(&key, TTL).await, Err(StoreError::Busy)));
}

pub(crate) async fn releasing_a_lost_lease_leaves_the_new_holder_alone(on: Backend) {
    let key = Maker::new().key();
    let lost = on.leases.acquire(&key, TTL).await.unwrap();
    on.advance(TTL).await;
    let held = on.leases.acquire(&key, TTL).await.unwrap();
    on.leases.release(&lost).await.unwrap();
    on.leases.renew(&held, TTL).await.unwrap();
    assert!(matches!(on.leases.renew(&lost, TTL).await, Err(StoreError::LeaseLost)));
}
