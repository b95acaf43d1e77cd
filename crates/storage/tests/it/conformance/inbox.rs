use onyx_storage::{Delivery, InboxRow, LeftMessage};
use onyx_types::{SessionKey, TurnId, UserContent, UserTurn, View};

use super::Backend;
use super::sessions::meta;
use crate::support::Maker;

pub(super) fn row(make: &mut Maker, text: &str, delivery: Delivery) -> InboxRow {
    InboxRow {
        turn: make.user(text).id,
        delivery,
        words: UserTurn {
            content: UserContent::Text(text.into()),
            view: Some(View { entity_type: "page".into(), entity_id: "7".into() }),
            context: None,
            pieces: Vec::new(),
            client_id: Some(format!("client-{text}")),
            withdrawn: false,
        },
        received_at: make.tick(),
    }
}

pub(crate) async fn words_wait_in_the_order_they_came(on: Backend) {
    let mut make = Maker::new();
    let (key, other) = (make.key(), make.key());
    let rows = [
        row(&mut make, "steer", Delivery::Steer),
        row(&mut make, "then", Delivery::FollowUp),
        row(&mut make, "steer again", Delivery::Steer),
    ];
    for row in &rows {
        on.ledger.put_inbox(&key, row.clone()).await.unwrap();
    }
    assert_eq!(on.ledger.inbox(&key).await.unwrap(), rows);
    assert_eq!(on.ledger.inbox(&other).await.unwrap(), []);
    let foreign = SessionKey { person: "bert".parse().unwrap(), ..key };
    assert_eq!(on.ledger.inbox(&foreign).await.unwrap(), []);
}

pub(crate) async fn words_that_still_wait_can_be_changed(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let waiting = row(&mut make, "wait", Delivery::OnRequest);
    on.ledger.put_inbox(&key, waiting.clone()).await.unwrap();
    assert_eq!(on.ledger.spoken_to().await.unwrap(), [(key.person.clone(), key.session)]);
    let mut changed = waiting;
    changed.words.withdrawn = true;
    assert!(on.ledger.change_inbox(&key, changed.clone()).await.unwrap());
    assert_eq!(on.ledger.inbox(&key).await.unwrap(), std::slice::from_ref(&changed));
    on.ledger.clear_inbox(&key, &[changed.turn]).await.unwrap();
    assert!(!on.ledger.change_inbox(&key, changed).await.unwrap());
    assert_eq!(on.ledger.inbox(&key).await.unwrap(), []);
    assert_eq!(on.ledger.spoken_to().await.unwrap(), []);
}

pub(crate) async fn messages_for_after_an_answer_are_left_and_others_are_not(on: Backend) {
    let mut make = Maker::new();
    let session = meta(&mut make, 5);
    let person = make.key().person;
    let key = SessionKey {
        person: person.clone(),
        agent: session.agent.clone(),
        session: session.session_id,
    };
    on.ledger.put_session(&person, &session).await.unwrap();
    let rows = [
        row(&mut make, "steer", Delivery::Steer),
        row(&mut make, "first", Delivery::FollowUp),
        row(&mut make, "asked for", Delivery::OnRequest),
        row(&mut make, "second", Delivery::FollowUp),
    ];
    for row in &rows {
        on.ledger.put_inbox(&key, row.clone()).await.unwrap();
    }
    let left = |row: &InboxRow| LeftMessage {
        person: person.clone(),
        session: key.session,
        turn: row.turn,
    };
    assert_eq!(on.ledger.left_messages().await.unwrap(), [left(&rows[1]), left(&rows[3])]);
    on.ledger.clear_inbox(&key, &[rows[1].turn]).await.unwrap();
    assert_eq!(on.ledger.left_messages().await.unwrap(), [left(&rows[3])]);
    on.ledger.delete_session(&person, key.session).await.unwrap();
    assert_eq!(on.ledger.left_messages().await.unwrap(), []);
}

pub(crate) async fn words_go_by_turn_and_with_the_session(on: Backend) {
    let mut make = Maker::new();
    let (key, other) = (make.key(), make.key());
    let rows = ["a", "b", "c"].map(|text| row(&mut make, text, Delivery::Steer));
    for row in &rows {
        on.ledger.put_inbox(&key, row.clone()).await.unwrap();
        on.ledger.put_inbox(&other, row.clone()).await.unwrap();
    }
    let delivered: Vec<TurnId> = vec![rows[0].turn, rows[2].turn];
    on.ledger.clear_inbox(&key, &delivered).await.unwrap();
    on.ledger.clear_inbox(&key, &delivered).await.unwrap();
    assert_eq!(on.ledger.inbox(&key).await.unwrap(), rows[1..2]);
    on.ledger.delete_session(&key.person, key.session).await.unwrap();
    assert_eq!(on.ledger.inbox(&key).await.unwrap(), []);
    assert_eq!(on.ledger.inbox(&other).await.unwrap(), rows);
}
