//! Tests of updates and sends of connectors on several gateways. Each has one owner, and only a
//! dead owner loses it. The gateways' own clocks stand still here, as if the gateways were frozen;
//! only the database knows that time has passed.

use onyx_storage::{
    AccountKey, NewPart, NewUpdate, PeerKey, Repeat, SendEnd, StoreError, UpdateFailure,
};
use onyx_types::Timestamp;

use super::servers::{OpenGateway, let_die, two};
use crate::support::Maker;

fn is_lost<T>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::LeaseLost))
}

fn account() -> AccountKey {
    AccountKey { network: "webhook".into(), account: "home".into() }
}

fn part(peer: &str, repeat: Repeat) -> NewPart {
    let peer_key = PeerKey { account: account(), peer: peer.into() };
    NewPart { peer: peer_key, key: format!("to {peer}"), body: "hello".into(), repeat }
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Lists what is sent next, by peer.
async fn next(gateway: &OpenGateway) -> Vec<(String, i64)> {
    let parts = gateway.store.connectors.next_parts(&account(), 9).await.unwrap();
    parts.into_iter().map(|part| (part.peer.peer, part.id)).collect()
}

/// Queues one message that may be sent twice and one that may not. Both gateways see them.
async fn queued(gateway: &OpenGateway) -> [i64; 2] {
    let parts = vec![part("safe", Repeat::Safe), part("unsafe", Repeat::Unsafe)];
    gateway.store.connectors.queue_parts(parts, at(1)).await.unwrap();
    let ids: Vec<i64> = next(gateway).await.into_iter().map(|(_, id)| id).collect();
    ids.try_into().unwrap()
}

fn again() -> SendEnd {
    SendEnd::Again {
        body: "hello again".into(),
        repeat: Repeat::Safe,
        not_before: at(2),
        why: "it failed".into(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_starts_leaves_alone_what_another_one_is_sending() {
    let (database, one, two) = two().await;
    let ids = queued(&one).await;
    for id in ids {
        assert!(one.store.connectors.begin_send(id).await.unwrap());
    }
    drop(two);
    let two = database.open("two").await;
    assert_eq!(two.store.connectors.settle_sends(&account()).await.unwrap(), 0);
    assert_eq!(two.store.connectors.settle_lost_sends(&account()).await.unwrap(), 0);
    assert_eq!(next(&two).await, [], "both are still being sent");
    for id in ids {
        one.store.connectors.end_send(id, SendEnd::Sent("1".into())).await.unwrap();
    }
    let figures = two.store.connectors.figures(&account()).await.unwrap();
    assert_eq!((figures.outgoing, figures.dead), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_gateway_was_sending_is_settled_when_it_starts_again_or_by_another_when_it_dies() {
    let (database, one, two) = two().await;
    let ids = queued(&one).await;
    for id in ids {
        assert!(one.store.connectors.begin_send(id).await.unwrap());
    }
    drop(one);
    let one = database.open("one").await;
    assert_eq!(one.store.connectors.settle_sends(&account()).await.unwrap(), 1);
    assert_eq!(next(&two).await, [("safe".to_owned(), ids[0])]);
    assert!(one.store.connectors.begin_send(ids[0]).await.unwrap());
    assert_eq!(two.store.connectors.settle_lost_sends(&account()).await.unwrap(), 0);
    assert_eq!(next(&two).await, []);
    let_die(&database, &two).await;
    assert_eq!(two.store.connectors.settle_lost_sends(&account()).await.unwrap(), 0);
    assert_eq!(next(&two).await, [("safe".to_owned(), ids[0])]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_that_comes_back_after_another_took_over_changes_nothing() {
    let (database, one, two) = two().await;
    let [id, lost] = queued(&one).await;
    for id in [id, lost] {
        assert!(one.store.connectors.begin_send(id).await.unwrap());
    }
    let life = one.store.connectors.incarnation().unwrap();
    let_die(&database, &two).await;
    assert_eq!(two.store.connectors.settle_lost_sends(&account()).await.unwrap(), 1);
    let late = &one.store.connectors;
    assert!(!late.begin_send(id).await.unwrap(), "it is dead, although it does not know that");
    assert!(two.store.connectors.begin_send(id).await.unwrap());
    let ends = || [SendEnd::Sent("1".into()), again(), SendEnd::Dead("no".into())];
    for end in ends() {
        assert!(is_lost(&late.end_send(id, end).await));
    }
    one.membership.beat().await.unwrap();
    assert_ne!(late.incarnation().unwrap(), life, "it can be known before a send");
    for end in ends() {
        assert!(is_lost(&late.end_send(id, end.clone()).await));
        assert!(is_lost(&late.end_send(lost, end).await), "a person decides about it");
    }
    assert_eq!(next(&two).await, [], "the two is still sending it");
    two.store.connectors.end_send(id, SendEnd::Sent("2".into())).await.unwrap();
    let figures = two.store.connectors.figures(&account()).await.unwrap();
    assert_eq!((figures.outgoing, figures.dead), (0, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_is_pursued_by_one_gateway_and_taken_over_only_from_a_dead_one() {
    let ((database, one, two), mut make) = (two().await, Maker::new());
    let update =
        NewUpdate { update: "1".into(), peer: "7".into(), message: "a".into(), body: "hi".into() };
    let (late, ledger) = (&one.store.connectors, &two.store.connectors);
    late.store_updates(&account(), vec![update], None, at(1)).await.unwrap();
    let id = late.open_updates(&account(), 9).await.unwrap()[0].id;
    assert!(late.begin_update(id).await.unwrap().is_some());
    assert_eq!(ledger.begin_update(id).await.unwrap(), None);
    let elsewhere = async |gateway: &OpenGateway| {
        let open = gateway.store.connectors.open_updates(&account(), 9).await.unwrap();
        open.iter().map(|update| update.is_elsewhere).collect::<Vec<_>>()
    };
    assert_eq!((elsewhere(&one).await, elsewhere(&two).await), (vec![false], vec![true]));
    let_die(&database, &two).await;
    assert_eq!(elsewhere(&two).await, [false]);
    assert_eq!(ledger.begin_update(id).await.unwrap().unwrap().attempts, 2);
    // In the first round the gateway does not know that it is dead, and in the second it does.
    for _ in 0..2 {
        let person = "anna".parse().unwrap();
        assert_eq!(late.promise_run(id, &person, make.run()).await.unwrap(), None);
        late.set_growing(id, "99").await.unwrap();
        late.fail_update(id, UpdateFailure::Dead, "late").await.unwrap();
        let answer = vec![part("7", Repeat::Safe)];
        assert!(!late.finish_update(id, answer, at(3)).await.unwrap());
        one.membership.beat().await.unwrap();
        assert_eq!(late.begin_update(id).await.unwrap(), None);
    }
    assert_eq!(next(&two).await, [], "nothing was queued");
    let open = ledger.open_updates(&account(), 9).await.unwrap();
    assert_eq!(
        (open[0].attempts, open[0].growing.as_deref(), open[0].run.as_ref()),
        (2, None, None)
    );
    assert!(ledger.finish_update(id, vec![part("7", Repeat::Safe)], at(4)).await.unwrap());
}
