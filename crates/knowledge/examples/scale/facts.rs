//! Measures the list of the people and things that facts are about.

use std::path::Path;
use std::time::Instant;

use onyx_knowledge::Index;

use crate::make::write;
use crate::table::{Row, at_most, shown};
use crate::{cpu_time, median, milliseconds, open, search_for, seconds};

const SIZES: [usize; 2] = [1_000, 100_000];
/// The most people that the facts are about. Each list is full at both sizes.
const PEOPLE: usize = 20_000;
const TOWNS: usize = 20;
const FACTS_A_FILE: usize = 100;
const LISTED: usize = 500;
const CALLS: usize = 50;

pub(crate) async fn measure(home: &Path) -> Vec<Row> {
    let (mut rows, mut lists) = (Vec::new(), Vec::new());
    for count in SIZES {
        let home = home.join(format!("facts-{count}"));
        write_facts(&home, count);
        let (index, _store) = open(&home).await;
        index.sync().await.unwrap();
        let began = Instant::now();
        index.catch_up().await.unwrap();
        let speed = count as f64 / seconds(began);
        let list = cost_of_list(&index, "", LISTED).await;
        let last = format!("Person{}", PEOPLE.min(count) - 1);
        let part = cost_of_list(&index, &last, 1).await;
        rows.push(shown(&format!("{count} facts: found in texts"), speed, "/s"));
        rows.push(at_most(&format!("{count} facts: list of entities, CPU, p50"), list, 10.0, "ms"));
        rows.push(at_most(&format!("{count} facts: one name found, CPU, p50"), part, 20.0, "ms"));
        lists.push(list);
    }
    let times = lists[1] / lists[0];
    rows.push(at_most("list of entities of 100,000 facts, times that of 1,000", times, 2.0, "x"));
    rows
}

/// The median CPU time of a list in milliseconds, after the first one has opened everything.
async fn cost_of_list(index: &Index, part: &str, expected: usize) -> f64 {
    let scopes = search_for("").scopes;
    let mut costs = Vec::new();
    for call in 0..=CALLS {
        let before = cpu_time();
        let listed = index.graph_entities(&scopes, part, LISTED).await.unwrap();
        let cost = cpu_time() - before;
        assert_eq!(listed.len(), expected);
        if call > 0 {
            costs.push(cost);
        }
    }
    milliseconds(median(costs))
}

fn write_facts(home: &Path, count: usize) {
    let vault = home.join("people/anna/vault");
    for file in 0..count / FACTS_A_FILE {
        let mut page = String::new();
        for number in file * FACTS_A_FILE..(file + 1) * FACTS_A_FILE {
            let (person, town) = (number % PEOPLE.min(count), number % TOWNS);
            page.push_str(&format!("Person{person} lives in Town{town}.\n"));
        }
        write(&vault.join(format!("{}/{file}.md", file % 100)), &page);
    }
}
