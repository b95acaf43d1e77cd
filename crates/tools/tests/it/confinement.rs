use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onyx_types::{Taint, Tier};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::support::World;

/// This text is in every file that no call may read or change, so no search may find it.
const SENTINEL: &str = "SENTINEL-7f3a";

/// Makes files outside the vault, and links and paths that seem to lead to them.
fn lay_traps(world: &World) {
    let home = world.folder.path();
    for path in
        ["onyx.json", "people/bob/vault/diary.md", "people/ada/USER.md", "agents/main/SOUL.md"]
    {
        let path = home.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, SENTINEL).unwrap();
    }
    let vault = world.vault();
    world.write("notes.md", "one\ntwo\n");
    world.write("dir/inner.md", "one\n");
    std::os::unix::fs::symlink(home.join("onyx.json"), vault.join("link.md")).unwrap();
    std::os::unix::fs::symlink("../../bob/vault", vault.join("linked")).unwrap();
    std::os::unix::fs::symlink("notes.md", vault.join("inside.md")).unwrap();
    std::os::unix::fs::symlink("/", vault.join("root")).unwrap();
    std::os::unix::fs::symlink("/proc/self", vault.join("self")).unwrap();
    std::os::unix::fs::symlink("self.md", vault.join("self.md")).unwrap();
    // A hard link may be read, because it is unknown which of the names is the original. It is
    // never written.
    std::fs::write(home.join("twice.md"), "one\n").unwrap();
    std::fs::hard_link(home.join("twice.md"), vault.join("hard.md")).unwrap();
}

/// All regular files under a folder with their contents.
fn snapshot(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                let name = entry.path().to_string_lossy().into_owned();
                files.insert(name, std::fs::read(entry.path()).unwrap());
            }
        }
    }
    files
}

/// The files that must stay unchanged whatever an agent at tier `act` does.
fn outside(world: &World) -> BTreeMap<String, Vec<u8>> {
    let mut files = snapshot(world.folder.path());
    let own = world.own();
    let may_change = |name: &str| {
        ["vault", "memory/main", "history"]
            .iter()
            .any(|part| Path::new(name).starts_with(own.join(part)))
            || Path::new(name).starts_with(world.folder.path().join("cache"))
            || name.contains("onyx.db")
    };
    files.retain(|name, _| !may_change(name));
    files
}

fn path() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => Just("notes.md"), 2 => Just("dir"), 2 => Just(".."), 1 => Just("."), 1 => Just(""),
        2 => Just("link.md"), 2 => Just("linked"), 1 => Just("diary.md"), 1 => Just("root"),
        1 => Just("inside.md"), 1 => Just("people"), 1 => Just("bob"), 1 => Just("ada"),
        1 => Just("vault"), 1 => Just("onyx.json"), 1 => Just("USER.md"), 1 => Just("etc"),
        1 => Just("passwd"), 1 => Just(".env"), 1 => Just("agents.md"), 1 => Just("proc"),
        1 => Just("self"), 1 => Just("a\0b"), 1 => Just("..\\.."), 1 => Just("%2e%2e"),
        1 => Just("．．"), 2 => Just("hard.md"), 1 => Just("self.md"), 1 => Just("environ"),
        1 => Just("cwd"), 1 => Just("..\u{200b}"), 1 => Just("\u{2024}\u{2024}"), 1 => Just("..."),
        1 => Just("NOTES.MD"), 1 => Just("CON"), 1 => Just("~"), 1 => Just("file:"),
    ];
    let joined =
        (any::<bool>(), prop::collection::vec(part, 1..6)).prop_map(|(absolute, parts)| {
            format!("{}{}", if absolute { "/" } else { "" }, parts.join("/"))
        });
    let long = (1..2_000usize).prop_map(|count| "a/".repeat(count) + "notes.md");
    let wide = (200..400usize).prop_map(|count| "ü".repeat(count));
    prop_oneof![
        16 => joined,
        2 => any::<String>(),
        2 => "[a-z/.]{1,2000}",
        1 => long,
        1 => wide,
    ]
}

fn any_call() -> impl Strategy<Value = (String, Value)> {
    let text = prop_oneof![Just("one".to_owned()), any::<String>()];
    let input = (path(), text.clone(), text, any::<u32>()).prop_map(|(path, one, two, number)| {
        [
            ("list_files", json!({"path": path})),
            ("read_file", json!({"path": path})),
            ("read_file", json!({"path": path, "from": number, "lines": 3})),
            ("write_file", json!({"path": path, "content": one})),
            ("edit_file", json!({"path": path, "old": one, "new": two})),
            ("memory_get", json!({"path": path})),
            ("memory_write", json!({"text": one, "heading": path})),
            ("memory_write", json!({"text": one, "heading": "H", "replaces": two})),
            ("exec", json!({"command": path})),
            ("search_files", json!({"query": "o", "path": path})),
            ("delete_file", json!({"path": path})),
            ("move_file", json!({"from": path, "to": one})),
            ("move_file", json!({"from": "notes.md", "to": path})),
            ("write_file", json!({"path": path, "content": one, "tier": "act", "allow": true})),
        ]
    });
    (input, 0..14usize).prop_map(|(calls, index)| {
        let (tool, input) = calls[index].clone();
        (tool.to_owned(), input)
    })
}

fn taint() -> impl Strategy<Value = Taint> {
    prop_oneof![Just(Taint::Clean), Just(Taint::Tainted)]
}

/// Runs sequences of calls in one world and checks it after each.
fn try_all(tier: Tier, look: impl Fn(&World, &BTreeMap<String, Vec<u8>>)) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let world = runtime.block_on(World::new()).at(tier);
    lay_traps(&world);
    let before = if tier == Tier::Act { outside(&world) } else { snapshot(&world.own()) };
    let world = std::cell::RefCell::new(world);
    let sequences = (taint(), prop::collection::vec(any_call(), 1..8));
    TestRunner::new(Config::with_cases(96))
        .run(&sequences, |(taint, calls)| {
            world.borrow_mut().cx.taint = taint;
            let world = world.borrow();
            for (tool, input) in calls {
                let said = input.to_string();
                let outcome = runtime.block_on(world.call(&tool, input));
                let leaked = outcome.output.contains(SENTINEL);
                prop_assert!(!leaked, "{tool} {said}: {}", outcome.output);
            }
            look(&world, &before);
            Ok(())
        })
        .unwrap();
}

#[test]
fn no_sequence_of_calls_touches_anything_outside_the_vault() {
    try_all(Tier::Act, |world, before| assert_eq!(&outside(world), before));
}

#[test]
fn no_sequence_of_calls_changes_a_file_for_an_agent_that_may_only_read() {
    try_all(Tier::Read, |world, before| assert_eq!(&snapshot(&world.own()), before));
}

#[test]
fn no_sequence_of_calls_changes_a_file_for_an_agent_that_may_only_suggest() {
    try_all(Tier::Suggest, |world, before| assert_eq!(&snapshot(&world.own()), before));
}

#[tokio::test]
async fn links_are_neither_followed_nor_replaced() {
    let world = World::new().await;
    lay_traps(&world);
    for path in ["link.md", "linked/diary.md", "root/etc/passwd", "inside.md"] {
        for (tool, input) in [
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("edit_file", json!({"path": path, "old": "one", "new": "x"})),
        ] {
            let told = world.failed(tool, input).await;
            assert!(told.starts_with("not allowed: "), "{tool} {path}: {told}");
        }
    }
    assert_eq!(world.text("notes.md"), "one\ntwo\n");
    assert!(world.vault().join("link.md").is_symlink());
}

#[tokio::test]
async fn a_file_with_another_hard_link_is_not_written() {
    let world = World::new().await;
    let outside = world.folder.path().join("outside.md");
    std::fs::write(&outside, "one").unwrap();
    std::fs::hard_link(&outside, world.vault().join("inside.md")).unwrap();
    let told = world.failed("write_file", json!({"path": "inside.md", "content": "two"})).await;
    assert!(told.starts_with("not allowed: "), "{told}");
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "one");
}

/// Links out of the vault appear and disappear while calls are made.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_swapped_for_a_link_while_tools_work_leads_nowhere() {
    let world = World::new().await;
    lay_traps(&world);
    let vault = world.vault();
    let bob = world.folder.path().join("people/bob/vault");
    std::fs::write(bob.join("inner.md"), SENTINEL).unwrap();
    std::os::unix::fs::symlink(&bob, vault.join("way-out")).unwrap();
    let before = outside(&world);
    let stop = Arc::new(AtomicBool::new(false));
    let swapping = {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let (real, link) = (vault.join("dir"), vault.join("way-out"));
                renameat_with(CWD, &real, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                std::thread::yield_now();
            }
        })
    };
    for round in 0..20 {
        for (tool, input) in [
            ("read_file", json!({"path": "dir/inner.md"})),
            ("list_files", json!({"path": "dir"})),
            ("search_files", json!({"query": SENTINEL, "path": "dir"})),
            ("write_file", json!({"path": "dir/inner.md", "content": format!("{round}")})),
            ("edit_file", json!({"path": "dir/inner.md", "old": "one", "new": "two"})),
            ("write_file", json!({"path": format!("dir/new-{round}.md"), "content": "x"})),
        ] {
            let outcome = world.call(tool, input).await;
            assert!(!outcome.output.contains(SENTINEL), "{tool}: {}", outcome.output);
            assert!(!outcome.output.contains("diary"), "{tool}: {}", outcome.output);
        }
    }
    stop.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    assert_eq!(outside(&world), before);
}
