use crate::support::ask;
use onyx_providers::{
    LongPromptPrice, Metadata, Modality, ModelFacts, Price, ProviderSettings, Registry, Setup,
    VENDORS,
};
use onyx_test_support::{Answer, Script, ScriptedModel, Step};
use onyx_types::{ModelEvent, Usage};
use serde_json::{Value, json};
use std::sync::Arc;

const TABLE: &str = include_str!("../../data/models.tsv");

fn registry(name: &str, value: Value, metadata: Metadata) -> Registry {
    let settings: ProviderSettings = serde_json::from_value(value).unwrap();
    let setup = Setup { metadata: Arc::new(metadata), ..Setup::new(&crate::support::environment) };
    Registry::resolve_with([(name.to_owned(), settings)], setup)
}

#[test]
fn every_line_of_the_snapshot_is_found_by_its_name() {
    let names: Vec<&str> = TABLE.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert!(names.is_sorted());
    let metadata = Metadata::bundled();
    for name in names {
        let (vendor, model) = name.split_once('/').unwrap();
        assert_ne!(metadata.facts(vendor, model, None), ModelFacts::default(), "{name}");
    }
    assert!(TABLE.len() < 200_000);
    for unknown in ["", "a", "zzz", "openai", "gpt-5\t", "gpt-4o-does-not-exist"] {
        assert_eq!(metadata.facts("openai", unknown, None), ModelFacts::default(), "{unknown}");
    }
}

#[test]
fn facts_of_a_known_model_are_whole() {
    let facts = Metadata::bundled().facts("gemini", "gemini-2.5-pro", None);
    let expected = ModelFacts {
        context_window: Some(1_048_576),
        max_output_tokens: Some(65_536),
        price: Some(Price {
            input: 1.25,
            output: 10.0,
            cache_read: Some(0.125),
            cache_write: None,
            long_prompt: Some(LongPromptPrice {
                above: 200_000,
                input: 2.5,
                output: 15.0,
                cache_read: Some(0.25),
            }),
        }),
        inputs: Some(vec![Modality::Image, Modality::Audio, Modality::Pdf]),
        tools: Some(true),
        reasoning: Some(true),
        dims: None,
    };
    assert_eq!(facts, expected);
    let embedding = Metadata::bundled().facts("openai", "text-embedding-3-small", None);
    assert_eq!((embedding.dims, embedding.max_output_tokens), (Some(1536), None));
}

#[test]
fn names_with_tags_makers_and_other_providers_are_found_too() {
    let metadata = Metadata::bundled();
    let window = |provider, model, vendor| metadata.facts(provider, model, vendor).context_window;
    assert_eq!(window("ollama", "llama3:8b-instruct-q4_0", None), Some(8192));
    assert_eq!(window("work", "claude-sonnet-4-5", Some("anthropic")), Some(200_000));
    let resold = metadata.facts("openrouter", "anthropic/claude-sonnet-4.5", None);
    assert_eq!((resold.context_window, resold.price), (Some(200_000), None));
}

#[test]
fn the_usual_model_of_every_vendor_is_in_the_snapshot() {
    for vendor in VENDORS {
        let Some(model) = vendor.default_model.filter(|_| vendor.name != "local") else {
            continue;
        };
        assert!(Metadata::known_models(vendor.name).any(|known| known == model), "{model}");
    }
}

#[test]
fn settings_go_before_the_persons_file_and_both_before_the_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("models.json");
    assert!(Metadata::with_overrides(&path).is_ok());
    let own = json!({"ollama/llama3": {"contextWindow": 5000, "maxOutputTokens": 50}});
    std::fs::write(&path, own.to_string()).unwrap();
    let settings = json!({"models": [{"id": "llama3", "maxOutputTokens": 7}]});
    let registry = registry("ollama", settings, Metadata::with_overrides(&path).unwrap());
    let facts = registry.facts("ollama/llama3").unwrap();
    assert_eq!((facts.context_window, facts.max_output_tokens), (Some(5000), Some(7)));
    assert_eq!(registry.model("ollama/llama3").unwrap().context_window(), Some(5000));
    assert_eq!(facts.price, Some(Price { cache_read: None, ..Price::FREE }));

    std::fs::write(&path, r#"{"a/b": {"window": 1}}"#).unwrap();
    let error = Metadata::with_overrides(&path).unwrap_err().to_string();
    assert!(error.starts_with("it is not valid: unknown field `window`"), "{error}");
}

#[test]
fn cost_counts_cached_tokens_at_their_own_price_and_long_prompts_at_theirs() {
    let price = Price {
        input: 3.0,
        output: 15.0,
        cache_read: Some(0.3),
        cache_write: Some(3.75),
        long_prompt: Some(LongPromptPrice {
            above: 200_000,
            input: 6.0,
            output: 22.5,
            cache_read: Some(0.6),
        }),
    };
    let usage = |input, output, cache_read, cache_write| Usage {
        input,
        output,
        cache_read,
        cache_write,
        cost: None,
    };
    let million = 1e-6;
    let close = |cost: f64, expected: f64| assert!((cost - expected).abs() < 1e-9, "{cost}");
    close(price.cost(&usage(1000, 100, 0, 0)), (3000.0 + 1500.0) * million);
    let cached = (100.0 * 3.0 + 700.0 * 0.3 + 200.0 * 3.75) * million;
    close(price.cost(&usage(1000, 0, 700, 200)), cached);
    close(price.cost(&usage(300_000, 10, 0, 0)), (300_000.0 * 6.0 + 225.0) * million);
    let plain = Price { cache_read: None, cache_write: None, long_prompt: None, ..price };
    close(plain.cost(&usage(1000, 0, 700, 200)), 3000.0 * million);
    close(Price::FREE.cost(&usage(1000, 100, 0, 0)), 0.0);
}

fn cost_of(events: &[ModelEvent]) -> Option<f64> {
    events.iter().find_map(|event| match event {
        ModelEvent::Usage(usage) => Some(usage.cost),
        _ => None,
    })?
}

#[tokio::test]
async fn what_the_provider_says_it_charged_goes_before_the_table() {
    let server = ScriptedModel::start().await;
    let settings = json!({
        "kind": "openai", "baseUrl": server.base_url(),
        "models": [{"id": "m", "price": {"input": 1_000_000, "output": 0}}],
    });
    let registry = registry("mine", settings, Metadata::bundled());
    let model = registry.model("mine/m").unwrap();
    assert_eq!(cost_of(&ask(&model).await), Some(10.0));
    assert_eq!(cost_of(&ask(&registry.model("mine/other").unwrap()).await), None);
    let reported =
        r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"cost":0.25}}"#;
    let script = Script::new([
        Step::Text("hi".into()),
        Step::Finish(onyx_test_support::Finish::Stop),
        Step::Raw(format!("data: {reported}\n\n")),
    ]);
    server.push(Answer::script(script));
    assert_eq!(cost_of(&ask(&model).await), Some(0.25));
}
