//! kill -9 at every single change that a run makes to a file of the home, followed by a check from
//! outside.

mod case;

use std::collections::BTreeMap;

use futures::{StreamExt, stream};
use onyx_test_support::{Fate, FileChange};

/// How many servers run at once. A case mostly waits, so there are more of them than cores.
const AT_ONCE: usize = 6;
/// The least number of changes. With fewer the test misses something.
const FEWEST: usize = 20;
/// How often live text is saved depends on time, so a run may make this many changes fewer than the
/// first.
const SPARE: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_killed_at_any_change_of_a_file_loses_nothing_that_was_told_and_goes_on() {
    let places = case::run(0, Fate::Lives).await;
    let count = places.len();
    println!("{count} places to die at: {:?}", by_call(&places));
    assert!(count >= FEWEST, "{places:#?}");
    let cases = stream::iter(1..=count).map(|index| async move {
        let seen = case::run(index, Fate::DiesAt(index)).await;
        usize::from(seen.len() == index)
    });
    let died: Vec<usize> = cases.buffer_unordered(AT_ONCE).collect().await;
    let died: usize = died.into_iter().sum();
    println!("killed at {died} of {count} places");
    assert!(died + SPARE >= count, "only {died} of {count} runs were killed");
}

fn by_call(changes: &[FileChange]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for change in changes {
        *counts.entry(change.call).or_default() += 1;
    }
    counts
}
