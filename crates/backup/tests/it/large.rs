//! Tests a large home with 10,000 sessions and 100,000 files, for `make proof-backup`.

use std::fs;
use std::time::Instant;

use onyx_backup::{Repair, verify};

use crate::world::{World, restored, rows, turn};

const SESSIONS: usize = 10_000;
const NOTES: usize = 90_000;

#[test]
#[ignore = "minutes and a gigabyte of disk: make proof-backup"]
fn a_home_of_ten_thousand_sessions_and_a_hundred_thousand_files_comes_back_byte_for_byte() {
    let world = World::new();
    for number in 0..SESSIONS {
        let log: String =
            (0..number % 40 + 1).map(|n| turn(&format!("message {n} of {number}"))).collect();
        world.write(&format!("people/owner/sessions/main/s-{number}.jsonl"), log);
    }
    for number in 0..NOTES {
        let text = format!("# Note {number}\n\n{}\n", "some words ".repeat(number % 90));
        world.write(&format!("people/owner/vault/{}/note-{number}.md", number % 300), text);
    }
    let first = timed("first backup", || world.back_up());
    println!("{} files, {} bytes, {} kept", first.files, first.bytes, first.new_bytes);
    world.later();
    for number in 0..100 {
        world.write(&format!("people/owner/vault/{}/note-{number}.md", number % 300), "changed\n");
    }
    let second = timed("second backup, 100 files changed", || world.back_up());
    println!("{} read, {} kept", second.read_files, second.new_bytes);
    let report = timed("verify", || verify(&world.place(), None, Repair::No).unwrap());
    assert!(report.is_sound());
    timed("restore", || world.restore("again").unwrap());
    assert!(restored(&world.other("again")) == world.kept(), "something is different");
    assert_eq!(rows(&world.other("again/onyx.db")), ["kept"]);
    let manifests = fs::read_dir(world.backups().join("snapshots")).unwrap();
    let sizes: Vec<u64> = manifests.map(|entry| entry.unwrap().metadata().unwrap().len()).collect();
    println!("manifests of {sizes:?} bytes");
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let done = work();
    println!("{what}: {:.1} s", started.elapsed().as_secs_f64());
    done
}
