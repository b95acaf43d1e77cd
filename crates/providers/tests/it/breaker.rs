use crate::chains::{registry_at, settings, world};
use crate::support::{ask, class_of, failure_of, hello, text_of};
use futures::StreamExt;
use onyx_providers::{CircuitState, ModelMetrics, ModelStatus, ProviderHealth, RetryPolicy};
use onyx_test_support::{Answer, ErrorKind, Fault, Script, ScriptedModel, Step};
use onyx_types::{Cancel, ModelEvent, ModelFailureClass, StatusCode};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

fn overloaded() -> Answer {
    Answer::status(529, "")
}

/// Fails three times in a row, so that the circuit is open.
async fn worn_out() -> ScriptedModel {
    let server = ScriptedModel::start().await;
    server.set_default(overloaded());
    server
}

fn circuit(world: &crate::chains::World) -> CircuitState {
    world.registry.status()[0].called[0].circuit
}

#[tokio::test]
async fn a_model_that_keeps_failing_gets_no_request_until_its_rest_is_over() {
    let server = worn_out().await;
    let world = world(&[&server]);
    let model = world.model("one/m");
    for _ in 0..3 {
        let class = class_of(&ask(&model).await);
        assert_eq!(class, ModelFailureClass::Overloaded { retry_after: None });
    }
    assert_eq!(circuit(&world), CircuitState::Open { failures: 3, next_try_seconds: 10 });

    world.pass(4);
    let failure = failure_of(&ask(&world.model("one/m")).await);
    let retry_after = Duration::from_secs(6);
    assert_eq!(failure.class, ModelFailureClass::Paused { retry_after });
    assert_eq!(
        failure.message,
        "one/m keeps failing. Paused; retrying in 6 s. The provider is overloaded. \
         (3 failures in a row.)"
    );
    assert_eq!(server.request_count(), 3);

    server.set_default(Answer::text("back"));
    world.pass(6);
    assert_eq!(text_of(&ask(&model).await), "back");
    assert_eq!(circuit(&world), CircuitState::Closed { failures: 0 });
    assert_eq!(server.request_count(), 4);
}

#[tokio::test]
async fn each_failed_probe_doubles_the_rest_up_to_its_longest() {
    let server = worn_out().await;
    let world = world(&[&server]);
    let model = world.model("one/m");
    for _ in 0..3 {
        ask(&model).await;
    }
    for rest in [10, 20, 40, 60, 60] {
        let expected = CircuitState::Open { failures: 3, next_try_seconds: rest };
        assert_eq!(circuit(&world), expected);
        world.pass(rest);
        ask(&model).await;
    }
    assert_eq!(server.request_count(), 3 + 5);
}

#[tokio::test]
async fn a_provider_may_ask_for_a_longer_rest() {
    let server = ScriptedModel::start().await;
    server.set_default(Answer::error(ErrorKind::RateLimited).header("retry-after", "45"));
    let world = world(&[&server]);
    for _ in 0..3 {
        ask(&world.model("one/m")).await;
    }
    assert_eq!(circuit(&world), CircuitState::Open { failures: 3, next_try_seconds: 45 });
}

#[tokio::test]
async fn one_probe_is_out_at_a_time_and_one_that_is_dropped_frees_its_place() {
    let server = worn_out().await;
    let world = world(&[&server]);
    let model = world.model("one/m");
    for _ in 0..3 {
        ask(&model).await;
    }
    world.pass(10);
    server.push(Answer::text("x").fault(Fault::HangBeforeHead));
    let mut probe = model.stream(hello(), Cancel::new());
    let waiting = tokio::spawn(async move { probe.next().await });
    server.wait_for_requests(4).await;
    assert_eq!(circuit(&world), CircuitState::HalfOpen { failures: 3 });
    let retry_after = Duration::from_secs(1);
    assert_eq!(class_of(&ask(&model).await), ModelFailureClass::Paused { retry_after });
    assert_eq!(server.request_count(), 4);

    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    server.set_default(Answer::text("back"));
    assert_eq!(text_of(&ask(&model).await), "back");
}

#[tokio::test]
async fn a_model_that_breaks_off_right_after_its_probe_rests_again() {
    let server = worn_out().await;
    let world = world(&[&server]);
    let model = world.model("one/m");
    for _ in 0..3 {
        ask(&model).await;
    }
    world.pass(10);
    server.push(Script::new([Step::Text("a".into())]).without_terminator());
    assert_eq!(class_of(&ask(&model).await), ModelFailureClass::Truncated);
    assert_eq!(circuit(&world), CircuitState::Open { failures: 3, next_try_seconds: 20 });
}

#[tokio::test]
async fn requests_that_are_refused_say_nothing_against_the_provider() {
    let kinds = [
        ErrorKind::Auth,
        ErrorKind::ContextLength,
        ErrorKind::InvalidRequest,
        ErrorKind::ContentFilter,
    ];
    for kind in kinds {
        let server = ScriptedModel::start().await;
        server.set_default(Answer::error(kind));
        let world = world(&[&server]);
        for _ in 0..5 {
            ask(&world.model("one/m")).await;
        }
        assert_eq!(circuit(&world), CircuitState::Closed { failures: 0 });
        assert_eq!(server.request_count(), 5);
    }
}

#[tokio::test]
async fn one_model_at_rest_leaves_the_others_of_its_provider_alone() {
    let server = worn_out().await;
    let world = world(&[&server]);
    for _ in 0..4 {
        ask(&world.model("one/m")).await;
    }
    assert_eq!(server.request_count(), 3);
    server.set_default(Answer::text("other"));
    assert_eq!(text_of(&ask(&world.model("one/n")).await), "other");
}

#[tokio::test]
async fn a_chain_passes_over_a_model_at_rest_without_a_request_and_without_a_wait() {
    let one = worn_out().await;
    let two = ScriptedModel::start().await;
    let world = world(&[&one, &two]);
    for _ in 0..3 {
        assert_eq!(text_of(&ask(&world.chain()).await), "ok");
    }
    let events = ask(&world.chain()).await;
    assert!(matches!(&events[0], ModelEvent::Notice { code: StatusCode::Fallback, .. }));
    assert_eq!((one.request_count(), two.request_count()), (3, 4));

    world.pass(10);
    one.set_default(Answer::text("back"));
    assert_eq!(text_of(&ask(&world.chain()).await), "back");
    assert_eq!((one.request_count(), two.request_count()), (4, 4));
}

#[tokio::test]
async fn all_attempts_of_one_request_are_one_failure_and_a_probe_is_one_attempt() {
    let server = worn_out().await;
    let eager = RetryPolicy {
        attempts: 4,
        base: Duration::from_millis(1),
        longest: Duration::from_millis(5),
    };
    let world = world(&[&server]);
    let clock = Arc::clone(&world.clock);
    let registry = world.registry.with_retry(eager);
    let model = registry.model("one/m").unwrap();
    let circuit = || registry.status()[0].called[0].circuit;
    ask(&model).await;
    assert_eq!(circuit(), CircuitState::Closed { failures: 1 });
    ask(&model).await;
    ask(&model).await;
    assert_eq!(circuit(), CircuitState::Open { failures: 3, next_try_seconds: 10 });
    assert_eq!(server.request_count(), 12);
    clock.advance(Duration::from_secs(10));
    ask(&model).await;
    assert_eq!(server.request_count(), 13);
}

#[tokio::test]
async fn a_changed_config_keeps_the_health_of_what_did_not_change() {
    let server = worn_out().await;
    let world = world(&[&server]);
    for _ in 0..3 {
        ask(&world.model("one/m")).await;
    }
    let again =
        |more| registry_at(settings(&[&server], &more), &world.clock, Some(&world.registry));
    let same = again(json!({"models": ["m", {"id": "n", "contextWindow": 5}]}));
    let paused = class_of(&ask(&same.model("one/m").unwrap()).await);
    assert!(matches!(paused, ModelFailureClass::Paused { .. }), "{paused:?}");
    assert_eq!(server.request_count(), 3);
    let other_key = again(json!({"apiKey": "another-key"}));
    assert_eq!(other_key.status()[0].called, []);
    ask(&other_key.model("one/m").unwrap()).await;
    assert_eq!(server.request_count(), 4);
}

#[tokio::test]
async fn the_default_is_the_first_provider_that_is_not_at_rest() {
    let (one, two) = (worn_out().await, ScriptedModel::start().await);
    let settings = settings(&[&one, &two], &json!({"models": ["m"]}));
    let clock = Arc::new(onyx_test_support::ManualClock::new());
    let registry = registry_at(settings, &clock, None);
    assert_eq!(registry.default_model().as_deref(), Some("one/m"));
    for _ in 0..3 {
        ask(&registry.model("one/m").unwrap()).await;
    }
    assert_eq!(registry.default_model().as_deref(), Some("two/m"));
}

#[tokio::test]
async fn figures_of_every_call_are_kept_by_model() {
    let server = ScriptedModel::start().await;
    let world = world(&[&server]);
    assert_eq!(world.registry.status()[0].health(), ProviderHealth::Untried);
    ask(&world.model("one/m")).await;
    assert_eq!(world.registry.status()[0].health(), ProviderHealth::Well);
    server.push(Answer::error(ErrorKind::Auth));
    ask(&world.model("one/m")).await;
    drop(world.model("one/m").stream(hello(), Cancel::new()));

    let mut called = world.registry.status().remove(0).called;
    let ModelStatus { model, circuit, metrics } = called.remove(0);
    assert_eq!((model.as_str(), circuit), ("m", CircuitState::Closed { failures: 0 }));
    let ModelMetrics { last_failure, first_content, whole, usage, failures, .. } = &metrics;
    assert_eq!((metrics.calls, metrics.in_flight, metrics.answered, metrics.stopped), (3, 0, 1, 1));
    assert_eq!(failures, &[("auth", 1)].into());
    assert_eq!(last_failure.as_ref().map(|failure| failure.class), Some("auth"));
    assert_eq!((first_content.count, whole.count, whole.buckets[0]), (1, 1, 1));
    assert_eq!((usage.input, usage.output, usage.cost), (10, 5, None));
}
