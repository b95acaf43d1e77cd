use onyx_storage::{SealedSecret, SecretId, StoreError};

use super::Backend;
use crate::support::Maker;

pub(super) fn secret(make: &mut Maker, person: &str, name: &str) -> SealedSecret {
    SealedSecret {
        id: SecretId {
            person: person.parse().unwrap(),
            provider: "home".to_owned(),
            name: name.to_owned(),
        },
        key: "k1".to_owned(),
        nonce: vec![0, 1, 255],
        sealed: vec![7; 40],
        updated_at: make.tick(),
    }
}

pub(crate) async fn secrets_come_back_as_they_were_put(on: Backend) {
    let mut make = Maker::new();
    let (other, mine) = (secret(&mut make, "bert", "mine"), secret(&mut make, "anna", "mine"));
    on.secrets.put_secrets(vec![other.clone(), mine]).await.unwrap();
    let fresh = SealedSecret { key: "k2".to_owned(), ..secret(&mut make, "anna", "mine") };
    on.secrets.put_secrets(vec![fresh.clone()]).await.unwrap();
    assert_eq!(on.secrets.secrets().await.unwrap(), [fresh, other]);
}

pub(crate) async fn a_removed_secret_is_gone_and_no_other(on: Backend) {
    let mut make = Maker::new();
    let (other, mine) = (secret(&mut make, "bert", "mine"), secret(&mut make, "anna", "mine"));
    on.secrets.put_secrets(vec![other.clone(), mine.clone()]).await.unwrap();
    on.secrets.remove_secret(&mine.id).await.unwrap();
    let again = on.secrets.remove_secret(&mine.id).await;
    assert!(matches!(again, Err(StoreError::NotFound)), "{again:?}");
    assert_eq!(on.secrets.secrets().await.unwrap(), [other]);
}
