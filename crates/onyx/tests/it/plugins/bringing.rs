use serde_json::json;

use super::{called, obedient, output, plugins, show};
use crate::builder;

/// A package with a tool and a skill, but without a plugin program.
fn package() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let file = folder.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    let schema = |what: &str| format!("https://agent-plugins.org/schemas/1.0.0/{what}.schema.json");
    put("plugin.json", &json!({"$schema": schema("plugin"), "name": "bundle"}).to_string());
    let server = json!({"type": "stdio", "command": "python3", "args": ["${PLUGIN_ROOT}/server.py", "plain"]});
    let servers = json!({"$schema": schema("mcp"), "mcpServers": {"fake": server}});
    put("mcp.json", &servers.to_string());
    put("server.py", include_str!("../mcp/server.py"));
    put(
        "skills/greet/SKILL.md",
        "---\nname: greet\ndescription: Greets people.\n---\nSay hello.\n",
    );
    folder
}

#[tokio::test]
async fn tools_and_skills_of_a_package_wait_for_their_own_acceptance() {
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    let folder = package();
    plugins(&onyx, &["add", folder.path().to_str().unwrap()]).await;
    plugins(&onyx, &["accept", "bundle"]).await;
    let _ = onyx.get("/api/admin/mcp/bundle-fake").await.expect(404);
    plugins(&onyx, &["enable", "bundle"]).await;
    let skills = onyx.get("/api/skills").await.expect(200).json();
    assert_eq!(skills["skills"][0]["state"], "new", "{skills:#}");
    // Its tools are handled like all foreign tools.
    let test = onyx.post("/api/admin/mcp/bundle-fake/test", &json!({})).await.expect(200).json();
    assert_eq!(test["status"], "running", "{test:#}");
    let echo = test["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "echo");
    let echo = echo.unwrap();
    assert_eq!((&echo["state"], &echo["effect"]), (&json!("new"), &json!("reach")));
    let absent = called(&onyx, "mcp:bundle-fake/echo", json!({"text": "hi"})).await;
    assert!(output(&absent).contains("there is no tool"), "{absent}");
    let seen = json!({"tools": {"echo": echo["hash"]}});
    let _ = onyx.post("/api/admin/mcp/bundle-fake/accept", &seen).await.expect(200);
    // The server is not in the config, so the effect of its tools cannot be set there.
    let path = "/api/admin/mcp/bundle-fake/tools/echo";
    let set = onyx.client().request(reqwest::Method::PUT, path).json(&json!({"effect": "read"}));
    let refused = onyx_test_support::Reply::of(set).await.expect(400).json();
    assert!(refused["detail"].as_str().unwrap().contains("the plugin bundle"), "{refused}");
    let message = crate::drafts::message(&[("mcp:bundle-fake/echo", json!({"text": "hi"}))]);
    let mut lines = onyx.chat_lines(&json!({"message": message})).await;
    let confirm = lines.until("confirm").await;
    assert_eq!(confirm["tool"], "mcp:bundle-fake/echo", "{confirm}");
    drop(lines);

    // The package changes, so all its parts are switched off.
    std::fs::write(onyx.home().join("plugins/bundle/server.py"), "raise SystemExit").unwrap();
    onyx_test_support::wait_for("the server to go", crate::SOON * 3, async || {
        (onyx.get("/api/admin/mcp/bundle-fake").await.status == 404).then_some(())
    })
    .await;
    assert_eq!(show(&onyx, "bundle").await["state"], "changed");
}
