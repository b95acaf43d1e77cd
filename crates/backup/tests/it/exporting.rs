//! Tests the export of a home as plain files, for people who leave Onyx.

use std::fs;

use onyx_backup::{BackupError, export_everything};
use onyx_types::Cancel;

use crate::world::{World, rows, tree};

#[test]
fn an_export_has_every_file_each_conversation_to_read_and_a_readme_and_no_secret() {
    let world = World::new();
    world.write(".env", "KEY=SECRET-CANARY\n");
    let to = world.other("leaving");
    let report = export_everything(&world.home(), None, &to, &Cancel::new()).unwrap();
    let mut kept = world.kept();
    kept.retain(|path, _| path != "token" && path != ".env");
    let plain = |tree: crate::world::Tree| -> Vec<(String, Vec<u8>)> {
        tree.into_iter().map(|(path, (_, _, content))| (path, content)).collect()
    };
    assert_eq!(plain(tree(&to.join("home"))), plain(kept));
    assert_eq!(rows(&to.join("onyx.db")), ["kept"]);
    assert!(fs::read_to_string(to.join("README.md")).unwrap().contains("onyx.db"));
    assert_eq!((report.conversations, report.unreadable.len()), (1, 0));
    let page = fs::read_to_string(to.join("conversations/owner/2026-11-17 tea 00000001.md"));
    let page = page.unwrap();
    assert!(page.starts_with("# Tea\n") && page.contains("**owner**") && page.contains("again"));
    let all = tree(&to);
    let has = |needle: &[u8]| {
        all.values().any(|(_, _, content)| content.windows(needle.len()).any(|at| at == needle))
    };
    assert!(!has(b"SECRET-CANARY") && !has(b"a-token"));
}

#[test]
fn an_export_into_a_folder_with_files_or_into_the_home_is_refused() {
    let world = World::new();
    fs::create_dir(world.other("full")).unwrap();
    fs::write(world.other("full/file"), "mine").unwrap();
    let refused = export_everything(&world.home(), None, &world.other("full"), &Cancel::new());
    assert!(matches!(refused, Err(BackupError::NotEmpty { .. })), "{refused:?}");
    let inside = export_everything(&world.home(), None, &world.home().join("out"), &Cancel::new());
    assert!(matches!(inside, Err(BackupError::InsideHome { .. })), "{inside:?}");
}
