use onyx_storage::{AccountKey, NewUpdate};
use onyx_types::Timestamp;

use crate::support::TempStore;

#[tokio::test]
async fn updates_and_how_far_an_account_was_read_outlive_the_process() {
    let temp = TempStore::new().await;
    let account = AccountKey { network: "telegram".to_owned(), account: "main".to_owned() };
    let update = NewUpdate {
        update: "1".to_owned(),
        peer: "7".to_owned(),
        message: "a".to_owned(),
        body: "{}".to_owned(),
    };
    let at = Timestamp::from_millis(1);
    let stored = temp.store.connectors.store_updates(&account, vec![update], Some("4".into()), at);
    assert_eq!(stored.await.unwrap(), 1);
    let temp = temp.reopen().await;
    let ledger = &temp.store.connectors;
    assert_eq!(ledger.cursor(&account).await.unwrap().as_deref(), Some("4"));
    let open = ledger.open_updates(&account, 10).await.unwrap();
    assert_eq!(open.iter().map(|update| update.message.as_str()).collect::<Vec<_>>(), ["a"]);
}
