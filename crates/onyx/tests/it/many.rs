use onyx_test_support::{Answer, Recording, Script, ScriptedModel};
use serde_json::json;

use crate::{onyx, said, types};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_sessions_stream_at_once_without_an_error() {
    const SESSIONS: usize = 200;
    let pieces: Vec<String> = (0..20).map(|number| format!("{number} ")).collect();
    let whole = pieces.concat();
    let model = ScriptedModel::start().await;
    model.set_recording(Recording::Off);
    model.set_default(Answer::script(Script::text_pieces(pieces)).delay_ms(20));
    let onyx = onyx(&model).await;
    let talks: Vec<_> = (0..SESSIONS)
        .map(|number| {
            let client = onyx.client().clone();
            tokio::spawn(async move {
                client.chat_stream(&json!({"message": format!("message {number}")})).await
            })
        })
        .collect();
    for talk in talks {
        let events = talk.await.unwrap();
        assert_eq!(
            (said(&events), events.last().unwrap()["status"].as_str()),
            (whole.clone(), Some("done")),
            "{:?}",
            types(&events)
        );
    }
    assert!(onyx.healthy().await);
}
