use crate::{ask, drain, streaming_request};
use onyx_test_support::{Answer, Fault, Script, ScriptedModel, Step, Wire, wait_until};
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_cut_falls_on_exactly_the_byte_that_was_named() {
    let script = Script::text("hello");
    let whole = Wire::OpenAiChat.stream(&script, &streaming_request());
    let server = ScriptedModel::start().await;
    for boundary in whole.boundaries() {
        for at in [boundary - 1, boundary, boundary + 1] {
            let at = at.min(whole.bytes().len());
            for (fault, proper) in
                [(Fault::CloseAt(at), false), (Fault::ResetAt(at), false), (Fault::EndAt(at), true)]
            {
                server.push(Answer::script(script.clone()).fault(fault));
                let got = drain(ask(&server, &streaming_request()).await).await;
                assert_eq!(got, (whole.bytes()[..at].to_vec(), proper), "{fault:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_hang_sends_nothing_more_and_notices_when_the_client_leaves() {
    let paused = Script::new([Step::Text("a".into()), Step::Hang]);
    let answers = [
        Answer::text("x").fault(Fault::HangBeforeHead),
        Answer::text("x").fault(Fault::HangAfterHead),
        Answer::text("x").fault(Fault::HangAt(10)),
        Answer::script(paused),
    ];
    let count = answers.len();
    let server = ScriptedModel::with_answers(answers).await;
    for turn in 1..=count {
        let request = streaming_request();
        let talk = async { drain(ask(&server, &request).await).await };
        // The client leaves a while after its answer has begun.
        let begun = async {
            wait_until("the answer to begin", LONG, || server.answering() == 1).await;
            tokio::time::sleep(SHORT).await;
        };
        tokio::select! {
            _ = talk => panic!("answer {turn} ended"),
            () = begun => {}
        }
        wait_until("the server to notice", LONG, || server.abandoned() == turn).await;
    }
    assert_eq!(server.answering(), 0);
}

#[tokio::test]
async fn dropping_the_server_cuts_its_connections() {
    let server = ScriptedModel::start().await;
    server.push(Answer::script(Script::new([Step::Text("a".into()), Step::Hang])));
    let response = ask(&server, &streaming_request()).await;
    drop(server);
    let (_, proper) = tokio::time::timeout(LONG, drain(response)).await.unwrap();
    assert!(!proper);
}
