use onyx_tools::{Policy, ToolSettings, Warning};
use onyx_types::{ErrorCode, Tier};

use crate::support::World;

fn settings(allow: Option<&[&str]>, deny: &[&str]) -> ToolSettings {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    ToolSettings { allow: allow.map(owned), deny: owned(deny), commands: Vec::new() }
}

async fn offered(allow: Option<&[&str]>, deny: &[&str]) -> Vec<String> {
    let world = World::new().await;
    let settings = settings(allow, deny);
    let (policy, warnings) =
        Policy::resolve(Tier::Act, &settings, &world.toolbox.tools().known()).unwrap();
    assert_eq!(warnings, []);
    world.toolbox.tools().offers(&policy).iter().map(|spec| spec.name.to_string()).collect()
}

#[tokio::test]
async fn without_settings_every_tool_is_offered_in_its_order() {
    let all = [
        "list_files",
        "read_file",
        "write_file",
        "edit_file",
        "delete_file",
        "move_file",
        "search_files",
        "memory_get",
        "memory_write",
        "render_mermaid",
    ];
    assert_eq!(offered(None, &[]).await, all);
}

#[tokio::test]
async fn allow_and_deny_take_names_and_groups_and_deny_wins() {
    assert_eq!(offered(Some(&["group:memory"]), &[]).await, ["memory_get", "memory_write"]);
    assert_eq!(
        offered(Some(&["group:fs", "memory_get"]), &["write_file", "edit_file"]).await,
        ["list_files", "read_file", "delete_file", "move_file", "search_files", "memory_get"]
    );
    assert_eq!(offered(Some(&["read_file"]), &["group:fs"]).await, Vec::<String>::new());
    assert_eq!(offered(Some(&[]), &[]).await, Vec::<String>::new());
}

#[tokio::test]
async fn what_a_run_does_without_stays_away_when_other_tools_come() {
    let world = World::new().await;
    let settings = settings(Some(&["group:memory"]), &[]);
    let (policy, _) =
        Policy::resolve(Tier::Act, &settings, &world.toolbox.tools().known()).unwrap();
    let forgetful = policy.without(&["memory_write"]);
    let (one, none) = (policy.only(&["memory_get"]), policy.only(&[]));
    let offered = |policy: &Policy| -> Vec<String> {
        let tools = world.toolbox.tools();
        let ready = tools.ready_offers(policy, &world.cx.agent, &world.cx.key.person);
        let names: Vec<String> = ready.offers().iter().map(|offer| offer.name.clone()).collect();
        let listed = tools.offers(policy);
        assert_eq!(names, listed.iter().map(|spec| spec.name.to_string()).collect::<Vec<_>>());
        names
    };
    for come in [true, false] {
        assert_eq!(offered(&policy), ["memory_get", "memory_write"]);
        assert_eq!(offered(&forgetful), ["memory_get"]);
        assert_eq!(offered(&one), ["memory_get"]);
        assert_eq!(offered(&none), Vec::<String>::new());
        if come {
            world.toolbox.register(onyx_tools::find_tools()).unwrap();
        }
    }
}

#[tokio::test]
async fn a_name_that_no_tool_has_is_a_warning_in_allow() {
    let world = World::new().await;
    let settings = settings(Some(&["read_file", "raed_file", "group:none"]), &[]);
    let (_, warnings) =
        Policy::resolve(Tier::Act, &settings, &world.toolbox.tools().known()).unwrap();
    assert_eq!(
        warnings,
        [
            Warning("tools.allow names \"raed_file\", which no tool has".into()),
            Warning("tools.allow names \"group:none\", which no tool has".into()),
        ]
    );
}

#[tokio::test]
async fn a_name_that_no_tool_has_is_an_error_in_deny() {
    let world = World::new().await;
    let settings = settings(None, &["wirte_file"]);
    let fault = Policy::resolve(Tier::Act, &settings, &world.toolbox.tools().known()).unwrap_err();
    assert_eq!(fault.code, ErrorCode::InvalidRequest);
    assert_eq!(fault.message, "tools.deny names \"wirte_file\", which no tool has");
    assert_eq!(
        fault.hint(),
        "There are: list_files, read_file, write_file, edit_file, delete_file, move_file, \
         search_files, memory_get, memory_write, render_mermaid, group:fs, group:memory, \
         group:mermaid."
    );
}

#[test]
fn settings_are_read_as_the_config_writes_them() {
    let read = |text| serde_json::from_str::<ToolSettings>(text);
    assert_eq!(read("{}").unwrap(), settings(None, &[]));
    assert_eq!(
        read(r#"{"allow": ["a"], "deny": ["group:fs"]}"#).unwrap(),
        settings(Some(&["a"]), &["group:fs"])
    );
    assert!(read(r#"{"alow": []}"#).is_err());
}
