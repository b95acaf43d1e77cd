use std::time::Duration;

use onyx_storage::{CredentialKind, CredentialRow, PersonRow, Role, StoreError};
use onyx_types::{CredentialId, Grants, Hash, PersonId};

use super::Backend;
use crate::support::Maker;

pub(super) fn person(make: &mut Maker, id: &str, role: Role) -> PersonRow {
    let name = (role == Role::Owner).then(|| "The Owner".to_owned());
    PersonRow { person: id.parse().unwrap(), name, role, added_at: make.tick() }
}

pub(super) fn credential(make: &mut Maker, number: u8, people: &[&str]) -> CredentialRow {
    let created_at = make.tick();
    CredentialRow {
        credential: CredentialId::from_bytes([number; 16]),
        kind: CredentialKind::Token,
        people: people.iter().map(|id| id.parse().unwrap()).collect(),
        name: format!("number {number}"),
        hash: Hash::of(&[number]),
        grants: Grants::personal(),
        parent: None,
        created_at,
        expires_at: Some(created_at.saturating_add(Duration::from_secs(60))),
    }
}

pub(crate) async fn people_are_added_once_and_listed_by_name(on: Backend) {
    let mut make = Maker::new();
    let bert = person(&mut make, "bert", Role::Member);
    let anna = person(&mut make, "anna", Role::Owner);
    on.accounts.add_person(bert.clone()).await.unwrap();
    on.accounts.add_person(anna.clone()).await.unwrap();
    let again = on.accounts.add_person(PersonRow { role: Role::Owner, ..bert.clone() }).await;
    assert!(matches!(again, Err(StoreError::Conflict)), "{again:?}");
    assert_eq!(on.accounts.people().await.unwrap(), [anna, bert]);
}

pub(crate) async fn a_person_goes_with_password_and_credentials(on: Backend) {
    let mut make = Maker::new();
    let (anna, bert): (PersonId, PersonId) = ("anna".parse().unwrap(), "bert".parse().unwrap());
    for id in ["anna", "bert"] {
        on.accounts.add_person(person(&mut make, id, Role::Member)).await.unwrap();
        on.accounts.set_password(&id.parse().unwrap(), format!("hash of {id}")).await.unwrap();
    }
    let own = credential(&mut make, 1, &["bert"]);
    let household = credential(&mut make, 2, &["anna", "bert"]);
    for row in [&own, &household] {
        on.accounts.put_credential(row.clone()).await.unwrap();
    }
    on.accounts.remove_person(&bert).await.unwrap();
    assert_eq!(on.accounts.people().await.unwrap().len(), 1);
    assert_eq!(on.accounts.passwords().await.unwrap(), [(anna, "hash of anna".to_owned())]);
    assert_eq!(on.accounts.credentials().await.unwrap(), [household]);
    let again = on.accounts.remove_person(&bert).await;
    assert!(matches!(again, Err(StoreError::NotFound)), "{again:?}");
}

pub(crate) async fn a_password_is_replaced_and_removed(on: Backend) {
    let anna: PersonId = "anna".parse().unwrap();
    on.accounts.set_password(&anna, "one".to_owned()).await.unwrap();
    on.accounts.set_password(&anna, "two".to_owned()).await.unwrap();
    assert_eq!(on.accounts.passwords().await.unwrap(), [(anna.clone(), "two".to_owned())]);
    on.accounts.remove_password(&anna).await.unwrap();
    on.accounts.remove_password(&anna).await.unwrap();
    assert_eq!(on.accounts.passwords().await.unwrap(), []);
}

pub(crate) async fn credentials_come_back_as_they_were_put(on: Backend) {
    let mut make = Maker::new();
    let session = CredentialRow {
        kind: CredentialKind::Session,
        parent: Some(CredentialId::from_bytes([9; 16])),
        expires_at: None,
        grants: Grants::all(),
        ..credential(&mut make, 3, &["anna"])
    };
    let household = credential(&mut make, 1, &["anna", "bert"]);
    let refresh =
        CredentialRow { kind: CredentialKind::Refresh, ..credential(&mut make, 2, &["anna"]) };
    for row in [&session, &household, &refresh] {
        on.accounts.put_credential(row.clone()).await.unwrap();
    }
    let exchanged = CredentialRow { hash: Hash::of(b"next"), ..refresh };
    on.accounts.put_credential(exchanged.clone()).await.unwrap();
    let all = on.accounts.credentials().await.unwrap();
    assert_eq!(all, [household.clone(), exchanged.clone(), session.clone()]);
    let gone = [household.credential, session.credential, CredentialId::from_bytes([99; 16])];
    on.accounts.remove_credentials(&gone).await.unwrap();
    assert_eq!(on.accounts.credentials().await.unwrap(), [exchanged]);
}
