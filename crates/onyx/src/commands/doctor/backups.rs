//! Checks when and where the last backup was made.

use onyx_backup::{LastBackup, last_backup};
use onyx_types::{Clock, SystemClock, Zone};

use super::Check;
use crate::home::HomeFolder;

const DAY: i64 = 24 * 60 * 60 * 1000;
/// A backup older than this is worth a warning, because much would be lost.
const OLD_DAYS: i64 = 14;
const MEND: &str = "onyx backup --to <folder on another disk or s3://bucket/prefix>, or `jobs.backup` in onyx.json";

pub(super) fn check(home: &HomeFolder) -> Check {
    let last = match last_backup(home.path()) {
        Ok(Some(last)) => last,
        // A new home has nothing to lose yet, so a missing backup is no warning.
        Ok(None) => return Check::ok("backup", format!("no backup was made yet: {MEND}")),
        Err(error) => return Check::warning("backup", error.to_string(), MEND),
    };
    let LastBackup { made_at, to, files, unreadable, .. } = &last;
    let at = Zone::of_this_machine().stamp(*made_at);
    let detail = format!("the last backup was made {at} in {}, {files} files", to.display());
    let days = (SystemClock::new().wall().as_millis() - made_at.as_millis()) / DAY;
    // A bucket is not contacted here; the next backup does that.
    let is_bucket = to.to_str().is_some_and(|text| text.starts_with("s3://"));
    if !is_bucket && !to.is_dir() {
        return Check::warning("backup", format!("{detail}; that folder is missing now"), MEND);
    }
    if *unreadable > 0 {
        let detail = format!("{detail}; {unreadable} could not be read");
        return Check::warning("backup", detail, "run `onyx backup` and check the files it names");
    }
    if days > OLD_DAYS {
        return Check::warning("backup", format!("{detail}; {days} days ago"), MEND);
    }
    Check::ok("backup", detail)
}
