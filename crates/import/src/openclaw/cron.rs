//! Cron jobs, which are rows of `state/openclaw.sqlite`, or `cron/jobs.json` in older versions.

use onyx_types::{Timestamp, slug};
use serde_json::{Map, Value, json};

use super::{agent_id, our_model_name};
use crate::error::ImportError;
use crate::form::{ImportedJob, Item};
use crate::reading::{Database, OpenedExport, Reading, json_file, millis, number, object, text};

const DATABASE: &str = "state/openclaw.sqlite";
const FILE: &str = "cron/jobs.json";

pub(super) fn read(opened: &OpenedExport, reading: &mut Reading) -> Result<(), ImportError> {
    let mut jobs = Vec::new();
    if opened.has(DATABASE) {
        let found = from_database(opened);
        jobs = reading.tolerate(found)?.unwrap_or_default();
    }
    if opened.has(FILE) {
        let file = json_file(opened, FILE);
        let file = reading.tolerate(file)?;
        let listed = file.as_ref().and_then(|file| file.get("jobs")).and_then(Value::as_array);
        for job in listed.into_iter().flatten().filter_map(Value::as_object) {
            if !jobs.iter().any(|known: &Map<String, Value>| known.get("id") == job.get("id")) {
                jobs.push(job.clone());
            }
        }
    }
    let mut taken = Vec::new();
    for job in &jobs {
        if text(job, "declarationKey").is_some() {
            let name = text(job, "name").unwrap_or_default();
            reading.left_out(format!("job {name}"), "OpenClaw made it for itself");
            continue;
        }
        let agent = text(job, "agentId").and_then(agent_id).map(|id| id.to_string());
        cron_job(job, agent, &mut taken, reading);
    }
    Ok(())
}

fn from_database(opened: &OpenedExport) -> Result<Vec<Map<String, Value>>, ImportError> {
    let database = Database::open(&opened.root().join(DATABASE), DATABASE)?;
    if !database.has_table("cron_jobs")? {
        return Ok(Vec::new());
    }
    let sql = "SELECT job_id, job_json FROM cron_jobs ORDER BY job_id";
    let rows =
        database.rows(sql, |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let mut jobs = Vec::new();
    for (id, json) in rows {
        let job = serde_json::from_str(&json).map_err(|error| ImportError::Database {
            file: DATABASE.to_owned(),
            why: format!("table cron_jobs, job {id}: {error}"),
        })?;
        jobs.push(job);
    }
    Ok(jobs)
}

/// Adds one job, also of other programs that use the same format.
pub(crate) fn cron_job(
    job: &Map<String, Value>,
    agent: Option<String>,
    taken: &mut Vec<String>,
    reading: &mut Reading,
) {
    let id = text(job, "id").unwrap_or("job");
    let name = text(job, "name").unwrap_or(id);
    let none = Map::new();
    let payload = object(job, "payload").unwrap_or(&none);
    let words = text(payload, "message").or_else(|| text(payload, "text"));
    let Some(prompt) = words else {
        return reading.left_out(format!("job {name}"), "it has no prompt for an agent");
    };
    let Some(mut fields) = object(job, "schedule").and_then(schedule) else {
        return reading.left_out(format!("job {name}"), "its schedule cannot be read");
    };
    if let Some(agent) = agent {
        fields.insert("agent".to_owned(), json!(agent));
    }
    if let Some(model) = text(payload, "model") {
        fields.insert("model".to_owned(), json!(our_model_name(model)));
    }
    if job.get("enabled").and_then(Value::as_bool) == Some(false) {
        fields.insert("enabled".to_owned(), json!(false));
    }
    let delivery = object(job, "delivery");
    if let Some(to) = delivery.and_then(|delivery| text(delivery, "to")) {
        let via = delivery.and_then(|it| text(it, "channel").or_else(|| text(it, "mode")));
        reading.left_out(
            format!("delivery of job {name} to {} {to}", via.unwrap_or_default()),
            "its results are in its session; set `deliver` for more",
        );
    }
    let file = file_name(name, id, taken);
    if file != name {
        reading.renamed(format!("job {name}"), file.clone());
    }
    let prompt = prompt.to_owned();
    reading.add(Item::Job(ImportedJob { id: file, fields, prompt }));
}

/// A valid name for a job's file that no other job of this import has.
fn file_name(name: &str, id: &str, taken: &mut Vec<String>) -> String {
    let plain = |text: &str| {
        let kept = slug(text);
        let kept: String =
            kept.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        kept.trim_matches('-').chars().take(48).collect::<String>()
    };
    let mut file = plain(name);
    if file.is_empty() {
        file = format!("job-{}", plain(id));
    }
    if taken.contains(&file) {
        let end: String = plain(id).chars().take(12).collect();
        file = format!("{file}-{end}");
    }
    taken.push(file.clone());
    file
}

fn schedule(schedule: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut fields = Map::new();
    match text(schedule, "kind")? {
        "cron" => {
            fields.insert("cron".to_owned(), json!(text(schedule, "expr")?));
            if let Some(zone) = text(schedule, "tz") {
                fields.insert("timezone".to_owned(), json!(zone));
            }
        }
        "every" => {
            fields
                .insert("every".to_owned(), json!(every(either(schedule, "everyMs", "every_ms")?)));
        }
        "at" => {
            let written = text(schedule, "at").map(str::to_owned);
            let counted = either(schedule, "atMs", "at_ms").map(|at| moment(millis(at)));
            fields.insert("at".to_owned(), json!(written.or(counted)?));
        }
        _ => return None,
    }
    Some(fields)
}

fn either(fields: &Map<String, Value>, one: &str, other: &str) -> Option<f64> {
    number(fields, one).or_else(|| number(fields, other))
}

fn moment(at: Timestamp) -> String {
    format!("{}T{}Z", at.utc_date(), at.utc_time())
}

/// The interval in the largest unit that expresses it exactly.
fn every(millis: f64) -> String {
    let seconds = (millis / 1_000.0).round() as u64;
    for (unit, length) in [("d", 86_400), ("h", 3_600), ("m", 60)] {
        if seconds > 0 && seconds.is_multiple_of(length) {
            return format!("{}{unit}", seconds / length);
        }
    }
    format!("{seconds}s")
}
