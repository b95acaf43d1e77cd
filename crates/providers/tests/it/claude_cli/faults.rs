use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{LIMITS, TOKEN, answering, ask, registry, request, setting, settings};
use crate::support::{assert_nothing_executable, class_of, failure_of, text_of};
use futures::StreamExt;
use onyx_providers::{
    ClaudeCli, ClaudeLimits, Finding, LoginState, ProviderProblem, ProviderState, Quota, Secret,
};
use onyx_test_support::FakeProgram;
use onyx_types::{
    Cancel, Clock, Fault, FinishReason, Message, ModelEvent, ModelFailureClass, SystemClock,
};
use serde_json::{Value, json};

fn hello() -> Vec<Message> {
    vec![Message::user("hello")]
}

fn fault(fault: &str) -> Value {
    json!({"text": "Half an ", "fault": fault, "calls": [
        {"id": "toolu_1", "name": "read_file", "arguments": {}}]})
}

#[tokio::test]
async fn a_process_that_dies_ends_the_turn_within_two_seconds_and_the_next_one_works() {
    let setting = answering([fault("dies"), json!({"text": "Here again."})]);
    let mut events = setting.model.stream(request(hello()), Cancel::new());
    // The scripted CLI kills itself right after these words.
    assert_eq!(events.next().await, Some(ModelEvent::TextDelta("Half an ".to_owned())));
    let start = Instant::now();
    let rest: Vec<ModelEvent> = events.collect().await;
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(class_of(&rest), ModelFailureClass::Transport);
    assert_nothing_executable(&rest);
    assert!(failure_of(&rest).message.contains("signal 9"), "{rest:?}");
    assert_eq!(text_of(&ask(&setting.model, hello()).await), "Here again.");
}

#[tokio::test]
async fn a_process_that_dies_before_it_says_a_word_is_an_error_too() {
    let setting = answering([fault("dies_first"), json!({"text": "Here again."})]);
    let events = ask(&setting.model, hello()).await;
    assert_eq!(class_of(&events), ModelFailureClass::Transport);
    assert_eq!(text_of(&ask(&setting.model, hello()).await), "Here again.");
}

#[tokio::test]
async fn an_error_inside_a_success_is_an_error_of_its_class() {
    let cases = [
        ("overloaded", ModelFailureClass::Overloaded { retry_after: None }),
        ("too_long", ModelFailureClass::ContextLength),
        ("ends_without_answer", ModelFailureClass::Truncated),
        ("begins_again", ModelFailureClass::Truncated),
    ];
    for (name, class) in cases {
        let setting = answering([fault(name)]);
        let events = ask(&setting.model, hello()).await;
        assert_eq!(class_of(&events), class, "{name}");
        assert_nothing_executable(&events);
        assert!(setting.source.parked_processes().is_empty(), "{name}: what failed is not kept");
    }
}

#[tokio::test]
async fn a_met_limit_says_when_it_ends() {
    // 2026-11-17T04:52:18Z, in seconds and in milliseconds.
    for resets_at in [1_794_891_138_f64, 1_794_891_138_000_f64] {
        let limit = json!({"resetsAt": resets_at, "rateLimitType": "five_hour"});
        let setting = answering([json!({"fault": "limit", "limit": limit})]);
        let failure = failure_of(&ask(&setting.model, hello()).await);
        assert!(failure.message.contains("5-hour limit"), "{failure:?}");
        assert!(failure.message.contains("2026-11-17 at 04:52 UTC"), "{failure:?}");
        let ModelFailureClass::RateLimited { retry_after } = failure.class else {
            panic!("{failure:?}");
        };
        let left = (1_794_891_138_000 - SystemClock::new().wall().as_millis()).max(0);
        let apart = i128::try_from(retry_after.unwrap().as_millis()).unwrap() - i128::from(left);
        assert!((0..10_000).contains(&apart), "{apart}");
    }
}

#[tokio::test]
async fn what_is_told_of_the_quota_is_shown_until_something_newer_is() {
    let quota = |used: f64| {
        json!({"text": "ok", "quota": {"utilization": used, "resetsAt": 1_794_891_138,
            "rateLimitType": "seven_day_opus"}})
    };
    let setting = answering([quota(0.42), json!({"text": "ok"}), quota(97.0)]);
    assert_eq!(setting.registry.status().remove(0).login, None);
    let shown = || setting.registry.status().remove(0).login.unwrap().quota.unwrap();
    let resets_at = Some(onyx_types::Timestamp::from_millis(1_794_891_138_000));
    let limit = "weekly limit".to_owned();
    ask(&setting.model, hello()).await;
    assert_eq!(shown(), Quota { limit: limit.clone(), used_percent: Some(42), resets_at });
    ask(&setting.model, hello()).await;
    assert_eq!(shown().used_percent, Some(42));
    ask(&setting.model, hello()).await;
    assert_eq!(shown(), Quota { limit, used_percent: Some(97), resets_at });
}

#[tokio::test]
async fn an_expired_sign_in_says_how_to_renew_it_and_is_shown_until_a_call_works() {
    let setting = answering([json!({"fault": "login_expired"}), json!({"text": "Back."})]);
    let failure = failure_of(&ask(&setting.model, hello()).await);
    let provider = "claude-subscription".to_owned();
    assert_eq!(failure.class, ModelFailureClass::SignIn { provider });
    assert!(failure.message.contains("claude auth login"), "{failure:?}");
    let login = setting.registry.status().remove(0).login.unwrap();
    assert_eq!(login.state, LoginState::SignInAgain);
    assert_eq!(login.account.as_deref(), Some("jo@example.org (max)"));
    let asked = setting.registry.begin_login("claude-subscription", None).await.unwrap_err();
    assert!(asked.message.contains("claude auth login"), "{asked:?}");
    ask(&setting.model, hello()).await;
    let login = setting.registry.login("claude-subscription").unwrap().unwrap();
    assert_eq!((login.state, login.error), (LoginState::SignedIn, None));
}

#[tokio::test]
async fn a_test_asks_who_is_signed_in_and_uses_nothing_of_the_quota() {
    let setting = answering([]);
    let test = setting.registry.test("claude-subscription").await;
    assert!(matches!(test.finding, Finding::Works { .. }), "{test:?}");
    let login = setting.registry.status().remove(0).login.unwrap();
    assert_eq!(login.account.as_deref(), Some("jo@example.org (max)"));
    assert!(setting.fake.processes().is_empty());

    let signed_out = json!({"answers": [], "auth": {"loggedIn": false}});
    let setting = setting_with(&signed_out);
    let test = setting.registry.test("claude-subscription").await;
    assert!(test.advice.contains("claude auth login"), "{test:?}");
    assert!(
        matches!(test.finding, Finding::Fails { trouble: ProviderProblem::Key, .. }),
        "{test:?}"
    );
}

fn setting_with(script: &Value) -> super::Setting {
    setting(FakeProgram::scripted_claude(script), LIMITS)
}

#[tokio::test]
async fn a_process_that_hangs_is_ended_at_its_time_limit() {
    let limits = ClaudeLimits { idle: Duration::from_secs(2), ..LIMITS };
    let setting = setting(FakeProgram::claude([fault("hangs"), json!({"text": "ok"})]), limits);
    let events = ask(&setting.model, hello()).await;
    assert_eq!(class_of(&events), ModelFailureClass::Timeout);
    let process = setting.fake.processes()[0];
    super::processes::until_gone(process).await;
    assert_eq!(text_of(&ask(&setting.model, hello()).await), "ok");
}

#[tokio::test]
async fn garbage_and_lines_of_a_version_that_nobody_knows_are_passed_over() {
    let script = json!({"version": "99.0.0", "answers": [{"text": "Whole.", "fault": "garbage"}]});
    let setting = setting_with(&script);
    let events = ask(&setting.model, hello()).await;
    assert_eq!(text_of(&events), "Whole.");
    assert_eq!(events.last(), Some(&ModelEvent::Finish(FinishReason::Stop)));
}

#[tokio::test]
async fn a_line_of_a_megabyte_is_read_whole() {
    let setting = answering([json!({"text": "maß!", "fault": "huge"})]);
    let events = ask(&setting.model, hello()).await;
    assert_eq!(text_of(&events).len(), "maß!".len() * 1024 * 1024 / 4);
    assert_eq!(events.last(), Some(&ModelEvent::Finish(FinishReason::Stop)));
}

#[tokio::test]
async fn a_version_that_does_not_know_our_options_says_so() {
    let setting = setting_with(&json!({"answers": [], "start": "unknown_option"}));
    let failure = failure_of(&ask(&setting.model, hello()).await);
    assert_eq!(failure.class, ModelFailureClass::Unavailable);
    assert!(failure.message.contains("unknown option"), "{failure:?}");
    assert!(failure.message.contains("claude update"), "{failure:?}");
    let setting = setting_with(&json!({"answers": [], "start": "refuses"}));
    let failure = failure_of(&ask(&setting.model, hello()).await);
    assert!(failure.message.contains("unknown control request"), "{failure:?}");
}

#[tokio::test]
async fn a_cli_that_is_not_installed_is_disabled_until_it_is() {
    let fake = FakeProgram::claude([]);
    let (program, aside) = (fake.program(), fake.folder().join("aside"));
    std::fs::rename(&program, &aside).unwrap();
    let source = ClaudeCli::new(settings(&fake, LIMITS), Arc::new(SystemClock::new()));
    let registry = registry(Arc::new(source));
    let status = registry.status().remove(0);
    let ProviderState::Disabled { reason } = status.state else { panic!("{status:?}") };
    assert!(reason.contains("not on this machine"), "{reason}");
    let fault = Fault::from(registry.model("claude-subscription/sonnet").err().unwrap());
    assert!(fault.message.contains("npm install"), "{fault:?}");
    assert_eq!(registry.default_model(), None);
    std::fs::rename(&aside, &program).unwrap();
    assert_eq!(registry.default_model().as_deref(), Some("claude-subscription/sonnet"));
    let model = registry.model("claude-subscription/sonnet").unwrap();
    assert_eq!(text_of(&ask(&model, hello()).await), "ok");
}

#[tokio::test]
async fn the_token_is_in_no_failure_that_the_cli_words() {
    let fake = FakeProgram::scripted_claude(&json!({"answers": [], "start": "unknown_option"}));
    let mut with_echo = settings(&fake, LIMITS);
    // The text of the failure is used as the token here, so that the mask shows.
    with_echo.token = Some(Secret::new("unknown option"));
    let source = ClaudeCli::new(with_echo, Arc::new(SystemClock::new()));
    let model = registry(Arc::new(source)).model("claude-subscription/sonnet").unwrap();
    let failure = failure_of(&ask(&model, hello()).await);
    assert!(failure.message.contains("***") && !failure.message.contains("unknown option"));
    assert!(!format!("{:?}", settings(&fake, LIMITS)).contains(TOKEN));
}
