use std::sync::Arc;

use onyx_storage::{
    AccountKey, ConnectorLedger, ConversationRow, DeadLetter, LetterKind, NewPart, NewUpdate,
    PairingCode, PeerChange, PeerKey, PeerKind, PeerState, Repeat, SendEnd, UpdateFailure,
};
use onyx_types::{IdGenerator, PersonId, Timestamp};

use super::Backend;
use crate::support::Maker;

pub(super) fn account() -> AccountKey {
    AccountKey { network: "telegram".to_owned(), account: "main".to_owned() }
}

fn peer(name: &str) -> PeerKey {
    PeerKey { account: account(), peer: name.to_owned() }
}

pub(super) fn update(id: &str, message: &str) -> NewUpdate {
    NewUpdate {
        update: id.to_owned(),
        peer: "7".to_owned(),
        message: message.to_owned(),
        body: format!("body of {id}"),
    }
}

pub(super) fn part(to: &str, key: &str, repeat: Repeat) -> NewPart {
    NewPart { peer: peer(to), key: key.to_owned(), body: format!("says {key}"), repeat }
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub(crate) async fn an_update_is_stored_once_by_its_number_and_by_its_message_together_with_the_cursor(
    on: Backend,
) {
    let ledger = &on.connectors;
    assert_eq!(ledger.cursor(&account()).await.unwrap(), None);
    let first = vec![update("1", "a"), update("2", "b")];
    assert_eq!(ledger.store_updates(&account(), first, Some("3".into()), at(1)).await.unwrap(), 2);
    let again = vec![update("2", "b"), update("9", "b"), update("3", "c")];
    assert_eq!(ledger.store_updates(&account(), again, Some("4".into()), at(2)).await.unwrap(), 1);
    assert_eq!(ledger.cursor(&account()).await.unwrap().as_deref(), Some("4"));
    let open = ledger.open_updates(&account(), 10).await.unwrap();
    let messages: Vec<_> = open.iter().map(|update| update.message.as_str()).collect();
    assert_eq!(messages, ["a", "b", "c"]);
}

pub(crate) async fn a_promised_run_stays_the_promised_one_and_an_update_ends_once_with_its_answer(
    on: Backend,
) {
    let mut make = Maker::new();
    let ledger = &on.connectors;
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

pub(crate) async fn each_peer_is_sent_its_first_message_and_what_a_crash_left_is_repeated_or_unknown(
    on: Backend,
) {
    let ledger = &on.connectors;
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
    assert!(ledger.begin_send(heads[0].1).await.unwrap());
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

pub(crate) async fn only_so_many_strangers_wait_until_codes_expire(on: Backend) {
    let ledger = &on.connectors;
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

pub(crate) async fn mail_is_kept_once_for_its_receiver_until_it_is_old(on: Backend) {
    let ledger = &on.connectors;
    let first = ledger.put_mail(&peer("a"), "k1", "hello", at(1)).await.unwrap();
    assert_eq!(ledger.put_mail(&peer("a"), "k1", "hello", at(2)).await.unwrap(), first);
    let second = ledger.put_mail(&peer("a"), "k2", "again", at(9)).await.unwrap();
    ledger.put_mail(&peer("b"), "k3", "for somebody else", at(9)).await.unwrap();
    let texts = async |after: i64| {
        let mail = on.connectors.mail_after(&peer("a"), after, 10).await.unwrap();
        mail.into_iter().map(|mail| mail.text).collect::<Vec<_>>()
    };
    assert_eq!(texts(0).await, ["hello", "again"]);
    assert_eq!(texts(first).await, ["again"]);
    assert_eq!(texts(second).await, Vec::<String>::new());
    ledger.forget_before(&account(), at(5)).await.unwrap();
    assert_eq!(texts(0).await, ["again"]);
}

pub(crate) async fn of_many_who_finish_an_update_or_begin_a_send_one_does(on: Backend) {
    let updates = vec![update("1", "a")];
    on.connectors.store_updates(&account(), updates, None, at(1)).await.unwrap();
    let id = on.connectors.open_updates(&account(), 1).await.unwrap()[0].id;
    on.connectors.begin_update(id).await.unwrap();
    let mut tries = tokio::task::JoinSet::new();
    for number in 0..12 {
        let ledger = Arc::clone(&on.connectors);
        let parts = vec![part("7", &format!("answer {number}"), Repeat::Unsafe)];
        tries.spawn(async move { ledger.finish_update(id, parts, at(2)).await.unwrap() });
    }
    assert_eq!(tries.join_all().await.into_iter().filter(|won| *won).count(), 1);
    let waiting = on.connectors.next_parts(&account(), 10).await.unwrap();
    assert_eq!(waiting.len(), 1, "one answer is sent");
    let mut tries = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let (ledger, id) = (Arc::clone(&on.connectors), waiting[0].id);
        tries.spawn(async move { ledger.begin_send(id).await.unwrap() });
    }
    assert_eq!(tries.join_all().await.into_iter().filter(|won| *won).count(), 1);
}

pub(crate) async fn dead_letters_wait_for_a_decision(on: Backend) {
    let ledger = &on.connectors;
    let updates = vec![update("1", "a"), update("2", "b")];
    ledger.store_updates(&account(), updates, None, at(5)).await.unwrap();
    let open = ledger.open_updates(&account(), 9).await.unwrap();
    for update in &open {
        ledger.begin_update(update.id).await.unwrap();
    }
    ledger.set_growing(open[0].id, "42").await.unwrap();
    ledger.fail_update(open[0].id, UpdateFailure::Dead, "no answer").await.unwrap();
    ledger.fail_update(open[1].id, UpdateFailure::Again(at(77)), "busy").await.unwrap();
    ledger.queue_parts(vec![part("7", "p", Repeat::Safe)], at(9)).await.unwrap();
    let sent = ledger.next_parts(&account(), 9).await.unwrap()[0].id;
    assert!(ledger.begin_send(sent).await.unwrap());
    ledger.end_send(sent, SendEnd::Dead("blocked".into())).await.unwrap();
    let letters = ledger.dead_letters(&account(), 9).await.unwrap();
    let [DeadLetter::Out(out), DeadLetter::In(came)] = &letters[..] else { panic!("{letters:?}") };
    assert_eq!((out.why.as_str(), came.why.as_str()), ("blocked", "no answer"));
    assert_eq!((came.growing.as_deref(), came.attempts), (Some("42"), 1));
    assert_eq!(ledger.dead_letters(&account(), 1).await.unwrap().len(), 1);
    let waiting = ledger.open_updates(&account(), 9).await.unwrap();
    assert_eq!((waiting.len(), waiting[0].not_before), (1, at(77)));
    assert!(ledger.retry_letter(&account(), LetterKind::In, came.id).await.unwrap());
    assert!(ledger.drop_letter(&account(), LetterKind::Out, out.id).await.unwrap());
    assert!(!ledger.drop_letter(&account(), LetterKind::Out, out.id).await.unwrap());
    let again = ledger.open_updates(&account(), 9).await.unwrap();
    assert_eq!(again.iter().map(|update| update.attempts).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(ledger.figures(&account()).await.unwrap().dead, 0);
    let again = SendEnd::Again {
        body: "shorter".into(),
        repeat: Repeat::Unsafe,
        not_before: at(99),
        why: "too long".into(),
    };
    ledger.queue_parts(vec![part("8", "q", Repeat::Safe)], at(10)).await.unwrap();
    let queued = ledger.next_parts(&account(), 9).await.unwrap()[0].id;
    ledger.begin_send(queued).await.unwrap();
    ledger.end_send(queued, again).await.unwrap();
    let queued = ledger.next_parts(&account(), 9).await.unwrap().remove(0);
    assert_eq!((queued.body.as_str(), queued.repeat), ("shorter", Repeat::Unsafe));
    assert_eq!((queued.not_before, queued.attempts), (at(99), 1));
}

pub(crate) async fn peers_have_conversations_and_numbered_proposals_until_they_are_removed(
    on: Backend,
) {
    let (ledger, mut make, mut mint) = (&on.connectors, Maker::new(), IdGenerator::new(3));
    let change = PeerChange {
        key: peer("1"),
        kind: PeerKind::Group,
        name: "Family".into(),
        state: PeerState::Paired,
        person: Some("anna".parse().unwrap()),
        code: None,
        at: at(3),
    };
    let row = ledger.put_peer(change.clone(), 0).await.unwrap().expect("a paired peer is met");
    assert_eq!(ledger.peer(&peer("1")).await.unwrap().as_ref(), Some(&row));
    let moved = PeerChange { state: PeerState::Blocked, at: at(8), ..change };
    let blocked = ledger.put_peer(moved, 0).await.unwrap().unwrap();
    assert_eq!((blocked.id, blocked.first_seen, blocked.last_seen), (row.id, at(3), at(8)));
    assert_eq!(ledger.conversation(row.id, "").await.unwrap(), ConversationRow::default());
    let talk = ConversationRow {
        session: Some(make.key().session),
        agent: Some("main".parse().unwrap()),
        model: Some("mine/m".into()),
    };
    ledger.put_conversation(row.id, "", talk.clone()).await.unwrap();
    assert_eq!(ledger.conversation(row.id, "").await.unwrap(), talk);
    assert_eq!(ledger.conversation(row.id, "other").await.unwrap(), ConversationRow::default());
    let drafts = [mint.draft(make.tick()), mint.draft(make.tick())];
    let mut numbers = tokio::task::JoinSet::new();
    for draft in drafts.into_iter().cycle().take(8) {
        let (ledger, id) = (Arc::clone(&on.connectors), row.id);
        numbers.spawn(async move { ledger.number_proposal(id, draft).await.unwrap() });
    }
    let mut numbers = numbers.join_all().await;
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 1, 1, 1, 2, 2, 2, 2]);
    let first = ledger.number_proposal(row.id, drafts[0]).await.unwrap();
    assert_eq!(ledger.proposal(row.id, first).await.unwrap(), Some(drafts[0]));
    assert_eq!(ledger.proposal(row.id, 3).await.unwrap(), None);
    ledger.remove_peer(&peer("1")).await.unwrap();
    ledger.remove_peer(&peer("1")).await.unwrap();
    assert_eq!(ledger.peer(&peer("1")).await.unwrap(), None);
    assert_eq!(ledger.proposal(row.id, first).await.unwrap(), None);
    assert_eq!(ledger.conversation(row.id, "").await.unwrap(), ConversationRow::default());
}
