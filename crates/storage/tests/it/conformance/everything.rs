//! Rows of every important kind, for tests of what happens to a whole database.

use onyx_storage::{
    ChunkId, Delivery, DraftFilter, Expect, ObjectKind, Repeat, Role, SessionChange, SessionFilter,
};
use onyx_types::{IdGenerator, Origin, RunStatus, SessionKey};

use super::{
    Backend, acceptances, accounts, connectors, drafts, facts, inbox, jobs, origins, runs, secrets,
};
use crate::support::{Maker, TTL};

/// Stores something of each kind, and returns the session to which most of it belongs.
pub(crate) async fn fill(on: &Backend) -> SessionKey {
    let mut make = Maker::new();
    let key = fill_session(on, &mut make).await;
    fill_ledgers(on, &mut make, &key).await;
    fill_index(on).await;
    let large = "All work. ".repeat(30_000);
    for (path, text) in [("small.md", "Small."), ("large.md", large.as_str())] {
        let path = path.parse().unwrap();
        on.objects.put(&path, text.as_bytes(), Expect::Absent).await.unwrap();
    }
    key
}

/// Makes a session with a run that ended and one that did not, and with turns that are sealed and not.
async fn fill_session(on: &Backend, make: &mut Maker) -> SessionKey {
    let key = make.key();
    let turns = make.users(["one", "two", "three", "four", "five"]);
    let ended = runs::begin(make, &key, turns[0].id);
    on.ledger.begin_run(ended.clone()).await.unwrap();
    let outcome = runs::outcome(make, &ended, RunStatus::Done);
    on.ledger.end_run(outcome).await.unwrap();
    let open = runs::begin(make, &key, turns[4].id);
    on.ledger.begin_run(open).await.unwrap();
    let lease = on.leases.acquire(&key, TTL).await.unwrap();
    for turn in &turns {
        on.turns.append(&lease, std::slice::from_ref(turn)).await.unwrap();
    }
    on.leases.release(&lease).await.unwrap();
    let tag = SessionChange { tags: Some(vec!["garden".to_owned()]), ..SessionChange::default() };
    on.ledger.change_session(&key.person, key.session, &tag).await.unwrap();
    let words = inbox::row(make, "and then?", Delivery::FollowUp);
    on.ledger.put_inbox(&key, words).await.unwrap();
    key
}

async fn fill_ledgers(on: &Backend, make: &mut Maker, key: &SessionKey) {
    let draft = drafts::draft(make, &mut IdGenerator::new(11), key, &["a.md"]);
    drafts::put(on, &draft).await;
    jobs::put(on, &jobs::row("morning")).await;
    assert!(on.jobs.add_slot(jobs::queued("morning", 3)).await.unwrap());
    let accepted = acceptances::row(make, "anna", "skill", "its text");
    let entry = acceptances::audit(make, &key.person);
    on.acceptances.accept(vec![accepted], entry).await.unwrap();
    on.accounts.add_person(accounts::person(make, "anna", Role::Owner)).await.unwrap();
    on.accounts.set_password(&key.person, "a hash".to_owned()).await.unwrap();
    on.accounts.put_credential(accounts::credential(make, 7, &["anna"])).await.unwrap();
    on.secrets.put_secrets(vec![secrets::secret(make, "anna", "thing")]).await.unwrap();
    let (account, at) = (connectors::account(), make.tick());
    let updates = vec![connectors::update("1", "a")];
    on.connectors.store_updates(&account, updates, Some("2".to_owned()), at).await.unwrap();
    let parts = vec![connectors::part("7", "a", Repeat::Safe)];
    on.connectors.queue_parts(parts, at).await.unwrap();
    let note = origins::note("small.md", Some("Small."), Origin::External);
    on.files.origins().note(origins::ANNA, vec![note]).await.unwrap();
}

async fn fill_index(on: &Backend) {
    let (_, chunks) = facts::source(on, "anna", "small.md", &["one", "two"]).await;
    let fact = facts::fact("Tom", "lives in", "Bern", ObjectKind::Entity);
    on.chunks.keep_facts(vec![facts::found(chunks[0], "rules", vec![fact])]).await.unwrap();
    on.chunks.keep_vectors("mini", vec![(chunks[0], vec![0.5, -1.0])]).await.unwrap();
    on.chunks.keep_tokens("mini", vec![(chunks[0], vec![1, 2, 3])]).await.unwrap();
}

/// What the stores answer about all of it, for comparing the answers of two of them.
pub(crate) async fn answers(on: &Backend, key: &SessionKey) -> Vec<String> {
    let person = &key.person;
    let mut answers = vec![
        format!("{:?}", on.turns.tail(key, None, 99).await.unwrap()),
        format!("{:?}", on.ledger.sessions(person, &SessionFilter::default()).await.unwrap()),
        format!("{:?}", on.ledger.open_runs(key).await.unwrap()),
        format!("{:?}", on.ledger.inbox(key).await.unwrap()),
        format!("{:?}", on.ledger.usage("2000-01-01", "2100-01-01").await.unwrap()),
        format!("{:?}", on.ledger.audit(person, None, 99).await.unwrap()),
        format!("{:?}", on.ledger.verify_audit(person).await.unwrap()),
        format!("{:?}", on.drafts.drafts(person, &DraftFilter::default()).await.unwrap()),
        format!("{:?}", on.jobs.jobs().await.unwrap()),
        format!("{:?}", on.jobs.open_slots().await.unwrap()),
        format!("{:?}", on.accounts.people().await.unwrap()),
        format!("{:?}", on.accounts.credentials().await.unwrap()),
        format!("{:?}", on.secrets.secrets().await.unwrap()),
    ];
    let account = connectors::account();
    answers.push(format!("{:?}", on.connectors.cursor(&account).await.unwrap()));
    answers.push(format!("{:?}", on.connectors.open_updates(&account, 9).await.unwrap()));
    answers.push(format!("{:?}", on.connectors.next_parts(&account, 9).await.unwrap()));
    let sources = on.chunks.sources(Some(person)).await.unwrap();
    for source in &sources {
        answers.push(format!("{:?}", on.chunks.chunks(&source.key).await.unwrap()));
    }
    answers.push(format!("{sources:?}"));
    answers.push(format!("{:?}", on.chunks.vectors_after("mini", ChunkId(0), 9).await.unwrap()));
    for path in ["small.md", "large.md"] {
        let object = on.objects.get(&path.parse().unwrap(), 1_000_000).await.unwrap();
        answers.push(format!("{object:?}"));
    }
    answers
}
