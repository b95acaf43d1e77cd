use crate::chains::{world, world_with};
use crate::support::{ask, class_of, failure_of, hello, text_of};
use futures::StreamExt;
use onyx_providers::{ProviderSettings, Registry};
use onyx_test_support::{Answer, ErrorKind, Fault, Script, ScriptedModel, Step};
use onyx_types::{
    Cancel, ErrorCode, FinishReason, ModelEvent, ModelFailureClass, ModelId, StatusCode, Usage,
};
use serde_json::json;

fn fallback_notice(why: ErrorCode) -> ModelEvent {
    ModelEvent::Notice {
        code: StatusCode::Fallback,
        message: format!("one/m: {} two/m answers instead.", why.sentence()),
    }
}

fn answered_by(model: &str) -> ModelEvent {
    ModelEvent::AnsweredBy { model: model.to_owned() }
}

#[tokio::test]
async fn when_the_first_cannot_answer_the_second_does_in_the_same_stream() {
    let failing = [
        (Answer::error(ErrorKind::RateLimited), ErrorCode::ProviderRateLimited),
        (Answer::status(529, ""), ErrorCode::ProviderOverloaded),
        (Answer::error(ErrorKind::Server), ErrorCode::ProviderUnavailable),
        (Answer::error(ErrorKind::Auth), ErrorCode::ProviderAuth),
        (Answer::error(ErrorKind::InvalidRequest), ErrorCode::ProviderRefused),
        (Answer::text("x").fault(Fault::CloseBeforeHead), ErrorCode::ProviderUnavailable),
        (Answer::text("x").fault(Fault::EndAt(0)), ErrorCode::ProviderTruncated),
    ];
    for (first, why) in failing {
        let one = ScriptedModel::with_answers([first.clone()]).await;
        let two = ScriptedModel::with_answers([Answer::text("well")]).await;
        let expected = vec![
            fallback_notice(why),
            answered_by("two/m"),
            ModelEvent::TextDelta("well".into()),
            ModelEvent::Usage(Usage { input: 10, output: 5, ..Usage::default() }),
            ModelEvent::Finish(FinishReason::Stop),
        ];
        assert_eq!(ask(&world(&[&one, &two]).chain()).await, expected, "{first:?}");
        assert_eq!((one.request_count(), two.request_count()), (1, 1));
    }
}

#[tokio::test]
async fn wherever_the_first_breaks_off_no_byte_is_shown_twice_and_none_is_lost() {
    let whole = "alpha beta";
    let script = Script::text_pieces(["alpha ", "beta"]);
    let length = {
        let request = json!({"stream": true, "model": "m"});
        onyx_test_support::Wire::OpenAiChat.stream(&script, &request).bytes().len()
    };
    let (one, two) = (ScriptedModel::start().await, ScriptedModel::start().await);
    two.set_default(Answer::text("gamma"));
    for cut in 0..=length {
        one.push(Answer::script(script.clone()).fault(Fault::EndAt(cut)));
        let events = ask(&world(&[&one, &two]).chain()).await;
        let (shown, asked) = (text_of(&events), two.request_count());
        match events.last().unwrap() {
            ModelEvent::Finish(_) if events.contains(&answered_by("two/m")) => {
                assert_eq!(shown, "gamma", "cut at {cut}");
            }
            ModelEvent::Finish(_) => assert_eq!(shown, whole, "cut at {cut}"),
            ModelEvent::Failed(failure) => {
                assert_eq!(failure.class, ModelFailureClass::Truncated);
                assert!(!shown.is_empty() && whole.starts_with(&shown), "cut at {cut}: {shown}");
                assert!(!events.contains(&answered_by("two/m")), "cut at {cut} after {asked}");
            }
            other => panic!("ended with {other:?}"),
        }
    }
    assert!(two.request_count() > 0 && two.request_count() < length);
}

#[tokio::test]
async fn reasoning_and_tool_calls_count_as_shown_too() {
    let begun = [
        Script::new([Step::Reasoning("hm".into())]),
        Script::new([Step::ToolCalls(vec![onyx_test_support::ScriptedCall::new(
            "c",
            "t",
            &json!({}),
        )])]),
    ];
    for script in begun {
        let one = ScriptedModel::with_answers([script.without_terminator()]).await;
        let two = ScriptedModel::start().await;
        let events = ask(&world(&[&one, &two]).chain()).await;
        assert_eq!(class_of(&events), ModelFailureClass::Truncated);
        assert_eq!(two.request_count(), 0);
    }
}

#[tokio::test]
async fn a_first_choice_that_is_disabled_is_passed_over_and_said() {
    let two = ScriptedModel::with_answers([Answer::text("well")]).await;
    let settings = [
        ("one", json!({"kind": "openai", "baseUrl": "http://127.0.0.1:9/v1", "apiKey": "${GONE}"})),
        ("two", json!({"kind": "openai", "baseUrl": two.base_url()})),
    ];
    let settings = settings.map(|(name, value)| {
        (name.to_owned(), serde_json::from_value::<ProviderSettings>(value).unwrap())
    });
    let registry = Registry::resolve(settings, &crate::support::environment);
    let chain = registry.chain(&ModelId::new("one/m"), &[ModelId::new("two/m")]).unwrap();
    let events = ask(&chain).await;
    let first = [fallback_notice(ErrorCode::ProviderUnavailable), answered_by("two/m")];
    assert_eq!((chain.id(), &events[..2], text_of(&events)), ("one/m", &first[..], "well".into()));
    let absent = ["gone/m", "no model"].map(ModelId::new);
    let nobody = registry.chain(&ModelId::new("one/m"), &absent);
    assert_eq!(
        nobody.err().unwrap().to_string(),
        "the provider `one` is disabled: the environment variable GONE is not set"
    );
}

#[tokio::test]
async fn when_all_fail_the_first_ones_class_and_everyones_words_are_the_answer() {
    let one = ScriptedModel::with_answers([Answer::error(ErrorKind::Auth)]).await;
    let two = ScriptedModel::with_answers([Answer::status(529, "")]).await;
    let failure = failure_of(&ask(&world(&[&one, &two]).chain()).await);
    assert_eq!(failure.class, ModelFailureClass::Auth);
    assert!(failure.message.starts_with("one/m: "), "{failure}");
    assert!(failure.message.contains("; two/m: "), "{failure}");
}

#[tokio::test]
async fn a_refusal_of_the_content_is_not_taken_to_the_next() {
    let one = ScriptedModel::with_answers([Answer::error(ErrorKind::ContentFilter)]).await;
    let two = ScriptedModel::start().await;
    let events = ask(&world(&[&one, &two]).chain()).await;
    assert_eq!((events.len(), class_of(&events)), (1, ModelFailureClass::ContentFilter));
    assert_eq!(two.request_count(), 0);
}

#[tokio::test]
async fn a_prompt_that_is_too_long_goes_only_to_a_larger_window() {
    let models = json!({"models": [
        {"id": "small", "contextWindow": 1000},
        {"id": "same", "contextWindow": 1000},
        {"id": "large", "contextWindow": 9000},
    ]});
    let one = ScriptedModel::with_answers([Answer::error(ErrorKind::ContextLength)]).await;
    let two = ScriptedModel::with_answers([Answer::text("well")]).await;
    let world = world_with(&[&one, &two], models);
    let (small, fallbacks) =
        (ModelId::new("one/small"), ["two/same", "two/large"].map(ModelId::new));
    let chain = world.registry.chain(&small, &fallbacks).unwrap();
    let events = ask(&chain).await;
    assert_eq!(
        (events.contains(&answered_by("two/large")), text_of(&events)),
        (true, "well".into())
    );
    assert_eq!((chain.context_window(), two.request_count()), (Some(1000), 1));

    one.push(Answer::error(ErrorKind::ContextLength));
    let chain = world.registry.chain(&small, &fallbacks[..1]).unwrap();
    assert_eq!(class_of(&ask(&chain).await), ModelFailureClass::ContextLength);
    assert_eq!(two.request_count(), 1);
}

#[tokio::test]
async fn cancelling_asks_nobody_else() {
    let one = ScriptedModel::with_answers([Answer::text("x").fault(Fault::HangAfterHead)]).await;
    let two = ScriptedModel::start().await;
    let cancel = Cancel::new();
    let chain = world(&[&one, &two]).chain();
    let events = tokio::spawn(chain.stream(hello(), cancel.clone()).collect::<Vec<_>>());
    one.wait_for_requests(1).await;
    cancel.cancel();
    assert_eq!(class_of(&events.await.unwrap()), ModelFailureClass::Cancelled);
    assert_eq!(two.request_count(), 0);
}
