//! Runs the agent, the step function and the driver with a clock, a store, a model and tools that a
//! seed controls. Each schedule mixes crashes, freezes, cancels, faults of disks and models, and
//! people who write at the wrong moment; `check` says what must hold afterwards. Where two gateways
//! share a database, answers to commits are lost, and commits land late or never.
//!
//! `make sim SEEDS=1000..5000` runs these seeds, `make sim SEED=17` a single one.

mod book;
mod chance;
mod check;
mod gateway;
mod junction;
mod model;
mod schedule;
mod time;
mod tool;

use std::ops::Range;

use book::{Counts, UnusualEvent};
use schedule::Outcome;

/// The run stops after this many broken seeds, because more of them would tell nothing new.
const ENOUGH: usize = 8;

/// Runs the seeds and prints the counts. Fails with the seeds that break a rule, each with the
/// shortest schedule that still breaks it.
#[allow(clippy::print_stdout, reason = "how much was tried, and with what, is part of the result")]
fn all_hold(seeds: Range<u64>) -> Counts {
    let mut counts = Counts::new();
    let mut broken = Vec::new();
    let number = seeds.end - seeds.start;
    for seed in seeds {
        let outcome = schedule::run(seed, usize::MAX);
        if !outcome.violations.is_empty() {
            broken.push(report(seed, outcome));
        } else {
            for (event, times) in outcome.counts {
                *counts.entry(event).or_default() += times;
            }
        }
        if broken.len() >= ENOUGH {
            break;
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
    println!("{number} schedules held: {counts:?}");
    counts
}

fn report(seed: u64, outcome: Outcome) -> String {
    let (steps, outcome) = shortest(seed, outcome);
    let (rules, trace) = (outcome.violations.join("\n  "), outcome.trace.join("\n    "));
    format!(
        "seed {seed} within {steps} steps (again: make sim SEED={seed})\n  {rules}\n    {trace}"
    )
}

fn shortest(seed: u64, whole: Outcome) -> (usize, Outcome) {
    for fewer in 1..whole.steps {
        let outcome = schedule::run(seed, fewer);
        if !outcome.violations.is_empty() {
            return (fewer, outcome);
        }
    }
    (whole.steps, whole)
}

/// Also fails unless the seeds meet every kind of event, because a kind that never happens tests
/// nothing.
fn all_hold_and_meet_everything(seeds: Range<u64>) {
    let counts = all_hold(seeds);
    let never: Vec<_> =
        UnusualEvent::ALL.iter().filter(|kind| !counts.contains_key(kind)).collect();
    assert!(never.is_empty(), "never happened: {never:?}");
}

/// Ten thousand schedules in several tests, so that they run in parallel.
macro_rules! seeds {
    ($($name:ident: $part:literal,)*) => {$(
        #[test]
        fn $name() {
            all_hold_and_meet_everything($part * 1_000..($part + 1) * 1_000);
        }
    )*};
}

seeds! {
    seeds_0_hold: 0,
    seeds_1_hold: 1,
    seeds_2_hold: 2,
    seeds_3_hold: 3,
    seeds_4_hold: 4,
    seeds_5_hold: 5,
    seeds_6_hold: 6,
    seeds_7_hold: 7,
    seeds_8_hold: 8,
    seeds_9_hold: 9,
}

#[test]
fn a_seed_replays_as_it_was() {
    for seed in 0..20 {
        let (first, second) = (schedule::run(seed, usize::MAX), schedule::run(seed, usize::MAX));
        assert_eq!(first.trace, second.trace, "seed {seed}");
        assert_eq!(first.counts, second.counts, "seed {seed}");
    }
}

/// Runs the seeds that the environment names, for `make sim`.
#[test]
#[ignore = "run by `make sim`"]
#[allow(clippy::disallowed_methods, reason = "a person names the seeds")]
fn chosen_seeds_hold() {
    let chosen =
        std::env::var("ONYX_SIM_SEEDS").expect("ONYX_SIM_SEEDS names the seeds: 17 or 0..99");
    let range = match chosen.split_once("..") {
        Some((start, end)) => start.parse().unwrap()..end.parse().unwrap(),
        None => chosen.parse().unwrap()..chosen.parse::<u64>().unwrap() + 1,
    };
    all_hold(range);
}
