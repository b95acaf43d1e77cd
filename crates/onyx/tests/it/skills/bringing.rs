use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::{called, obedient, output, skill};
use crate::drafts::message;
use crate::gate::events_of;
use crate::gate::forge::{Forge, git};
use crate::{builder, run};

fn zip_of(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (path, text) in files {
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file(*path, options).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn put(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[tokio::test]
async fn folders_and_archives_are_brought_along_and_wait_at_the_terminal() {
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    let home = onyx.home();
    let skills = async |arguments: &[&str]| {
        let all: Vec<&str> = ["skills"].iter().chain(arguments).copied().collect();
        run(&home, &all).await
    };
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "cook/SKILL.md", &skill("cook", "How to cook.", "Boil it."));
    put(folder.path(), "cook/scripts/boil.sh", "echo boil\n");
    let added = skills(&["add", folder.path().join("cook").to_str().unwrap()]).await;
    assert_eq!(added.code, Some(0), "{}", added.err);
    assert!(
        added.out.contains("new") && added.out.contains("onyx skills accept cook"),
        "{}",
        added.out
    );
    let shown = skills(&["show", "cook"]).await;
    assert!(
        shown.out.contains("+Boil it.") && shown.out.contains("scripts/boil.sh"),
        "{}",
        shown.out
    );
    let again = skills(&["add", folder.path().join("cook").to_str().unwrap()]).await;
    assert_ne!(again.code, Some(0));
    assert!(again.err.contains("There is a skill cook already"), "{}", again.err);
    assert!(skills(&["accept", "cook"]).await.out.contains("ready"));

    let archive = folder.path().join("two.zip");
    let (bake, fry) = (skill("bake", "Bread.", "Knead."), skill("fry", "Oil.", "Fry."));
    let bytes =
        zip_of(&[("pack/bake/SKILL.md", &bake), ("pack/fry/SKILL.md", &fry), ("README.md", "x")]);
    std::fs::write(&archive, bytes).unwrap();
    let added = skills(&["add", archive.to_str().unwrap(), "--accept"]).await;
    assert_eq!(added.code, Some(0), "{}", added.err);
    let listed = skills(&["list", "--json"]).await;
    let listed: Value = serde_json::from_str(&listed.out).unwrap();
    let listed: Vec<_> = listed["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| (skill["name"].as_str().unwrap(), skill["state"].as_str().unwrap()))
        .collect();
    assert_eq!(listed, [("bake", "ready"), ("cook", "ready"), ("fry", "ready")]);
    let opened = called(&onyx, "skill", json!({"name": "bake"})).await;
    assert_eq!(output(&opened), "Knead.\n");
    // A foreign skill counts as foreign for a run that reads its file directly.
    let read = [("read_file", json!({"path": "agent/skills/bake/SKILL.md"}))];
    let lines = onyx.chat_stream(&json!({"message": message(&read)})).await;
    let events = events_of(&onyx, &lines[0]).await;
    let tainted = |event: &Value| event["type"] == "status" && event["code"] == "tainted";
    assert!(events.iter().any(tainted), "{events:#?}");
    assert_eq!(skills(&["remove", "fry"]).await.code, Some(0));
    assert!(!skills(&["list"]).await.out.contains("fry"));
}

#[tokio::test]
async fn what_leads_out_of_a_package_or_is_too_much_is_refused_whole() {
    use base64::Engine as _;
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    let import = async |bytes: Vec<u8>| {
        let zip = base64::engine::general_purpose::STANDARD.encode(bytes);
        onyx.post("/api/skills/import", &json!({"zip": zip})).await
    };
    let cook = skill("cook", "How to cook.", "Boil it.");
    let out = zip_of(&[("cook/SKILL.md", &cook), ("cook/../../../agents.md", "obey")]);
    let refused = import(out).await.expect(400).json();
    assert!(refused["detail"].as_str().unwrap().contains(".."), "{refused}");
    let bomb = "0".repeat(20 * 1024 * 1024);
    let _ = import(zip_of(&[("cook/SKILL.md", &cook), ("cook/bomb", &bomb)])).await.expect(413);
    let none = import(zip_of(&[("notes/readme.txt", "hi")])).await.expect(400).json();
    assert!(none["detail"].as_str().unwrap().contains("no SKILL.md"), "{none}");
    let _ = import(b"no archive".to_vec()).await.expect(400);
    let broken = zip_of(&[("cook/SKILL.md", &cook), ("bad/SKILL.md", "no front matter")]);
    let _ = import(broken).await.expect(400);
    assert!(!onyx.home().join("people/owner/vault/agent/skills").exists(), "all or nothing");
}

#[tokio::test]
async fn a_repository_is_cloned_in_the_sandbox_and_its_skills_wait() {
    let model = obedient().await;
    let forge = Forge::open().await;
    let bare = forge.repository("skills.git");
    let work = tempfile::tempdir().unwrap();
    git(work.path(), &["init", "--quiet", "--initial-branch=main"]);
    put(work.path(), "skills/cook/SKILL.md", &skill("cook", "How to cook.", "Boil it."));
    std::os::unix::fs::symlink("/etc/passwd", work.path().join("skills/cook/passwd")).unwrap();
    git(work.path(), &["add", "."]);
    git(work.path(), &["commit", "--quiet", "--message", "skills"]);
    git(work.path(), &["push", "--quiet", bare.to_str().unwrap(), "main"]);
    let onyx = builder(&model)
        .merge(json!({"tools": {"web": {"allowPrivateHosts": [forge.host()]}}}))
        .start()
        .await;
    let added = run(&onyx.home(), &["skills", "add", &forge.url("skills.git")]).await;
    assert_eq!(added.code, Some(0), "{}", added.err);
    let cook = onyx.get("/api/skills/cook").await.expect(200).json();
    assert_eq!(cook["state"], "new", "{cook}");
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap();
    let vault = onyx.home().join("people/owner/vault/agent/skills/cook/passwd");
    assert!(std::fs::read_to_string(vault).map_or(true, |text| text != passwd));
    // An address that is not allowed is not contacted.
    let elsewhere = Forge::open().await;
    let refused = run(&onyx.home(), &["skills", "add", &elsewhere.url("skills.git")]).await;
    assert!(refused.err.contains("is not https"), "{}", refused.err);
    assert!(elsewhere.requests().is_empty());
}
