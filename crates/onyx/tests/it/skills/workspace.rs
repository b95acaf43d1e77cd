//! Skills in the folder that the config of an agent names as its workspace.

use std::path::Path;

use onyx_test_support::{OnyxProcess, ScriptedModel};
use serde_json::json;

use super::{called, obedient, output, skill};
use crate::builder;

async fn prompt(onyx: &OnyxProcess, model: &ScriptedModel) -> String {
    onyx.chat_stream(&json!({"message": "hello"})).await;
    model.last_request().body.to_string()
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// As with OpenClaw, new files take effect with the next message while the server runs.
#[tokio::test]
async fn skills_of_a_workspace_count_as_soon_as_they_are_put_there() {
    let model = obedient().await;
    let folder = tempfile::tempdir().unwrap();
    let agent = json!({"id": "main", "default": true, "model": "mine/some-model", "tier": "act",
        "workspace": folder.path().to_str().unwrap()});
    let onyx = builder(&model)
        .merge(json!({"agents": {"list": [agent]}}))
        .file("agents/main/skills/home.md", skill("home", "Of the home.", "Not read."))
        .start()
        .await;
    let before = prompt(&onyx, &model).await;
    assert!(
        !before.contains("Of the home."),
        "the workspace stands in place of the agent's folder"
    );

    write(folder.path(), "skills/bake/SKILL.md", &skill("bake", "How to bake.", "Knead it."));
    write(folder.path(), "skills/bake/times.md", "Bread: 40 minutes.\n");
    write(folder.path(), "skills/tea.md", &skill("tea", "How to make tea.", "Boil water."));
    let seen = prompt(&onyx, &model).await;
    assert!(seen.contains("- bake: How to bake.") && seen.contains("- tea: How to make tea."));
    let opened = called(&onyx, "skill", json!({"name": "bake"})).await;
    assert_eq!(output(&opened), "Knead it.\n\n[files of this skill: times.md]");
    let file = called(&onyx, "skill", json!({"name": "bake", "file": "times.md"})).await;
    assert_eq!(output(&file), "Bread: 40 minutes.\n");
    let listed = onyx.get("/api/skills").await.expect(200).json();
    let names = listed["skills"].as_array().unwrap().iter();
    let names: Vec<_> =
        names.map(|skill| (skill["name"].as_str(), skill["state"].as_str())).collect();
    assert_eq!(names, [(Some("bake"), Some("ready")), (Some("tea"), Some("ready"))]);

    write(folder.path(), "skills/tea.md", &skill("tea", "Tea as it should be.", "Warm the pot."));
    let seen = prompt(&onyx, &model).await;
    assert!(seen.contains("- tea: Tea as it should be.") && !seen.contains("How to make tea."));
    std::fs::remove_dir_all(folder.path().join("skills")).unwrap();
    let seen = prompt(&onyx, &model).await;
    assert!(!seen.contains("How to bake.") && !seen.contains("Tea as it should be."));

    // Nothing outside the folder is read through a link.
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "far/SKILL.md", &skill("far", "From elsewhere.", "Secret."));
    std::os::unix::fs::symlink(outside.path(), folder.path().join("skills")).unwrap();
    let seen = prompt(&onyx, &model).await;
    assert!(!seen.contains("From elsewhere."), "{seen}");
}
