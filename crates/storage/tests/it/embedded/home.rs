use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use onyx_storage::{
    Area, Delivery, Expect, FileEnd, FileLookup, Files as _, FoundObject, Home, HomeError,
    InboxRow, ObjectKey, StoreError,
};

use crate::support::{Maker, TempStore};

#[test]
fn a_home_is_made_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/home");
    let home = Home::open(&path).unwrap();
    let anna = "anna".parse().unwrap();
    home.objects(&Area::Vault(anna)).unwrap();
    let mode =
        |path: &str| fs::metadata(folder.path().join(path)).unwrap().permissions().mode() & 0o777;
    for made in ["deep/home", "deep/home/people", "deep/home/people/anna/vault", "deep/home/cache"]
    {
        assert_eq!(mode(made), 0o700, "{made}");
    }
    assert_eq!(mode("deep/home/onyx.lock"), 0o600);
}

#[test]
fn a_home_in_use_is_refused_with_its_holder_and_is_free_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let second = Home::open(folder.path());
    let Err(HomeError::InUse { home: path, pid }) = second else { panic!("{second:?}") };
    assert_eq!((path.as_path(), pid), (folder.path(), Some(std::process::id())));
    // The paths of a home can be asked for without owning it.
    let paths = Home::paths_only(folder.path());
    assert_eq!(&paths, home.paths());
    assert_eq!(paths.socket(), folder.path().join("onyx.sock"));
    drop(home);
    Home::open(folder.path()).unwrap();
}

#[tokio::test]
async fn the_database_and_the_files_are_for_the_owner_alone() {
    let temp = TempStore::new().await;
    let vault = temp.store.files.objects(&Area::Vault("anna".parse().unwrap())).unwrap();
    let key: ObjectKey = "a.md".parse().unwrap();
    vault.put(&key, b"x", Expect::Absent).await.unwrap();
    for file in ["onyx.db", "onyx.db-wal", "people/anna/vault/a.md"] {
        let mode = fs::metadata(temp.home().join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}

#[tokio::test]
async fn two_areas_of_one_file_lock_it_together() {
    let temp = TempStore::new().await;
    let anna: onyx_types::PersonId = "anna".parse().unwrap();
    let person = temp.store.files.objects(&Area::Person(anna.clone())).unwrap();
    let vault = temp.store.files.objects(&Area::Vault(anna)).unwrap();
    let base = vault.put(&"a".parse().unwrap(), b"base", Expect::Absent).await.unwrap();
    for round in 0..20 {
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..8 {
            let (objects, key) = if n % 2 == 0 { (&person, "vault/a") } else { (&vault, "a") };
            let objects = Arc::clone(objects);
            tasks.spawn(async move {
                let text = format!("{round}/{n}");
                objects.put(&key.parse().unwrap(), text.as_bytes(), Expect::Is(base)).await.is_ok()
            });
        }
        let winners = tasks.join_all().await.into_iter().filter(|won| *won).count();
        assert_eq!(winners, 1);
        vault.put(&"a".parse().unwrap(), b"base", Expect::Anything).await.unwrap();
    }
}

#[tokio::test]
async fn a_listing_by_one_area_leaves_what_another_is_writing() {
    let temp = TempStore::new().await;
    let anna: onyx_types::PersonId = "anna".parse().unwrap();
    let person = temp.store.files.objects(&Area::Person(anna.clone())).unwrap();
    let vault = temp.store.files.objects(&Area::Vault(anna)).unwrap();
    let listing = tokio::spawn(async move {
        loop {
            person.list(Some(&"vault".parse().unwrap()), 100).await.unwrap();
        }
    });
    for round in 0..200 {
        let text = format!("{round}");
        vault.put(&"a".parse().unwrap(), text.as_bytes(), Expect::Anything).await.unwrap();
    }
    listing.abort();
}

#[tokio::test]
async fn a_folder_that_was_moved_away_and_made_anew_is_found() {
    let temp = TempStore::new().await;
    let area = Area::Vault("anna".parse().unwrap());
    let key: ObjectKey = "a.md".parse().unwrap();
    let vault = temp.store.files.objects(&area).unwrap();
    vault.put(&key, b"old", Expect::Absent).await.unwrap();
    let path = temp.home().join("people/anna/vault");
    fs::rename(&path, path.with_extension("moved")).unwrap();
    fs::create_dir(&path).unwrap();
    let vault = temp.store.files.objects(&area).unwrap();
    assert_eq!(vault.get(&key, 100).await.unwrap(), None);
}

#[tokio::test]
async fn people_and_agents_are_those_with_a_folder() {
    let temp = TempStore::new().await;
    for area in [
        Area::Vault("bert".parse().unwrap()),
        Area::Vault("anna".parse().unwrap()),
        Area::Agent("main".parse().unwrap()),
    ] {
        temp.store.files.objects(&area).unwrap();
    }
    fs::create_dir(temp.home().join("people/Not An Id")).unwrap();
    fs::write(temp.home().join("people/file"), "").unwrap();
    let names: Vec<String> =
        temp.store.files.people().await.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["anna", "bert"]);
    assert_eq!(temp.store.files.agents().await.unwrap(), ["main".parse().unwrap()]);
}

#[tokio::test]
async fn many_things_are_looked_up_in_one_go_and_each_answers_for_itself() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let area = |name: &str| Area::Agent(name.parse().unwrap());
    let file = |path: &str| FileLookup::File { key: path.parse().unwrap(), max_bytes: 8 };
    let end = |path: &str| FileLookup::End { key: path.parse().unwrap(), max_bytes: 8 };
    let list = |path: &str| FileLookup::Folder { key: path.parse().unwrap(), limit: 9 };
    fs::create_dir_all(folder.path().join("agents/main/skills")).unwrap();
    fs::write(folder.path().join("agents/main/SOUL.md"), "calm").unwrap();
    fs::write(folder.path().join("agents/main/LONG.md"), "longer than allowed").unwrap();
    fs::write(folder.path().join("agents/main/skills/cook.md"), "x").unwrap();
    let wanted = vec![
        (area("main"), file("SOUL.md")),
        (area("other"), file("SOUL.md")),
        (area("main"), file("LONG.md")),
        (area("main"), end("LONG.md")),
        (area("main"), end("SOUL.md")),
        (area("main"), end("NONE.md")),
        (area("main"), list("skills")),
        (area("main"), list("nowhere")),
    ];
    let found = home.find(wanted).await.unwrap();
    let [soul, none, long, ends @ .., skills, nowhere]: [_; 8] = found.try_into().unwrap();
    assert!(matches!(soul, Ok(FoundObject::File(object)) if object.bytes == b"calm"));
    assert_eq!((none.unwrap(), nowhere.unwrap()), (FoundObject::Nothing, FoundObject::Nothing));
    assert!(matches!(long, Err(StoreError::Refused(_))));
    let ends = ends.map(|end| match end.unwrap() {
        FoundObject::End(FileEnd { bytes, before, .. }) => Some((bytes, before)),
        other => {
            assert_eq!(other, FoundObject::Nothing);
            None
        }
    });
    assert_eq!(ends, [Some((b" allowed".to_vec(), 11)), Some((b"calm".to_vec(), 0)), None]);
    let Ok(FoundObject::Folder(entries)) = skills else { panic!("{skills:?}") };
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].key.as_str(), "skills/cook.md");
}

#[tokio::test]
async fn words_that_wait_are_found_by_the_next_process() {
    let temp = TempStore::new().await;
    let mut make = Maker::new();
    let (key, turn) = (make.key(), make.user("wait"));
    let onyx_types::TurnBody::User(words) = turn.body else { panic!("not words") };
    let (turn, received_at) = (turn.id, make.tick());
    let row = InboxRow { turn, delivery: Delivery::Steer, words, received_at };
    temp.store.ledger.put_inbox(&key, row.clone()).await.unwrap();
    let temp = temp.reopen().await;
    assert_eq!(temp.store.ledger.inbox(&key).await.unwrap(), [row]);
}
