use crate::support::registry;
use onyx_providers::{
    ConfiguredModels, Locality, ModelsSettings, PickedModel, ProviderSettings, Registry,
    RoutingSettings,
};
use onyx_test_support::ScriptedModel;
use onyx_types::{ErrorCode, ModelId};
use serde_json::{Value, json};

fn configured(providers: Value) -> ConfiguredModels {
    let settings: std::collections::BTreeMap<String, ProviderSettings> =
        serde_json::from_value(providers).unwrap();
    ConfiguredModels {
        registry: Registry::resolve(settings, &|_| None),
        default_model: None,
        aliases: ModelsSettings::default(),
        routing: RoutingSettings::default(),
        embedded: ModelId::new("local/tiny"),
    }
}

/// A provider elsewhere and one on this machine, with a model each.
fn two_providers() -> ConfiguredModels {
    configured(json!({
        "ollama": {"models": ["small"]},
        "openai": {"apiKey": "k", "models": ["gpt-5"]},
    }))
}

#[test]
fn a_run_asks_the_named_model_else_the_default_of_the_config_else_that_of_the_providers() {
    let named = ModelId::new("mine/named");
    let models = ConfiguredModels {
        default_model: Some("openai/gpt-5".to_owned()),
        ..configured(json!({}))
    };
    assert_eq!(models.named_or_default(Some(&named)), Some(named));
    assert_eq!(models.named_or_default(None), Some(ModelId::new("openai/gpt-5")));
    assert_eq!(two_providers().named_or_default(None), Some(ModelId::new("ollama/small")));
    assert_eq!(models.without_agent(None), Ok("openai/gpt-5"));
    assert_eq!(two_providers().without_agent(None).unwrap_err().code, ErrorCode::ModelNotFound);
    let nothing = configured(json!({}));
    assert_eq!(nothing.named_or_default(None), None);
    let fault = nothing.chain(None, &[]).err().unwrap();
    assert!(fault.message.contains("`local`"), "the embedded model is asked: {}", fault.message);
}

#[test]
fn an_agent_picks_among_the_configured_models() {
    let models = two_providers();
    let small = ModelId::new("ollama/small");
    let picked = PickedModel { model: small.clone(), reason: String::new(), is_local: true };
    assert_eq!(models.pick_named(&small), Ok(picked));
    let fault = models.pick_named(&ModelId::new("openai/gone")).unwrap_err();
    assert_eq!(fault.code, ErrorCode::ModelNotFound);
    assert_eq!(fault.hint(), "There are: ollama/small, openai/gpt-5.");
    let local = models.pick_for_task(None, Some(Locality::ThisMachine)).unwrap();
    assert_eq!((local.model, local.is_local), (small, true));
    let fault = models.pick_for_task(Some("cooking"), None).unwrap_err();
    assert_eq!(fault.code, ErrorCode::ModelNotFound);
}

#[test]
fn the_models_that_onyx_runs_itself_are_small() {
    let models = two_providers();
    let small = ["local/tiny", "local/other", "local", "localhost/tiny", "ollama/small"];
    assert_eq!(small.map(|id| models.is_small(id)), [true, true, false, false, false]);
}

#[tokio::test]
async fn each_model_of_the_config_and_of_the_lists_is_named_once_and_then_the_aliases() {
    let server = ScriptedModel::start().await;
    server.set_models(["a", "b"]);
    let aliases = json!({"aliases": {"fast": "mine/b", "gpt-*": "mine/a"}});
    let models = ConfiguredModels {
        registry: registry(&server, json!({"models": ["a"]})),
        aliases: serde_json::from_value(aliases).unwrap(),
        ..configured(json!({}))
    };
    let listed = models.listed().await;
    let names: Vec<(&str, &str)> =
        listed.iter().map(|model| (model.id.as_str(), model.owner.as_str())).collect();
    assert_eq!(names, [("mine/a", "mine"), ("mine/b", "mine"), ("fast", "alias")]);
}
