use onyx_storage::{
    AccountKey, ConnectorLedger, LetterKind, NewPart, NewUpdate, PairingCode, PeerChange, PeerKey,
    PeerKind, PeerState, Repeat, SendEnd, UpdateFailure,
};
use onyx_types::{PersonId, Timestamp};

use crate::support::{Maker, TempStore};

fn account() -> AccountKey {
    AccountKey { network: "telegram".to_owned(), account: "main".to_owned() }
}

fn peer(name: &str) -> PeerKey {
    PeerKey { account: account(), peer: name.to_owned() }
}

fn update(id: &str, message: &str) -> NewUpdate {
    NewUpdate {
        update: id.to_owned(),
        peer: "7".to_owned(),
        message: message.to_owned(),
        body: format!("body of {id}"),
    }
}

fn part(to: &str, key: &str, repeat: Repeat) -> NewPart {
    NewPart { peer: peer(to), key: key.to_owned(), body: format!("says {key}"), repeat }
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

#[tokio::test]
async fn an_update_is_stored_once_by_its_number_and_by_its_message_together_with_the_cursor() {
    let temp = TempStore::new().await;
    let ledger = &temp.store.connectors;
    assert_eq!(ledger.cursor(&account()).await.unwrap(), None);
    let first = vec![update("1", "a"), update("2", "b")];
    assert_eq!(ledger.store_updates(&account(), first, Some("3".into()), at(1)).await.unwrap(), 2);
    let again = vec![update("2", "b"), update("9", "b"), update("3", "c")];
    assert_eq!(ledger.store_updates(&account(), again, Some("4".into()), at(2)).await.unwrap(), 1);
    let temp = temp.reopen().await;
    let ledger = &temp.store.connectors;
    assert_eq!(ledger.cursor(&account()).await.unwrap().as_deref(), Some("4"));
    let open = ledger.open_updates(&account(), 10).await.unwrap();
    let messages: Vec<_> = open.iter().map(|update| update.message.as_str()).collect();
    assert_eq!(messages, ["a", "b", "c"]);
}

#[tokio::test]
async fn a_promised_run_stays_the_promised_one_and_an_update_ends_once_with_its_answer() {
    let (temp, mut make) = (TempStore::new().await, Maker::new());
    let ledger = &temp.store.connectors;
    let person: PersonId = "anna".parse().unwrap();
    ledger.store_updates(&account(), vec![update("1", "a")], None, at(1)).await.unwrap();
    let id = ledger.open_updates(&account(), 1).await.unwrap()[0].id;
    let (first, second) = (make.run(), make.run());
    assert_eq!(
        ledger.promise_run(id, &person, first).await.unwrap(),
        Some((person.clone(), first))
    );
    assert_eq!(
        ledger.promise_run(id, &person, second).await.unwrap(),
        Some((person.clone(), first))
    );
    assert_eq!(ledger.begin_update(id).await.unwrap().unwrap().attempts, 1);
    ledger.fail_update(id, UpdateFailure::Later(at(5)), "busy").await.unwrap();
    assert_eq!(ledger.begin_update(id).await.unwrap().unwrap().attempts, 1);
    let answer = vec![part("7", "in:1:0", Repeat::Unsafe)];
    assert!(ledger.finish_update(id, answer.clone(), at(2)).await.unwrap());
    assert!(
        !ledger.finish_update(id, vec![part("7", "other", Repeat::Safe)], at(3)).await.unwrap()
    );
    ledger.queue_parts(answer, at(4)).await.unwrap();
    let waiting = ledger.next_parts(&account(), 10).await.unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].body, "says in:1:0");
    assert_eq!(ledger.promise_run(id, &person, second).await.unwrap(), None);
}

#[tokio::test]
async fn each_peer_is_sent_its_first_message_and_what_a_crash_left_is_repeated_or_unknown() {
    let temp = TempStore::new().await;
    let ledger = &temp.store.connectors;
    let parts = vec![
        part("7", "a", Repeat::Unsafe),
        part("7", "b", Repeat::Safe),
        part("8", "c", Repeat::Safe),
    ];
    ledger.queue_parts(parts, at(1)).await.unwrap();
    let keys = async |ledger: &dyn ConnectorLedger| {
        let heads = ledger.next_parts(&account(), 10).await.unwrap();
        heads.into_iter().map(|part| (part.key, part.id)).collect::<Vec<_>>()
    };
    let heads = keys(&**ledger).await;
    assert_eq!(heads.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    for (_, id) in &heads {
        assert!(ledger.begin_send(*id).await.unwrap());
        assert!(!ledger.begin_send(*id).await.unwrap());
    }
    assert!(keys(&**ledger).await.is_empty(), "what is under way holds its peer");
    assert_eq!(ledger.settle_sends(&account()).await.unwrap(), 1);
    let heads = keys(&**ledger).await;
    assert_eq!(heads.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["b", "c"]);
    ledger.end_send(heads[0].1, SendEnd::Sent("99".into())).await.unwrap();
    assert!(ledger.is_clear(&peer("7")).await.unwrap());
    assert!(!ledger.is_clear(&peer("8")).await.unwrap());
    let figures = ledger.figures(&account()).await.unwrap();
    assert_eq!((figures.incoming, figures.outgoing, figures.dead), (0, 1, 1));
    let letters = ledger.dead_letters(&account(), 10).await.unwrap();
    assert_eq!(letters.len(), 1);
    let id = heads[0].1 - 1;
    assert!(ledger.retry_letter(&account(), LetterKind::Out, id).await.unwrap());
    assert!(!ledger.retry_letter(&account(), LetterKind::Out, id).await.unwrap());
    assert!(!ledger.drop_letter(&account(), LetterKind::In, id).await.unwrap());
}

#[tokio::test]
async fn only_so_many_strangers_wait_until_codes_expire() {
    let temp = TempStore::new().await;
    let ledger = &temp.store.connectors;
    let stranger = |name: &str, now: i64| PeerChange {
        key: peer(name),
        kind: PeerKind::Person,
        name: name.to_owned(),
        state: PeerState::Waiting,
        person: None,
        code: Some(PairingCode { code: format!("CODE{name}"), expires: at(now + 100) }),
        at: at(now),
    };
    assert!(ledger.put_peer(stranger("1", 0), 2).await.unwrap().is_some());
    assert!(ledger.put_peer(stranger("2", 50), 2).await.unwrap().is_some());
    assert!(ledger.put_peer(stranger("3", 60), 2).await.unwrap().is_none());
    assert!(ledger.put_peer(stranger("2", 60), 2).await.unwrap().is_some());
    assert!(ledger.put_peer(stranger("3", 100), 2).await.unwrap().is_some());
    let names: Vec<_> =
        ledger.peers(&account()).await.unwrap().into_iter().map(|peer| peer.name).collect();
    assert_eq!(names, ["3", "2"]);
}

#[tokio::test]
async fn mail_is_kept_once_for_its_receiver_until_it_is_old() {
    let temp = TempStore::new().await;
    let ledger = &temp.store.connectors;
    let first = ledger.put_mail(&peer("a"), "k1", "hello", at(1)).await.unwrap();
    assert_eq!(ledger.put_mail(&peer("a"), "k1", "hello", at(2)).await.unwrap(), first);
    let second = ledger.put_mail(&peer("a"), "k2", "again", at(9)).await.unwrap();
    ledger.put_mail(&peer("b"), "k3", "for somebody else", at(9)).await.unwrap();
    let texts = async |after: i64| {
        let mail = temp.store.connectors.mail_after(&peer("a"), after, 10).await.unwrap();
        mail.into_iter().map(|mail| mail.text).collect::<Vec<_>>()
    };
    assert_eq!(texts(0).await, ["hello", "again"]);
    assert_eq!(texts(first).await, ["again"]);
    assert_eq!(texts(second).await, Vec::<String>::new());
    ledger.forget_before(&account(), at(5)).await.unwrap();
    assert_eq!(texts(0).await, ["again"]);
}
