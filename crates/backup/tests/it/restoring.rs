//! Tests restoring: a whole home where there is none, one file and one session beside existing
//! ones.

use std::fs;
use std::path::Path;

use onyx_backup::{
    BackupError, BackupPlace, SessionRequest, Source, restore_file, restore_session,
};
use onyx_storage::Home;
use serde_json::Value;

use crate::world::{SESSION, World, restored, tree, turn};

fn source(place: &BackupPlace) -> Source<'_> {
    Source { place, snapshot: None, passphrase: None }
}

#[test]
fn a_home_that_is_not_empty_or_is_in_use_is_refused_and_stays_as_it_is() {
    let world = World::new();
    world.back_up();
    let before = tree(&world.home());
    let refused = world.restore("home");
    assert!(matches!(refused, Err(BackupError::NotEmpty { .. })), "{refused:?}");
    assert_eq!(tree(&world.home()), before);

    let served = Home::open(&world.other("served")).unwrap();
    let refused = world.restore("served");
    assert!(matches!(refused, Err(BackupError::Busy { .. })), "{refused:?}");
    drop(served);
    // A program that looks at a home leaves a lock and empty folders, and nothing is lost with
    // them.
    world.restore("served").unwrap();
    assert_eq!(restored(&world.other("served")), world.kept());
}

#[test]
fn a_snapshot_is_chosen_by_the_beginning_of_its_id() {
    let world = World::new();
    let first = world.back_up();
    world.later();
    world.write("people/owner/vault/note.md", "two\n");
    world.back_up();
    world.restore_snapshot("old", Some(&first.snapshot), None).unwrap();
    world.restore("new").unwrap();
    let note = |of: &str| fs::read_to_string(world.other(of).join("people/owner/vault/note.md"));
    assert_eq!((note("old").unwrap(), note("new").unwrap()), ("one\n".into(), "two\n".into()));
    let unknown = world.restore_snapshot("none", Some("1999"), None);
    assert!(matches!(unknown, Err(BackupError::NoSnapshot { .. })), "{unknown:?}");
    let both = world.restore_snapshot("none", Some("20"), None);
    assert!(matches!(both, Err(BackupError::Refused(_))), "{both:?}");
}

#[test]
fn one_file_comes_back_under_its_name_or_beside_what_has_it() {
    let world = World::new();
    world.back_up();
    let (backups, home) = (world.place(), world.home());
    let note = Path::new("people/owner/vault/note.md");
    fs::write(home.join(note), "changed\n").unwrap();
    let date = {
        use onyx_types::Clock as _;
        world.clock.wall().utc_date()
    };
    let one = restore_file(source(&backups), &home, note).unwrap();
    assert_eq!(one.path, Path::new(&format!("people/owner/vault/note (restored {date}).md")));
    let two = restore_file(source(&backups), &home, note).unwrap();
    assert_eq!(two.path, Path::new(&format!("people/owner/vault/note (restored {date} 2).md")));
    assert_eq!(fs::read_to_string(home.join(note)).unwrap(), "changed\n");
    fs::remove_dir_all(home.join("people/owner/vault")).unwrap();
    let gone = restore_file(source(&backups), &home, note).unwrap();
    assert_eq!(gone.path, note);
    for path in [&one.path, &two.path, &gone.path].iter().filter(|path| home.join(path).exists()) {
        assert_eq!(fs::read_to_string(home.join(path)).unwrap(), "one\n");
    }
    let none = restore_file(source(&backups), &home, Path::new("people/owner/vault/none"));
    assert!(matches!(none, Err(BackupError::NotInSnapshot { .. })), "{none:?}");
}

#[test]
fn a_file_is_never_restored_through_a_link_that_was_put_in_a_folders_place() {
    let world = World::new();
    world.back_up();
    let outside = world.other("outside");
    fs::create_dir(&outside).unwrap();
    fs::remove_dir_all(world.home().join("people/owner/vault")).unwrap();
    std::os::unix::fs::symlink(&outside, world.home().join("people/owner/vault")).unwrap();
    let note = Path::new("people/owner/vault/note.md");
    restore_file(source(&world.place()), &world.home(), note).unwrap_err();
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn a_session_comes_back_as_itself_where_it_is_gone_and_as_another_where_it_is_not() {
    let world = World::new();
    world.back_up();
    let (backups, home) = (world.place(), world.home());
    let id = SESSION.rsplit('/').next().unwrap().parse().unwrap();
    let request = SessionRequest {
        source: source(&backups),
        home: &home,
        session: id,
        clock: &world.clock,
        seed: 7,
    };
    let log = home.join(format!("{SESSION}.jsonl"));
    let whole = turn("hello") + &turn("again");
    fs::write(&log, &whole[..turn("hello").len()]).unwrap();
    let copy = restore_session(&request).unwrap();
    assert_ne!(copy.session, id);
    let beside = log.with_file_name(format!("{}.jsonl", copy.session));
    assert_eq!(fs::read_to_string(&beside).unwrap(), whole);
    assert_eq!(fs::read_to_string(&log).unwrap(), turn("hello"), "nothing is overwritten");
    let details = fs::read(beside.with_extension("json")).unwrap();
    let details: Value = serde_json::from_slice(&details).unwrap();
    assert_eq!(details["title"], "Tea (restored)");
    assert_eq!(details["root"], copy.session.to_string());
    assert_eq!(details.get("fork_turn"), None);

    fs::remove_file(&log).unwrap();
    fs::remove_file(log.with_extension("json")).unwrap();
    let back = restore_session(&request).unwrap();
    assert_eq!((back.session, &*back.person, &*back.agent), (id, "owner", "main"));
    assert_eq!(fs::read_to_string(&log).unwrap(), whole);
}
