use onyx_plugins::{PackageFiles, PluginState};
use onyx_types::ErrorCode;
use serde_json::{Value, json};

use super::house::{House, guard, package};

fn files(list: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
    list.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
}

async fn refused(house: &House, files: Vec<(String, Vec<u8>)>) -> String {
    match PackageFiles::of_files(files) {
        Ok(files) => house.plugins.add(files).await.unwrap_err().message,
        Err(fault) => fault.message,
    }
}

/// The package with one value of our part changed.
fn with(pointer: &str, value: Value) -> Vec<(String, Vec<u8>)> {
    let mut part = guard();
    match pointer.rsplit_once('/').unwrap() {
        ("", key) => part[key] = value,
        (parent, key) => part.pointer_mut(parent).unwrap()[key] = value,
    }
    package("x", &part)
}

#[tokio::test]
async fn what_is_no_package_is_refused_with_the_reason() {
    let house = House::new().await;
    let schema = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";
    let manifest = |fields: &str| format!("{{\"$schema\": \"{schema}\", {fields}}}");
    for (list, why) in [
        (files(&[("readme.md", "x")]), "The package has no plugin.json"),
        (files(&[("plugin.json", "{}")]), "$schema must be"),
        (
            files(&[("plugin.json", manifest("\"name\": \"Bad Name\"").as_str())]),
            "name must be 1 to 64",
        ),
        (files(&[("plugin.json", manifest("\"name\": \"enabled\"").as_str())]), "not be `enabled`"),
        (
            files(&[("plugin.json", manifest("\"name\": \"a\", \"version\": 1").as_str())]),
            "version must be",
        ),
        (files(&[("plugin.json", manifest("\"name\": \"a\"").as_str()), ("../up", "x")]), ".."),
        (with("/command", json!([])), "command is missing"),
        (with("/command", json!(["./main.py"])), "there is no file main.py"),
        (with("/command", json!(["/bin/sh"])), "begin with ./"),
        (with("/hooks/0/event", json!("before_lunch")), "unknown variant"),
        (with("/hooks/0/event", json!("after_tool")), "does not name after_tool"),
        (with("/hooks/0/deadline_ms", json!(0)), "deadline_ms is 50"),
        (with("/grants/people", json!([])), "is empty"),
        (with("/grants/network", json!(["http://x/"])), "grants.network"),
        (with("/grants/folders", json!({"read": ["relative"]})), "not an absolute path"),
        (with("/grants/all", json!(true)), "unknown field"),
        (with("/config_schema", json!({"type": "no such"})), "config_schema"),
        (with("/connectors", json!([{"name": "telegram"}])), "one of Onyx's own"),
    ] {
        let told = refused(&house, list).await;
        assert!(told.contains(why), "{why}: {told}");
    }
    assert!(house.plugins.list().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_manifest_of_the_first_onyx_is_read_too() {
    let house = House::new().await;
    let manifest = "name: discord\nversion: \"0.1.0\"\ndescription: Discord bot integration\n\
        entry_point: main.py\ndependencies:\n  - discord.py>=2.5.0\nconfig_schema:\n  token:\n    \
        type: string\n    required: true\n    env: DISCORD_BOT_TOKEN\n  guild_ids:\n    type: array\n    \
        items: string\n    required: false\nhooks:\n  - on_message\n  - on_ready\n\
        grants:\n  events: [on_message, on_start]\n  people: [\"*\"]\n";
    let list = files(&[("manifest.yaml", manifest), ("main.py", "")]);
    let view = house.plugins.add(PackageFiles::of_files(list).unwrap()).await.unwrap();
    assert_eq!((view.name.as_str(), view.version.as_deref()), ("discord", Some("0.1.0")));
    let events: Vec<&str> = view.hooks.iter().map(|hook| hook.event.as_str()).collect();
    assert_eq!(events, ["on_message", "on_start"]);
    let schema = json!({"type": "object", "required": ["token"], "properties": {
        "token": {"type": "string"}, "guild_ids": {"type": "array", "items": {"type": "string"}}}});
    assert_eq!(view.config_schema, Some(schema));
    assert!(view.problems[0].contains("are not installed"), "{:?}", view.problems);
    let in_process = manifest.replace("main.py", "onyx.plugins.discord:DiscordPlugin");
    let told = refused(&house, files(&[("manifest.yaml", in_process.as_str())])).await;
    assert!(told.contains("entry_point must be a file"), "{told}");
}

#[tokio::test]
async fn a_package_may_lie_in_a_folder_of_an_archive_and_is_updated_in_place() {
    let house = House::new().await;
    let nested = package("careful", &guard()).into_iter();
    let nested = nested.map(|(path, bytes)| (format!("repo-main/{path}"), bytes));
    let view = house.plugins.add(PackageFiles::of_files(nested).unwrap()).await.unwrap();
    assert_eq!(view.state, PluginState::New);
    house.accept("careful").await;
    let mut part = guard();
    part["grants"]["network"] = json!(["example.org"]);
    let view = house.add("careful", part).await;
    assert_eq!(view.state, PluginState::Changed);
    assert!(view.diff.unwrap().contains("+      \"example.org\""));
    // A folder with another name than its plugin, and an empty one, are reported and do no harm.
    std::fs::rename(house.place("careful"), house.place("other")).unwrap();
    std::fs::create_dir(house.place("empty")).unwrap();
    let all = house.plugins.list().await.unwrap();
    let states: Vec<_> = all.into_iter().map(|view| (view.name, view.state)).collect();
    let broken = |why: &str| PluginState::Broken(why.to_owned());
    assert_eq!(
        states,
        [
            ("empty".to_owned(), broken("it has no plugin.json and no manifest.yaml")),
            ("other".to_owned(), broken("its folder must be named careful")),
        ]
    );
    let fault = house.plugins.get("careful").await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::NotFound);
}
