//! The numbers in the form for people.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::heartbeat::BEATS;
use crate::local::Local;
use crate::measure::AtLength;
use crate::passing::{Answered, PassThrough};
use crate::report::Measured;
use crate::streams::{AskedStreams, Cap, Streams};
use crate::vault::TurnByFiles;

/// A cost is flat if the longest session costs at most this many times as much as a short one.
pub(crate) const FLAT: f64 = 1.5;

/// Requests that have at least this share of the longest session's length are considered to carry
/// the same prompt.
const SAME_PROMPT: f64 = 0.9;

#[derive(Debug, PartialEq)]
pub(crate) struct Row {
    what: String,
    measured: String,
    target: String,
    verdict: Verdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Met,
    Missed,
    /// A number for orientation, without a target.
    Shown,
}

impl Verdict {
    fn of(met: bool) -> Self {
        if met { Self::Met } else { Self::Missed }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "MISSED",
            Self::Shown => "",
        }
    }
}

pub(crate) fn rows(measured: &Measured) -> Vec<Row> {
    let Measured {
        occasion: _,
        start,
        turn,
        lengths,
        by_files,
        growth,
        streams,
        cap,
        passing,
        heartbeats,
        local,
    } = measured;
    let mut rows = vec![
        at_most("CPU per turn, fresh sessions", milliseconds(turn.fresh_sessions.cpu), 1.0, "ms"),
        at_most("CPU per turn, one session", milliseconds(turn.one_session.cpu), 1.0, "ms"),
        shown("wall time per turn, fresh sessions", milliseconds(turn.fresh_sessions.wall), "ms"),
        at_most("idle memory (resident)", megabytes(start.idle_bytes), 30.0, "MB"),
        shown("memory after all turns (resident)", megabytes(turn.bytes_after), "MB"),
        at_most("CPU from start to healthy", milliseconds(start.cpu_to_healthy), 50.0, "ms"),
        at_most("request body for \"hello\"", kilobytes(turn.hello_bytes), 8.0, "kB"),
    ];
    rows.extend(flatness(lengths));
    if let Some(longest) = lengths.iter().max_by_key(|point| point.length) {
        rows.push(at_most("last page of the longest", milliseconds(longest.last_page), 20.0, "ms"));
    }
    if let Some(TurnByFiles { many, times }) = by_files {
        let what = format!("turn cost, {many} files : ten files");
        rows.push(at_most(&what, *times, 1.05, "x"));
    }
    if growth.turns() > 0 {
        let grown = format!("growth of allocated memory over {} turns", growth.turns());
        rows.push(at_most(&grown, megabytes(growth.bytes()), 5.0, "MB"));
    }
    rows.extend(streams.iter().max_by_key(|asked| asked.count).into_iter().flat_map(most_streams));
    rows.push(beyond_cap(cap));
    let PassThrough { short, long } = passing;
    rows.push(at_most("pass-through: CPU a request", milliseconds(short.cpu), 0.5, "ms"));
    rows.extend(added("pass-through", short));
    let chunks = format!("{} chunks", long.chunks);
    rows.push(shown(&format!("{chunks}: CPU a request"), milliseconds(long.cpu), "ms"));
    rows.extend(added(&chunks, long));
    let day = format!("a day of {BEATS} heartbeats");
    rows.push(at_most(
        &format!("{day}, nothing to do: calls"),
        heartbeats.idle_calls as f64,
        0.0,
        "",
    ));
    rows.push(shown(&format!("{day}, a short file"), heartbeats.tokens as f64, "tokens"));
    let beside = kilobytes(heartbeats.request_bytes);
    rows.push(at_most("a heartbeat's request beside its file", beside, 4.0, "kB"));
    rows.extend(local.iter().flat_map(local_models));
    rows
}

fn local_models(local: &Local) -> Vec<Row> {
    let left = local.after_bytes.saturating_sub(local.before_bytes);
    let mut rows = vec![
        at_least("local/minilm: texts of 100 tokens", local.chunks_a_second, 40.0, "a second"),
        at_most("local/minilm: load", milliseconds(local.embedder_load), 500.0, "ms"),
        shown("local/minilm: its process (resident)", megabytes(local.worker_bytes), "MB"),
        shown("gateway before local models (resident)", megabytes(local.before_bytes), "MB"),
        at_most("memory left after local models were idle", megabytes(left), 10.0, "MB"),
    ];
    if let Some(words) = &local.words {
        rows.extend([
            shown("local/smollm2: tokens", words.tokens_a_second, "a second"),
            shown("local/smollm2: first token at 50", milliseconds(words.first_at_50), "ms"),
            shown("local/smollm2: first token at 500", milliseconds(words.first_at_500), "ms"),
            shown("local/smollm2: load", milliseconds(words.load), "ms"),
            shown("local/smollm2: its process (resident)", megabytes(words.worker_bytes), "MB"),
        ]);
    }
    rows
}

fn added(what: &str, answered: &Answered) -> [Row; 4] {
    let Answered { first, whole, .. } = answered;
    let [named, of_first] = [format!("{what}: added"), format!("{what}: first token added")];
    [
        at_most(&format!("{of_first}, p50"), milliseconds(first.p50), 1.0, "ms"),
        at_most(&format!("{of_first}, p99"), milliseconds(first.p99), 3.0, "ms"),
        at_most(&format!("{named}, p50"), milliseconds(whole.p50), 1.0, "ms"),
        at_most(&format!("{named}, p99"), milliseconds(whole.p99), 3.0, "ms"),
    ]
}

/// The rows for the requested number of streams, whether or not all of them were measured: a
/// smaller number would prove nothing.
fn most_streams(asked: &AskedStreams) -> Vec<Row> {
    const MOST_GAP: f64 = 250.0;
    let gap = format!("{} streams: p99 added gap", asked.count);
    let cores = format!("{} streams: CPU of onyx", asked.count);
    match &asked.measured {
        Ok(streams) => vec![
            at_most(&gap, milliseconds(streams.p99), MOST_GAP, "ms"),
            shown(&cores, streams.cores, "cores"),
        ],
        Err(_) => vec![Row {
            what: gap,
            measured: "not measured".to_owned(),
            target: format!("<= {MOST_GAP} ms"),
            verdict: Verdict::Missed,
        }],
    }
}

fn beyond_cap(cap: &Cap) -> Row {
    let Cap { allowed, streamed, refused, asked } = cap;
    Row {
        what: "beyond the cap".to_owned(),
        measured: format!("{refused} of {asked} told 503"),
        target: format!("{}", asked - allowed),
        verdict: Verdict::of(streamed == allowed && refused + streamed == *asked),
    }
}

/// Compares the longest session with the shortest one, and with the shortest one whose prompt is as
/// long. In the first comparison the prompt grows too, in the second only the log.
fn flatness(growth: &[AtLength]) -> Vec<Row> {
    let Some(longest) = growth.iter().max_by_key(|point| point.length) else { return Vec::new() };
    let same_prompt = as_f64(longest.request_bytes) * SAME_PROMPT;
    let shortest = growth.iter().min_by_key(|point| point.length);
    let shortest_alike = growth
        .iter()
        .filter(|point| as_f64(point.request_bytes) >= same_prompt)
        .min_by_key(|point| point.length);
    vec![
        ratio("turn cost, longest : shortest session", longest, shortest),
        ratio("turn cost, longest : same prompt", longest, shortest_alike),
    ]
}

fn ratio(what: &str, longest: &AtLength, shorter: Option<&AtLength>) -> Row {
    let target = format!("<= {FLAT} x");
    let Some(shorter) = shorter.filter(|shorter| shorter.length < longest.length) else {
        // Every shorter session has a shorter prompt, because the prompt never stops growing, or
        // too few lengths were measured.
        let measured = "no such session".to_owned();
        return Row { what: what.to_owned(), measured, target, verdict: Verdict::Missed };
    };
    let ratio = longest.next.cpu.as_secs_f64() / shorter.next.cpu.as_secs_f64();
    let measured = format!("{ratio:.2} x");
    Row { what: what.to_owned(), measured, target, verdict: Verdict::of(ratio <= FLAT) }
}

fn at_most(what: &str, value: f64, limit: f64, unit: &str) -> Row {
    Row {
        what: what.to_owned(),
        measured: format!("{value:.2} {unit}"),
        target: format!("<= {limit} {unit}"),
        verdict: Verdict::of(value <= limit),
    }
}

fn at_least(what: &str, value: f64, limit: f64, unit: &str) -> Row {
    Row {
        what: what.to_owned(),
        measured: format!("{value:.2} {unit}"),
        target: format!(">= {limit} {unit}"),
        verdict: Verdict::of(value >= limit),
    }
}

fn shown(what: &str, value: f64, unit: &str) -> Row {
    Row {
        what: what.to_owned(),
        measured: format!("{value:.2} {unit}"),
        target: String::new(),
        verdict: Verdict::Shown,
    }
}

impl Row {
    pub(crate) fn json(&self) -> Value {
        let Self { what, measured, target, verdict } = self;
        json!({"what": what, "measured": measured, "target": target, "verdict": verdict.word()})
    }
}

pub(crate) fn render(rows: &[Row], lengths: &[AtLength], streams: &[AskedStreams]) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "\n{:<38} {:>15}   {:<10} ", "what", "measured", "target");
    for Row { what, measured, target, verdict } in rows {
        let _ = writeln!(out, "{what:<38} {measured:>15}   {target:<10} {}", verdict.word());
    }
    let _ = writeln!(
        out,
        "\n{:>16} {:>17} {:>14} {:>17} {:>14}",
        "turns in the log", "CPU, first turn", "indexing", "CPU, each next", "request body"
    );
    for point in lengths {
        let _ = writeln!(
            out,
            "{:>16} {:>14.2} ms {:>11.0} ms {:>14.2} ms {:>11.1} kB",
            point.length,
            milliseconds(point.first),
            milliseconds(point.learning),
            milliseconds(point.next.cpu),
            kilobytes(point.request_bytes)
        );
    }
    let _ = writeln!(
        out,
        "\n{:>16} {:>17} {:>17} {:>14} {:>10}",
        "streams at once", "added gap, p50", "added gap, p99", "CPU of onyx", "memory"
    );
    for AskedStreams { count, measured } in streams {
        let _ = match measured {
            Ok(Streams { p50, p99, cores, bytes }) => writeln!(
                out,
                "{count:>16} {:>14.2} ms {:>14.2} ms {cores:>8.2} cores {:>7.1} MB",
                milliseconds(*p50),
                milliseconds(*p99),
                megabytes(*bytes)
            ),
            Err(why) => writeln!(out, "{count:>16} not measured: {why}"),
        };
    }
    out
}

pub(crate) fn how_measured(turns: u32) -> String {
    format!(
        "
How: the release binary with the smallest config and titles of words, over HTTP on loopback (POST
/api/agent/chat-stream), one turn at a time, against a scripted model in this process that answers at once. CPU is the kernel's CPU clock of the onyx process
(all threads, user and system), averaged over {turns} turns after warming up (a fifth of that at each length). Start is
the median of 5. Memory is Rss of smaps_rollup; at rest, once two looks half a second apart agree. Long sessions repeat the server's own turns in its log file; what the search
index takes to read such a log for the first time has a column of its own, and turns are measured after it. Memory
growth (anonymous memory): 16 conversations at once, a new session every 50 turns, from after a twentieth of the turns to the end. Streams:
a model that sends 20 tokens a second, each with its time; the added gap is what lies between two tokens at the client
beyond what lay between them at the model. Pass-through: a streamed chat completion of one word, and of 50 chunks sent
at once, the model asked directly and through onyx in turns; added is the difference at the same rank, to the end of the
answer and to its first word. Client and model run on the same cores as onyx.
"
    )
}

pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn kilobytes(bytes: usize) -> f64 {
    as_f64(bytes) / 1e3
}

#[allow(
    clippy::cast_precision_loss,
    reason = "sizes of memory fit a float exactly enough to print"
)]
pub(crate) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[allow(
    clippy::cast_precision_loss,
    reason = "sizes of memory fit a float exactly enough to print"
)]
fn as_f64(bytes: usize) -> f64 {
    bytes as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Cost;

    fn point(length: usize, micros: u64, request_bytes: usize) -> AtLength {
        let cpu = Duration::from_micros(micros);
        let next = Cost { cpu, wall: cpu };
        AtLength { length, first: cpu, learning: cpu, next, request_bytes, last_page: cpu }
    }

    fn verdicts(growth: &[AtLength]) -> Vec<Verdict> {
        flatness(growth).iter().map(|row| row.verdict).collect()
    }

    #[test]
    fn a_number_is_met_up_to_its_limit_and_missed_beyond() {
        assert_eq!(at_most("x", 2.0, 2.0, "ms").verdict, Verdict::Met);
        assert_eq!(at_most("x", 2.1, 2.0, "ms").verdict, Verdict::Missed);
    }

    #[test]
    fn a_cost_that_grows_with_the_log_is_not_flat() {
        let flat = [point(10, 700, 2_000), point(1_000, 900, 90_000), point(100_000, 950, 91_000)];
        let growing =
            [point(10, 700, 2_000), point(1_000, 900, 90_000), point(100_000, 9_000, 91_000)];
        assert_eq!(verdicts(&flat), [Verdict::Met, Verdict::Met]);
        assert_eq!(verdicts(&growing), [Verdict::Missed, Verdict::Missed]);
    }

    #[test]
    fn a_cost_that_grows_with_the_prompt_only_is_told_apart() {
        let growth =
            [point(10, 300, 2_000), point(1_000, 900, 90_000), point(100_000, 950, 91_000)];
        assert_eq!(verdicts(&growth), [Verdict::Missed, Verdict::Met]);
    }

    #[test]
    fn a_prompt_that_never_stops_growing_is_not_flat() {
        let growth =
            [point(10, 500, 2_000), point(1_000, 500, 90_000), point(100_000, 500, 9_000_000)];
        assert_eq!(verdicts(&growth), [Verdict::Met, Verdict::Missed]);
    }

    #[test]
    fn streams_that_were_asked_for_and_not_measured_are_missed_whatever_fewer_did() {
        let ms = Duration::from_millis(1);
        let few = Ok(Streams { p50: ms, p99: ms, cores: 0.5, bytes: 1 });
        let asked = [
            AskedStreams { count: 1_000, measured: few },
            AskedStreams { count: 2_000, measured: Err("refused with 503".to_owned()) },
        ];
        let most = asked.iter().max_by_key(|asked| asked.count).unwrap();
        let [row]: [Row; 1] = most_streams(most).try_into().unwrap();
        assert_eq!(
            (row.what.as_str(), row.verdict),
            ("2000 streams: p99 added gap", Verdict::Missed)
        );
        assert_eq!((row.measured.as_str(), row.target.as_str()), ("not measured", "<= 250 ms"));
        assert!(render(&[], &[], &asked).contains("2000 not measured: refused with 503"));
    }

    #[test]
    fn the_table_shows_each_row_with_its_target_and_verdict() {
        let rows = [at_most("idle memory (resident)", 31.0, 30.0, "MB")];
        let table = render(&rows, &[point(10, 500, 2_000)], &[]);
        assert!(table.contains("idle memory (resident)"));
        assert!(table.contains("31.00 MB   <= 30 MB   MISSED"), "{table}");
        assert!(table.contains("2.0 kB"));
    }
}
