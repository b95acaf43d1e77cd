//! Writes the numbers as JSON and as curves, beside the table.

use std::path::Path;

use anyhow::{Context, Result};
use onyx_test_support::Occasion;
use serde_json::{Value, json};

use crate::chart::{Chart, Scale};
use crate::heartbeat::DayOfHeartbeats;
use crate::local::Local;
use crate::measure::{AtLength, Start, TurnCost};
use crate::memory::Growth;
use crate::passing::PassThrough;
use crate::streams::{AskedStreams, Cap, Streams};
use crate::table::{self, megabytes, milliseconds};
use crate::vault::TurnByFiles;

/// Everything that was measured.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) occasion: Occasion,
    pub(crate) start: Start,
    pub(crate) turn: TurnCost,
    pub(crate) lengths: Vec<AtLength>,
    pub(crate) by_files: Option<TurnByFiles>,
    pub(crate) growth: Growth,
    pub(crate) streams: Vec<AskedStreams>,
    pub(crate) cap: Cap,
    pub(crate) local: Option<Local>,
    pub(crate) passing: PassThrough,
    pub(crate) heartbeats: DayOfHeartbeats,
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
            let count = point.count;
            match &point.measured {
                Ok(Streams { p50, p99, cores, bytes }) => json!({
                    "streams": count,
                    "added_gap_p50_ms": milliseconds(*p50),
                    "added_gap_p99_ms": milliseconds(*p99),
                    "cores": cores,
                    "resident_bytes": bytes,
                }),
                Err(why) => json!({"streams": count, "not_measured": why}),
            }
        });
        let Occasion { measured_at, cores, load, commit } = &self.occasion;
        json!({
            "measured_at": measured_at,
            "cores": cores,
            "load": load,
            "commit": commit,
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
        let gaps = self.gaps();
        if !gaps.points.is_empty() {
            write("streams.svg", gaps.svg())?;
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
            title: "Allocated memory by turns",
            across: "turns",
            up: "MB allocated",
            scale: Scale::Linear,
            points: looks.map(|(turns, bytes)| (f64::from(*turns), megabytes(*bytes))).collect(),
            target: self.growth.looks.first().map(|(_, first)| megabytes(*first) + 5.0),
        }
    }

    fn gaps(&self) -> Chart<'static> {
        let points = self.streams.iter();
        let point = |at: &AskedStreams| {
            let measured = at.measured.as_ref().ok()?;
            Some((at.count as f64, milliseconds(measured.p99)))
        };
        Chart {
            title: "Added gap between tokens (p99) by streams at once",
            across: "streams of 20 tokens a second",
            up: "ms",
            scale: Scale::Linear,
            points: points.filter_map(point).collect(),
            target: Some(250.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::measure::Cost;
    use crate::passing::{Answered, Spread};

    fn measured(occasion: Occasion) -> Measured {
        let ms = Duration::from_millis(1);
        let (cost, spread) = (Cost { cpu: ms, wall: ms }, Spread { p50: ms, p99: ms });
        let answered = |chunks| Answered { chunks, cpu: ms, first: spread, whole: spread };
        let (few, many) =
            (Streams { p50: ms, p99: ms, cores: 0.1, bytes: 1 }, "refused".to_owned());
        Measured {
            occasion,
            start: Start { cpu_to_healthy: ms, idle_bytes: 1 },
            turn: TurnCost {
                hello_bytes: 1,
                fresh_sessions: cost,
                one_session: cost,
                bytes_after: 1,
            },
            lengths: Vec::new(),
            by_files: None,
            growth: Growth::default(),
            streams: vec![
                AskedStreams { count: 10, measured: Ok(few) },
                AskedStreams { count: 20, measured: Err(many) },
            ],
            cap: Cap { allowed: 1, streamed: 1, refused: 1, asked: 2 },
            local: None,
            passing: PassThrough { short: answered(1), long: answered(50) },
            heartbeats: DayOfHeartbeats::default(),
        }
    }

    #[test]
    fn figures_say_when_where_and_of_what_they_were_taken() {
        let json = measured(Occasion::begin().end("abc1234")).json();
        assert_eq!(json["commit"], "abc1234");
        assert!(json["cores"].as_u64().is_some_and(|cores| cores > 0), "{json}");
        assert!(json["measured_at"].as_str().is_some_and(|at| at.starts_with("20")), "{json}");
        for load in [&json["load"]["before"], &json["load"]["after"]] {
            assert!(load.as_str().is_some_and(|load| load.parse::<f64>().is_ok()), "{json}");
        }
    }

    #[test]
    fn each_target_of_the_pass_through_and_of_what_was_asked_has_a_row() {
        let measured = measured(Occasion::begin().end("abc1234"));
        let json = measured.json();
        let rows = json["rows"].as_array().unwrap();
        let verdict = |what: &str| {
            let row = rows.iter().find(|row| row["what"] == what);
            row.map(|row| row["verdict"].as_str().unwrap())
        };
        for what in ["pass-through", "50 chunks"] {
            for rank in ["p50", "p99"] {
                assert_eq!(verdict(&format!("{what}: first token added, {rank}")), Some("met"));
                assert_eq!(verdict(&format!("{what}: added, {rank}")), Some("met"));
            }
        }
        assert_eq!(verdict("a day of 48 heartbeats, nothing to do: calls"), Some("met"));
        assert_eq!(verdict("a day of 48 heartbeats, a short file"), Some(""));
        assert_eq!(verdict("20 streams: p99 added gap"), Some("MISSED"));
        assert_eq!(verdict("10 streams: p99 added gap"), None);
        assert_eq!(json["streams"][1], json!({"streams": 20, "not_measured": "refused"}));
        assert_eq!(measured.gaps().points, [(10.0, 1.0)]);
    }
}
