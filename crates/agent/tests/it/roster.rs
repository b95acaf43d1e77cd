use onyx_agent::{AgentsSettings, Roster};
use onyx_types::{Limits, ModelId, Tier};
use serde_json::{Value, json};

use crate::world::World;

async fn resolve(agents: Value) -> Result<(Roster, Vec<String>), onyx_types::Fault> {
    let world = World::new(Vec::<onyx_test_support::Answer>::new()).await;
    let settings: AgentsSettings = serde_json::from_value(agents).unwrap();
    Roster::resolve(&settings, &Limits::default(), &world.toolbox)
}

#[tokio::test]
async fn both_forms_of_the_config_are_read_and_defaults_filled_in() {
    let (roster, warnings) = resolve(json!({
        "defaults": {"model": {"primary": "a/x", "fallbacks": ["b/y"]}, "temperature": 0.5},
        "list": [{"id": "one"}, {"id": "off", "enabled": false}],
        "entries": {"two": {"default": true, "name": "Second", "model": "c/z", "tier": "act", "maxTokens": 10}},
    }))
    .await
    .unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    let agents: Vec<_> = roster.agents().map(|agent| agent.id.as_str()).collect();
    assert_eq!(agents, ["one", "two"]);
    let (one, two) = (roster.agents().next().unwrap(), roster.default_agent());
    assert_eq!((one.policy.tier(), one.temperature), (Tier::Suggest, Some(0.5)));
    assert_eq!(
        (one.model.primary.as_ref().map(ModelId::as_str), one.model.fallbacks.len()),
        (Some("a/x"), 1)
    );
    assert_eq!(
        (two.name.as_str(), two.policy.tier(), two.max_output_tokens),
        ("Second", Tier::Act, Some(10))
    );
}

#[tokio::test]
async fn nobody_named_means_one_agent_called_main() {
    let (roster, _) = resolve(json!({})).await.unwrap();
    assert_eq!(roster.default_agent().id.as_str(), "main");
}

#[tokio::test]
async fn mistakes_are_named() {
    for (agents, expected) in [
        (json!({"list": [{"id": "A b"}]}), "A b"),
        (json!({"list": [{"id": "a"}, {"id": "a"}]}), "twice"),
        (json!({"list": [{"id": "a", "default": true}, {"id": "b", "default": true}]}), "default"),
        (json!({"list": [{"id": "a", "tools": {"deny": ["no_such"]}}]}), "no_such"),
    ] {
        let fault = resolve(agents).await.unwrap_err();
        assert!(fault.message.contains(expected), "{}", fault.message);
    }
    let (_, warnings) =
        resolve(json!({"list": [{"id": "a", "tools": {"allow": ["no_such"]}}]})).await.unwrap();
    assert!(warnings[0].contains("no_such"));
}
