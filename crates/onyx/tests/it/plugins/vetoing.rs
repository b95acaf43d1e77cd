use onyx_test_support::wait_for;
use serde_json::json;

use super::{
    called, configure, example, health, obedient, output, plugins, refused, show, wait_for_status,
};
use crate::drafts::{draft_of, message, suggesting};
use crate::{SOON, builder, run};

#[tokio::test]
async fn a_plugin_is_brought_looked_at_accepted_switched_on_and_says_no() {
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    let folder = example("plugin-py", "onyx_plugin.py");
    let from = folder.path().to_str().unwrap();
    assert!(plugins(&onyx, &["list"]).await.contains("There are no plugins"));
    let added = plugins(&onyx, &["add", from]).await;
    assert!(added.contains("careful") && added.contains("onyx plugins accept careful"), "{added}");
    // The requested permissions are shown before the plugin can be enabled.
    let shown = plugins(&onyx, &["show", "careful"]).await;
    let asks = "is notified of before_tool and can say no (write_file, edit_file; of everyone; with content)";
    assert!(shown.contains(asks) && shown.contains("+"), "{shown}");
    let why = refused(&onyx, &["enable", "careful"]).await;
    assert!(why.contains("was not accepted") && why.contains("onyx plugins accept"), "{why}");
    plugins(&onyx, &["accept", "careful"]).await;
    configure(&onyx, "careful", json!({"word": "swordfish"})).await;
    plugins(&onyx, &["enable", "careful"]).await;
    wait_for_status(&onyx, "careful", "running").await;

    let fine = called(&onyx, "write_file", json!({"path": "a.md", "content": "fine"})).await;
    assert_eq!(fine["ok"], true, "{fine}");
    let denied =
        called(&onyx, "write_file", json!({"path": "b.md", "content": "a Swordfish"})).await;
    let said =
        "denied: the plugin careful did not agree (it holds the word swordfish); nothing was done";
    assert_eq!(output(&denied), said);
    let vault = onyx.home().join("people/owner/vault");
    assert!(vault.join("a.md").exists() && !vault.join("b.md").exists());
    // The plugin gets no calls of other tools.
    let read = called(&onyx, "search_files", json!({"query": "swordfish"})).await;
    assert!(!output(&read).contains("did not agree"), "{read}");
    // Nobody waits for a plugin that is only told of a call.
    wait_for("the plugin to write of the call", SOON, async || {
        let logs = plugins(&onyx, &["logs", "careful"]).await;
        logs.contains("the last of search_files").then_some(())
    })
    .await;
    let audit = run(&onyx.home(), &["audit", "list"]).await.out;
    assert!(audit.contains("accepted the plugin careful"), "{audit}");
    let rows = onyx.get("/api/admin/audit").await.expect(200).json()["rows"].clone();
    let accepted = rows
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["diff_summary"].as_str().unwrap().starts_with("accepted the plugin"));
    let accepted = accepted.unwrap();
    let (whole, short) = (&accepted["diff_summary"], accepted["short_summary"].as_str().unwrap());
    let (words, hash) = whole.as_str().unwrap().rsplit_once(' ').unwrap();
    assert_eq!(short, format!("{words} {}…", &hash[..12]));
    assert!(audit.contains("vetoed by the plugin careful: it holds the word"), "{audit}");
    assert_eq!(health(&onyx, "careful").await.unwrap()["state"], "ok");

    plugins(&onyx, &["disable", "careful"]).await;
    let done = called(&onyx, "write_file", json!({"path": "c.md", "content": "swordfish"})).await;
    assert_eq!(done["ok"], true, "{done}");
    plugins(&onyx, &["remove", "careful"]).await;
    assert!(plugins(&onyx, &["list"]).await.contains("There are no plugins"));
    let config = std::fs::read_to_string(onyx.config_path()).unwrap();
    assert!(!config.contains("careful"), "{config}");
}

#[tokio::test]
async fn what_a_person_approves_is_still_told_to_the_guard_when_it_happens() {
    let model = obedient().await;
    let onyx = suggesting(&model).start().await;
    let call = ("write_file", json!({"path": "a.md", "content": "swordfish"}));
    let (_, draft) = draft_of(&onyx, json!({"message": message(&[call])})).await;
    let folder = example("plugin-py", "onyx_plugin.py");
    plugins(&onyx, &["add", folder.path().to_str().unwrap()]).await;
    plugins(&onyx, &["accept", "careful"]).await;
    configure(&onyx, "careful", json!({"word": "swordfish"})).await;
    plugins(&onyx, &["enable", "careful"]).await;
    wait_for_status(&onyx, "careful", "running").await;
    let approved = onyx.post(&format!("/api/pending-changes/{draft}/approve"), &json!({})).await;
    let approved = approved.expect(200).json();
    assert_eq!(approved["state"], "failed", "{approved:#}");
    assert!(approved.to_string().contains("did not agree"), "{approved:#}");
    assert!(!onyx.home().join("people/owner/vault/a.md").exists());
}

#[tokio::test]
async fn a_guard_that_is_down_costs_the_calls_that_it_guards_and_a_line_in_system() {
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    let folder = example("plugin-py", "onyx_plugin.py");
    std::fs::write(folder.path().join("main.py"), "import sys; sys.exit(3)").unwrap();
    plugins(&onyx, &["add", folder.path().to_str().unwrap()]).await;
    plugins(&onyx, &["accept", "careful"]).await;
    configure(&onyx, "careful", json!({"word": "swordfish"})).await;
    plugins(&onyx, &["enable", "careful"]).await;
    wait_for_status(&onyx, "careful", "failing").await;
    let denied = called(&onyx, "write_file", json!({"path": "a.md", "content": "fine"})).await;
    assert!(output(&denied).contains("the plugin careful did not agree"), "{denied}");
    let listed = called(&onyx, "list_files", json!({})).await;
    assert_eq!(listed["ok"], true, "{listed}");
    // For the moment in which it is tried once more, it is not known whether the plugin fails.
    wait_for("a line in System", SOON, async || {
        (health(&onyx, "careful").await?["state"] == "degraded").then_some(())
    })
    .await;
    // A config that does not fit the plugin's schema is reported, and nothing starts.
    let wrong = configure(&onyx, "careful", json!({"wort": 1})).await;
    assert!(wrong["problems"].to_string().contains("plugins.careful"), "{wrong}");
    assert_eq!(show(&onyx, "careful").await["status"], "idle");
}
