use crate::support::{ask, class_of, hello, registry, text_of};
use futures::StreamExt;
use onyx_providers::RetryPolicy;
use onyx_test_support::{Answer, ErrorKind, Fault, Script, ScriptedModel, Step};
use onyx_types::{Cancel, Model, ModelEvent, ModelFailureClass, StatusCode};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

const QUICK: RetryPolicy = RetryPolicy {
    attempts: 3,
    base: Duration::from_millis(1),
    longest: Duration::from_millis(500),
};

/// The wait is that of an answer which never comes; all others must be there by then.
fn patient(server: &ScriptedModel) -> Arc<dyn Model> {
    let timeouts = json!({"timeouts": {"firstByteSeconds": 2}});
    registry(server, timeouts).with_retry(QUICK).model("mine/some-model").unwrap()
}

fn notices(events: &[ModelEvent]) -> usize {
    let is_retry =
        |event: &&ModelEvent| matches!(event, ModelEvent::Notice { code: StatusCode::Retry, .. });
    events.iter().filter(is_retry).count()
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_said() {
    let passing = [
        Answer::error(ErrorKind::RateLimited),
        Answer::status(529, ""),
        Answer::error(ErrorKind::Server),
        Answer::text("x").fault(Fault::CloseBeforeHead),
        Answer::text("x").fault(Fault::HangBeforeHead),
        Answer::text("x").fault(Fault::EndAt(0)),
    ];
    for first in passing {
        let server = ScriptedModel::with_answers([first.clone(), Answer::text("well")]).await;
        let events = ask(&patient(&server)).await;
        assert_eq!((notices(&events), text_of(&events)), (1, "well".to_owned()), "{first:?}");
        assert_eq!(server.request_count(), 2);
    }
}

#[tokio::test]
async fn what_will_not_pass_is_not_tried_again() {
    let lasting = [
        (ErrorKind::Auth, ModelFailureClass::Auth),
        (ErrorKind::ContextLength, ModelFailureClass::ContextLength),
        (ErrorKind::InvalidRequest, ModelFailureClass::InvalidRequest),
        (ErrorKind::ContentFilter, ModelFailureClass::ContentFilter),
    ];
    for (kind, class) in lasting {
        let server = ScriptedModel::with_answers([Answer::error(kind)]).await;
        let events = ask(&patient(&server)).await;
        assert_eq!((class_of(&events), notices(&events)), (class, 0));
        assert_eq!(server.request_count(), 1);
    }
}

#[tokio::test]
async fn attempts_are_bounded_and_the_last_failure_is_the_answer() {
    let server = ScriptedModel::start().await;
    server.set_default(Answer::status(529, ""));
    let events = ask(&patient(&server)).await;
    assert_eq!(class_of(&events), ModelFailureClass::Overloaded { retry_after: None });
    assert_eq!((notices(&events), server.request_count()), (2, 3));
}

#[tokio::test]
async fn after_the_first_word_nothing_is_tried_again() {
    let begun = [Step::Text("a".into()), Step::Reasoning("a".into())];
    for step in begun {
        let server = ScriptedModel::start().await;
        server.push(Script::new([step]).without_terminator());
        let events = ask(&patient(&server)).await;
        assert_eq!(class_of(&events), ModelFailureClass::Truncated);
        assert_eq!((notices(&events), server.request_count()), (0, 1));
    }
}

#[tokio::test]
async fn the_wait_a_provider_asks_for_is_kept() {
    let limited = Answer::error(ErrorKind::RateLimited).header("retry-after-ms", "200");
    let server = ScriptedModel::with_answers([limited]).await;
    ask(&patient(&server)).await;
    let requests = server.requests();
    let wait = requests[1].received - requests[0].received;
    assert!(wait >= Duration::from_millis(200), "{wait:?}");
}

#[tokio::test]
async fn a_wait_longer_than_the_longest_is_given_back_to_the_caller() {
    let limited = Answer::error(ErrorKind::RateLimited).header("retry-after", "3600");
    let server = ScriptedModel::with_answers([limited]).await;
    let start = Instant::now();
    let events = ask(&patient(&server)).await;
    let retry_after = Some(Duration::from_secs(3600));
    assert_eq!(events.len(), 1);
    assert_eq!(class_of(&events), ModelFailureClass::RateLimited { retry_after });
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn cancelling_ends_the_wait() {
    let server = ScriptedModel::start().await;
    server.set_default(Answer::error(ErrorKind::RateLimited).header("retry-after", "20"));
    let policy = RetryPolicy { longest: Duration::from_secs(30), ..QUICK };
    let model = registry(&server, json!({})).with_retry(policy).model("mine/m").unwrap();
    let cancel = Cancel::new();
    let mut events = model.stream(hello(), cancel.clone());
    assert!(matches!(events.next().await, Some(ModelEvent::Notice { .. })));
    let start = Instant::now();
    cancel.cancel();
    let rest: Vec<ModelEvent> = events.collect().await;
    assert_eq!((rest.len(), class_of(&rest)), (1, ModelFailureClass::Cancelled));
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(server.request_count(), 1);
}
