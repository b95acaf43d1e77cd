use onyx_providers::{
    Locality, ProviderKind, ProviderSettings, ProviderState, ProviderStatus, Registry,
    RegistryError,
};
use onyx_types::{ErrorCode, Fault};
use serde_json::{Value, json};

fn settings(value: Value) -> ProviderSettings {
    serde_json::from_value(value).unwrap()
}

fn one(name: &str, value: Value) -> Registry {
    Registry::resolve([(name.to_owned(), settings(value))], &crate::support::environment)
}

fn state(name: &str, value: Value) -> ProviderState {
    one(name, value).status().remove(0).state
}

fn ready(address: &str) -> ProviderState {
    ProviderState::Ready { address: address.into() }
}

fn disabled(reason: &str) -> ProviderState {
    ProviderState::Disabled { reason: reason.into() }
}

#[test]
fn a_known_name_needs_a_key_alone() {
    assert_eq!(
        state("openai", json!({"apiKey": "sk"})),
        ready("https://api.openai.com/v1/chat/completions")
    );
    assert_eq!(
        state("openrouter", json!({"apiKey": "env:MY_KEY"})),
        ready("https://openrouter.ai/api/v1/chat/completions")
    );
    let ollama = ready("http://127.0.0.1:11434/api/chat");
    assert_eq!(state("ollama", json!({})), ollama);
    assert_eq!(state("ollama", json!({"baseUrl": "http://127.0.0.1:11434/v1/"})), ollama);
}

#[test]
fn what_is_missing_is_said_by_name() {
    let custom = |more: Value| {
        let mut value = json!({"kind": "openai", "baseUrl": "http://127.0.0.1:8080/v1"});
        for (key, field) in more.as_object().unwrap() {
            value[key] = field.clone();
        }
        state("mine", value)
    };
    assert_eq!(custom(json!({})), ready("http://127.0.0.1:8080/v1/chat/completions"));
    assert_eq!(
        custom(json!({"apiKey": "${GONE}"})),
        disabled("the environment variable GONE is not set")
    );
    assert_eq!(
        custom(json!({"headers": {"X-A": "Bearer ${GONE}"}})),
        disabled("the environment variable GONE is not set")
    );
    assert_eq!(
        state("openai", json!({})),
        disabled("it needs `apiKey`, or the environment variable OPENAI_API_KEY")
    );
    assert_eq!(
        custom(json!({"timeouts": {"idleSeconds": 0}})),
        disabled("`timeouts.idleSeconds` is not a positive number of seconds")
    );
    let address = "`baseUrl` is not an http or https address without user name and query";
    for url in ["nonsense", "ftp://x/v1", "http://user:pass@host/v1", "http://host/v1?key=1"] {
        assert_eq!(custom(json!({"baseUrl": url})), disabled(address), "{url}");
    }
    assert_eq!(state("azure", json!({"apiKey": "k"})), disabled("it needs `baseUrl`"));
    assert_eq!(
        state("mine", json!({"baseUrl": "http://x/v1"})),
        disabled("it needs `kind` (one of openai, openai-responses, anthropic, gemini, ollama, …)")
    );
    assert_eq!(
        custom(json!({"apiKey": "vaultwarden:key"})),
        disabled(
            "`apiKey` refers to a secret in a way that is not known: use ${NAME}, env:NAME, \
             file:/path or secret:name"
        )
    );
    assert_eq!(
        state("bedrock", json!({"apiKey": "k"})),
        disabled("this binary was built without providers of kind `bedrock`")
    );
}

#[test]
fn one_disabled_provider_leaves_the_others_alone() {
    let registry = Registry::resolve(
        [
            ("openai".to_owned(), settings(json!({"models": ["gpt"]}))),
            ("ollama".to_owned(), settings(json!({"models": ["llama3", {"id": "qwen"}]}))),
        ],
        &crate::support::environment,
    );
    let expected = [
        ProviderStatus {
            name: "openai".into(),
            kind: Some(ProviderKind::OpenAi),
            state: disabled("it needs `apiKey`, or the environment variable OPENAI_API_KEY"),
            key: None,
            locality: None,
            models: Vec::new(),
            called: Vec::new(),
            login: None,
            account: None,
        },
        ProviderStatus {
            name: "ollama".into(),
            kind: Some(ProviderKind::Ollama),
            state: ready("http://127.0.0.1:11434/api/chat"),
            key: None,
            locality: Some(Locality::ThisMachine),
            models: vec!["llama3".into(), "qwen".into()],
            called: Vec::new(),
            login: None,
            account: None,
        },
    ];
    assert_eq!(registry.status(), expected);
    assert_eq!(registry.default_model().as_deref(), Some("ollama/llama3"));
    let error = registry.model("openai/gpt").err().unwrap();
    assert_eq!(Fault::from(error).code, ErrorCode::ProviderUnavailable);
}

#[test]
fn a_model_is_found_by_provider_and_name() {
    let limits = json!({"models": [{"id": "a/b", "contextWindow": 8192}]});
    let registry = one("ollama", limits);
    let model = registry.model("ollama/a/b").unwrap();
    assert_eq!((model.id(), model.context_window()), ("ollama/a/b", Some(8192)));
    assert_eq!(registry.model("ollama/other").unwrap().context_window(), None);
    let error = |id: &str| registry.model(id).err().unwrap();
    assert_eq!(error("gone/x"), RegistryError::UnknownProvider("gone".into()));
    for id in ["llama3", "ollama/", "/x", ""] {
        assert_eq!(error(id), RegistryError::NotAModel(id.into()));
        assert_eq!(Fault::from(error(id)).code, ErrorCode::ModelNotFound);
    }
}

#[test]
fn a_wrong_key_in_the_settings_is_refused_with_its_name() {
    let wrong =
        |value: Value| serde_json::from_value::<ProviderSettings>(value).err().unwrap().to_string();
    assert!(wrong(json!({"base_url": "x"})).contains("unknown field `base_url`"));
    assert!(wrong(json!({"kind": "opnai"})).contains("unknown variant `opnai`"));
    assert!(wrong(json!({"compat": {"x": 1}})).contains("unknown field `x`"));
}
