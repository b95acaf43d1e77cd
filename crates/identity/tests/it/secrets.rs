use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onyx_identity::{Keys, Secrets};
use onyx_types::ErrorCode::{InvalidRequest, NotFound, StorageFailed};

use crate::world::World;

const CANARY: &str = "sk-canary-0123456789-xyz";

fn keys_of(world: &World) -> PathBuf {
    world.folder.path().join("keys")
}

async fn open(world: &World) -> Secrets {
    open_with(world, Some(keys_of(world))).await
}

async fn open_with(world: &World, keys: Option<PathBuf>) -> Secrets {
    let store = Arc::clone(&world.store.secrets);
    Secrets::open(store, Arc::clone(&world.clock) as _, Keys::in_folder(keys)).await.unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn value(secrets: &Secrets, name: &str) -> Option<String> {
    secrets.get(name).unwrap().map(|secret| secret.reveal().to_owned())
}

#[tokio::test]
async fn a_secret_is_kept_sealed_and_its_key_lies_elsewhere() {
    let world = World::new().await;
    let secrets = open(&world).await;
    assert_eq!(value(&secrets, "mine"), None);
    secrets.set("mine", CANARY).await.unwrap();
    secrets.set("other", "short").await.unwrap();
    let again = open(&world).await;
    assert_eq!(value(&again, "mine").as_deref(), Some(CANARY));
    let shown: Vec<_> = again.list().into_iter().map(|at| (at.name, at.hint)).collect();
    let expected = [("mine", "sk-can…xyz"), ("other", "…")];
    assert_eq!(shown, expected.map(|(name, hint)| (name.to_owned(), hint.to_owned())));
    let keys = files(&keys_of(&world));
    assert_eq!(keys.len(), 1);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&keys_of(&world)), mode(&keys[0])), (0o700, 0o600));
    let key = std::fs::read_to_string(&keys[0]).unwrap();
    let home = files(&world.folder.path().join("home"));
    for path in home.iter().filter(|path| path.is_file()) {
        let bytes = std::fs::read(path).unwrap();
        for text in [CANARY, key.trim()] {
            let found = bytes.windows(text.len()).any(|window| window == text.as_bytes());
            assert!(!found, "{}", path.display());
        }
    }
    again.remove("mine").await.unwrap();
    assert_eq!(value(&again, "mine"), None);
    assert_eq!(again.remove("mine").await.unwrap_err().code, NotFound);
}

#[tokio::test]
async fn rotating_seals_anew_and_throws_the_old_key_away() {
    let world = World::new().await;
    let secrets = open(&world).await;
    secrets.set("a", CANARY).await.unwrap();
    secrets.set("b", "another value").await.unwrap();
    let before = files(&keys_of(&world));
    let sealed = world.store.secrets.secrets().await.unwrap();
    assert_eq!(secrets.rotate().await.unwrap(), 2);
    let after = files(&keys_of(&world));
    assert_eq!((before.len(), after.len()), (1, 1));
    assert_ne!(before, after);
    for (old, new) in sealed.iter().zip(world.store.secrets.secrets().await.unwrap()) {
        assert_eq!((&old.id, old.updated_at), (&new.id, new.updated_at));
        assert!(old.key != new.key && old.sealed != new.sealed);
    }
    let again = open(&world).await;
    assert_eq!(value(&again, "a").as_deref(), Some(CANARY));
    assert_eq!(value(&again, "b").as_deref(), Some("another value"));
}

#[tokio::test]
async fn a_lost_key_is_told_and_new_secrets_can_be_set() {
    let world = World::new().await;
    open(&world).await.set("old", CANARY).await.unwrap();
    std::fs::remove_dir_all(keys_of(&world)).unwrap();
    let secrets = open(&world).await;
    assert_eq!(secrets.get("old").unwrap_err().code, StorageFailed);
    assert!(secrets.list()[0].error.as_ref().unwrap().contains(".key"));
    secrets.set("new", "a value").await.unwrap();
    secrets.rotate().await.unwrap();
    secrets.set("old", "set again").await.unwrap();
    let again = open(&world).await;
    assert_eq!(value(&again, "old").as_deref(), Some("set again"));
    assert_eq!(value(&again, "new").as_deref(), Some("a value"));
}

#[tokio::test]
async fn bad_names_bad_values_and_no_place_for_keys_are_refused() {
    let world = World::new().await;
    let secrets = open(&world).await;
    for name in ["", ".", "..", "a/b", "a b", &"x".repeat(65)] {
        assert_eq!(secrets.set(name, "v").await.unwrap_err().code, InvalidRequest, "{name}");
    }
    for value in ["", "two\nlines", &"x".repeat(16 * 1024 + 1)] {
        assert_eq!(secrets.set("a", value).await.unwrap_err().code, InvalidRequest);
    }
    let nowhere = open_with(&world, None).await;
    assert_eq!(nowhere.set("a", "v").await.unwrap_err().code, StorageFailed);
    assert_eq!(nowhere.list(), []);
}

#[tokio::test]
async fn tokens_of_a_sign_in_lie_apart_from_what_the_config_can_name() {
    let world = World::new().await;
    let secrets = open(&world).await;
    secrets.set("mine", "a key").await.unwrap();
    secrets.set_sign_in("mine", CANARY).await.unwrap();
    let again = open(&world).await;
    let tokens = |secrets: &Secrets| {
        secrets.sign_in("mine").unwrap().map(|tokens| tokens.reveal().to_owned())
    };
    assert_eq!(tokens(&again).as_deref(), Some(CANARY));
    assert_eq!(value(&again, "mine").as_deref(), Some("a key"));
    assert_eq!(again.list().len(), 1);
    assert_eq!(again.rotate().await.unwrap(), 2);
    assert_eq!(tokens(&again).as_deref(), Some(CANARY));
    again.remove_sign_in("mine").await.unwrap();
    again.remove_sign_in("mine").await.unwrap();
    again.remove_sign_in("no name").await.unwrap();
    assert_eq!((tokens(&open(&world).await), again.list().len()), (None, 1));
}
