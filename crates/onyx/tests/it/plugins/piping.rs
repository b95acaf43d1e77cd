use std::io::Write as _;
use std::path::Path;

use onyx_test_support::{ScriptedModel, wait_for};
use serde_json::{Value, json};

use super::{example, plugins, wait_for_status};
use crate::{SOON, builder, run};

fn write(folder: &Path, id: &str, text: &str) {
    let file = std::fs::OpenOptions::new().append(true).create(true).open(folder.join("in.jsonl"));
    let line = json!({"id": id, "peer": "anna", "name": "Anna", "text": text});
    writeln!(file.unwrap(), "{line}").unwrap();
}

fn answers(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("out.jsonl")).unwrap_or_default();
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["text"].as_str().unwrap().to_owned()
    };
    text.lines().map(line).collect()
}

#[tokio::test]
async fn a_plugin_brings_a_network_whose_people_are_paired_and_answered() {
    let model = ScriptedModel::start().await;
    model.respond_with(|request| {
        let messages = request.body["messages"].to_string();
        let said = if messages.contains("second") { "the second" } else { "the first" };
        format!("This answers {said}.").as_str().into()
    });
    let mut onyx = builder(&model).start().await;
    let package = example("plugin-ts", "onyx-plugin.mjs");
    plugins(&onyx, &["add", package.path().to_str().unwrap()]).await;
    plugins(&onyx, &["accept", "pipe"]).await;
    plugins(&onyx, &["enable", "pipe"]).await;
    wait_for_status(&onyx, "pipe", "running").await;
    let folder = onyx.home().join("plugins/.data/pipe");
    write(&folder, "1", "hello");
    let code = wait_for("a pairing code", SOON * 3, async || {
        let listed = run(&onyx.home(), &["connectors", "list"]).await.out;
        let code = listed.split("onyx connectors pair ").nth(1)?;
        Some(code.split_whitespace().next()?.to_owned())
    })
    .await;
    wait_for("the code to be told", SOON * 3, async || {
        answers(&folder).iter().any(|text| text.contains("pairing code")).then_some(())
    })
    .await;
    let paired = run(&onyx.home(), &["connectors", "pair", &code]).await;
    assert!(paired.out.contains("Anna can now talk to your agents"), "{paired:?}");
    write(&folder, "2", "the first question");
    wait_for("the first answer", SOON * 3, async || {
        answers(&folder).contains(&"This answers the first.".to_owned()).then_some(())
    })
    .await;
    // Messages that were written while the server was down are delivered after the restart and
    // answered once.
    onyx.kill().await;
    write(&folder, "3", "the second question");
    onyx.restart().await;
    wait_for("the second answer", SOON * 3, async || {
        answers(&folder).contains(&"This answers the second.".to_owned()).then_some(())
    })
    .await;
    let all = answers(&folder);
    for answer in ["This answers the first.", "This answers the second."] {
        assert_eq!(all.iter().filter(|text| *text == answer).count(), 1, "{all:?}");
    }
}
