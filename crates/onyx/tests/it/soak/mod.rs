//! Faults of every kind, mixed by a seed, at one server. What it reports is compared with what it
//! stores all the time. `make soak MINUTES=… SEED=…` runs longer.

mod answers;
mod steering;
mod talker;
mod trouble;
mod world;

use std::time::Duration;

use futures::future::join_all;
use onyx_test_support::{Recording, ScriptedModel};

use crate::{builder, witness};
use talker::Talker;
use world::{Dice, World};

const TALKERS: u64 = 3;
const DISK: u64 = 128 * 1024 * 1024;

fn setting(name: &str, usual: u64) -> u64 {
    #[allow(clippy::disallowed_methods, reason = "`make soak` sets the test's own variables")]
    let text = std::env::var(name).unwrap_or_default();
    if text.is_empty() { usual } else { text.parse().expect("a number") }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_was_told_is_lost_whatever_goes_wrong() {
    let (minutes, seed) = (setting("ONYX_SOAK_MINUTES", 2), setting("ONYX_SOAK_SEED", 20_261_115));
    let model = ScriptedModel::start().await;
    model.set_recording(Recording::Off);
    model.respond_with(answers::respond);
    let shaky = serde_json::json!({
        "providers": {"shaky": {
            "kind": "openai", "baseUrl": model.base_url(),
            "timeouts": {"firstByteSeconds": 1, "idleSeconds": 1, "totalSeconds": 3},
        }},
        "agents": {"list": [
            {"id": "main", "default": true, "model": "mine/m", "tier": "act"},
            {"id": "shaky", "model": "shaky/m", "tier": "act"},
        ]},
    });
    let onyx = builder(&model).merge(shaky).disk(DISK).start().await;
    let world = World::new(onyx, Duration::from_secs(60 * minutes));
    let mut talkers: Vec<Talker<'_>> =
        (0..TALKERS).map(|number| Talker::new(&world, number, Dice::new(seed + number))).collect();
    let talks = join_all(talkers.iter_mut().map(Talker::talk));
    tokio::join!(talks, trouble::make(&world, Dice::new(seed + TALKERS)));

    world.onyx.write().await.restart().await;
    for talker in &mut talkers {
        talker.check_everything().await;
    }
    let onyx = world.onyx.read().await;
    if let Err(why) = witness::audit(&onyx.home()).await {
        world.violation(why);
    }
    world.remember_memory(&onyx);
    let violations = world.report(seed);
    assert!(violations.is_empty(), "{violations:#?}");
}
