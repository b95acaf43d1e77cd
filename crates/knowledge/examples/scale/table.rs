//! Shows numbers beside their targets, as a table and as JSON, in the form that `onyx-bench` uses.

use std::fs;
use std::path::Path;

use onyx_test_support::{Load, Occasion};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    what: String,
    measured: String,
    target: String,
    verdict: String,
}

pub(crate) fn at_most(what: &str, value: f64, limit: f64, unit: &str) -> Row {
    judged(what, &format!("{value:.2} {unit}"), &format!("<= {limit} {unit}"), value <= limit)
}

pub(crate) fn at_least(what: &str, value: f64, limit: f64, unit: &str) -> Row {
    judged(what, &format!("{value:.3} {unit}"), &format!(">= {limit} {unit}"), value >= limit)
}

pub(crate) fn shown(what: &str, value: f64, unit: &str) -> Row {
    let measured = format!("{value:.2} {unit}").trim_end().to_owned();
    Row { what: what.to_owned(), measured, target: String::new(), verdict: "shown".to_owned() }
}

fn judged(what: &str, measured: &str, target: &str, is_met: bool) -> Row {
    let verdict = if is_met { "met" } else { "MISSED" }.to_owned();
    let (measured, target) = (measured.trim_end().to_owned(), target.trim_end().to_owned());
    Row { what: what.to_owned(), measured, target, verdict }
}

pub(crate) fn print(rows: &[Row], Load { before, after }: &Load) {
    println!("\nload of the machine before {before}, after {after}");
    println!("{:<52} {:>16}   {:<12}", "what", "measured", "target");
    for Row { what, measured, target, verdict } in rows {
        println!("{what:<52} {measured:>16}   {target:<12} {verdict}");
    }
}

/// Writes the numbers with the time, the commit, and the load of the machine during the
/// measurement.
pub(crate) fn write(rows: &[Row], occasion: &Occasion, folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let mut numbers = serde_json::to_value(occasion).unwrap();
    numbers["rows"] = serde_json::to_value(rows).unwrap();
    fs::write(folder.join("index.json"), format!("{numbers:#}\n")).unwrap();
}
