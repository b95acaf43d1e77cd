//! The fields of a job, from the front matter of a file or the body of a request, become a spec.

use std::time::Duration;

use onyx_types::{AgentId, Timestamp, Zone};
use serde_json::{Map, Value};

use super::schedule::{self, BadTime, Rule, Schedule};
use super::spec::{Check, Deliver, JobFlaw, JobSpec, Misfire, Overlap, SessionUse, Timing, Work};

/// All fields of a job, in the order in which they are written to its file.
pub(super) const FIELDS: [&str; 18] = [
    "cron", "every", "at", "timezone", "jitter", "misfire", "grace", "overlap", "agent", "model",
    "session", "deliver", "when", "run", "max_cost", "enabled", "expires", "prompt",
];

const USUAL_GRACE: Duration = Duration::from_secs(5 * 60);
const LONGEST_JITTER: Duration = Duration::from_secs(24 * 60 * 60);
const LONGEST_COMMAND: usize = 16 * 1024;

/// Whether `at` may be a moment that has passed. In a job that is written now it may not; in one
/// that was accepted before that moment it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PastMoment {
    Refused,
    Read,
}

/// What the fields are checked against: the person, the time, and what is known.
pub(super) struct FieldRules<'a> {
    /// The time zone of a job that names none: the person's.
    pub(super) zone: &'a Zone,
    pub(super) now: Timestamp,
    pub(super) past: PastMoment,
    /// The most bytes of a prompt.
    pub(super) longest_prompt: usize,
    pub(super) knows_agent: &'a dyn Fn(&AgentId) -> bool,
    pub(super) check_address: &'a dyn Fn(&str) -> Result<(), String>,
    pub(super) check_mail: &'a dyn Fn(&str) -> Result<(), String>,
}

/// Reads the fields into a spec. `prompt` is the text below the front matter.
pub(super) fn read(
    fields: &Map<String, Value>,
    prompt: &str,
    reading: &FieldRules<'_>,
) -> Result<JobSpec, JobFlaw> {
    let zone = match text(fields, "timezone")? {
        Some(name) => Zone::named(name).map_err(|error| flaw("timezone", error.to_string()))?,
        None => reading.zone.clone(),
    };
    let rule = rule(fields, &zone, reading)?;
    let timing = timing(fields, Schedule { rule, zone })?;
    let work = work(fields, prompt, reading.longest_prompt)?;
    let agent = text(fields, "agent")?.map(|name| agent(name, reading)).transpose()?;
    let deliver = deliver(fields.get("deliver"), &work, reading)?;
    let spec = JobSpec {
        timing,
        when: fields
            .get("when")
            .filter(|it| !it.is_null())
            .map(|it| check(it, reading))
            .transpose()?,
        agent,
        model: model(fields)?,
        session: choice(
            fields,
            "session",
            &[("fresh", SessionUse::Fresh), ("kept", SessionUse::Kept)],
        )?,
        deliver,
        max_cost: cost(fields)?,
        enabled: flag(fields, "enabled")?,
        work,
    };
    not_both(&spec)?;
    Ok(spec)
}

fn not_both(spec: &JobSpec) -> Result<(), JobFlaw> {
    if !matches!(spec.work, Work::Command(_)) {
        return Ok(());
    }
    let no_model = "a job with `run` asks no model";
    if spec.agent.is_some() {
        return Err(flaw("agent", format!("{no_model}, so it has no agent")));
    }
    if spec.model.is_some() {
        return Err(flaw("model", no_model));
    }
    if spec.max_cost.is_some() {
        return Err(flaw("max_cost", format!("{no_model}, so it costs nothing")));
    }
    Ok(())
}

/// Reads `cron`, `every` or `at`. Together with `every`, `at` is the first time.
fn rule(
    fields: &Map<String, Value>,
    zone: &Zone,
    reading: &FieldRules<'_>,
) -> Result<Rule, JobFlaw> {
    let now = reading.now;
    let [cron, every, at] = ["cron", "every", "at"].map(|name| text(fields, name));
    let (cron, every, at) = (cron?, every?, at?);
    let bad = |field| move |bad: BadTime| flaw(field, bad.why).with_example(bad.example);
    match (cron, every, at) {
        (Some(cron), None, None) => Rule::cron(cron, zone, now).map_err(bad("cron")),
        (None, Some(every), at) => {
            let period = schedule::period(every).map_err(bad("every"))?;
            if period.length() < Duration::from_secs(10) {
                return Err(flaw("every", "two times must be at least ten seconds apart"));
            }
            let from = at.map(|at| Rule::moment(at, zone)).transpose().map_err(bad("at"))?;
            Ok(Rule::Every { period, from })
        }
        (None, None, Some(at)) => {
            let moment = Rule::moment(at, zone).map_err(bad("at"))?;
            if moment <= now && reading.past == PastMoment::Refused {
                let next = schedule::next_valid(moment, now, zone);
                let why = format!("{at} has passed");
                return Err(flaw("at", why).with_example(format!("`at: {next}` is next")));
            }
            Ok(Rule::At(moment))
        }
        (None, None, None) => {
            let why = "set when it runs: with `cron`, `every` or `at`";
            Err(flaw("cron", why)
                .with_example("`cron: 0 8 * * MON-FRI`, `every: 2h` or `at: 2030-12-01T09:00`"))
        }
        (Some(_), _, _) => Err(flaw("cron", "`cron` cannot be combined with `every` or `at`")),
    }
}

fn timing(fields: &Map<String, Value>, schedule: Schedule) -> Result<Timing, JobFlaw> {
    let jitter = length(fields, "jitter")?.unwrap_or_default();
    if jitter > LONGEST_JITTER {
        return Err(flaw("jitter", "at most a day"));
    }
    let misfires = [("skip", Misfire::Skip), ("once", Misfire::Once), ("all", Misfire::All)];
    let overlaps =
        [("skip", Overlap::Skip), ("queue", Overlap::Queue), ("replace", Overlap::Replace)];
    let expires = text(fields, "expires")?.map(|at| Rule::moment(at, &schedule.zone)).transpose();
    Ok(Timing {
        jitter,
        misfire: choice(fields, "misfire", &misfires)?,
        grace: length(fields, "grace")?.unwrap_or(USUAL_GRACE),
        overlap: choice(fields, "overlap", &overlaps)?,
        expires: expires.map_err(|bad| flaw("expires", bad.why).with_example(bad.example))?,
        schedule,
    })
}

fn work(fields: &Map<String, Value>, prompt: &str, longest: usize) -> Result<Work, JobFlaw> {
    let prompt = prompt.trim();
    let run = fields.get("run").filter(|value| !value.is_null());
    match (run, prompt.is_empty()) {
        (Some(run), true) => Ok(Work::Command(command("run", run)?)),
        (Some(_), false) => {
            Err(flaw("run", "a job has a prompt or runs a command; remove one of them"))
        }
        (None, true) => Err(flaw("prompt", "it is empty, and there is no `run` either")),
        (None, false) if prompt.len() > longest => {
            let why = format!("it has {} bytes; {longest} are allowed", prompt.len());
            Err(flaw("prompt", why))
        }
        (None, false) => Ok(Work::Prompt(prompt.to_owned())),
    }
}

/// A list of arguments is run as it is; a text is run by the shell.
fn command(field: &'static str, value: &Value) -> Result<Vec<String>, JobFlaw> {
    let wrong = || {
        let why = "it must be a command: a text for the shell, or a list of arguments";
        flaw(field, why).with_example("`[\"sh\", \"-c\", \"ls | wc -l\"]`")
    };
    let argv = match value {
        Value::String(line) if !line.trim().is_empty() => {
            vec!["sh".to_owned(), "-c".to_owned(), line.clone()]
        }
        Value::Array(words) => {
            let words = words.iter().map(|word| word.as_str().map(str::to_owned));
            words.collect::<Option<Vec<_>>>().filter(|argv| !argv.is_empty()).ok_or_else(wrong)?
        }
        _ => return Err(wrong()),
    };
    let is_odd = |word: &String| word.contains('\0');
    if argv.iter().any(is_odd) || argv.iter().map(String::len).sum::<usize>() > LONGEST_COMMAND {
        return Err(flaw(field, "the command is too long or holds a NUL character"));
    }
    Ok(argv)
}

fn check(value: &Value, reading: &FieldRules<'_>) -> Result<Check, JobFlaw> {
    let Value::Object(asked) = value else { return command("when", value).map(Check::Command) };
    let known = ["command", "url", "status", "contains"];
    if let Some(odd) = asked.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(flaw("when", format!("it has no {odd:?}; there are {}", known.join(", "))));
    }
    match (asked.get("command"), asked.get("url")) {
        (Some(line), None) => command("when", line).map(Check::Command),
        (None, Some(Value::String(url))) => {
            (reading.check_address)(url).map_err(|why| flaw("when", why))?;
            let status = match asked.get("status") {
                None => None,
                Some(value) => {
                    let number = value.as_u64().and_then(|number| u16::try_from(number).ok());
                    let number = number.filter(|number| (100..600).contains(number));
                    Some(number.ok_or_else(|| flaw("when", "status: it must be like 200"))?)
                }
            };
            let contains = match asked.get("contains") {
                None => None,
                Some(Value::String(words)) => Some(words.clone()),
                Some(_) => return Err(flaw("when", "contains: it must be a text")),
            };
            Ok(Check::Http { url: url.clone(), status, contains })
        }
        _ => Err(flaw("when", "set a `command` or a `url`")
            .with_example("`when: {url: \"https://example.org/feed\", contains: new}`")),
    }
}

fn deliver(
    value: Option<&Value>,
    work: &Work,
    reading: &FieldRules<'_>,
) -> Result<Vec<Deliver>, JobFlaw> {
    let asks_model = !matches!(work, Work::Command(_));
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(vec![if asks_model { Deliver::Session } else { Deliver::Notification }]);
    };
    let each = match value {
        Value::Array(several) => several.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut all = Vec::new();
    for one in each {
        let deliver = deliver_one(one, reading)?;
        if deliver == Deliver::Session && !asks_model {
            let why = "a job with `run` asks no model and has no session";
            return Err(flaw("deliver", why).with_example("`deliver: notification`"));
        }
        if !all.contains(&deliver) {
            all.push(deliver);
        }
    }
    Ok(all)
}

const MAIL_EXAMPLE: &str = "`deliver: {email: \"me@example.org\"}`";
const PEER_EXAMPLE: &str = "`deliver: {connector: \"telegram/main/123\"}`";

/// Checks an address of network, account and the peer's id on that network.
fn peer(address: &str) -> Result<String, JobFlaw> {
    let pieces: Vec<_> = address.splitn(3, '/').collect();
    if pieces.len() == 3 && pieces.iter().all(|piece| !piece.trim().is_empty()) {
        return Ok(address.to_owned());
    }
    let why = format!("{address:?} names no peer: network, account and peer");
    Err(flaw("deliver", why).with_example(PEER_EXAMPLE))
}

fn deliver_one(value: &Value, reading: &FieldRules<'_>) -> Result<Deliver, JobFlaw> {
    let (kind, to) = match value {
        Value::String(kind) => (kind.as_str(), None),
        Value::Object(one) if one.len() == 1 => {
            let one = one.iter().next();
            one.map_or(("", None), |(kind, to)| (kind.as_str(), Some(to)))
        }
        _ => ("", None),
    };
    let examples = "`session`, `notification`, `webhook: https://…`, `email: me@example.org` or \
                    `connector: telegram/main/123`";
    match (kind, to) {
        ("session", None) => Ok(Deliver::Session),
        ("notification", None) => Ok(Deliver::Notification),
        ("webhook", Some(Value::String(url))) => {
            (reading.check_address)(url)
                .map_err(|why| flaw("deliver", format!("webhook: {why}")))?;
            Ok(Deliver::Webhook(url.clone()))
        }
        ("webhook", _) => Err(flaw("deliver", "a webhook needs its address")
            .with_example("`deliver: {webhook: \"https://example.org/hook\"}`")),
        ("peer" | "connector", Some(Value::String(address))) => peer(address).map(Deliver::Peer),
        ("telegram" | "discord", Some(Value::String(rest))) => {
            peer(&format!("{kind}/{rest}")).map(Deliver::Peer)
        }
        ("peer" | "connector" | "telegram" | "discord", _) => {
            Err(flaw("deliver", "it must name the recipient").with_example(PEER_EXAMPLE))
        }
        ("email" | "e-mail" | "mail", Some(Value::String(to))) => {
            (reading.check_mail)(to).map_err(|why| {
                flaw("deliver", format!("email: {why}")).with_example(MAIL_EXAMPLE)
            })?;
            Ok(Deliver::Mail(to.clone()))
        }
        ("email" | "e-mail" | "mail", _) => {
            Err(flaw("deliver", "an e-mail needs its address").with_example(MAIL_EXAMPLE))
        }
        (other, _) => {
            Err(flaw("deliver", format!("{other:?} is not a way to deliver"))
                .with_example(examples))
        }
    }
}

fn agent(name: &str, reading: &FieldRules<'_>) -> Result<AgentId, JobFlaw> {
    let id: AgentId = name.parse().map_err(|error| flaw("agent", format!("{error}")))?;
    if (reading.knows_agent)(&id) {
        Ok(id)
    } else {
        Err(flaw("agent", format!("there is no agent {id}")))
    }
}

fn model(fields: &Map<String, Value>) -> Result<Option<String>, JobFlaw> {
    let model = text(fields, "model")?;
    if model.is_some_and(|model| !model.contains('/')) {
        return Err(flaw("model", "it must be like provider/model"));
    }
    Ok(model.map(str::to_owned))
}

fn cost(fields: &Map<String, Value>) -> Result<Option<f64>, JobFlaw> {
    match fields.get("max_cost") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let cost = value.as_f64().filter(|cost| *cost > 0.0 && cost.is_finite());
            cost.map(Some)
                .ok_or_else(|| flaw("max_cost", "it must be a number above 0, such as 0.10"))
        }
    }
}

fn flag(fields: &Map<String, Value>, name: &'static str) -> Result<bool, JobFlaw> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(true),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(flaw(name, "it must be true or false")),
    }
}

fn text<'f>(
    fields: &'f Map<String, Value>,
    name: &'static str,
) -> Result<Option<&'f str>, JobFlaw> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim())),
        Some(other) => Err(flaw(name, format!("it must be a text, not {other}"))),
    }
}

fn length(fields: &Map<String, Value>, name: &'static str) -> Result<Option<Duration>, JobFlaw> {
    let Some(text) = text(fields, name)? else { return Ok(None) };
    let length = schedule::duration(text);
    length.map(Some).ok_or_else(|| flaw(name, "it must be like 90s, 5m or 2h"))
}

fn choice<T: Copy + Default>(
    fields: &Map<String, Value>,
    name: &'static str,
    choices: &[(&str, T)],
) -> Result<T, JobFlaw> {
    let Some(text) = text(fields, name)? else { return Ok(T::default()) };
    let found = choices.iter().find(|(word, _)| *word == text).map(|(_, choice)| *choice);
    found.ok_or_else(|| {
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        flaw(name, format!("{text:?} is not one of {}", words.join(", ")))
    })
}

fn flaw(field: &'static str, why: impl Into<String>) -> JobFlaw {
    JobFlaw::new(field, why)
}
