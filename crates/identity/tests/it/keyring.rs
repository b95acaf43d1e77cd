//! Keeps the key of the secrets in a real keyring, which is GNOME's on a bus of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use onyx_identity::{KeyPlace, Keyring, Keys, Secrets};
use onyx_test_support::Desktop;
use onyx_types::ErrorCode::{KeyUnavailable, StorageFailed};

use crate::world::World;

const CANARY: &str = "sk-canary-0123456789-xyz";

/// The keyring of a desktop. On a busy machine it needs longer for a new value than a person would
/// wait.
fn of(desktop: &Desktop) -> Keyring {
    Keyring::on_bus(desktop.bus_address()).patiently(Duration::from_secs(60))
}

async fn open(world: &World, keyring: Option<Keyring>) -> Secrets {
    let keys = Keys::in_folder(Some(world.folder.path().join("keys"))).and_of(keyring);
    open_with(world, keys.rather_in_keyring()).await
}

async fn open_with(world: &World, keys: Keys) -> Secrets {
    let store = Arc::clone(&world.store.secrets);
    Secrets::open(store, Arc::clone(&world.clock) as _, keys).await.unwrap()
}

fn value(secrets: &Secrets, name: &str) -> Option<String> {
    secrets.get(name).unwrap().map(|secret| secret.reveal().to_owned())
}

fn place(secrets: &Secrets, name: &str) -> KeyPlace {
    secrets.list().into_iter().find(|secret| secret.name == name).unwrap().key
}

fn key_files(world: &World) -> usize {
    std::fs::read_dir(world.folder.path().join("keys")).map_or(0, Iterator::count)
}

#[tokio::test]
async fn with_a_keyring_the_key_lies_there_and_in_no_file() {
    let (world, desktop) = (World::new().await, Desktop::with_keyring().await);
    let empty = desktop.keyring_file();
    let secrets = open(&world, Some(of(&desktop))).await;
    secrets.set("mine", CANARY).await.unwrap();
    secrets.set("other", "another value").await.unwrap();
    assert_eq!((place(&secrets, "mine"), key_files(&world)), (KeyPlace::Keyring, 0));
    // The keyring's file has grown, so the key outlives the keyring's process.
    assert!(desktop.keyring_file().len() > empty.len());
    let rows = world.store.secrets.secrets().await.unwrap();
    assert_eq!(rows[0].key, rows[1].key);
    let again = open(&world, Some(of(&desktop))).await;
    assert_eq!(value(&again, "mine").as_deref(), Some(CANARY));
    assert_eq!(again.rotate().await.unwrap(), 2);
    let fresh = world.store.secrets.secrets().await.unwrap();
    assert_ne!(fresh[0].key, rows[0].key);
    assert_eq!(value(&open(&world, Some(of(&desktop))).await, "mine").unwrap(), CANARY);
    // The old key is deleted, so secrets that were sealed with it can no longer be opened.
    world.store.secrets.put_secrets(rows).await.unwrap();
    let stale = open(&world, Some(of(&desktop))).await;
    assert_eq!(stale.get("mine").unwrap_err().code, StorageFailed);
    stale.set("mine", "set again").await.unwrap();
    assert_eq!(value(&open(&world, Some(of(&desktop))).await, "mine").unwrap(), "set again");
}

#[tokio::test]
async fn without_a_bus_or_a_keyring_on_it_the_key_goes_into_a_file_at_once() {
    let bare = Desktop::bare().await;
    let nowhere = Keyring::on_bus("unix:path=/nonexistent/bus;tcp:host=127.0.0.1,port=1");
    let silent = tempfile::tempdir().unwrap();
    // A listener accepts the connection and never answers.
    let mute = std::os::unix::net::UnixListener::bind(silent.path().join("bus")).unwrap();
    let waiting = Keyring::on_bus(format!("unix:path={}/bus", silent.path().display()));
    for keyring in [None, Some(nowhere), Some(of(&bare)), Some(waiting)] {
        let world = World::new().await;
        let secrets = open(&world, keyring.clone()).await;
        let begun = Instant::now();
        secrets.set("mine", CANARY).await.unwrap();
        assert!(begun.elapsed() < Duration::from_secs(2), "{keyring:?}");
        assert_eq!((place(&secrets, "mine"), key_files(&world)), (KeyPlace::File, 1));
        assert_eq!(value(&open(&world, keyring).await, "mine").as_deref(), Some(CANARY));
    }
    drop(mute);
}

#[tokio::test]
async fn a_key_in_a_file_goes_on_working_beside_a_keyring_and_rotating_moves_it() {
    let (world, desktop) = (World::new().await, Desktop::with_keyring().await);
    open(&world, None).await.set("mine", CANARY).await.unwrap();
    let secrets = open(&world, Some(of(&desktop))).await;
    secrets.set("other", "another value").await.unwrap();
    assert_eq!((place(&secrets, "other"), key_files(&world)), (KeyPlace::File, 1));
    assert_eq!(secrets.rotate().await.unwrap(), 2);
    assert_eq!((place(&secrets, "mine"), key_files(&world)), (KeyPlace::Keyring, 0));
    assert_eq!(value(&open(&world, Some(of(&desktop))).await, "mine").unwrap(), CANARY);
    // With a configured folder, new keys go into it, and keys in the keyring are still found.
    let folder = Keys::in_folder(Some(world.folder.path().join("keys")));
    let chosen = open_with(&world, folder.and_of(Some(of(&desktop)))).await;
    assert_eq!(value(&chosen, "mine").as_deref(), Some(CANARY));
    chosen.rotate().await.unwrap();
    assert_eq!((place(&chosen, "mine"), key_files(&world)), (KeyPlace::File, 1));
}

#[tokio::test]
async fn a_keyring_that_is_locked_or_gone_is_told_and_no_other_key_takes_its_place() {
    let (world, mut desktop) = (World::new().await, Desktop::with_keyring().await);
    open(&world, Some(of(&desktop))).await.set("mine", CANARY).await.unwrap();
    let rows = world.store.secrets.secrets().await.unwrap();
    let closed = async |keyring: Option<Keyring>| {
        let secrets = open(&world, keyring).await;
        let fault = secrets.get("mine").unwrap_err();
        assert_eq!(fault.code, KeyUnavailable);
        assert!(fault.hint().contains("Unlock"), "{fault:?}");
        assert!(secrets.list()[0].error.as_ref().unwrap().contains("keyring"));
        assert_eq!(secrets.set("other", "value").await.unwrap_err().code, KeyUnavailable);
        assert_eq!(secrets.rotate().await.unwrap_err().code, KeyUnavailable);
        assert_eq!(world.store.secrets.secrets().await.unwrap(), rows);
        assert_eq!(key_files(&world), 0);
        secrets
    };
    desktop.lock().await;
    closed(Some(of(&desktop))).await;
    closed(None).await;
    desktop.log_out().await;
    let secrets = closed(Some(of(&desktop))).await;
    desktop.log_in().await;
    secrets.reopen().await;
    assert_eq!(value(&secrets, "mine").as_deref(), Some(CANARY));
    secrets.set("other", "value").await.unwrap();
    // The keyring must be open for each new secret, not just for the first.
    desktop.lock().await;
    assert_eq!(secrets.set("third", "value").await.unwrap_err().code, KeyUnavailable);
    // A person who removes the secrets can begin again, with a key in a file while the keyring is
    // locked.
    for name in ["mine", "other"] {
        secrets.remove(name).await.unwrap();
    }
    secrets.set("third", "value").await.unwrap();
    assert_eq!(place(&secrets, "third"), KeyPlace::File);
}
