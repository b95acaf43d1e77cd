//! Tests that no key, link or race leads out of the root.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use onyx_storage::{Expect, LocalObjects, ObjectKey, Objects as _, StoreError};
use onyx_types::Hash;

const SENTINEL: &str = "outside: never read, never changed";

struct Yard {
    folder: tempfile::TempDir,
    objects: LocalObjects,
}

impl Yard {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for made in ["root", "outside"] {
            fs::create_dir(folder.path().join(made)).unwrap();
        }
        fs::write(folder.path().join("outside/secret"), SENTINEL).unwrap();
        let objects = LocalObjects::open(&folder.path().join("root")).unwrap();
        Self { folder, objects }
    }

    fn root(&self, path: &str) -> PathBuf {
        self.folder.path().join("root").join(path)
    }

    fn outside(&self, path: &str) -> PathBuf {
        self.folder.path().join("outside").join(path)
    }

    fn assert_outside_untouched(&self) {
        assert_eq!(fs::read_to_string(self.outside("secret")).unwrap(), SENTINEL);
        let names: Vec<_> = fs::read_dir(self.outside(""))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["secret"]);
    }

    /// Asserts that every operation on the key is refused.
    async fn assert_refused(&self, path: &str) {
        let key = &key(path);
        let objects = &self.objects;
        let other: ObjectKey = "other".parse().unwrap();
        fs::write(self.root("other"), "").unwrap();
        let results = [
            ("get", objects.get(key, 1000).await.map(|_| ())),
            ("put", objects.put(key, b"x", Expect::Anything).await.map(|_| ())),
            (
                "put",
                objects.put(key, b"x", Expect::Is(Hash::of(SENTINEL.as_bytes()))).await.map(|_| ()),
            ),
            ("append", objects.append(key, b"x").await),
            ("delete", objects.delete(key, Expect::Anything).await),
            ("rename from", objects.rename(key, &self::key("new"), Expect::Anything).await),
        ];
        for (what, result) in results {
            assert!(matches!(result, Err(StoreError::Refused(_))), "{what} {path}: {result:?}");
        }
        // Renaming to a taken name is a conflict, and renaming through a link is refused.
        let onto = objects.rename(&other, key, Expect::Anything).await;
        let stopped = matches!(onto, Err(StoreError::Refused(_) | StoreError::Conflict));
        assert!(stopped, "rename to {path}: {onto:?}");
        self.assert_outside_untouched();
    }
}

fn key(path: &str) -> ObjectKey {
    path.parse().unwrap()
}

#[test]
fn keys_that_climb_or_are_absolute_cannot_be_made() {
    for path in [
        "",
        "/",
        "/etc/passwd",
        "..",
        "../x",
        "a/..",
        "a/../../x",
        ".",
        "./a",
        "a//b",
        "a/",
        "a\\b",
        "a\0b",
        "a\nb",
        "a/./b",
    ] {
        assert!(path.parse::<ObjectKey>().is_err(), "{path:?}");
    }
}

#[tokio::test]
async fn a_link_is_refused_whatever_it_points_at() {
    let yard = Yard::new();
    fs::write(yard.root("inside"), "inside").unwrap();
    fs::create_dir(yard.root("folder")).unwrap();
    fs::write(yard.root("folder/file"), "inside").unwrap();
    symlink(yard.outside("secret"), yard.root("out")).unwrap();
    symlink("../outside/secret", yard.root("relative")).unwrap();
    symlink("inside", yard.root("in")).unwrap();
    symlink("nowhere", yard.root("dangling")).unwrap();
    symlink(yard.outside(""), yard.root("out-folder")).unwrap();
    symlink("folder", yard.root("in-folder")).unwrap();
    symlink("/proc/self/root", yard.root("magic")).unwrap();
    for path in [
        "out",
        "relative",
        "in",
        "dangling",
        "out-folder/secret",
        "out-folder/new",
        "in-folder/file",
        "in-folder",
        "magic/etc/passwd",
    ] {
        yard.assert_refused(path).await;
    }
    let listed = yard.objects.list(None, 100).await.unwrap();
    let names: Vec<String> = listed.iter().map(|meta| meta.key.to_string()).collect();
    assert_eq!(names, ["folder", "inside", "other"], "links are not listed");
    let through = yard.objects.list(Some(&key("out-folder")), 10).await;
    assert!(matches!(through, Err(StoreError::Refused(_))));
    assert_eq!(fs::read_to_string(yard.root("inside")).unwrap(), "inside");
}

#[tokio::test]
async fn a_file_with_a_second_name_is_read_but_never_written() {
    let yard = Yard::new();
    fs::hard_link(yard.outside("secret"), yard.root("hard")).unwrap();
    let hard = key("hard");
    let refused = |result: Result<(), StoreError>| matches!(result, Err(StoreError::Refused(_)));
    assert!(refused(yard.objects.put(&hard, b"x", Expect::Anything).await.map(|_| ())));
    assert!(refused(yard.objects.append(&hard, b"x").await));
    assert!(yard.objects.get(&hard, 1000).await.unwrap().is_some());
    yard.assert_outside_untouched();
}

#[tokio::test]
async fn fifos_sockets_and_devices_are_refused_without_waiting() {
    let yard = Yard::new();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, yard.root("fifo"), rustix::fs::FileType::Fifo, mode, 0)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(yard.root("socket")).unwrap();
    let mut special = vec!["fifo", "socket"];
    let device = rustix::fs::mknodat(
        rustix::fs::CWD,
        yard.root("device"),
        rustix::fs::FileType::CharacterDevice,
        mode,
        rustix::fs::makedev(1, 3),
    );
    // Only root may create a device.
    if device.is_ok() {
        special.push("device");
    }
    for path in special {
        yard.assert_refused(path).await;
    }
}

/// A thread replaces a folder by a link to the outside and back, as fast as it can, while reads,
/// writes, listings and deletions go through that folder.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_swapped_for_a_link_leads_nowhere() {
    let yard = Arc::new(Yard::new());
    fs::create_dir(yard.root("swap")).unwrap();
    fs::write(yard.root("swap/secret"), "inside").unwrap();
    symlink(yard.outside(""), yard.root("link")).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = {
        let (yard, stop) = (Arc::clone(&yard), Arc::clone(&stop));
        std::thread::spawn(move || {
            let mut swaps = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                let here = rustix::fs::CWD;
                rustix::fs::renameat_with(here, yard.root("swap"), here, yard.root("link"), flags)
                    .unwrap();
                swaps += 1;
            }
            swaps
        })
    };
    let (mut inside, mut refused, mut rounds) = (0, 0, 0);
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(1500) || inside == 0 || refused == 0 {
        rounds += 1;
        match yard.objects.get(&key("swap/secret"), 1000).await {
            Ok(Some(object)) => {
                assert_ne!(object.bytes, SENTINEL.as_bytes(), "the sentinel was read");
                inside += 1;
            }
            Ok(None) => {}
            Err(StoreError::Refused(_) | StoreError::Failed(_)) => refused += 1,
            Err(error) => panic!("{error:?}"),
        }
        // Whether each call succeeds depends on the moment. That none reaches the outside is
        // checked below.
        drop(yard.objects.put(&key("swap/secret"), b"inside", Expect::Anything).await);
        drop(yard.objects.put(&key("swap/deep/new"), b"inside", Expect::Anything).await);
        drop(yard.objects.append(&key("swap/log"), b"inside").await);
        drop(yard.objects.delete(&key("swap/log"), Expect::Anything).await);
        drop(
            yard.objects.rename(&key("swap/deep/new"), &key("swap/moved"), Expect::Anything).await,
        );
        drop(yard.objects.delete(&key("swap/moved"), Expect::Anything).await);
        if let Ok(listed) = yard.objects.list(Some(&key("swap")), 10).await {
            assert!(listed.iter().all(|meta| meta.size != SENTINEL.len() as u64));
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{inside} inside, {refused} refused");
    }
    stop.store(true, Ordering::Relaxed);
    let swaps = swapper.join().unwrap();
    assert!(swaps > rounds, "{swaps} swaps in {rounds} rounds");
    yard.assert_outside_untouched();
}
