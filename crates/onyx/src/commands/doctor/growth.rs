//! Checks how large the home is, how fast it grows, and whether the clock is plausible. Each check stores
//! the size in the cache, at most once a day, so that later checks can tell how much was added.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use onyx_types::{Clock, SystemClock, Timestamp, Zone};
use serde::{Deserialize, Serialize};

use super::Check;
use crate::files;
use crate::home::HomeFolder;

const MIB: u64 = 1024 * 1024;
const HOUR: i64 = 60 * 60 * 1000;
const DAY: i64 = 24 * HOUR;
/// How many sizes are kept, one per day.
const MOST_SIZES: usize = 40;
/// A disk that will be full in fewer days than this is worth a warning.
const SOON_DAYS: u64 = 30;
/// Clocks of a machine and its disks may differ by this much.
const CLOCK_SLACK: i64 = 2 * 60 * 1000;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Size {
    at: Timestamp,
    bytes: u64,
}

#[derive(Debug, Default)]
struct HomeSize {
    bytes: u64,
    /// Bytes by the first folder or file name below the home.
    parts: BTreeMap<String, u64>,
    newest: Option<Timestamp>,
}

pub(super) fn check(home: &HomeFolder) -> Vec<Check> {
    let now = SystemClock::new().wall();
    let measured = measure(home.path());
    vec![growth(home, &measured, now), clock(&measured, now)]
}

fn growth(home: &HomeFolder, measured: &HomeSize, now: Timestamp) -> Check {
    let sizes = earlier_sizes(home);
    let mut detail = words(measured);
    let a_day = sizes.first().and_then(|first| added_a_day(*first, measured.bytes, now));
    if let Some(a_day) = a_day {
        detail += &format!("; {} a day were added", mebibytes(a_day));
    }
    let remembered = remember(home, sizes, Size { at: now, bytes: measured.bytes });
    let free =
        rustix::fs::statvfs(home.path()).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    let days_left =
        free.ok().zip(a_day.filter(|bytes| *bytes > 0)).map(|(free, bytes)| free / bytes);
    if let Some(days) = days_left.filter(|days| *days < SOON_DAYS) {
        let detail = format!("{detail}; at this rate the disk is full in {days} days");
        let fix = "move large files elsewhere, or delete old conversations: `jobs.sessionCleanup`";
        return Check::warning("growth", detail, fix);
    }
    match remembered {
        Ok(()) => Check::ok("growth", detail),
        Err(why) => {
            let fix = "check who owns the folder cache of the home";
            Check::warning("growth", format!("{detail}; the size cannot be stored: {why}"), fix)
        }
    }
}

fn clock(measured: &HomeSize, now: Timestamp) -> Check {
    let zone = Zone::of_this_machine();
    let shown = zone.stamp(now);
    let ahead = measured.newest.filter(|at| at.as_millis() > now.as_millis() + CLOCK_SLACK);
    match ahead {
        Some(at) => Check::warning(
            "clock",
            format!("it says {shown}, but a file of the home was changed at {}", zone.stamp(at)),
            "set the clock (timedatectl set-ntp true): jobs, tokens and drafts depend on it",
        ),
        None => Check::ok("clock", format!("{shown} ({})", zone.name())),
    }
}

/// Bytes added per day since an earlier check; `None` before a whole day has passed.
fn added_a_day(before: Size, bytes: u64, now: Timestamp) -> Option<u64> {
    let passed = now.as_millis() - before.at.as_millis();
    let days = u64::try_from(passed / DAY).ok().filter(|days| *days > 0)?;
    Some(bytes.saturating_sub(before.bytes) / days)
}

fn words(measured: &HomeSize) -> String {
    let mut parts: Vec<(&String, u64)> =
        measured.parts.iter().map(|(name, bytes)| (name, *bytes)).collect();
    parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let largest: Vec<String> = parts
        .iter()
        .take(3)
        .filter(|(_, bytes)| *bytes >= MIB)
        .map(|(name, bytes)| format!("{name} {}", mebibytes(*bytes)))
        .collect();
    let most =
        if largest.is_empty() { String::new() } else { format!(" ({})", largest.join(", ")) };
    format!("the home takes up {}{most}", mebibytes(measured.bytes))
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(MIB))
}

/// The stored sizes, oldest first. An unreadable file counts as empty and is written again: it is only a cache.
fn earlier_sizes(home: &HomeFolder) -> Vec<Size> {
    let text = fs::read_to_string(home.sizes()).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn remember(home: &HomeFolder, mut sizes: Vec<Size>, now: Size) -> Result<(), String> {
    let is_new = |last: &Size| now.at.as_millis() - last.at.as_millis() >= 20 * HOUR;
    if !sizes.last().is_none_or(is_new) {
        return Ok(());
    }
    sizes.push(now);
    let newest = sizes.split_off(sizes.len().saturating_sub(MOST_SIZES));
    let text = serde_json::to_string(&newest).map_err(|error| error.to_string())?;
    let path = home.sizes();
    if let Some(folder) = path.parent() {
        files::make_folder(folder).map_err(|error| format!("{error:#}"))?;
    }
    files::replace(&path, &text).map_err(|error| error.to_string())
}

/// Measures every file of the home. Links are not followed; an unreadable file counts as nothing, and
/// other checks report it.
fn measure(home: &Path) -> HomeSize {
    let mut measured = HomeSize::default();
    let mut folders = vec![(home.to_owned(), None::<String>)];
    while let Some((folder, part)) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(about) = entry.metadata() else { continue };
            let name = || entry.file_name().to_string_lossy().into_owned();
            let part = part.clone().unwrap_or_else(name);
            if about.is_dir() {
                folders.push((entry.path(), Some(part)));
                continue;
            }
            measured.bytes += about.len();
            *measured.parts.entry(part).or_default() += about.len();
            measured.newest = measured.newest.max(changed_at(&about));
        }
    }
    measured
}

fn changed_at(about: &fs::Metadata) -> Option<Timestamp> {
    let since = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp::from_millis(i64::try_from(since.as_millis()).ok()?))
}
