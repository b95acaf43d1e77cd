use crate::support::{KEY, NO_RETRY, ask, failure_of, registry};
use onyx_providers::{ProviderSettings, Secret};
use onyx_test_support::{Answer, Fault, Script, ScriptedError, ScriptedModel, Step};
use serde_json::json;

const TOKEN: &str = "header-canary-987";

#[test]
fn settings_with_keys_print_without_them() {
    let settings: ProviderSettings =
        serde_json::from_value(json!({"apiKey": KEY, "headers": {"X-Token": TOKEN}})).unwrap();
    let printed = format!("{settings:?} {settings:#?} {:?}", Secret::new(KEY));
    assert!(!printed.contains(KEY) && !printed.contains(TOKEN), "{printed}");
    assert!(printed.contains("***"));
}

#[tokio::test]
async fn no_error_and_no_debug_print_holds_a_key_even_if_the_provider_echoes_it() {
    let server = ScriptedModel::start().await;
    let registry = registry(&server, json!({"headers": {"X-Token": TOKEN}})).with_retry(NO_RETRY);
    let model = registry.model("mine/some-model").unwrap();
    let echo = format!("your key {KEY} and {TOKEN} are wrong");
    let mut frame = ScriptedError::new(onyx_test_support::ErrorKind::Auth, echo.clone());
    frame.message.clone_from(&echo);
    let answers = [
        Answer::status(401, json!({"error": {"message": echo}}).to_string()),
        Answer::script(Script::new([Step::Error(frame)])),
        Answer::text("x").fault(Fault::CloseBeforeHead),
        Answer::text("x").fault(Fault::CloseAt(3)),
    ];
    let mut printed = format!("{registry:?} {registry:#?} {:?}", registry.status());
    for answer in answers {
        server.push(answer);
        let failure = failure_of(&ask(&model).await);
        printed.push_str(&format!("{failure} {failure:?}"));
    }
    assert!(!printed.contains(KEY) && !printed.contains(TOKEN), "{printed}");
    assert!(printed.contains("your key *** and *** are wrong"), "{printed}");
}
