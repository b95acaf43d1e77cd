//! Models through the Pi sidecar, against a fake sidecar that speaks its protocol.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use onyx_providers::{
    ChildWrapper, Finding, LoginState, ModelSource, PiLimits, PiSettings, PiSidecar,
    ProviderProblem, ProviderState, Registry, Setup, environment_for_programs,
};
use onyx_test_support::{FakeProgram, wait_until};
use onyx_types::{
    Block, Cancel, FinishReason, Message, Model, ModelEvent, ModelFailureClass, ModelRequest, Role,
    SystemBlock, ToolOffer, ToolUseId, Usage,
};
use serde_json::{Value, json};

use crate::support::{
    NO_BREAKER, NO_RETRY, assert_nothing_executable, class_of, failure_of, text_of,
};

const LIMITS: PiLimits = PiLimits {
    first_byte: Duration::from_secs(30),
    idle: Duration::from_secs(30),
    total: Duration::from_secs(60),
    parked: Duration::from_secs(60),
};

struct Setting {
    fake: FakeProgram,
    source: Arc<PiSidecar>,
    registry: Registry,
    model: Arc<dyn Model>,
}

fn setting(script: Value, limits: PiLimits) -> Setting {
    let fake = FakeProgram::scripted_pi(&script);
    let source = Arc::new(PiSidecar::new(settings(&fake, limits)));
    let sourced: Arc<dyn ModelSource> = Arc::clone(&source) as _;
    let setup = Setup { sources: vec![("pi".to_owned(), Ok(sourced))], ..Setup::new(&|_| None) };
    let registry = Registry::resolve_with([], setup).with_retry(NO_RETRY).with_breaker(NO_BREAKER);
    let model = registry.model("pi/anthropic/claude-sonnet-4-6").unwrap();
    Setting { fake, source, registry, model }
}

fn settings(fake: &FakeProgram, limits: PiLimits) -> PiSettings {
    let read = |name: &str| match name {
        "PATH" => Some("/usr/local/bin:/usr/bin:/bin".into()),
        "HOME" => Some(fake.folder().into()),
        "ANTHROPIC_API_KEY" => Some("sk-canary7f3a91c5".into()),
        _ => None,
    };
    let program = env!("CARGO_BIN_EXE_onyx-runtime-child").into();
    PiSettings {
        name: "pi".to_owned(),
        command: fake.program(),
        auth_file: None,
        base_url: None,
        models: Vec::new(),
        environment: environment_for_programs(read),
        folder: fake.folder().join("work"),
        wrapper: Some(ChildWrapper { program, arguments: Vec::new() }),
        limits,
    }
}

fn answering(answers: Value) -> Setting {
    setting(json!({"answers": answers}), LIMITS)
}

async fn ask(model: &Arc<dyn Model>) -> Vec<ModelEvent> {
    let request =
        ModelRequest { messages: vec![Message::user("hello")].into(), ..ModelRequest::default() };
    model.stream(request, Cancel::new()).collect().await
}

#[tokio::test]
async fn tool_calls_come_back_unexecuted_and_results_go_in_by_the_envelope() {
    let setting = answering(json!([
        {"text": "Looking.", "calls": [
            {"id": "c1", "name": "read_file", "arguments": {"path": "a.md"}}]},
    ]));
    let call = Block::ToolUse {
        id: ToolUseId("c0".into()),
        name: "mcp:notes/find".into(),
        input: json!({"q": 1}),
        provider_data: None,
    };
    let failed =
        Block::ToolResult { id: ToolUseId("c0".into()), content: "no".into(), is_error: true };
    let schema = json!({"type": "object"});
    let request = ModelRequest {
        system: [SystemBlock { text: "Be brief.".into(), stable: true }].into(),
        messages: vec![
            Message::user("look"),
            Message { role: Role::Assistant, content: vec![call] },
            Message { role: Role::User, content: vec![failed] },
        ]
        .into(),
        tools: [ToolOffer {
            name: "read_file".into(),
            description: "Reads".into(),
            input_schema: schema.clone().into(),
        }]
        .into(),
        max_output_tokens: 100,
        cache_key: Some("session".into()),
        ..ModelRequest::default()
    };
    let events: Vec<ModelEvent> = setting.model.stream(request, Cancel::new()).collect().await;
    assert_eq!(text_of(&events), "Looking.");
    let end = ModelEvent::ToolCallEnd {
        index: 0,
        id: ToolUseId("c1".into()),
        name: "read_file".into(),
        arguments: json!({"path": "a.md"}),
        provider_data: None,
    };
    // The subscription pays, so the cost is zero.
    let cost = Some(0.0);
    let usage = Usage { input: 10, output: 5, cache_read: 2, cache_write: 1, cost };
    let last = [end, ModelEvent::Usage(usage), ModelEvent::Finish(FinishReason::ToolCalls)];
    assert_eq!(events[events.len() - 3..], last);
    let order = setting.fake.noted("order").remove(0);
    let name = order["messages"][1]["calls"][0]["name"].clone();
    assert_ne!(name, "mcp:notes/find", "as every wire takes it");
    assert_eq!(
        order,
        json!({
            "type": "ask", "id": order["id"], "model": "anthropic/claude-sonnet-4-6",
            "system": "Be brief.", "max_tokens": 100, "session": "session",
            "tools": [{"name": "read_file", "description": "Reads", "parameters": schema}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "look"}]},
                {"role": "assistant", "text": "",
                 "calls": [{"id": "c0", "name": name, "arguments": {"q": 1}}]},
                {"role": "tool", "results": [{"id": "c0", "ok": false, "error": "no"}]},
            ],
        })
    );
    let environment = setting.fake.noted("env").remove(0);
    assert!(!environment.to_string().contains("canary"), "{environment}");
}

#[tokio::test]
async fn one_process_serves_all_calls_at_once() {
    let setting = answering(json!([]));
    let (one, two) = tokio::join!(ask(&setting.model), ask(&setting.model));
    assert_eq!((text_of(&one), text_of(&two)), ("ok".to_owned(), "ok".to_owned()));
    assert_eq!(setting.fake.processes().len(), 1);
}

#[tokio::test]
async fn troubles_are_failures_of_their_class() {
    let wait = Some(Duration::from_secs(7));
    let cases = [
        ("auth", ModelFailureClass::SignIn { provider: "pi".to_owned() }),
        ("rate_limited", ModelFailureClass::RateLimited { retry_after: wait }),
        ("overloaded", ModelFailureClass::Overloaded { retry_after: wait }),
        ("context_length", ModelFailureClass::ContextLength),
        ("unknown_model", ModelFailureClass::InvalidRequest),
        ("unavailable", ModelFailureClass::Unavailable),
    ];
    for (trouble, class) in cases {
        let answer = json!({"trouble": trouble, "retry_after_ms": 7000});
        let setting = answering(json!([answer]));
        let events = ask(&setting.model).await;
        assert_eq!(class_of(&events), class, "{trouble}");
        if trouble == "auth" {
            assert!(failure_of(&events).message.contains("/login"), "{events:?}");
            let login = setting.registry.login("pi").unwrap().unwrap();
            assert_eq!(login.state, LoginState::SignInAgain);
        }
    }
}

#[tokio::test]
async fn a_sidecar_that_dies_ends_its_calls_within_two_seconds_and_the_next_one_works() {
    let calls = json!([{"id": "c1", "name": "read_file", "arguments": {}}]);
    let setting = answering(json!([
        {"text": "Half", "fault": "dies", "calls": calls}, {"fault": "dies_first"},
    ]));
    let request =
        ModelRequest { messages: vec![Message::user("hello")].into(), ..ModelRequest::default() };
    let mut events = setting.model.stream(request, Cancel::new());
    // The scripted sidecar kills itself right after this word.
    assert_eq!(events.next().await, Some(ModelEvent::TextDelta("Half".to_owned())));
    let start = Instant::now();
    let rest: Vec<ModelEvent> = events.collect().await;
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(class_of(&rest), ModelFailureClass::Transport);
    assert_nothing_executable(&rest);
    assert_eq!(class_of(&ask(&setting.model).await), ModelFailureClass::Transport);
    assert_eq!(text_of(&ask(&setting.model).await), "ok");
    assert_eq!(setting.fake.processes().len(), 3);
}

#[tokio::test]
async fn garbage_is_passed_over_and_a_megabyte_is_one_line() {
    let setting = answering(json!([
        {"text": "Whole.", "fault": "garbage"}, {"text": "maß!", "fault": "huge"},
    ]));
    assert_eq!(text_of(&ask(&setting.model).await), "Whole.");
    assert_eq!(text_of(&ask(&setting.model).await).len(), "maß!".len() * 1024 * 1024 / 4);
}

#[tokio::test]
async fn a_call_that_hangs_is_cancelled_at_its_time_limit_and_the_process_stays() {
    let limits = PiLimits { idle: Duration::from_secs(2), ..LIMITS };
    let setting = setting(json!({"answers": [{"text": "x", "fault": "hangs"}]}), limits);
    assert_eq!(class_of(&ask(&setting.model).await), ModelFailureClass::Timeout);
    assert_eq!(text_of(&ask(&setting.model).await), "ok");
    let orders = setting.fake.noted("order");
    assert_eq!(orders[1], json!({"type": "cancel", "id": orders[0]["id"]}));
    assert_eq!(setting.fake.processes().len(), 1);
}

#[tokio::test]
async fn a_sidecar_that_cannot_start_says_why_and_rests_before_it_is_tried_again() {
    let setting = setting(json!({"answers": [], "start": "fails"}), LIMITS);
    let failure = failure_of(&ask(&setting.model).await);
    assert!(failure.message.contains("Cannot find module"), "{failure:?}");
    let failure = failure_of(&ask(&setting.model).await);
    assert!(failure.message.contains("started again in"), "{failure:?}");
    assert_eq!(setting.fake.processes().len(), 1);
}

#[tokio::test]
async fn a_sidecar_of_another_version_is_refused() {
    let setting = setting(json!({"answers": [], "version": 2}), LIMITS);
    let failure = failure_of(&ask(&setting.model).await);
    assert!(failure.message.contains("another version"), "{failure:?}");
}

#[tokio::test]
async fn a_test_tells_who_is_signed_in_and_a_missing_sidecar_how_to_get_it() {
    let setting = answering(json!([]));
    let test = setting.registry.test("pi").await;
    assert!(matches!(test.finding, Finding::Works { .. }), "{test:?}");
    let login = setting.registry.status().remove(0).login.unwrap();
    assert_eq!(login.account.as_deref(), Some("anthropic, github-copilot"));

    let nobody = self::setting(json!({"answers": [], "sign_ins": []}), LIMITS);
    let test = nobody.registry.test("pi").await;
    assert!(
        matches!(test.finding, Finding::Fails { trouble: ProviderProblem::Key, .. }),
        "{test:?}"
    );
    assert!(test.advice.contains("/login"), "{test:?}");

    std::fs::remove_file(setting.fake.program()).unwrap();
    let status = setting.registry.status().remove(0);
    let ProviderState::Disabled { reason } = status.state else { panic!("{status:?}") };
    assert!(reason.contains("make pi"), "{reason}");
}

#[tokio::test]
async fn a_sidecar_that_nobody_needs_is_ended() {
    let limits = PiLimits { parked: Duration::from_millis(200), ..LIMITS };
    let setting = setting(json!({"answers": []}), limits);
    ask(&setting.model).await;
    let is_gone = || setting.source.process().is_none();
    wait_until("the sidecar to end", Duration::from_secs(30), is_gone).await;
}
