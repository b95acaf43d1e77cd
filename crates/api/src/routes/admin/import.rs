//! `/api/admin/import`: imports data from another program. The body is the export as it is (a file
//! or a ZIP archive), or, from the command line, the items that it has read from a folder, one per
//! line. All of it is read before anything is written. A caller that asks for progress gets it.

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt as _;
use onyx_agent::AgentSettings;
use onyx_import::{
    BrokenFiles, Import, ImportReport, ImportedAgent, ImportedSetting, Item, Mode, Outcome,
    SettingPlace, Source, Upload, Writer, read, read_lines,
};
use onyx_storage::{AuditEntry, Expect};
use onyx_types::{Actor, ErrorCode, Fault, RecordedTool};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::import_lines::{ImportLine, lines};
use crate::wire::{FieldNames, Json};
use crate::{ApiState, AuthContext, ConfigChange, Problem, QueryOf};

/// The largest export in bytes. Exports with pictures are large.
const LARGEST: u64 = 4 * 1024 * 1024 * 1024;
/// A client that sends nothing for this long is gone.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ImportQuery {
    /// The program that made the export.
    from: Source,
    /// The form of the body.
    #[serde(default)]
    form: Form,
    /// Read everything, write nothing and report what would be imported.
    #[serde(default)]
    dry_run: bool,
    /// Leave out broken files; without it the first broken file stops the import.
    #[serde(default)]
    skip_broken: bool,
    /// Report progress, one JSON object per line; the last line holds the report.
    #[serde(default)]
    progress: bool,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Form {
    /// The file that the other program exported, or an archive of its folder.
    #[default]
    Export,
    /// The items that were read from it, one per line.
    Items,
}

pub(crate) async fn import(
    State(state): State<ApiState>,
    caller: AuthContext,
    names: FieldNames,
    QueryOf(query): QueryOf<ImportQuery>,
    body: Body,
) -> Result<Response, Problem> {
    let upload = receive(body).await?;
    let broken = if query.skip_broken { BrokenFiles::Skip } else { BrokenFiles::Stop };
    let (from, form) = (query.from, query.form);
    let reading = tokio::task::spawn_blocking(move || match form {
        Form::Export => read(from, upload.path(), broken),
        Form::Items => read_lines(upload.path()),
    });
    let import = reading.await.map_err(|_| failed("reading the export failed"))?;
    let import = import.map_err(Fault::from)?;
    let mode = if query.dry_run { Mode::DryRun } else { Mode::Write };
    let running = RunningImport { state, caller, source: from, import, mode };
    if query.progress {
        let work = move |sender| async move { running.run(Progress::to(sender)).await };
        return Ok(lines(names, work));
    }
    Ok(Json(running.run(Progress::silent()).await?).into_response())
}

/// An import whose data was read and is now written into the home.
struct RunningImport {
    state: ApiState,
    caller: AuthContext,
    source: Source,
    import: Import,
    mode: Mode,
}

impl RunningImport {
    async fn run(&self, progress: Progress) -> Result<ImportReport, Problem> {
        let Self { state, caller, source, import, mode } = self;
        let report = write(state, caller, *source, import, *mode, progress).await?;
        if *mode == Mode::Write && report.has_changes() {
            let entry = audit(state, caller, *source, &report);
            state.store.ledger.append_audit(entry).await.map_err(Fault::from)?;
        }
        Ok(report)
    }
}

/// How often progress is reported.
const EVERY: Duration = Duration::from_millis(100);

/// Reports the progress of an import to its reader, if there is one.
struct Progress {
    sender: Option<mpsc::Sender<ImportLine>>,
    last: Option<Instant>,
}

impl Progress {
    fn to(sender: mpsc::Sender<ImportLine>) -> Self {
        Self { sender: Some(sender), last: None }
    }

    fn silent() -> Self {
        Self { sender: None, last: None }
    }

    fn reached(&mut self, done: usize, total: usize) {
        let Some(sender) = &self.sender else { return };
        if done < total && self.last.is_some_and(|last| last.elapsed() < EVERY) {
            return;
        }
        self.last = Some(Instant::now());
        // A slow reader gets a later progress line instead.
        let _ = sender.try_send(ImportLine::Progress { done, total });
    }
}

fn failed(why: impl Into<String>) -> Problem {
    Problem::new(ErrorCode::StorageFailed, why)
}

async fn receive(mut body: Body) -> Result<Upload, Problem> {
    let no_room = |error: std::io::Error| failed(format!("the export cannot be stored: {error}"));
    let mut upload = Upload::begin().map_err(no_room)?;
    let mut left = LARGEST;
    loop {
        let frame = timeout(LONGEST_PAUSE, body.frame()).await.map_err(|_| {
            Problem::new(ErrorCode::InvalidRequest, "the body did not arrive in time")
        })?;
        let Some(frame) = frame else { return Ok(upload) };
        let frame = frame
            .map_err(|_| Problem::new(ErrorCode::InvalidRequest, "the body ended too early"))?;
        let Ok(bytes) = frame.into_data() else { continue };
        left = left
            .checked_sub(bytes.len() as u64)
            .ok_or_else(|| Problem::new(ErrorCode::TooLarge, "the export is larger than 4 GiB"))?;
        let added = tokio::task::spawn_blocking(move || upload.add(&bytes).map(|()| upload));
        upload = added.await.map_err(|_| failed("storing the export failed"))?.map_err(no_room)?;
    }
}

/// Writes the items in their order, in which agents come before what belongs to them.
async fn write(
    state: &ApiState,
    caller: &AuthContext,
    source: Source,
    import: &Import,
    mode: Mode,
    mut progress: Progress,
) -> Result<ImportReport, Problem> {
    let clock = state.agent.clock();
    let writer = Writer {
        store: &state.store,
        clock: &*clock,
        person: caller.person.clone(),
        default_agent: state.agent.roster().default_agent().id.clone(),
        source,
        mode,
    };
    let mut report = ImportReport { dry_run: mode == Mode::DryRun, ..ImportReport::default() };
    for (done, item) in import.items.iter().enumerate() {
        progress.reached(done, import.items.len());
        let (outcome, why) = match item {
            Item::Note(note) => {
                report.note(note.clone());
                continue;
            }
            Item::Agent(agent) => put_agent(state, agent, mode).await?,
            Item::Setting(setting) => put_setting(state, setting, mode).await?,
            Item::File(_) | Item::Skill(_) | Item::Job(_) | Item::Session(_) => {
                match writer.write(item).await? {
                    Some(written) => (written.outcome, written.why),
                    None => continue,
                }
            }
        };
        if let Some((kind, name)) = item.described() {
            report.add(kind, name, outcome, why);
        }
    }
    progress.reached(import.items.len(), import.items.len());
    Ok(report)
}

type ItemResult = (Outcome, Option<String>);

async fn put_agent(
    state: &ApiState,
    agent: &ImportedAgent,
    mode: Mode,
) -> Result<ItemResult, Problem> {
    if state.configuration.agent(&agent.id)?.is_some() {
        return Ok((Outcome::AlreadyThere, None));
    }
    let settings: Result<AgentSettings, _> = serde_json::from_value(agent.settings.clone().into());
    match settings {
        Ok(settings) => {
            let settings = Box::new(settings);
            put(state, ConfigChange::PutAgent { id: agent.id.clone(), settings }, mode).await
        }
        Err(error) => Ok((Outcome::Kept, Some(format!("its settings are not valid: {error}")))),
    }
}

async fn put_setting(
    state: &ApiState,
    setting: &ImportedSetting,
    mode: Mode,
) -> Result<ItemResult, Problem> {
    let ImportedSetting { place, settings } = setting;
    let (configuration, settings) = (&state.configuration, settings.clone());
    let (is_there, change) = match place.clone() {
        SettingPlace::Provider { name } => {
            (configuration.provider(&name)?.is_some(), ConfigChange::PutProvider { name, settings })
        }
        SettingPlace::Connector { network, account } => (
            configuration.connector(&network, &account)?.is_some(),
            ConfigChange::PutConnector { network, account, settings },
        ),
        SettingPlace::McpServer { name } => (
            state.extensions.mcp.get(&name).await.is_ok(),
            ConfigChange::PutMcpServer { name, settings },
        ),
    };
    if is_there {
        return Ok((Outcome::AlreadyThere, None));
    }
    put(state, change, mode).await
}

/// A setting that the config refuses is reported and does not stop the rest.
async fn put(state: &ApiState, change: ConfigChange, mode: Mode) -> Result<ItemResult, Problem> {
    if mode == Mode::DryRun {
        return Ok((Outcome::New, None));
    }
    match state.configuration.change(change, Expect::Absent).await {
        Ok(_) => Ok((Outcome::New, None)),
        Err(problem) if problem.status().is_client_error() => {
            Ok((Outcome::Kept, Some(problem.fault().message.clone())))
        }
        Err(problem) => Err(problem),
    }
}

fn audit(
    state: &ApiState,
    caller: &AuthContext,
    source: Source,
    report: &ImportReport,
) -> AuditEntry {
    let counts = report.counts.iter().filter(|(_, counts)| counts.new + counts.added > 0);
    let counts: Vec<String> = counts
        .map(|(kind, counts)| format!("{} {}", counts.new + counts.added, kind.as_str()))
        .collect();
    AuditEntry {
        ts: state.agent.clock().wall(),
        person: caller.person.clone(),
        actor: Actor::Person(caller.person.clone()),
        agent: None,
        session: None,
        run: None,
        tool: Some(RecordedTool::constant("import")),
        effect: None,
        decision: None,
        diff_summary: format!("imported from {}: {}", source.as_str(), counts.join(", ")),
        result: "ok".to_owned(),
    }
}
