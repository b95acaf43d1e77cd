//! The numbers for machines and for the eye: JSON and curves beside the table.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::chart::{Chart, Scale};
use crate::local::Local;
use crate::measure::{AtLength, Start, TurnCost};
use crate::memory::Growth;
use crate::passing::PassThrough;
use crate::streams::{Cap, Streams};
use crate::table::{self, megabytes, milliseconds};

/// Everything that was measured.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) start: Start,
    pub(crate) turn: TurnCost,
    pub(crate) lengths: Vec<AtLength>,
    pub(crate) growth: Growth,
    pub(crate) streams: Vec<Streams>,
    pub(crate) cap: Cap,
    pub(crate) local: Option<Local>,
    pub(crate) passing: PassThrough,
}

impl Measured {
    pub(crate) fn json(&self) -> Value {
        let rows: Vec<Value> = table::rows(self).iter().map(table::Row::json).collect();
        let lengths = self.lengths.iter().map(|point| {
            json!({
                "turns": point.length,
                "first_cpu_ms": milliseconds(point.first),
                "indexing_cpu_ms": milliseconds(point.learning),
                "next_cpu_ms": milliseconds(point.next.cpu),
                "last_page_cpu_ms": milliseconds(point.last_page),
                "request_bytes": point.request_bytes,
            })
        });
        let memory = self.growth.looks.iter();
        let memory = memory.map(|(turns, bytes)| json!({"turns": turns, "resident_bytes": bytes}));
        let streams = self.streams.iter().map(|point| {
            json!({
                "streams": point.count,
                "added_gap_p50_ms": milliseconds(point.p50),
                "added_gap_p99_ms": milliseconds(point.p99),
                "cores": point.cores,
                "resident_bytes": point.bytes,
            })
        });
        json!({
            "rows": rows,
            "lengths": lengths.collect::<Vec<_>>(),
            "memory": memory.collect::<Vec<_>>(),
            "streams": streams.collect::<Vec<_>>(),
        })
    }

    pub(crate) fn write_to(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder)?;
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
        };
        write("latest.json", format!("{:#}\n", self.json()))?;
        write("turn-cost.svg", self.turn_cost().svg())?;
        if !self.growth.looks.is_empty() {
            write("memory.svg", self.memory().svg())?;
        }
        if !self.streams.is_empty() {
            write("streams.svg", self.gaps().svg())?;
        }
        Ok(())
    }

    fn turn_cost(&self) -> Chart<'static> {
        let points = self.lengths.iter();
        Chart {
            title: "CPU of one turn by length of its session",
            across: "turns in the log",
            up: "ms",
            scale: Scale::Logarithmic,
            points: points.map(|at| (at.length as f64, milliseconds(at.next.cpu))).collect(),
            target: self.lengths.first().map(|first| milliseconds(first.next.cpu) * table::FLAT),
        }
    }

    fn memory(&self) -> Chart<'static> {
        let looks = self.growth.looks.iter();
        Chart {
            title: "Memory by turns",
            across: "turns",
            up: "MB resident",
            scale: Scale::Linear,
            points: looks.map(|(turns, bytes)| (f64::from(*turns), megabytes(*bytes))).collect(),
            target: self.growth.looks.first().map(|(_, first)| megabytes(*first) + 5.0),
        }
    }

    fn gaps(&self) -> Chart<'static> {
        let points = self.streams.iter();
        Chart {
            title: "Added gap between tokens (p99) by streams at once",
            across: "streams of 20 tokens a second",
            up: "ms",
            scale: Scale::Linear,
            points: points.map(|at| (at.count as f64, milliseconds(at.p99))).collect(),
            target: Some(250.0),
        }
    }
}
