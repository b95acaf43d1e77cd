//! Kills a backup and a restore at every change that they make to a file.

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use onyx_backup::{
    BackupPlace, BackupRequest, Encryption, Repair, RestoreRequest, Source, WhenDamaged, back_up,
    list, restore_home, verify,
};
use onyx_test_support::{Fate, FileChange, SmallDisk, Tracer};
use onyx_types::{Cancel, SystemClock};

use crate::test_bucket::place_at;
use crate::world::{World, restored, rows};

/// If the work has fewer places to be killed at, it does not do what it should.
const FEWEST: usize = 6;
/// At most this many places are tried: a case takes a while, and neighbouring places behave alike.
const TRIED: usize = 40;

/// A folder, or a bucket of the tests in the form of an address.
fn place_of(text: &str) -> BackupPlace {
    match text.strip_prefix("s3://") {
        Some(rest) => {
            let (host, name) = rest.split_once('/').unwrap();
            place_at(host, name)
        }
        None => Path::new(text).into(),
    }
}

/// The process that is killed. It reads its task from its standard input, and does nothing if there
/// is none.
#[test]
#[ignore = "the process that the tests beside it start and kill"]
fn worker() {
    let mut order = String::new();
    std::io::stdin().lock().read_line(&mut order).unwrap();
    let order: Vec<&str> = order.trim_end().split('\t').collect();
    match order.as_slice() {
        ["backup", home, to] => {
            let request = BackupRequest {
                home: Path::new(home),
                server: None,
                to: &place_of(to),
                passphrase: None,
                encryption: Encryption::AsItIs,
                keep: Some(2),
                clock: &SystemClock::new(),
                stop: &Cancel::new(),
            };
            back_up(&request).unwrap();
        }
        ["restore", from, home] => {
            let source = Source { place: &place_of(from), snapshot: None, passphrase: None };
            let request = RestoreRequest {
                source,
                home: Path::new(home),
                when_damaged: WhenDamaged::Stop,
                stop: &Cancel::new(),
            };
            restore_home(&request).unwrap();
        }
        _ => {}
    }
}

pub(crate) fn start() -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::worker", "--ignored", "--test-threads=1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Does the work in a process that is killed as `fate` says. Returns the changes beneath `watched`
/// until then.
fn meet(fate: Fate, watched: &Path, order: &[&str]) -> Vec<FileChange> {
    let mut child = start();
    let tracer = Tracer::attach(child.id(), watched, fate);
    writeln!(child.stdin.take().unwrap(), "{}", order.join("\t")).unwrap();
    let seen = tracer.wait();
    child.wait().unwrap();
    seen
}

/// Takes a first snapshot, then runs a second backup that is killed.
fn backup_case(fate: Fate) -> Vec<FileChange> {
    let world = World::new();
    world.back_up();
    let kept = world.kept();
    world.write("people/owner/vault/note.md", "two\n");
    world.write(
        "people/owner/vault/new.bin",
        (0..90_000_u32).flat_map(|n| n.wrapping_mul(77_777_771).to_le_bytes()).collect::<Vec<u8>>(),
    );
    let (home, to) = (world.home(), world.backups());
    let order = ["backup", home.to_str().unwrap(), to.to_str().unwrap()];
    let seen = meet(fate, &to, &order);
    let at = format!("killed at {:?}", seen.last());
    let to = world.place();
    let listed = list(&to, None).unwrap();
    assert!(listed.damaged.is_empty() && !listed.snapshots.is_empty(), "{at}");
    assert!(verify(&to, None, Repair::No).unwrap().is_sound(), "{at}");
    // The first snapshot is found by its time, because its clock is ahead.
    let first = &listed.snapshots.iter().max_by_key(|snapshot| snapshot.made_at).unwrap().id;
    world.restore_snapshot("first", Some(first), None).unwrap();
    assert_eq!(restored(&world.other("first")), kept, "{at}");
    // The next backup continues.
    world.later();
    let next = world.try_back_up(None, Some(2)).unwrap();
    world.restore_snapshot("next", Some(&next.snapshot), None).unwrap();
    assert_eq!(restored(&world.other("next")), world.kept(), "{at}");
    assert!(verify(&to, None, Repair::No).unwrap().is_sound(), "{at}");
    seen
}

#[test]
fn a_backup_killed_at_any_write_leaves_earlier_snapshots_whole_and_the_next_one_goes_on() {
    let places = backup_case(Fate::Lives).len();
    println!("{places} places to die at");
    assert!(places >= FEWEST, "{places}");
    for place in (1..=places).step_by(places.div_ceil(TRIED)) {
        let seen = backup_case(Fate::DiesAt(place));
        assert!(seen.len() <= place, "{seen:?}");
    }
}

#[test]
fn a_full_disk_is_told_keeps_earlier_snapshots_whole_and_the_next_backup_goes_on() {
    let world = World::new();
    std::fs::create_dir(world.backups()).unwrap();
    let disk = SmallDisk::mount(&world.backups(), 8 * 1024 * 1024);
    // The disk has a filler file of its own beside the folder of backups.
    let to = BackupPlace::Folder(world.backups().join("onyx"));
    let back_up = || {
        back_up(&BackupRequest {
            home: &world.home(),
            server: None,
            to: &to,
            passphrase: None,
            encryption: Encryption::AsItIs,
            keep: None,
            clock: &world.clock,
            stop: &Cancel::new(),
        })
    };
    back_up().unwrap();
    world.later();
    let noise = (0..200_000_u32).flat_map(|n| n.wrapping_mul(77_777_771).to_le_bytes());
    world.write("people/owner/vault/new.bin", noise.collect::<Vec<u8>>());
    for pages in [0, 1, 40] {
        disk.fill_but(pages);
        let fault = onyx_types::Fault::from(back_up().unwrap_err());
        assert_eq!(fault.code, onyx_types::ErrorCode::StorageFull, "{pages}: {fault:?}");
        disk.empty();
        let report = verify(&to, None, Repair::No).unwrap();
        assert!(report.is_sound() && report.snapshots == 1, "{pages}: {report:?}");
    }
    back_up().unwrap();
    let source = Source { place: &to, snapshot: None, passphrase: None };
    let home = world.other("again");
    let request = RestoreRequest {
        source,
        home: &home,
        when_damaged: WhenDamaged::Stop,
        stop: &Cancel::new(),
    };
    restore_home(&request).unwrap();
    assert_eq!(restored(&home), world.kept());
}

/// A restore that is killed leaves no home, or a complete one.
fn restore_case(fate: Fate) -> Vec<FileChange> {
    let world = World::new();
    world.back_up();
    let watched = world.home().parent().unwrap().to_owned();
    let (from, home) = (world.backups(), world.other("again"));
    let order = ["restore", from.to_str().unwrap(), home.to_str().unwrap()];
    let seen = meet(fate, &watched, &order);
    let at = format!("killed at {:?}", seen.last());
    if home.exists() {
        assert_eq!(restored(&home), world.kept(), "{at}");
        assert_eq!(rows(&home.join("onyx.db")), ["kept"], "{at}");
        std::fs::remove_dir_all(&home).unwrap();
    }
    world.restore("again").unwrap();
    assert_eq!(restored(&home), world.kept(), "{at}");
    assert!(!world.other(".again.restoring").exists(), "{at}");
    seen
}

#[test]
fn a_restore_killed_at_any_write_leaves_no_half_made_home() {
    let places = restore_case(Fate::Lives).len();
    println!("{places} places to die at");
    assert!(places >= FEWEST, "{places}");
    for place in (1..=places).step_by(places.div_ceil(TRIED)) {
        restore_case(Fate::DiesAt(place));
    }
}
