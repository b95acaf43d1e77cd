use std::sync::Arc;
use std::time::{Duration, Instant};

use onyx_test_support::ManualClock;
use onyx_tools::{Masker, Tool};
use onyx_types::ToolEffect;
use serde_json::json;

use crate::support::{Behaviour, Probe, World};

const SECRET: &str = "sk-canary-0123456789";

async fn world_with(probe: &Arc<Probe>) -> World {
    let masker = Masker::new([SECRET.to_owned()]);
    World::with(vec![probe.clone() as Arc<dyn Tool>], masker).await
}

fn artifact(world: &World, key: &str) -> String {
    std::fs::read_to_string(world.folder.path().join("cache/artifacts").join(key)).unwrap()
}

#[tokio::test]
async fn a_long_output_is_shortened_for_the_model_and_kept_whole() {
    let whole: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
    let probe = Probe::new(ToolEffect::Read, Behaviour::Says(whole.clone()));
    let world = world_with(&probe).await;
    let outcome = world.call("probe", json!({"word": "x"})).await;
    assert!(outcome.output.len() <= 32 * 1024);
    assert!(outcome.output.starts_with("line 0\n") && outcome.output.ends_with("line 19999\n"));
    let kept = outcome.artifact.unwrap();
    assert!(outcome.output.contains(&format!(
        "of {} bytes left out here; the whole is kept as artifact {}, which read_artifact opens and \
         searches]",
        whole.len(),
        kept.key
    )));
    assert!(kept.key.starts_with(&format!("ada/{}/{}/", world.cx.key.session, world.cx.run)));
    assert_eq!(kept.bytes, whole.len() as u64);
    assert_eq!(artifact(&world, &kept.key), whole);
}

#[tokio::test]
async fn an_output_that_cannot_be_kept_says_so() {
    let whole = "x".repeat(40_000);
    let world = world_with(&Probe::new(ToolEffect::Read, Behaviour::Says(whole))).await;
    std::fs::write(world.folder.path().join("cache/artifacts/ada"), "in the way").unwrap();
    let outcome = world.call("probe", json!({"word": "x"})).await;
    assert!(outcome.output.contains("the whole could not be kept: "));
    assert_eq!((outcome.artifact, outcome.is_error), (None, false));
}

#[tokio::test]
async fn secrets_are_masked_wherever_a_call_leaves_a_trace() {
    // The output is cut in the middle of the secret.
    let whole = format!("{}{SECRET}{}", "a".repeat(25_070), "b".repeat(30_000));
    let probe = Probe::new(ToolEffect::Write, Behaviour::Says(whole));
    let world = world_with(&probe).await;
    let outcome = world.call("probe", json!({"word": SECRET})).await;
    assert_eq!(outcome.summary, "Probe [secret]");
    let kept = artifact(&world, &outcome.artifact.clone().unwrap().key);
    assert!(kept.contains("a[secret]b"));
    let audit = world.audit_lines().await;
    assert_eq!(audit[0], "probe write allow Probe [secret]: started");
    let everything = format!("{outcome:?}{kept}{audit:?}");
    assert!(!everything.contains("canary"), "part of the secret is left");
}

#[tokio::test]
async fn a_secret_in_a_complaint_is_masked_too() {
    let complaint = format!("401 for {SECRET}");
    let world = world_with(&Probe::new(ToolEffect::Read, Behaviour::Complains(complaint))).await;
    let outcome = world.call("probe", json!({"word": "x"})).await;
    assert_eq!(
        (outcome.output.as_str(), outcome.summary.as_str()),
        ("401 for [secret]", "401 for [secret]")
    );
    assert_eq!(world.audit_lines().await, ["probe read allow Probe x: failed: 401 for [secret]"]);
}

#[tokio::test]
async fn a_call_that_hangs_ends_with_its_time_and_says_that_its_outcome_is_unknown() {
    let world = world_with(&Probe::new(ToolEffect::Write, Behaviour::Hangs)).await;
    assert_eq!(
        world.failed("probe", json!({"word": "x"})).await,
        "no answer within 1 s; the outcome is unknown, check before repeating"
    );
    assert_eq!(
        world.audit_lines().await[1],
        "probe write allow Probe x: unknown: no answer within 1 s (started in row 1)"
    );
}

#[tokio::test]
async fn a_cancelled_run_starts_no_call() {
    let probe = Probe::new(ToolEffect::Write, Behaviour::Says("done".into()));
    let world = world_with(&probe).await;
    world.cx.cancel.cancel();
    assert_eq!(
        world.failed("probe", json!({"word": "x"})).await,
        "cancelled before it began; nothing was done"
    );
    assert_eq!(probe.seen().plans, 0);
}

#[tokio::test]
async fn a_call_that_ends_by_itself_when_cancelled_tells_its_outcome() {
    let probe = Probe::new(ToolEffect::Write, Behaviour::Obeys);
    let world = world_with(&probe).await;
    let cancel = async {
        probe.begun.notified().await;
        world.cx.cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(world.call("probe", json!({"word": "x"})), cancel);
    assert_eq!(outcome.output, "stopped by itself");
    assert_eq!(
        world.audit_lines().await[1],
        "probe write allow Probe x: failed: stopped by itself (started in row 1)"
    );
}

#[tokio::test]
async fn a_call_is_timed_by_the_clock() {
    let probe = Probe::new(ToolEffect::Read, Behaviour::Obeys);
    let mut world = world_with(&probe).await;
    let clock = Arc::new(ManualClock::new());
    world.cx.clock = clock.clone();
    let cancel = async {
        probe.begun.notified().await;
        clock.advance(Duration::from_millis(1_234));
        world.cx.cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(world.call("probe", json!({"word": "x"})), cancel);
    assert_eq!(outcome.duration, Duration::from_millis(1_234));
}

#[tokio::test]
async fn a_call_that_does_not_listen_is_left_within_a_second_of_the_cancel() {
    let probe = Probe::new(ToolEffect::Write, Behaviour::Hangs);
    let world = world_with(&probe).await;
    let cancel = async {
        probe.begun.notified().await;
        world.cx.cancel.cancel();
        Instant::now()
    };
    let (outcome, cancelled) = tokio::join!(world.call("probe", json!({"word": "x"})), cancel);
    assert!(cancelled.elapsed() < Duration::from_secs(1));
    assert_eq!(
        outcome.output,
        "cancelled before it ended; the outcome is unknown, check before repeating"
    );
}
