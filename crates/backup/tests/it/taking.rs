//! Tests what a backup keeps, what it reads again, and what it costs.

use std::fs;
use std::io::Write as _;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};

use onyx_backup::{
    BackupError, BackupPlace, BackupRequest, Encryption, back_up, last_backup, list,
};
use onyx_types::Cancel;

use crate::world::{SESSION, World, files_of, restored, rows, tree, turn};

#[test]
fn a_restored_home_is_the_home_byte_for_byte_but_for_what_can_be_had_again() {
    let world = World::new();
    let report = world.back_up();
    assert_eq!((report.unreadable.len(), report.torn.len()), (0, 0), "{report:?}");
    let kept = world.kept();
    let back = world.restore("again").unwrap();
    assert_eq!(restored(&world.other("again")), kept);
    assert_eq!(rows(&world.other("again/onyx.db")), ["kept"]);
    let files = kept.values().filter(|(_, kind, _)| kind.starts_with("file")).count() as u64;
    assert_eq!((report.files, back.files), (files + 1, files + 1), "with the database");
    assert_eq!(report.bytes, back.bytes);
    let last = last_backup(&world.home()).unwrap().unwrap();
    assert_eq!((last.snapshot, last.to), (report.snapshot, world.backups()));
}

#[test]
fn a_link_is_kept_as_a_link_and_what_it_leads_to_is_not_read() {
    let world = World::new();
    let outside = world.other("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "SECRET-CANARY").unwrap();
    std::os::unix::fs::symlink(&outside, world.home().join("people/owner/vault/out")).unwrap();
    world.back_up();
    world.restore("again").unwrap();
    let link = world.other("again/people/owner/vault/out");
    assert_eq!(fs::read_link(link).unwrap(), outside);
    let tree = tree(&world.other("again"));
    assert!(!tree.values().any(|(_, _, content)| content == b"SECRET-CANARY"));
}

#[test]
fn only_what_changed_is_read_and_only_what_is_new_is_kept() {
    let world = World::new();
    let first = world.back_up();
    world.later();
    let second = world.back_up();
    // The database is always read, and the note of the first backup is new.
    assert_eq!(second.read_files, 1, "{second:?}");
    assert!(second.new_bytes < 2_000, "{second:?}");
    world.later();
    // Only the last chunk of a file that grew is new.
    let large = world.home().join("people/owner/vault/large.bin");
    fs::OpenOptions::new().append(true).open(&large).unwrap().write_all(b"more").unwrap();
    let third = world.back_up();
    assert_eq!(third.read_files, 2, "{third:?}");
    assert!(third.new_bytes < 300_000, "{third:?}");
    assert!(first.new_bytes > 2_500_000, "{first:?}");
    for snapshot in [&first, &second, &third] {
        let to = format!("of {}", snapshot.snapshot);
        world.restore_snapshot(&to, Some(&snapshot.snapshot), None).unwrap();
    }
    let length = |of: &str| {
        let path = world.other(&format!("of {of}/people/owner/vault/large.bin"));
        fs::metadata(path).unwrap().len()
    };
    assert_eq!((length(&first.snapshot), length(&third.snapshot)), (2_800_000, 2_800_004));
}

#[test]
fn a_change_that_keeps_size_and_time_is_seen() {
    let world = World::new();
    world.back_up();
    world.later();
    let note = world.home().join("people/owner/vault/note.md");
    let modified = fs::metadata(&note).unwrap().modified().unwrap();
    fs::write(&note, "two\n").unwrap();
    fs::File::options().write(true).open(&note).unwrap().set_modified(modified).unwrap();
    world.back_up();
    world.restore("again").unwrap();
    assert_eq!(fs::read(world.other("again/people/owner/vault/note.md")).unwrap(), b"two\n");
}

#[test]
fn a_log_that_is_being_written_is_kept_up_to_its_last_whole_line() {
    let world = World::new();
    let whole = turn("hello") + &turn("again");
    world.write(&format!("{SESSION}.jsonl"), format!("{whole}{{\"id\":\"half"));
    world.back_up();
    world.restore("again").unwrap();
    let log = fs::read_to_string(world.other("again").join(format!("{SESSION}.jsonl"))).unwrap();
    assert_eq!(log, whole);
}

#[test]
fn a_backup_while_others_write_is_of_one_moment_of_the_database_and_of_whole_lines() {
    let world = World::new();
    let database = world.home().join("onyx.db");
    let log = world.home().join(format!("{SESSION}.jsonl"));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut connection = rusqlite::Connection::open(&database).unwrap();
            connection.busy_timeout(std::time::Duration::from_secs(30)).unwrap();
            let mut log = fs::OpenOptions::new().append(true).open(&log).unwrap();
            while !stop.load(Ordering::Relaxed) {
                // Both rows belong to one transaction, so a copy has both or neither.
                let both = connection.transaction().unwrap();
                both.execute("INSERT INTO rows VALUES ('pair')", []).unwrap();
                both.execute("INSERT INTO rows VALUES ('pair')", []).unwrap();
                both.commit().unwrap();
                let line = turn(&"long ".repeat(500));
                let (one, other) = line.split_at(line.len() / 2);
                log.write_all(one.as_bytes()).unwrap();
                log.write_all(other.as_bytes()).unwrap();
            }
        });
        for number in 0..8 {
            world.back_up();
            world.later();
            let to = format!("copy {number}");
            world.restore(&to).unwrap();
            let pairs = rows(&world.other(&to).join("onyx.db"));
            assert_eq!(pairs.len() % 2, 1, "the first row and pairs: {}", pairs.len());
            let log = fs::read(world.other(&to).join(format!("{SESSION}.jsonl"))).unwrap();
            assert_eq!(log.last(), Some(&b'\n'));
            let lines = log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            for line in lines {
                serde_json::from_slice::<serde_json::Value>(line).unwrap();
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn old_snapshots_go_with_what_no_other_names_and_the_rest_stays_whole() {
    let world = World::new();
    world.keep_two_snapshots_of(5, || {
        let packs = files_of(&world.backups().join("packs"), "pack");
        packs.iter().map(|path| fs::metadata(path).unwrap().len()).sum()
    });
}

#[test]
fn sockets_are_left_out_and_named() {
    let world = World::new();
    let _socket = UnixListener::bind(world.home().join("people/owner/vault/socket")).unwrap();
    let report = world.back_up();
    assert_eq!(report.special, ["people/owner/vault/socket"]);
}

#[test]
fn a_folder_inside_the_home_is_refused_whatever_way_it_is_named() {
    let world = World::new();
    let alias = world.other("alias");
    std::os::unix::fs::symlink(world.home().join("people"), &alias).unwrap();
    for to in [world.home(), world.home().join("shared/new/backups"), alias.join("backups")] {
        let refused = back_up(&BackupRequest {
            home: &world.home(),
            server: None,
            to: &BackupPlace::Folder(to),
            passphrase: None,
            encryption: Encryption::AsItIs,
            keep: None,
            clock: &world.clock,
            stop: &Cancel::new(),
        });
        assert!(matches!(refused, Err(BackupError::InsideHome { .. })), "{refused:?}");
    }
    assert!(!world.home().join("shared/new").exists());
}

#[test]
fn a_folder_with_somebody_elses_files_is_refused_and_stays_as_it_is() {
    let world = World::new();
    fs::create_dir(world.backups()).unwrap();
    fs::write(world.backups().join("photo.jpg"), "photo").unwrap();
    let refused = world.try_back_up(None, None);
    assert!(matches!(refused, Err(BackupError::NotEmpty { .. })), "{refused:?}");
    assert_eq!(tree(&world.backups()).len(), 1);
}

#[test]
fn a_backup_that_is_told_to_stop_leaves_no_snapshot() {
    let world = World::new();
    let stop = Cancel::new();
    stop.cancel();
    let stopped = back_up(&BackupRequest {
        home: &world.home(),
        server: None,
        to: &world.place(),
        passphrase: None,
        encryption: Encryption::AsItIs,
        keep: None,
        clock: &world.clock,
        stop: &stop,
    });
    assert!(matches!(stopped, Err(BackupError::Stopped)), "{stopped:?}");
    assert_eq!(list(&world.place(), None).unwrap().snapshots, []);
}
