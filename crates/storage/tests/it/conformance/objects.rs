use onyx_storage::{Area, Expect, FileLookup, FoundObject, ObjectKey, StoreError};
use onyx_types::Hash;

use super::Backend;

fn key(path: &str) -> ObjectKey {
    path.parse().unwrap()
}

impl Backend {
    async fn text(&self, path: &str) -> Option<String> {
        let object = self.objects.get(&key(path), 1_000_000).await.unwrap()?;
        assert_eq!(object.hash, Hash::of(&object.bytes));
        Some(String::from_utf8(object.bytes).unwrap())
    }

    async fn write(&self, path: &str, text: &str, expect: Expect) -> Result<Hash, StoreError> {
        self.objects.put(&key(path), text.as_bytes(), expect).await
    }

    async fn names(&self, folder: Option<&str>, limit: usize) -> Vec<String> {
        let folder = folder.map(key);
        let listed = self.objects.list(folder.as_ref(), limit).await.unwrap();
        listed.iter().map(|meta| meta.key.to_string()).collect()
    }
}

pub(crate) async fn what_was_put_is_read(on: Backend) {
    let hash = on.write("notes/deep/er/a.md", "hello", Expect::Anything).await.unwrap();
    assert_eq!(hash, Hash::of(b"hello"));
    assert_eq!(on.text("notes/deep/er/a.md").await.as_deref(), Some("hello"));
    on.write("notes/deep/er/a.md", "", Expect::Anything).await.unwrap();
    assert_eq!(on.text("notes/deep/er/a.md").await.as_deref(), Some(""));
}

pub(crate) async fn a_missing_object_is_none(on: Backend) {
    on.write("a", "file", Expect::Anything).await.unwrap();
    for path in ["b", "no/such/folder", "a/below-a-file"] {
        assert_eq!(on.text(path).await, None, "{path}");
    }
}

pub(crate) async fn a_write_happens_only_as_expected(on: Backend) {
    let conflict = |result| matches!(result, Err(StoreError::Conflict));
    let other = Expect::Is(Hash::of(b"other"));
    assert!(conflict(on.write("a", "new", other).await));
    assert_eq!(on.text("a").await, None);
    let first = on.write("a", "one", Expect::Absent).await.unwrap();
    assert!(conflict(on.write("a", "two", Expect::Absent).await));
    assert!(conflict(on.write("a", "two", other).await));
    assert_eq!(on.text("a").await.as_deref(), Some("one"));
    on.write("a", "two", Expect::Is(first)).await.unwrap();
    assert!(conflict(on.objects.delete(&key("a"), Expect::Is(first)).await.map(|()| first)));
    assert!(conflict(on.objects.rename(&key("a"), &key("b"), other).await.map(|()| first)));
    assert_eq!(on.text("a").await.as_deref(), Some("two"));
    assert_eq!(on.names(None, 10).await, ["a"]);
}

pub(crate) async fn one_of_many_creators_wins(on: Backend) {
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..20 {
        let objects = on.objects.clone();
        tasks.spawn(async move {
            let put = objects.put(&key("a"), format!("{n}").as_bytes(), Expect::Absent).await;
            put.is_ok().then_some(n)
        });
    }
    let winners: Vec<i32> = tasks.join_all().await.into_iter().flatten().collect();
    assert_eq!(winners.len(), 1);
    assert_eq!(on.text("a").await, Some(winners[0].to_string()));
}

pub(crate) async fn one_of_many_changers_wins(on: Backend) {
    let base = on.write("a", "base", Expect::Absent).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..20 {
        let objects = on.objects.clone();
        tasks.spawn(async move {
            let put = objects.put(&key("a"), format!("{n}").as_bytes(), Expect::Is(base)).await;
            put.is_ok().then_some(n)
        });
    }
    let winners: Vec<i32> = tasks.join_all().await.into_iter().flatten().collect();
    assert_eq!(winners.len(), 1);
    assert_eq!(on.text("a").await, Some(winners[0].to_string()));
}

pub(crate) async fn concurrent_appends_all_arrive_whole(on: Backend) {
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..50 {
        let objects = on.objects.clone();
        tasks.spawn(async move {
            let line = format!("line {n:02}\n");
            objects.append(&key("daily/today.md"), line.as_bytes()).await.unwrap();
        });
    }
    tasks.join_all().await;
    let text = on.text("daily/today.md").await.unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, (0..50).map(|n| format!("line {n:02}")).collect::<Vec<_>>());
}

pub(crate) async fn deleting_removes(on: Backend) {
    let missing = on.objects.delete(&key("a"), Expect::Anything).await;
    assert!(matches!(missing, Err(StoreError::NotFound)));
    let hash = on.write("a", "one", Expect::Anything).await.unwrap();
    on.objects.delete(&key("a"), Expect::Is(hash)).await.unwrap();
    assert_eq!(on.text("a").await, None);
}

pub(crate) async fn renaming_moves_and_never_replaces(on: Backend) {
    let (a, b, c) = (key("a"), key("deep/b"), key("c"));
    let hash = on.write("a", "one", Expect::Anything).await.unwrap();
    on.objects.rename(&a, &b, Expect::Is(hash)).await.unwrap();
    assert_eq!((on.text("a").await, on.text("deep/b").await), (None, Some("one".into())));
    on.write("c", "other", Expect::Anything).await.unwrap();
    let taken = on.objects.rename(&b, &c, Expect::Anything).await;
    assert!(matches!(taken, Err(StoreError::Conflict)));
    assert_eq!(on.text("c").await.as_deref(), Some("other"));
    let missing = on.objects.rename(&a, &key("d"), Expect::Anything).await;
    assert!(matches!(missing, Err(StoreError::NotFound)));
}

pub(crate) async fn listing_is_sorted_bounded_and_direct(on: Backend) {
    for path in ["b.md", "a.md", "folder/x.md", "folder/deep/y.md", ".hidden"] {
        on.write(path, "12345", Expect::Anything).await.unwrap();
    }
    assert_eq!(on.names(None, 10).await, [".hidden", "a.md", "b.md", "folder"]);
    assert_eq!(on.names(None, 2).await, [".hidden", "a.md"]);
    assert_eq!(on.names(Some("folder"), 10).await, ["folder/deep", "folder/x.md"]);
    let listed = on.objects.list(None, 10).await.unwrap();
    let kinds: Vec<bool> = listed.iter().map(|meta| meta.is_folder).collect();
    assert_eq!(kinds, [false, false, false, true]);
    assert_eq!(listed[1].size, 5);
    let missing = on.objects.list(Some(&key("nowhere")), 10).await;
    assert!(matches!(missing, Err(StoreError::NotFound)));
}

pub(crate) async fn a_file_over_the_limit_is_refused(on: Backend) {
    on.write("a", "12345", Expect::Anything).await.unwrap();
    assert!(on.objects.get(&key("a"), 5).await.unwrap().is_some());
    assert!(matches!(on.objects.get(&key("a"), 4).await, Err(StoreError::Refused(_))));
}

pub(crate) async fn a_folder_is_no_file(on: Backend) {
    on.write("folder/a", "1", Expect::Anything).await.unwrap();
    let folder = key("folder");
    let refused = |error| matches!(error, StoreError::Refused(_));
    assert!(refused(on.objects.get(&folder, 10).await.unwrap_err()));
    assert!(refused(on.write("folder", "x", Expect::Anything).await.unwrap_err()));
    assert!(refused(on.objects.append(&folder, b"x").await.unwrap_err()));
    assert!(refused(on.objects.delete(&folder, Expect::Anything).await.unwrap_err()));
    assert!(refused(on.write("folder/a/b", "x", Expect::Anything).await.unwrap_err()));
    assert_eq!(on.text("folder/a").await.as_deref(), Some("1"));
}

pub(crate) async fn the_end_of_a_file_is_read_without_the_rest(on: Backend) {
    let text: String = (0..9_000).map(|n| format!("{n:07}\n")).collect();
    for (path, text) in [("small", "0123456789"), ("large", text.as_str()), ("empty", "")] {
        on.write(path, text, Expect::Anything).await.unwrap();
        for bytes in [0, 1, 10, 4_096, 1_000_000] {
            let end = on.objects.end(&key(path), bytes).await.unwrap().unwrap();
            let cut = text.len().saturating_sub(usize::try_from(bytes).unwrap());
            assert_eq!((end.before, end.bytes), (cut as u64, text.as_bytes()[cut..].to_vec()));
        }
    }
    assert_eq!(on.objects.end(&key("nothing"), 9).await.unwrap(), None);
    let vault = Area::Vault("anna".parse().unwrap());
    let wanted = |key, max_bytes| (vault.clone(), FileLookup::End { key, max_bytes });
    let found = on.files.find(vec![wanted(key("small"), 3), wanted(key("nothing"), 3)]).await;
    let found: Vec<_> = found.unwrap().into_iter().map(Result::unwrap).collect();
    let [FoundObject::End(end), FoundObject::Nothing] = &found[..] else { panic!("{found:?}") };
    assert_eq!((end.bytes.as_slice(), end.before), (b"789".as_slice(), 7));
}

pub(crate) async fn many_are_found_in_one_go_each_with_its_own_answer(on: Backend) {
    on.write("folder/a", "1", Expect::Absent).await.unwrap();
    on.write("folder/b", "22", Expect::Absent).await.unwrap();
    on.write("folder/deep/c", "333", Expect::Absent).await.unwrap();
    let anna = "anna".parse().unwrap();
    let vault = Area::Vault(anna);
    let other = on.files.objects(&Area::Shared).unwrap();
    other.put(&key("a"), b"shared", Expect::Absent).await.unwrap();
    let file = |area: &Area, path, max_bytes| {
        (area.clone(), FileLookup::File { key: key(path), max_bytes })
    };
    let folder = |path, limit| (vault.clone(), FileLookup::Folder { key: key(path), limit });
    let found = on.files.find(vec![
        folder("folder", 9),
        file(&vault, "folder/b", 9),
        file(&vault, "nothing", 9),
        file(&Area::Shared, "a", 9),
        folder("nothing", 9),
        file(&vault, "folder/b", 1),
        file(&vault, "folder", 9),
        folder("folder", 2),
        folder("folder/deep", 9),
    ]);
    let found = found.await.unwrap();
    let told: Vec<String> = found
        .iter()
        .map(|found| match found {
            Ok(FoundObject::Nothing) => "nothing".to_owned(),
            Ok(FoundObject::File(object)) => String::from_utf8(object.bytes.clone()).unwrap(),
            Ok(FoundObject::End(_)) => "an end".to_owned(),
            Ok(FoundObject::Folder(metas)) => {
                metas.iter().map(|meta| format!("{}:{} ", meta.key, meta.is_folder)).collect()
            }
            Err(error) if refused_for(error) => "refused".to_owned(),
            Err(error) => error.to_string(),
        })
        .collect();
    assert_eq!(
        told,
        [
            "folder/a:false folder/b:false folder/deep:true ",
            "22",
            "nothing",
            "shared",
            "nothing",
            "refused",
            "refused",
            "folder/a:false folder/b:false ",
            "folder/deep/c:false ",
        ]
    );
}

fn refused_for(error: &StoreError) -> bool {
    matches!(error, StoreError::Refused(_))
}

pub(crate) async fn large_files_come_back_whole_and_grow(on: Backend) {
    let large = "ä\0".repeat(100_000);
    let hash = on.write("a", &large, Expect::Absent).await.unwrap();
    // The same content is written under another name, and again after it was deleted.
    on.write("b", &large, Expect::Absent).await.unwrap();
    on.objects.delete(&key("b"), Expect::Is(hash)).await.unwrap();
    on.write("b", &large, Expect::Absent).await.unwrap();
    let read = async |path: &str| on.objects.get(&key(path), u64::MAX).await.unwrap().unwrap();
    assert!(read("a").await.bytes == large.as_bytes() && read("b").await.hash == hash);
    on.objects.append(&key("a"), b"more").await.unwrap();
    assert!(read("a").await.bytes == [large.as_bytes(), b"more"].concat());
    // A file grows from small to large.
    on.objects.append(&key("log"), b"begin ").await.unwrap();
    on.objects.append(&key("log"), large.as_bytes()).await.unwrap();
    on.objects.append(&key("log"), b" end").await.unwrap();
    assert!(read("log").await.bytes == [b"begin ", large.as_bytes(), b" end"].concat());
    on.objects.rename(&key("log"), &key("deep/er/log"), Expect::Anything).await.unwrap();
    assert_eq!(read("deep/er/log").await.bytes.len(), large.len() + 10);
    on.objects.remove_empty(&key("deep")).await.unwrap();
    assert_eq!(on.names(Some("deep"), 9).await, ["deep/er"], "what holds a file stays");
}

pub(crate) async fn people_and_agents_are_those_who_have_files(on: Backend) {
    let before = on.files.people().await.unwrap();
    assert!(!before.iter().any(|person| person.as_str() == "cleo"));
    let of = |area: &Area| on.files.objects(area).unwrap();
    let cleo = Area::Memory("cleo".parse().unwrap(), "main".parse().unwrap());
    of(&cleo).put(&key("MEMORY.md"), b"x", Expect::Anything).await.unwrap();
    of(&Area::Agent("main".parse().unwrap())).put(&key("a"), b"x", Expect::Anything).await.unwrap();
    of(&Area::Shared).put(&key("b"), b"x", Expect::Anything).await.unwrap();
    assert!(on.files.people().await.unwrap().contains(&"cleo".parse().unwrap()));
    assert_eq!(on.files.agents().await.unwrap(), ["main".parse().unwrap()]);
    // An area that lies inside another shows the same files.
    let whole = of(&Area::Person("cleo".parse().unwrap()));
    let through = whole.get(&key("memory/main/MEMORY.md"), 9).await.unwrap().unwrap();
    assert_eq!(through.bytes, b"x");
}

pub(crate) async fn all_below_a_folder_is_listed_and_read_in_one_go(on: Backend) {
    let large = "x".repeat(100_000);
    for (path, text) in
        [("a/b/c.md", "deep"), ("a/large.bin", &large), ("a0", "beside"), ("ab/c.md", "other")]
    {
        on.write(path, text, Expect::Absent).await.unwrap();
    }
    let tree = async |folder: Option<&str>, limit: usize| {
        let folder = folder.map(key);
        let mut entries = on.objects.tree(folder.as_ref(), limit).await.unwrap();
        entries.sort_by(|one, other| one.key.cmp(&other.key));
        let shown = entries.into_iter().map(|entry| (entry.key.to_string(), entry.hash));
        shown.collect::<Vec<_>>()
    };
    let folder = |path: &str| (path.to_owned(), None);
    let file = |path: &str, text: &str| (path.to_owned(), Some(Hash::of(text.as_bytes())));
    let below_a = [folder("a/b"), file("a/b/c.md", "deep"), file("a/large.bin", &large)];
    assert_eq!(tree(Some("a"), 100).await, below_a);
    assert_eq!(tree(Some("nowhere"), 100).await, []);
    let all = tree(None, 100).await;
    assert_eq!(all.len(), 7, "{all:?}");
    assert!(all.contains(&file("a0", "beside")) && all.contains(&folder("a")), "{all:?}");
    assert_eq!(tree(None, 2).await.len(), 2);
    let wanted = ["a/large.bin", "a", "none", "a/b/c.md"].map(key);
    let read = on.objects.get_all(&wanted).await.unwrap();
    let read: Vec<Option<(Hash, usize)>> =
        read.into_iter().map(|file| file.map(|file| (file.hash, file.bytes.len()))).collect();
    let deep = Some((Hash::of(b"deep"), 4));
    assert_eq!(read, [Some((Hash::of(large.as_bytes()), 100_000)), None, None, deep]);
}
