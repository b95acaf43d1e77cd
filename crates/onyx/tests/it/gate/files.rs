//! Deleting and moving files, and the protection of files that steer agents.

use serde_json::{Value, json};

use super::{has_status, obedient, pending, read_tainted, results, told, undo};
use crate::builder;
use crate::drafts::{draft_of, message, path, suggesting, tainting, vault};

fn delete(name: &str) -> (&'static str, Value) {
    ("delete_file", json!({"path": name}))
}

fn moved(from: &str, to: &str) -> (&'static str, Value) {
    ("move_file", json!({"from": from, "to": to}))
}

#[tokio::test]
async fn a_deletion_is_drafted_shown_whole_done_on_a_yes_and_undone_to_the_byte() {
    let model = obedient().await;
    let onyx = suggesting(&model).file("people/owner/vault/a.md", "one\r\ntwo").start().await;
    let (events, draft) = draft_of(&onyx, json!({"message": message(&[delete("a.md")])})).await;
    let row = onyx.get(&path(&draft)).await.expect(200).json();
    assert_eq!((&row["effect"], &row["summary"]), (&json!("destroy"), &json!("Delete a.md")));
    let shown = row["preview"]["unified"].as_str().unwrap();
    assert!(shown.contains("-one") && shown.contains("-two"), "{shown}");
    assert!(vault(&onyx, "a.md").is_some());
    let _ = onyx.post(&format!("{}/approve", path(&draft)), &json!({})).await.expect(200);
    assert_eq!(vault(&onyx, "a.md"), None);
    assert_eq!(undo(&onyx, &events).await, json!({"restored": ["vault/a.md"]}));
    assert_eq!(vault(&onyx, "a.md").as_deref(), Some("one\r\ntwo"));
}

#[tokio::test]
async fn at_act_a_deletion_waits_for_a_person_and_a_no_keeps_the_file() {
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    let file = onyx.home().join("people/owner/vault/photo.bin");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let photo = [0xff, 0xd8, 0, 159, 146];
    std::fs::write(&file, photo).unwrap();
    for (decision, left) in [("reject", Some(photo.to_vec())), ("approve", None)] {
        let body = json!({"message": message(&[delete("photo.bin")])});
        let mut lines = onyx.chat_lines(&body).await;
        let start = lines.until("start").await;
        let confirm = lines.until("confirm").await;
        assert_eq!(confirm["preview"]["text"], "photo.bin is gone (5 bytes, not text)");
        let draft = confirm["draft_id"].as_str().unwrap();
        let _ = onyx.post(&format!("{}/{decision}", path(draft)), &json!({})).await.expect(200);
        lines.rest().await;
        assert_eq!(std::fs::read(&file).ok(), left, "{decision}");
        if left.is_none() {
            undo(&onyx, &[start]).await;
            assert_eq!(std::fs::read(&file).unwrap(), photo);
        }
    }
    let events = told(&onyx, &[delete("not-there.md")]).await;
    assert_eq!(results(&events)[0]["output"], "there is no file not-there.md");
}

#[tokio::test]
async fn a_move_keeps_what_the_file_holds_takes_nothings_place_and_is_undone_as_one() {
    let model = obedient().await;
    let onyx = builder(&model)
        .file("people/owner/vault/a.md", "mine\n")
        .file("people/owner/vault/there.md", "there\n")
        .start()
        .await;
    let events = told(
        &onyx,
        &[
            moved("a.md", "there.md"),
            moved("a.md", "../out.md"),
            moved("a.md", ".hidden"),
            moved("gone.md", "b.md"),
            moved("a.md", "notes/b.md"),
        ],
    )
    .await;
    let ok: Vec<bool> = results(&events).iter().map(|r| r["ok"].as_bool().unwrap()).collect();
    assert_eq!(ok, [false, false, false, false, true], "{events:#?}");
    assert_eq!(vault(&onyx, "a.md"), None);
    assert_eq!(vault(&onyx, "notes/b.md").as_deref(), Some("mine\n"));
    assert_eq!(vault(&onyx, "there.md").as_deref(), Some("there\n"));
    let restored = undo(&onyx, &events).await;
    assert_eq!(restored, json!({"restored": ["vault/a.md", "vault/notes/b.md"]}));
    assert_eq!(vault(&onyx, "a.md").as_deref(), Some("mine\n"));
    assert_eq!(vault(&onyx, "notes/b.md"), None);
}

#[tokio::test]
async fn neither_a_move_nor_an_undo_makes_foreign_text_the_persons_own() {
    let model = obedient().await;
    let onyx = tainting(builder(&model)).start().await;
    let write = ("write_file", json!({"path": "page.md", "content": "they say\n"}));
    told(&onyx, &[read_tainted(), write]).await;

    let move_it = told(&onyx, &[moved("page.md", "mine.md")]).await;
    assert!(!has_status(&move_it, "tainted"), "moving is not reading: {move_it:#?}");
    let read = ("read_file", json!({"path": "mine.md"}));
    assert!(has_status(&told(&onyx, std::slice::from_ref(&read)).await, "tainted"));

    // Even a clean run needs a person to move it to a path that agents or the person's programs
    // obey.
    for to in ["agents.md", "Makefile"] {
        let body = json!({"message": message(&[moved("mine.md", to)])});
        let mut lines = onyx.chat_lines(&body).await;
        let confirm = lines.until("confirm").await;
        let draft = confirm["draft_id"].as_str().unwrap();
        let _ = onyx.post(&format!("{}/reject", path(draft)), &json!({})).await.expect(200);
        lines.rest().await;
        assert_eq!(vault(&onyx, to), None);
    }

    let write = ("write_file", json!({"path": "mine.md", "content": "mine now\n"}));
    let events = told(&onyx, &[write]).await;
    assert!(!has_status(&told(&onyx, std::slice::from_ref(&read)).await, "tainted"));
    undo(&onyx, &events).await;
    assert_eq!(vault(&onyx, "mine.md").as_deref(), Some("they say\n"));
    assert!(has_status(&told(&onyx, &[read]).await, "tainted"));
}

#[tokio::test]
async fn what_the_config_protects_steers_agents_like_their_own_files() {
    let model = obedient().await;
    let limits = json!({"limits": {"protected": ["plans"]}});
    let onyx = tainting(builder(&model)).merge(limits).start().await;
    let write = |name: &str| ("write_file", json!({"path": name, "content": "theirs\n"}));
    let calls = message(&[
        read_tainted(),
        write("note.md"),
        write("Plans/deep/a.md"),
        moved("note.md", "plans/b.md"),
        delete("note.md"),
    ]);
    let body = json!({"model": "onyx:main", "messages": [{"role": "user", "content": calls}]});
    let _ = onyx.post("/v1/chat/completions", &body).await.expect(200);
    assert_eq!(vault(&onyx, "note.md").as_deref(), Some("theirs\n"));
    assert_eq!((vault(&onyx, "Plans/deep/a.md"), vault(&onyx, "plans/b.md")), (None, None));
    let drafts = pending(&onyx).await;
    let summaries: Vec<&str> = drafts.iter().map(|d| d["summary"].as_str().unwrap()).collect();
    assert_eq!(summaries.len(), 2, "{drafts:#?}");
    assert!(drafts.iter().any(|draft| draft["instruction"] == true), "{drafts:#?}");
}
