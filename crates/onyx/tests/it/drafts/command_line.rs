//! `onyx drafts` and `onyx audit`.

use serde_json::{Value, json};

use super::{draft_of, message, obedient, suggesting, vault};
use crate::run;

#[tokio::test]
async fn drafts_are_listed_shown_and_decided_at_the_command_line() {
    let model = obedient().await;
    let onyx = suggesting(&model).start().await;
    let write = |name: &str| {
        let call = ("write_file", json!({"path": name, "content": "hello\n"}));
        json!({"message": message(&[call])})
    };
    let (_, first) = draft_of(&onyx, write("a.md")).await;
    let (_, second) = draft_of(&onyx, write("b.md")).await;
    let home = onyx.home();
    let ran = async |arguments: &[&str]| run(&home, arguments).await;

    let list = ran(&["drafts", "list"]).await;
    assert_eq!(list.code, Some(0), "{list:?}");
    let lines: Vec<&str> = list.out.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with(&second) && lines[0].contains("Create b.md"), "{list:?}");

    let shown = ran(&["drafts", "show", &first]).await;
    assert!(shown.out.contains("Create a.md +1 −0") && shown.out.contains("+hello"), "{shown:?}");

    let approved = ran(&["drafts", "approve", &first, "--yes"]).await;
    assert_eq!(approved.code, Some(0), "{approved:?}");
    assert_eq!(vault(&onyx, "a.md").as_deref(), Some("hello\n"));
    let again = ran(&["drafts", "approve", &first, "--yes"]).await;
    assert_ne!(again.code, Some(0));
    assert!(again.err.contains("draft_decided"), "{again:?}");

    let rejected = ran(&["drafts", "reject", &second, "--reason", "no", "--json"]).await;
    let row: Value = serde_json::from_str(&rejected.out).unwrap();
    assert_eq!((&row["state"], &row["reason"]), (&json!("rejected"), &json!("no")));
    assert_eq!(ran(&["drafts", "list"]).await.out, "");
    let all = ran(&["drafts", "list", "--all", "--json"]).await;
    let all: Value = serde_json::from_str(&all.out).unwrap();
    assert_eq!(all["drafts"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn the_audit_log_is_listed_checked_and_taken_away_at_the_command_line() {
    let model = obedient().await;
    let onyx = suggesting(&model).start().await;
    let call = ("write_file", json!({"path": "a.md", "content": "hello\n"}));
    let (_, draft) = draft_of(&onyx, json!({"message": message(&[call])})).await;
    let home = onyx.home();
    let ran = async |arguments: &[&str]| run(&home, arguments).await;
    let list = ran(&["audit", "list"]).await;
    assert!(list.out.contains("write_file") && list.out.contains(&draft), "{list:?}");
    let verified = ran(&["audit", "verify"]).await;
    assert_eq!((verified.code, verified.out.as_str()), (Some(0), "owner: whole, 1 rows\n"));
    let exported = ran(&["audit", "export"]).await;
    let row: Value = serde_json::from_str(exported.out.lines().next().unwrap()).unwrap();
    assert_eq!((&row["seq"], &row["tool"]), (&json!(1), &json!("write_file")));
}
