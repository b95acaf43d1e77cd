//! A flipped bit in each kind of file must be found and reported. Intact files stay usable, and the
//! next backup stores again what the home still has.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use onyx_backup::{
    BackupError, Damage, Repair, RestoreRequest, Source, WhenDamaged, restore_home, verify,
};
use onyx_types::Cancel;

use crate::world::{World, files_of, restored};

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

/// A world with small packs, so that every byte can be tried.
fn small() -> World {
    let world = World::new();
    fs::remove_file(world.home().join("people/owner/vault/large.bin")).unwrap();
    fs::remove_file(world.home().join("onyx.db")).unwrap();
    world.back_up();
    world
}

#[test]
fn a_flipped_bit_in_any_byte_of_a_pack_is_found_and_the_file_is_named() {
    let world = small();
    let packs = files_of(&world.backups().join("packs"), "pack");
    let [pack] = packs.as_slice() else { panic!("{packs:?}") };
    let before = fs::read(pack).unwrap();
    let mut named = BTreeSet::new();
    for at in 0..before.len() {
        flip(pack, at);
        let report = verify(&world.place(), None, Repair::No).unwrap();
        assert!(!report.is_sound(), "byte {at} of {}", before.len());
        named.extend(report.damage.into_iter().filter_map(|damage| damage.path));
        fs::write(pack, &before).unwrap();
    }
    // An empty file has no bytes that could be damaged.
    let files: BTreeSet<String> = world
        .kept()
        .into_iter()
        .filter(|(_, (_, kind, content))| kind.starts_with("file") && !content.is_empty())
        .map(|(path, _)| path)
        .collect();
    assert_eq!(named, files);
    assert!(verify(&world.place(), None, Repair::No).unwrap().is_sound());
}

#[test]
fn a_flipped_bit_in_any_byte_of_a_manifest_is_found_and_the_snapshot_is_named() {
    let world = small();
    let manifests = files_of(&world.backups().join("snapshots"), "snapshot");
    let id = manifests[0].file_stem().unwrap().to_str().unwrap().to_owned();
    let before = fs::read(&manifests[0]).unwrap();
    for at in 0..before.len() {
        flip(&manifests[0], at);
        let report = verify(&world.place(), None, Repair::No).unwrap();
        assert_eq!(report.damage, [Damage { snapshot: id.clone(), path: None }], "byte {at}");
        fs::write(&manifests[0], &before).unwrap();
    }
    let refused = {
        flip(&manifests[0], 40);
        world.restore("again")
    };
    assert!(matches!(refused, Err(BackupError::Damaged(_))), "{refused:?}");
    assert!(!world.other("again").exists());
}

#[test]
fn a_flipped_bit_in_the_file_of_the_format_is_found() {
    let world = small();
    let format = world.backups().join("onyx-backup.json");
    let before = fs::read(&format).unwrap();
    // The last byte is the end of the line, which has no meaning.
    for at in 0..before.len() - 1 {
        flip(&format, at);
        let refused = verify(&world.place(), None, Repair::No);
        assert!(matches!(refused, Err(BackupError::Damaged(_))), "byte {at}: {refused:?}");
        fs::write(&format, &before).unwrap();
    }
}

/// Flips a bit in the middle of the chunk that holds the note.
fn damage_note(world: &World) {
    let packs = files_of(&world.backups().join("packs"), "pack");
    for pack in packs {
        let bytes = fs::read(&pack).unwrap();
        if let Some(at) = bytes.windows(9).position(|window| window == b"DAMAGE-ME") {
            flip(&pack, at + 4);
            return;
        }
    }
    panic!("the note is not in a pack as it is");
}

#[test]
fn a_damaged_file_stops_a_restore_by_name_or_is_left_out_when_that_is_asked_for() {
    let world = World::new();
    world.write("people/owner/vault/random.txt", "DAMAGE-ME");
    world.back_up();
    damage_note(&world);
    let refused = world.restore("again").unwrap_err().to_string();
    assert!(refused.contains("people/owner/vault/random.txt"), "{refused}");
    assert!(!world.other("again").exists() && !world.other(".again.restoring").exists());
    let report = restore_home(&RestoreRequest {
        source: Source { place: &world.place(), snapshot: None, passphrase: None },
        home: &world.other("again"),
        when_damaged: WhenDamaged::Skip,
        stop: &Cancel::new(),
    });
    assert_eq!(report.unwrap().damaged, ["people/owner/vault/random.txt"]);
    let mut kept = world.kept();
    kept.remove("people/owner/vault/random.txt");
    assert_eq!(restored(&world.other("again")), kept);
}

#[test]
fn after_a_repair_the_next_backup_makes_old_snapshots_whole_again() {
    let world = World::new();
    world.write("people/owner/vault/random.txt", "DAMAGE-ME");
    let first = world.back_up();
    damage_note(&world);
    world.later();
    let report = verify(&world.place(), None, Repair::Yes).unwrap();
    let path = Some("people/owner/vault/random.txt".to_owned());
    assert_eq!(report.damage, [Damage { snapshot: first.snapshot.clone(), path }]);
    let second = world.back_up();
    assert_eq!(second.read_files, 2, "the damaged file and the note of the last backup");
    assert!(verify(&world.place(), None, Repair::No).unwrap().is_sound());
    world.restore_snapshot("again", Some(&first.snapshot), None).unwrap();
    assert_eq!(restored(&world.other("again")), world.kept());
}

#[test]
fn a_pack_that_is_gone_or_cut_short_is_damage_of_the_files_in_it() {
    let world = World::new();
    world.back_up();
    let packs = files_of(&world.backups().join("packs"), "pack");
    let length = fs::metadata(&packs[0]).unwrap().len();
    fs::File::options().write(true).open(&packs[0]).unwrap().set_len(length / 2).unwrap();
    let cut = verify(&world.place(), None, Repair::No).unwrap().damage.len();
    fs::remove_file(&packs[0]).unwrap();
    let gone = verify(&world.place(), None, Repair::No).unwrap().damage.len();
    assert!(0 < cut && cut < gone, "{cut} {gone}");
}

#[test]
fn a_manifest_that_leads_out_of_the_home_is_refused() {
    use std::os::unix::fs::symlink;
    // An attacker who can write to the folder of backups adds a link, and then a file through it.
    let world = World::new();
    let outside = world.other("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, world.home().join("people/owner/vault/trap")).unwrap();
    world.back_up();
    let refused = onyx_backup::restore_file(
        Source { place: &world.place(), snapshot: None, passphrase: None },
        &world.home(),
        Path::new("people/owner/vault/trap/../../../../outside/x"),
    );
    assert!(matches!(refused, Err(BackupError::NotInSnapshot { .. })), "{refused:?}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}
