use onyx_providers::{
    Candidate, Choice, Locality, Modality, ModelFacts, Need, NoModelFits, Price, ProviderSettings,
    Registry, RoutingSettings, Task, TaskClass, route,
};
use onyx_types::{ErrorCode, Fault, ModelId};
use serde_json::{Value, json};

fn candidate(id: &str, price: Option<f64>) -> Candidate {
    Candidate {
        id: id.to_owned(),
        facts: ModelFacts {
            context_window: Some(100_000),
            price: price.map(|input| Price { input, output: input * 4.0, ..Price::FREE }),
            inputs: Some(vec![Modality::Image]),
            tools: Some(true),
            reasoning: Some(true),
            ..ModelFacts::default()
        },
        locality: Locality::Hosted,
        rests: false,
    }
}

/// Four models: an expensive capable one, a cheap one, one on this machine, and one of unknown
/// price.
fn catalogue() -> Vec<Candidate> {
    let small = ModelFacts {
        context_window: Some(8_000),
        inputs: Some(Vec::new()),
        tools: Some(false),
        ..candidate("", Some(0.0)).facts
    };
    vec![
        candidate("a/large", Some(10.0)),
        candidate("b/cheap", Some(1.0)),
        Candidate {
            facts: small,
            locality: Locality::ThisMachine,
            ..candidate("ollama/small", None)
        },
        candidate("c/unpriced", None),
    ]
}

fn rules(value: Value) -> RoutingSettings {
    serde_json::from_value(json!({"rules": value})).unwrap()
}

fn task(prompt_tokens: u64) -> Task {
    Task { prompt_tokens, output_tokens: 1000, ..Task::default() }
}

fn chosen(rules: &RoutingSettings, task: &Task) -> Result<String, NoModelFits> {
    route(rules, task, &catalogue()).map(|choice| choice.model)
}

#[test]
fn without_rules_the_cheapest_that_fits_is_chosen_and_the_others_stand_by() {
    let none = RoutingSettings::default();
    let expected = Choice {
        model: "ollama/small".into(),
        fallbacks: vec!["b/cheap".into(), "a/large".into(), "c/unpriced".into()],
        reason: "ollama/small was chosen the cheapest that fits; one call costs at most about \
                 0.0000."
            .into(),
    };
    assert_eq!(route(&none, &task(1000), &catalogue()), Ok(expected));
    assert_eq!(chosen(&none, &task(50_000)), Ok("b/cheap".into()));
    let images = Task { needs: vec![Need::Images], ..task(1000) };
    assert_eq!(chosen(&none, &images), Ok("b/cheap".into()));
    let tools = Task { needs: vec![Need::Tools], ..task(1000) };
    assert_eq!(chosen(&none, &tools), Ok("b/cheap".into()));
}

#[test]
fn the_first_rule_that_matches_and_has_a_model_that_fits_decides() {
    let rules = rules(json!([
        {"tasks": ["code", "reasoning"], "models": ["a/large", "b/cheap"]},
        {"tasks": ["background"], "locality": "this_machine"},
        {"maxTokens": 2000, "models": ["c/unpriced"]},
        {"minTokens": 2001, "models": ["gone/model", "b/cheap"]},
    ]));
    let of = |class, tokens| chosen(&rules, &Task { class, ..task(tokens) });
    assert_eq!(of(TaskClass::Code, 10), Ok("a/large".into()));
    assert_eq!(of(TaskClass::Background, 10), Ok("ollama/small".into()));
    assert_eq!(of(TaskClass::Chat, 2000), Ok("c/unpriced".into()));
    assert_eq!(of(TaskClass::Chat, 2001), Ok("b/cheap".into()));
    // The prompt is too long for the machine's own model, so the next rule that matches decides.
    assert_eq!(of(TaskClass::Background, 20_000), Ok("b/cheap".into()));
    let choice = route(&rules, &task(100), &catalogue()).unwrap();
    let reason = "c/unpriced was chosen by rule 3; its price is not known and counts as 0.";
    assert_eq!(choice.reason, reason);
}

#[test]
fn a_ceiling_of_cost_holds_from_the_rule_and_from_the_asker() {
    // 10,000 tokens in and 1,000 out cost 0.14 with the expensive model and 0.014 with the cheap
    // one.
    let models = json!(["a/large", "b/cheap"]);
    let capped = rules(json!([{"models": models, "maxCost": 0.1}]));
    assert_eq!(chosen(&capped, &task(10_000)), Ok("b/cheap".into()));
    let open = rules(json!([{"models": models}]));
    assert_eq!(chosen(&open, &task(10_000)), Ok("a/large".into()));
    let thrifty = Task { max_cost: Some(0.1), ..task(10_000) };
    assert_eq!(chosen(&open, &thrifty), Ok("b/cheap".into()));
}

#[test]
fn a_model_at_rest_is_passed_over() {
    let mut catalogue = catalogue();
    catalogue[2].rests = true;
    let choice = route(&RoutingSettings::default(), &task(10), &catalogue).unwrap();
    assert_eq!(choice.model, "b/cheap");
}

#[test]
fn when_nothing_fits_every_model_has_its_reason() {
    let local =
        Task { locality: Some(Locality::ThisMachine), needs: vec![Need::Tools], ..task(1000) };
    let misfits = chosen(&RoutingSettings::default(), &local).unwrap_err();
    let expected = NoModelFits(vec![
        "a/large: it does not run on this machine".into(),
        "b/cheap: it does not run on this machine".into(),
        "c/unpriced: it does not run on this machine".into(),
        "ollama/small: it cannot call tools".into(),
    ]);
    assert_eq!(misfits, expected);
    assert_eq!(Fault::from(misfits).code, ErrorCode::ModelNotFound);
    let huge = route(&RoutingSettings::default(), &task(200_000), &catalogue()[..1]);
    let why = "a/large: its window of 100000 tokens is less than the 201000 needed";
    assert_eq!(huge, Err(NoModelFits(vec![why.into()])));
}

#[test]
fn a_registry_routes_among_what_is_configured() {
    let settings = [
        ("openai", json!({"apiKey": "k", "models": ["gpt-5", "gpt-5-nano"]})),
        ("anthropic", json!({"apiKey": "k"})),
        ("gone", json!({})),
    ];
    let settings = settings.map(|(name, value)| {
        (name.to_owned(), serde_json::from_value::<ProviderSettings>(value).unwrap())
    });
    let registry = Registry::resolve(settings, &|_| None);
    let ids: Vec<String> = registry.candidates().into_iter().map(|one| one.id).collect();
    assert_eq!(ids, ["openai/gpt-5", "openai/gpt-5-nano", "anthropic/claude-sonnet-5"]);
    let choice = registry.route(&RoutingSettings::default(), &task(1000)).unwrap();
    assert_eq!(choice.model, "openai/gpt-5-nano");
}

#[test]
fn a_choice_of_local_models_only_names_the_first_model_that_is_elsewhere() {
    let settings = [
        ("openai", json!({"apiKey": "k", "models": ["gpt-5"]})),
        ("ollama", json!({"models": ["small"]})),
    ];
    let settings = settings.map(|(name, value)| {
        (name.to_owned(), serde_json::from_value::<ProviderSettings>(value).unwrap())
    });
    let registry = Registry::resolve(settings, &|_| None);
    let rules = RoutingSettings::default();
    let local = |primary: &str, fallbacks: &[&str]| {
        let fallbacks: Vec<ModelId> = fallbacks.iter().copied().map(ModelId::new).collect();
        registry.local_only(&rules, ModelId::new(primary), &fallbacks)
    };
    let small = ModelId::new("ollama/small");
    assert_eq!(local("ollama/small", &[]).unwrap(), small);
    assert_eq!(local("auto", &[]).unwrap(), small, "the rules choose among the local ones");
    assert_eq!(local("auto/code", &["ollama/small"]).unwrap(), small);
    for (primary, fallbacks) in [("openai/gpt-5", &[][..]), ("ollama/small", &["openai/gpt-5"][..])]
    {
        let fault = local(primary, fallbacks).unwrap_err();
        assert_eq!(fault.code, ErrorCode::Forbidden);
        assert!(fault.message.contains("openai/gpt-5 is not local"), "{}", fault.message);
    }
    assert_eq!(local("auto/cooking", &[]).unwrap_err().code, ErrorCode::ModelNotFound);
}

#[test]
fn auto_and_its_classes_are_no_models_of_providers() {
    assert_eq!(TaskClass::of_auto("auto"), Some(Ok(TaskClass::Chat)));
    assert_eq!(TaskClass::of_auto("auto/code"), Some(Ok(TaskClass::Code)));
    assert_eq!(TaskClass::of_auto("autonomous/model"), None);
    assert_eq!(TaskClass::of_auto("openai/gpt-5"), None);
    let fault = TaskClass::named("cooking").unwrap_err();
    assert_eq!(
        fault.hint(),
        "There are: chat, code, reasoning, writing, summary, extraction, background."
    );
}
