use crate::chains::world;
use crate::support::ask;
use futures::StreamExt;
use onyx_test_support::{Answer, Finish, Script, ScriptedModel, ScriptedUsage, Step};
use onyx_types::{Cancel, Message, ModelRequest, estimate_tokens};

/// Texts with their length in o200k tokens, counted with `bpe-openai` 0.3.2.
const COUNTED: [(&str, usize); 6] = [
    (
        "The run met its limit of steps, so the answer was kept and the person was told what to \
         change in the configuration.",
        25,
    ),
    (
        "Gestern Abend fuhr ich mit dem Zug nach Köln, um dort meine Schwester zu besuchen, die seit \
         einigen Jahren im Krankenhaus arbeitet.",
        27,
    ),
    ("fn take(&mut self, event: ModelEvent) -> Option<(ModelEvent, Self)> {\n    None\n}", 24),
    (r#"{"path": "notes/2026-01-01.md", "lines": [1, 2, 3], "deep": true}"#, 31),
    ("今天天气很好，我们决定去公园散步。", 12),
    ("Сегодня утром мы отправились в горы, чтобы посмотреть на восход солнца.", 17),
];

#[test]
fn the_rule_is_near_a_real_tokenizer_and_rather_above_it() {
    for (text, counted) in COUNTED {
        let ratio = estimate_tokens(text) as f64 / counted as f64;
        assert!((0.9..=1.5).contains(&ratio), "{ratio:.2} for {text}");
    }
    assert_eq!(estimate_tokens(""), 0);
    assert_eq!(estimate_tokens("a"), 1);
}

fn prompt() -> ModelRequest {
    let text = COUNTED[0].0.repeat(40);
    ModelRequest { messages: vec![Message::user(text)].into(), ..ModelRequest::default() }
}

fn reporting(input: u64) -> Answer {
    let usage = ScriptedUsage { input, output: 1, ..ScriptedUsage::default() };
    Answer::script(Script::new([
        Step::Text("ok".into()),
        Step::Usage(usage),
        Step::Finish(Finish::Stop),
    ]))
}

#[tokio::test]
async fn a_count_follows_what_the_models_provider_reports() {
    let server = ScriptedModel::start().await;
    let world = world(&[&server]);
    let counter = world.registry.token_counter("one/m");
    let text = COUNTED[0].0.repeat(40);
    let by_rule = estimate_tokens(&text);
    assert_eq!(counter.count(&text), by_rule);

    let answer = async |input: usize| {
        server.push(reporting(input as u64));
        let _: Vec<_> = world.model("one/m").stream(prompt(), Cancel::new()).collect().await;
    };
    answer(by_rule * 2).await;
    assert_eq!(counter.count(&text), by_rule * 2);
    answer(by_rule).await;
    assert_eq!(counter.count(&text), (by_rule as f64 * 1.5).ceil() as usize);
    // Another model counts in its own way, so the correction does not apply to it.
    assert_eq!(world.registry.token_counter("one/other").count(&text), by_rule);
    assert_eq!(world.registry.token_counter("gone/m").count(&text), by_rule);
    // An implausible report, and one for a prompt of a single word, change nothing.
    answer(by_rule * 100).await;
    ask(&world.model("one/m")).await;
    assert_eq!(counter.count(&text), (by_rule as f64 * 1.5).ceil() as usize);
}
