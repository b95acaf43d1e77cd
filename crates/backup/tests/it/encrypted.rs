//! Encrypted backups: nothing of the home can be read or guessed without the passphrase.

use std::fs;
use std::path::Path;

use onyx_backup::{BackupError, Passphrase, Repair, is_encrypted, list, verify};

use crate::world::{World, files_of, restored};

fn all_bytes(folder: &Path, out: &mut Vec<u8>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        out.extend_from_slice(path.file_name().unwrap().as_encoded_bytes());
        if path.is_dir() {
            all_bytes(&path, out);
        } else {
            out.extend(fs::read(path).unwrap());
        }
    }
}

#[test]
fn nothing_of_the_home_stands_in_an_encrypted_folder_and_only_its_passphrase_opens_it() {
    let world = World::new();
    // The text is short and cannot be compressed, so it would appear unchanged in a plain pack.
    let canary = "q7Xp-CANARY-93kd";
    world.write("people/owner/vault/canary-file-name.txt", canary);
    let right = Passphrase::new("correct horse battery staple");
    world.try_back_up(Some(&right), None).unwrap();
    let mut bytes = Vec::new();
    all_bytes(&world.backups(), &mut bytes);
    let has = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
    let name = onyx_types::Hash::of(canary.as_bytes());
    assert!(!has(canary.as_bytes()) && !has(b"canary-file-name") && !has(name.as_bytes()));
    assert_eq!(is_encrypted(&world.place()).unwrap(), Some(true));

    let wrong = Passphrase::new("correct horse battery stable");
    let refused = world.restore_snapshot("again", None, Some(&wrong));
    assert!(matches!(refused, Err(BackupError::WrongPassphrase { .. })), "{refused:?}");
    let refused = world.restore("again");
    assert!(matches!(refused, Err(BackupError::PassphraseNeeded { .. })), "{refused:?}");
    let refused = list(&world.place(), Some(&wrong));
    assert!(matches!(refused, Err(BackupError::WrongPassphrase { .. })), "{refused:?}");
    assert!(!world.other("again").exists());

    world.later();
    let second = world.try_back_up(Some(&right), None).unwrap();
    assert!(second.new_bytes < 10_000, "what is there is known again: {second:?}");
    world.restore_snapshot("again", None, Some(&right)).unwrap();
    assert_eq!(restored(&world.other("again")), world.kept());
    assert!(verify(&world.place(), Some(&right), Repair::No).unwrap().is_sound());
}

#[test]
fn a_plain_folder_does_not_become_encrypted_by_asking() {
    let world = World::new();
    world.back_up();
    let refused = world.try_back_up(Some(&Passphrase::new("late")), None);
    assert!(matches!(refused, Err(BackupError::NotEncrypted { .. })), "{refused:?}");
}

#[test]
fn a_manifest_under_another_snapshots_name_is_not_that_snapshot() {
    let world = World::new();
    let passphrase = Passphrase::new("correct horse");
    world.try_back_up(Some(&passphrase), None).unwrap();
    world.later();
    world.try_back_up(Some(&passphrase), None).unwrap();
    let manifests = files_of(&world.backups().join("snapshots"), "snapshot");
    fs::copy(&manifests[0], &manifests[1]).unwrap();
    let report = verify(&world.place(), Some(&passphrase), Repair::No).unwrap();
    assert_eq!(report.damage.len(), 1, "{report:?}");
}

#[test]
fn a_changed_bit_of_an_encrypted_pack_is_found() {
    let world = World::new();
    let passphrase = Passphrase::new("correct horse");
    world.try_back_up(Some(&passphrase), None).unwrap();
    let pack = &files_of(&world.backups().join("packs"), "pack")[0];
    let before = fs::read(pack).unwrap();
    for part in 0..5 {
        let mut bytes = before.clone();
        bytes[before.len() * part / 5] ^= 1;
        fs::write(pack, bytes).unwrap();
        let report = verify(&world.place(), Some(&passphrase), Repair::No).unwrap();
        assert!(!report.is_sound(), "part {part}");
    }
}
