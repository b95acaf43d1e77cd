//! Tests of what gateways have in common: agreed values, the config, notices, and which gateway
//! holds what.

use std::time::Duration;

use onyx_storage::{
    ClusterChanges, Expect, GatewaySettings, JobSlot, PersonRow, PollPosition, Role, SealedSecret,
    SecretId, ServerSettings, SlotClaim, SlotDelivery, SlotTrigger, StoreError,
};
use onyx_types::Timestamp;

use super::servers::{OpenGateway, TestDatabase};
use crate::support::Maker;

const LIFE: Duration = Duration::from_secs(3600);
const LONG: Duration = Duration::from_secs(7200);

async fn open(database: &TestDatabase, id: &str) -> OpenGateway {
    let gateway = GatewaySettings { life: LIFE, ..GatewaySettings::new(id, "") };
    database.open_with(ServerSettings { gateway, ..database.settings(id) }).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_value_counts_for_all() {
    let database = TestDatabase::migrated().await;
    let (one, two) = (open(&database, "one").await, open(&database, "two").await);
    let (first, second) =
        tokio::join!(one.membership.agree("key", "a"), two.membership.agree("key", "b"));
    let agreed = first.unwrap();
    assert_eq!(agreed, second.unwrap());
    assert_eq!(one.membership.agree("key", "c").await.unwrap(), agreed);
    assert_eq!(two.membership.agree("other", "c").await.unwrap(), "c");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_config_has_one_writer_a_version_and_all_hear_of_it() {
    let database = TestDatabase::migrated().await;
    let (one, two) = (open(&database, "one").await, open(&database, "two").await);
    assert_eq!(one.membership.config().await.unwrap(), None);
    let mut heard = PollPosition::default();
    assert_eq!(two.membership.poll(&mut heard, &[]).await.unwrap(), ClusterChanges::default());
    assert_eq!(one.membership.put_config(0, "{ a: 1 }").await.unwrap(), 1);
    let (left, right) = tokio::join!(
        one.membership.put_config(1, "{ left }"),
        two.membership.put_config(1, "{ right }")
    );
    let conflicts = [&left, &right].map(|put| matches!(put, Err(StoreError::Conflict)));
    assert!(conflicts[0] != conflicts[1], "{left:?} {right:?}");
    let now = two.membership.config().await.unwrap().unwrap();
    assert_eq!(
        (now.version, now.text.as_str()),
        (2, if conflicts[0] { "{ right }" } else { "{ left }" })
    );
    assert!(!format!("{now:?}").contains("left") && !format!("{now:?}").contains("right"));
    assert!(matches!(one.membership.put_config(5, "{}").await, Err(StoreError::Conflict)));
    let changes = two.membership.poll(&mut heard, &[]).await.unwrap();
    assert_eq!(changes, ClusterChanges { config: true, ..ClusterChanges::default() });
    assert_eq!(
        two.membership.poll(&mut heard, &[]).await.unwrap(),
        ClusterChanges::default(),
        "once"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_change_of_accounts_and_secrets_is_heard_of() {
    let database = TestDatabase::migrated().await;
    let (one, two) = (open(&database, "one").await, open(&database, "two").await);
    let (mut make, mut heard) = (Maker::new(), PollPosition::default());
    two.membership.poll(&mut heard, &[]).await.unwrap();
    let accounts = &one.store.accounts;
    let anna: onyx_types::PersonId = "anna".parse().unwrap();
    let row =
        PersonRow { person: anna.clone(), name: None, role: Role::Member, added_at: make.tick() };
    let mut hear = async || {
        let changes = two.membership.poll(&mut heard, &[]).await.unwrap();
        (changes.accounts, changes.secrets)
    };
    accounts.add_person(row.clone()).await.unwrap();
    assert_eq!(hear().await, (true, false));
    assert!(accounts.add_person(row).await.is_err());
    assert_eq!(hear().await, (false, false), "nothing happened");
    accounts.set_password(&anna, "hash".to_owned()).await.unwrap();
    assert_eq!(hear().await, (true, false));
    accounts.remove_password(&anna).await.unwrap();
    assert_eq!(hear().await, (true, false));
    accounts.remove_credentials(&[onyx_types::CredentialId::from_bytes([1; 16])]).await.unwrap();
    assert_eq!(hear().await, (true, false));
    accounts.remove_person(&anna).await.unwrap();
    assert_eq!(hear().await, (true, false));
    let id = SecretId { person: anna, provider: "home".to_owned(), name: "x".to_owned() };
    let secret = SealedSecret {
        id: id.clone(),
        key: "k".to_owned(),
        nonce: vec![1],
        sealed: vec![2],
        updated_at: make.tick(),
    };
    one.store.secrets.put_secrets(vec![secret]).await.unwrap();
    assert_eq!(hear().await, (false, true));
    one.store.secrets.remove_secret(&id).await.unwrap();
    assert_eq!(hear().await, (false, true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_another_gateway_is_heard_of_once() {
    let database = TestDatabase::migrated().await;
    let (one, two) = (open(&database, "one").await, open(&database, "two").await);
    let mut heard = PollPosition::default();
    let mut gone = async || two.membership.poll(&mut heard, &[]).await.unwrap().gateway_gone;
    assert!(!gone().await);
    assert!(!gone().await, "both live");
    database.pass(LIFE).await;
    two.membership.beat().await.unwrap();
    assert!(gone().await, "one died");
    assert!(!gone().await, "once");
    one.membership.beat().await.unwrap();
    assert!(!gone().await, "it lives again");
    one.membership.drain().await.unwrap();
    assert!(gone().await, "it left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notices_reach_the_others_once_and_are_forgotten() {
    let database = TestDatabase::migrated().await;
    let (one, two) = (open(&database, "one").await, open(&database, "two").await);
    let (mut of_one, mut of_two) = (PollPosition::default(), PollPosition::default());
    one.membership.poll(&mut of_one, &["before".to_owned()]).await.unwrap();
    assert_eq!(
        two.membership.poll(&mut of_two, &[]).await.unwrap().notices,
        [""; 0],
        "it looks around first"
    );
    one.membership.poll(&mut of_one, &["a".to_owned(), "b".to_owned()]).await.unwrap();
    one.membership.poll(&mut of_one, &["c".to_owned()]).await.unwrap();
    assert_eq!(two.membership.poll(&mut of_two, &[]).await.unwrap().notices, ["a", "b", "c"]);
    assert_eq!(two.membership.poll(&mut of_two, &[]).await.unwrap().notices, [""; 0]);
    assert_eq!(one.membership.poll(&mut of_one, &[]).await.unwrap().notices, [""; 0], "its own");
    let sql = database.sql().await;
    // A transaction that began earlier becomes visible later than one with a greater number.
    sql.batch_execute(
        "INSERT INTO gateway_notices (id, gateway, body) OVERRIDING SYSTEM VALUE VALUES (0, 'one', 'late')",
    )
    .await
    .unwrap();
    assert_eq!(two.membership.poll(&mut of_two, &[]).await.unwrap().notices, ["late"]);
    assert_eq!(two.membership.forget_notices().await.unwrap(), 0);
    sql.batch_execute("UPDATE gateway_notices SET noted = noted - INTERVAL '1 hour'")
        .await
        .unwrap();
    assert_eq!(two.membership.forget_notices().await.unwrap(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_could_not_poll_hears_once_what_it_missed() {
    let database = TestDatabase::migrated().await;
    let (one, two) = (open(&database, "one").await, open(&database, "two").await);
    let (mut of_one, mut of_two) = (PollPosition::default(), PollPosition::default());
    two.membership.poll(&mut of_two, &[]).await.unwrap();
    one.membership.poll(&mut of_one, &["heard".to_owned()]).await.unwrap();
    assert_eq!(two.membership.poll(&mut of_two, &[]).await.unwrap().notices, ["heard"]);
    one.membership.poll(&mut of_one, &["missed".to_owned()]).await.unwrap();
    let gap = Duration::from_secs(60);
    two.clock.advance(gap);
    let sql = database.sql().await;
    sql.batch_execute("UPDATE gateway_notices SET noted = noted - INTERVAL '60 seconds'")
        .await
        .unwrap();
    assert_eq!(two.membership.poll(&mut of_two, &[]).await.unwrap().notices, ["missed"]);
    assert_eq!(two.membership.poll(&mut of_two, &[]).await.unwrap().notices, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_holder_of_a_session_is_found_where_it_listens() {
    let (database, mut make) = (TestDatabase::migrated().await, Maker::new());
    let (one, two) = (open(&database, "one").await, open(&database, "two").await);
    one.membership.advertise("http://127.0.0.1:7").await.unwrap();
    let key = make.key();
    assert_eq!(two.membership.holder(&key).await.unwrap(), None);
    let lease = one.store.leases.acquire(&key, LONG).await.unwrap();
    let holder = two.membership.holder(&key).await.unwrap().unwrap();
    assert_eq!((holder.id.as_str(), holder.url.as_str()), ("one", "http://127.0.0.1:7"));
    one.store.leases.release(&lease).await.unwrap();
    assert_eq!(two.membership.holder(&key).await.unwrap(), None);
    one.store.leases.acquire(&key, LONG).await.unwrap();
    one.membership.drain().await.unwrap();
    assert_eq!(two.membership.holder(&key).await.unwrap(), None, "it has left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_of_a_dead_gateway_is_left_and_one_of_a_living_is_not() {
    let database = TestDatabase::migrated().await;
    let (one, two) = (open(&database, "one").await, open(&database, "two").await);
    let at = Timestamp::from_millis(5);
    let person: onyx_types::PersonId = "anna".parse().unwrap();
    let slot = JobSlot::queued(person, "daily".parse().unwrap(), at, SlotTrigger::Person);
    one.store.jobs.add_slot(slot.clone()).await.unwrap();
    assert!(two.store.jobs.left_slots().await.unwrap().is_empty(), "it waits and is nobody's");
    let claim = SlotClaim { slot: slot.key(), run: None, started_at: at, most: 9 };
    assert!(one.store.jobs.claim_slot(claim.clone()).await.unwrap());
    assert!(!two.store.jobs.claim_slot(claim).await.unwrap());
    assert!(two.store.jobs.left_slots().await.unwrap().is_empty());
    assert_eq!(
        one.store.jobs.left_slots().await.unwrap().len(),
        1,
        "its own, to be told from those at work"
    );
    database.pass(LIFE).await;
    two.membership.beat().await.unwrap();
    assert_eq!(two.store.jobs.left_slots().await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_was_taken_for_dead_does_not_record_how_a_delivery_ended() {
    let database = TestDatabase::migrated().await;
    let (one, two) = (open(&database, "one").await, open(&database, "two").await);
    let at = Timestamp::from_millis(5);
    let person: onyx_types::PersonId = "anna".parse().unwrap();
    let queued = JobSlot::queued(person, "daily".parse().unwrap(), at, SlotTrigger::Person);
    let slot = JobSlot { delivery: Some(SlotDelivery::Pending), ..queued };
    one.store.jobs.add_slot(slot.clone()).await.unwrap();
    let (key, duty) = (slot.key(), slot.key().delivery_duty());
    let frozen = one.store.duties.own(&duty).await.unwrap().unwrap();
    assert_eq!(two.store.duties.own(&duty).await.unwrap(), None, "one gateway delivers it");
    database.pass(LIFE).await;
    two.membership.beat().await.unwrap();
    let owned = two.store.duties.own(&duty).await.unwrap().unwrap();
    let (one, two) = (&one.store.jobs, &two.store.jobs);
    assert!(!one.set_delivery(&key, &frozen, SlotDelivery::Failed, None).await.unwrap());
    assert!(two.set_delivery(&key, &owned, SlotDelivery::Delivered, None).await.unwrap());
    let slot = two.slot(&key).await.unwrap().unwrap();
    assert_eq!(slot.delivery, Some(SlotDelivery::Delivered));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whole_outputs_are_found_through_any_gateway() {
    let database = TestDatabase::migrated().await;
    let (one, two) = (open(&database, "one").await, open(&database, "two").await);
    let key = "anna/x/y.txt".parse().unwrap();
    let text = "long ".repeat(100_000);
    one.membership.artifacts().put(&key, text.as_bytes(), Expect::Absent).await.unwrap();
    let found = two.membership.artifacts().get(&key, 1 << 20).await.unwrap().unwrap();
    assert_eq!(found.bytes, text.as_bytes());
    assert!(two.store.files.people().await.unwrap().is_empty(), "they are nobody's files");
}
