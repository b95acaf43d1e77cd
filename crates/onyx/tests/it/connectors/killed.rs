//! kill -9 at changes of files during a conversation over Telegram. Every acknowledged message is
//! answered exactly once, or the person learns that its outcome is unknown.

use futures::{StreamExt as _, stream};
use onyx_test_support::networks::FakeTelegram;
use onyx_test_support::{Fate, FileChange, ScriptedModel, Tracer, wait_for};

use super::{account, connected, settled};
use crate::SOON;

const AT_ONCE: usize = 3;
const FEWEST: usize = 10;
/// Only every n-th place is tried, because a case takes seconds and neighbouring places behave
/// alike.
const EVERY: usize = 6;

async fn case(fate: Fate) -> Vec<FileChange> {
    let (model, telegram) = (ScriptedModel::start().await, FakeTelegram::start().await);
    model.set_default("The answer.");
    let mut onyx = connected(&model, &telegram).await;
    let tracer = Tracer::attach(onyx.process_id().unwrap(), &onyx.home(), fate);
    telegram.say(7, "one");
    let mut said = 1;
    let is_dead = async |answers: usize| {
        wait_for(&format!("an answer or the end ({fate:?})"), SOON * 4, async || {
            let is_dead = !onyx.client().healthy().await;
            (is_dead || telegram.texts(7).len() >= answers).then_some(is_dead)
        })
        .await
    };
    if !is_dead(1).await {
        telegram.say(7, "two");
        said = 2;
        if !is_dead(2).await && fate == Fate::Lives {
            settled(&onyx, &telegram).await;
        }
    }
    let seen = tracer.kill();
    onyx.kill().await;
    onyx.restart().await;
    if said == 1 {
        telegram.say(7, "two");
    }
    settled(&onyx, &telegram).await;
    let dead = account(&onyx).await["dead_letters"].as_u64().unwrap();
    let texts = telegram.texts(7);
    // Messages that came while a run was at work may be answered together.
    let ended = texts.iter().filter(|text| !text.ends_with('…'));
    let whole = ended.map(|text| text.matches("The answer.").count() as u64).sum::<u64>();
    let told = texts.iter().filter(|text| text.contains("The server stopped")).count() as u64;
    let at = format!("{texts:?}, {dead} unknown, killed at {:?}", seen.last());
    assert!(whole + told <= 2, "answered twice: {at}");
    assert!(whole + told + dead >= 2, "lost: {at}");
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_killed_at_changes_of_files_answers_each_message_once_or_tells() {
    let places = case(Fate::Lives).await.len();
    assert!(places >= FEWEST, "{places}");
    #[allow(clippy::disallowed_methods, reason = "the proof at full length is asked for so")]
    let every = if std::env::var_os("ONYX_ALL_SEEDS").is_some() { 1 } else { EVERY };
    let cases = stream::iter((1..=places).step_by(every))
        .map(|place| async move { usize::from(case(Fate::DiesAt(place)).await.len() == place) });
    let died: Vec<usize> = cases.buffer_unordered(AT_ONCE).collect().await;
    println!("killed at {} of {places} places", died.iter().sum::<usize>());
    assert!(died.iter().sum::<usize>() * 2 >= died.len(), "{died:?}");
}
