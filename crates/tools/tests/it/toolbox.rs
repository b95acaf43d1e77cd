//! Tools come and go while calls are made, as they do with a program that offers tools.

use std::sync::Arc;

use onyx_tools::{OfferState, Policy, Registration, Tool, ToolCx, ToolSettings};
use onyx_types::{ErrorCode, Tier, ToolSpec};
use serde_json::json;

use crate::support::{Behaviour, Probe, World, call};

const NAME: &str = "mcp:files/look";

fn look(says: &str, change: impl FnOnce(&mut ToolSpec)) -> Arc<dyn Tool> {
    Probe::specified(Behaviour::Says(says.to_owned()), |spec| {
        spec.name = NAME.into();
        spec.group = "mcp:files".to_owned();
        change(spec);
    })
}

fn offered(world: &World) -> Vec<String> {
    let offers = world.toolbox.ready_offers(&world.policy, &world.cx.agent, &world.cx.key.person);
    offers.offers().iter().map(|offer| offer.name.clone()).collect()
}

fn registration(world: &World) -> Registration {
    let offers = world.toolbox.ready_offers(&world.policy, &world.cx.agent, &world.cx.key.person);
    offers.get(NAME).unwrap().registration
}

#[tokio::test]
async fn a_tool_that_comes_is_offered_and_runs_and_when_it_goes_the_model_is_told() {
    let mut world = World::new().await;
    let (before, version) = (offered(&world), world.toolbox.version());
    let registered = world.toolbox.register(vec![look("found it", |_| {})]).unwrap();
    assert_ne!(world.toolbox.version(), version);
    assert_eq!(offered(&world), [before.clone(), vec![NAME.to_owned()]].concat());
    assert_eq!(world.done(NAME, json!({"word": "x"})).await, "found it");

    world.cx.offered = OfferState::As(registration(&world));
    world.toolbox.remove(&registered);
    assert_eq!(offered(&world), before);
    let told = world.failed(NAME, json!({"word": "x"})).await;
    let gone =
        format!("the tool {NAME:?} was removed after it was offered to you; yours: list_files");
    assert!(told.starts_with(&gone), "{told}");
    let rows = world.audit_lines().await;
    let row = format!("{NAME} - deny : the tool was removed after it was offered");
    assert_eq!(rows.last(), Some(&row));
}

#[tokio::test]
async fn another_tool_of_the_same_name_is_not_called_by_who_was_shown_the_first() {
    let mut world = World::new().await;
    let first = world.toolbox.register(vec![look("first", |_| {})]).unwrap();
    world.cx.offered = OfferState::As(registration(&world));
    world.toolbox.remove(&first);
    world.toolbox.register(vec![look("second", |_| {})]).unwrap();
    let told = world.failed(NAME, json!({"word": "x"})).await;
    assert!(told.contains("has changed since it was offered to you"), "{told}");
    world.cx.offered = OfferState::As(registration(&world));
    assert_eq!(world.done(NAME, json!({"word": "x"})).await, "second");
}

#[tokio::test]
async fn a_name_that_is_taken_is_refused_with_all_that_came_with_it() {
    let world = World::new().await;
    let (before, version) = (offered(&world), world.toolbox.version());
    for taken in ["read_file", "Read_File"] {
        let shadow = Probe::specified(Behaviour::Fails, |spec| spec.name = taken.into());
        let fault = world.toolbox.register(vec![look("x", |_| {}), shadow]).unwrap_err();
        assert_eq!(fault.code, ErrorCode::InvalidRequest);
        assert_eq!(fault.message, format!("two tools are called {taken}"));
    }
    assert_eq!((offered(&world), world.toolbox.version()), (before, version));
}

#[tokio::test]
async fn a_tool_for_some_agents_is_there_for_no_other() {
    let mut world = World::new().await;
    let only_helper = |spec: &mut ToolSpec| spec.agents = Some(vec!["helper".parse().unwrap()]);
    world.toolbox.register(vec![look("for the helper", only_helper)]).unwrap();
    assert!(!offered(&world).contains(&NAME.to_owned()));
    let told = world.failed(NAME, json!({"word": "x"})).await;
    assert!(told.starts_with(&format!("there is no tool {NAME:?}")), "{told}");
    world.cx = ToolCx { agent: "helper".parse().unwrap(), ..world.cx };
    assert!(offered(&world).contains(&NAME.to_owned()));
    assert_eq!(world.done(NAME, json!({"word": "x"})).await, "for the helper");
}

#[tokio::test]
async fn settings_may_name_tools_that_come_later_and_hold_when_they_do() {
    let mut world = World::new().await;
    let resolve = |allow: Option<&[&str]>, deny: &[&str]| {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let settings =
            ToolSettings { allow: allow.map(owned), deny: owned(deny), ..ToolSettings::default() };
        Policy::resolve(Tier::Act, &settings, &world.toolbox.tools().known()).unwrap()
    };
    let (allowing, warnings) = resolve(Some(&["group:mcp:files"]), &[]);
    assert_eq!(warnings, []);
    let (denying, _) = resolve(None, &[NAME]);
    world.toolbox.register(vec![look("found it", |_| {})]).unwrap();

    world.policy = denying;
    assert!(!offered(&world).contains(&NAME.to_owned()));
    assert!(world.failed(NAME, json!({"word": "x"})).await.contains("there is no tool"));
    world.policy = allowing;
    assert_eq!(offered(&world), [NAME]);
    assert_eq!(world.done(NAME, json!({"word": "x"})).await, "found it");
}

#[tokio::test]
async fn whoever_holds_a_set_of_tools_sees_the_same_until_it_asks_again() {
    let world = World::new().await;
    let held = world.toolbox.tools();
    let registered = world.toolbox.register(vec![look("x", |_| {})]).unwrap();
    assert!(held.spec(NAME).is_none() && world.toolbox.tools().spec(NAME).is_some());
    let held = world.toolbox.tools();
    world.toolbox.remove(&registered);
    assert!(held.spec(NAME).is_some() && world.toolbox.tools().spec(NAME).is_none());
}

#[tokio::test]
async fn a_call_that_has_begun_ends_by_itself_though_its_tool_goes() {
    let world = World::new().await;
    let probe = Probe::specified(Behaviour::Obeys, |spec| spec.name = NAME.into());
    let registered = world.toolbox.register(vec![probe.clone()]).unwrap();
    let called = call(NAME, json!({"word": "x"}));
    let working =
        world.toolbox.call(&called, &world.policy, world.attendance, world.execution, &world.cx);
    let meddling = async {
        probe.begun.notified().await;
        world.toolbox.remove(&registered);
        world.cx.cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(working, meddling);
    assert_eq!(outcome.output, "stopped by itself");
}

#[tokio::test]
async fn a_policy_that_was_narrowed_stays_narrow_when_tools_come() {
    let mut world = World::new().await;
    world.policy = world.policy.only(&["read_file"]);
    assert_eq!(offered(&world), ["read_file"]);
    world.toolbox.register(vec![look("found it", |_| {})]).unwrap();
    assert_eq!(offered(&world), ["read_file"]);
}
