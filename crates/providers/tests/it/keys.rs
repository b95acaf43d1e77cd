use crate::support::{KEY, NO_RETRY, ask};
use onyx_providers::{ProviderSettings, ProviderState, Registry, Secret, SecretSource, Setup};
use onyx_test_support::{Answer, ErrorKind, ScriptedModel};
use onyx_types::{ErrorCode, Fault};
use serde_json::{Value, json};

struct Store;

impl SecretSource for Store {
    fn secret(&self, name: &str) -> Result<Option<Secret>, Fault> {
        match name {
            "mine" => Ok(Some(Secret::new(KEY))),
            "locked" => Err(Fault::new(ErrorCode::Internal, "it is locked")),
            _ => Ok(None),
        }
    }
}

fn resolve(name: &str, value: Value) -> Registry {
    let settings: ProviderSettings = serde_json::from_value(value).unwrap();
    let environment =
        |name: &str| matches!(name, "MY_KEY" | "OPENAI_API_KEY").then(|| KEY.to_owned());
    let setup = Setup { secrets: &Store, ..Setup::new(&environment) };
    Registry::resolve_with([(name.to_owned(), settings)], setup).with_retry(NO_RETRY)
}

fn reason(name: &str, value: Value) -> String {
    match resolve(name, value).status().remove(0).state {
        ProviderState::Disabled { reason } => reason,
        ProviderState::Ready { address } => panic!("ready at {address}"),
    }
}

#[tokio::test]
async fn every_form_of_reference_yields_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    std::fs::write(&path, format!("{KEY}\n")).unwrap();
    let file = format!("file:{}", path.display());
    for reference in ["env:MY_KEY", "${MY_KEY}", "secret:mine", &file, KEY] {
        let server = ScriptedModel::start().await;
        let settings = json!({"kind": "openai", "baseUrl": server.base_url(), "apiKey": reference});
        ask(&resolve("mine", settings).model("mine/m").unwrap()).await;
        let sent = server.last_request().header("authorization").map(ToOwned::to_owned);
        assert_eq!(sent, Some(format!("Bearer {KEY}")), "{reference}");
    }
}

#[test]
fn a_reference_that_leads_nowhere_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    std::fs::write(&empty, "\n").unwrap();
    let custom = |key: String| {
        reason("mine", json!({"kind": "openai", "baseUrl": "http://127.0.0.1:9/v1", "apiKey": key}))
    };
    assert_eq!(custom("secret:gone".into()), "there is no secret `gone` in the store");
    let locked = "the store of secrets cannot be read: it is locked";
    assert_eq!(custom("secret:locked".into()), locked);
    let file = |path: &std::path::Path| custom(format!("file:{}", path.display()));
    assert_eq!(file(&empty), "the file that `apiKey` names: it is empty");
    let gone = file(&folder.path().join("gone"));
    assert!(gone.starts_with("the file that `apiKey` names: "), "{gone}");
}

#[test]
fn a_key_found_by_its_usual_name_goes_to_its_makers_address_only() {
    let elsewhere = json!({"baseUrl": "https://proxy.example/v1"});
    assert_eq!(
        reason("openai", elsewhere),
        "it needs `apiKey`: the key in OPENAI_API_KEY is sent only to https://api.openai.com/v1"
    );
    let usual = resolve("openai", json!({"baseUrl": "https://api.openai.com/v1/"}));
    assert!(matches!(usual.status()[0].state, ProviderState::Ready { .. }));
    let own = json!({"baseUrl": "https://proxy.example/v1", "apiKey": "${MY_KEY}"});
    assert!(matches!(resolve("openai", own).status()[0].state, ProviderState::Ready { .. }));
}

#[tokio::test]
async fn no_print_of_a_registry_or_its_status_holds_a_key() {
    let server = ScriptedModel::with_answers([Answer::error(ErrorKind::Auth)]).await;
    let registry = resolve(
        "mine",
        json!({"kind": "openai", "baseUrl": server.base_url(), "apiKey": "secret:mine",
               "headers": {"X-More": "${MY_KEY}"}}),
    );
    ask(&registry.model("mine/m").unwrap()).await;
    let status = registry.status();
    let json = serde_json::to_string(&status).unwrap();
    let printed = format!("{registry:?} {registry:#?} {status:?} {json} {:?}", status[0].health());
    assert!(printed.contains("mine") && !printed.contains(KEY), "{printed}");
}
