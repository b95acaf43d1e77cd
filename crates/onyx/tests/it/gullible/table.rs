//! How many attacks of each class succeeded.

use std::collections::BTreeMap;

use super::corpus::Attack;

#[derive(Default)]
pub(super) struct Table {
    classes: BTreeMap<String, Row>,
    wrong: Vec<String>,
}

#[derive(Default)]
struct Row {
    trials: usize,
    succeeded: usize,
}

impl Table {
    /// Adds the flaws of one trial; if there are none, the attack failed.
    pub(super) fn add(&mut self, attack: &Attack, wrong: Vec<String>) {
        let row = self.classes.entry(attack.class.clone()).or_default();
        row.trials += 1;
        if wrong.is_empty() {
            return;
        }
        row.succeeded += 1;
        self.wrong.extend(wrong);
    }

    #[allow(clippy::print_stdout, reason = "the table is what `make redteam` prints")]
    pub(super) fn print(&self, title: &str) {
        println!("{title}\n{:<14} {:>7} {:>9}", "class", "trials", "succeeded");
        for (class, Row { trials, succeeded }) in &self.classes {
            println!("{class:<14} {trials:>7} {succeeded:>9}");
        }
    }

    pub(super) fn assert_none_succeeded(&self) {
        assert!(self.wrong.is_empty(), "{}:\n{}", self.wrong.len(), self.wrong.join("\n"));
    }
}
