//! Actions: prompt files in the person's vault, each shown as a button and run like a message.
//!
//! Surfaces come in: they list actions, and turn one into a request that `runs` starts. Nothing here
//! starts a run or writes to the vault.

mod folders;
mod front;
mod past_runs;
mod template;

use std::collections::BTreeSet;
use std::sync::Arc;

use onyx_storage::{Area, Files, Object, ObjectKey, ObjectMeta, Objects, StoreError};
use onyx_types::{
    AgentId, Approver, Attendance, Clock, ErrorCode, Fault, ModelId, PersonId, SessionId,
    SessionOrigin, UserContent, slug,
};

use crate::agents::CurrentRoster;
use crate::drive::ActionName;
use crate::runs::{DryRun, RunInput, RunRequest, RunTerms, SessionRef};
use template::TemplateValues;

pub(crate) use folders::{VaultFile, list_folders, read_files};
pub use past_runs::{PastRun, PastRunRecord};

/// The actions' folder in the vault. It cannot be moved, because files there count as instructions.
pub const ACTIONS_FOLDER: &str = "agent/actions";

const MOST_ACTIONS: usize = 200;
const ACCEPT: &str = "onyx memory accept";
/// The most bytes of front matter that a file may hold in addition to its prompt.
const LONGEST_FRONT: usize = 16 * 1024;

/// One file of the actions' folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    pub id: String,
    pub label: String,
    /// The path of the action's file among the person's files.
    pub path: String,
    /// The content of the file; empty where it cannot be read.
    pub text: String,
    /// What works but is probably not what was meant.
    pub warnings: Vec<String>,
    /// What the file says to do, or the reason why it does not run.
    pub recipe: Result<ActionSpec, String>,
}

/// What an action does when it is run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionSpec {
    pub requires_confirmation: bool,
    pub max_steps: Option<u32>,
    pub agent: Option<AgentId>,
    pub model: Option<String>,
    /// When the action runs automatically.
    pub schedule: Option<String>,
    pub prompt: String,
}

impl ActionSpec {
    /// Whether the prompt has a place for what the person has marked.
    pub fn asks_for_selection(&self) -> bool {
        template::has_selection(&self.prompt)
    }
}

/// An action that a person wants to run.
#[derive(Clone, Debug)]
pub struct ActionRequest {
    pub person: PersonId,
    pub action: String,
    pub session: Option<SessionId>,
    /// The agent that runs the action instead of the one that its file names.
    pub agent: Option<AgentId>,
    /// The text that the person has marked, or says beside the action.
    pub selection: Option<String>,
    pub confirmation: Confirmation,
    pub dry_run: DryRun,
}

/// Whether the person agreed to what the action may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confirmation {
    Given(Approver),
    /// The action runs with a job. Whoever accepted the job agreed to what the action does.
    WithJob,
    NotYet,
}

/// The actions of one person that run automatically.
#[derive(Default)]
pub(crate) struct ScheduledActions {
    pub(crate) found: Vec<Action>,
    pub(crate) unread: Vec<UnreadAction>,
}

/// An action that may run automatically, but whose file cannot be read now.
pub(crate) struct UnreadAction {
    pub(crate) id: String,
    pub(crate) fault: Fault,
}

struct NamedAction {
    id: String,
    label: String,
    key: ObjectKey,
    warning: Option<String>,
}

/// The actions of people's vaults. Cheap to clone.
#[derive(Clone)]
pub struct Actions {
    files: Arc<dyn Files>,
    clock: Arc<dyn Clock>,
    roster: Arc<CurrentRoster>,
}

impl Actions {
    pub(crate) fn new(
        files: Arc<dyn Files>,
        clock: Arc<dyn Clock>,
        roster: Arc<CurrentRoster>,
    ) -> Self {
        Self { files, clock, roster }
    }

    /// Every action of the person, broken ones too, by the names of their files.
    pub async fn list(&self, person: &PersonId) -> Result<Vec<Action>, Fault> {
        let vault = self.vault(person)?;
        let mut actions = Vec::new();
        for named in named_in(&*vault).await? {
            actions.push(self.read_action(&*vault, person, named).await?);
        }
        Ok(actions)
    }

    /// The actions of these people that run automatically, in the order of the people. An error of one
    /// person does not concern the others.
    pub(crate) async fn scheduled(
        &self,
        people: &[PersonId],
    ) -> Result<Vec<Result<ScheduledActions, Fault>>, Fault> {
        let folder = ACTIONS_FOLDER.parse().map_err(StoreError::from)?;
        let listed = list_folders(&*self.files, people, &folder, MOST_ACTIONS).await?;
        let mut all = Vec::with_capacity(people.len());
        let (mut wanted, mut named) = (Vec::new(), Vec::new());
        for (number, (person, listed)) in people.iter().zip(listed).enumerate() {
            let listed = match listed {
                Ok(listed) => listed,
                Err(error) => {
                    all.push(Err(error.into()));
                    continue;
                }
            };
            all.push(Ok(ScheduledActions::default()));
            for action in names(listed) {
                wanted.push(VaultFile { person: person.clone(), key: action.key.clone() });
                named.push((number, action));
            }
        }
        let read = read_files(&*self.files, &wanted, self.longest_file()).await?;
        for ((number, action), read) in named.into_iter().zip(read) {
            let Ok(person_actions) = &mut all[number] else { continue };
            if !self.may_be_scheduled(&read) {
                continue;
            }
            let id = action.id.clone();
            match self.found_action(&people[number], action, read).await {
                Ok(action) => person_actions.found.push(action),
                Err(fault) => person_actions.unread.push(UnreadAction { id, fault }),
            }
        }
        Ok(all)
    }

    /// Whether a file is to be looked at more closely. Most actions have no schedule, and where their
    /// content came from costs a question each.
    fn may_be_scheduled(&self, read: &Result<Option<Object>, StoreError>) -> bool {
        let Ok(Some(object)) = read else { return read.is_err() };
        let longest = self.roster.get().limits().max_action_bytes;
        let text = std::str::from_utf8(&object.bytes).unwrap_or_default();
        front::parse(text, longest).is_ok_and(|(recipe, _)| recipe.schedule.is_some())
    }

    fn longest_file(&self) -> u64 {
        (self.roster.get().limits().max_action_bytes + LONGEST_FRONT) as u64
    }

    /// The run that an action asks for.
    pub async fn run_request(&self, ask: ActionRequest) -> Result<RunRequest, Fault> {
        let (action, recipe) = self.runnable(&ask.person, &ask.action).await?;
        // A dry run needs no confirmation, because it changes nothing.
        let asks = recipe.requires_confirmation && ask.dry_run == DryRun::Off;
        if asks && ask.confirmation == Confirmation::NotYet {
            let message = format!("The action {:?} runs only when you confirm it.", action.label);
            return Err(Fault::new(ErrorCode::ConfirmationRequired, message));
        }
        let selection = ask.selection.as_deref().unwrap_or_default();
        let prompt = fill_in(&recipe.prompt, &*self.clock, &ask.person, selection);
        let agent = ask.agent.or(recipe.agent);
        let session = match (ask.session, agent) {
            (Some(session), None) => SessionRef::Existing(session),
            (Some(session), Some(agent)) => SessionRef::Asking { session, agents: vec![agent] },
            (None, agent) => {
                SessionRef::New { origin: SessionOrigin::Chat, agents: agent.into_iter().collect() }
            }
        };
        Ok(RunRequest {
            person: ask.person,
            session,
            input: RunInput::New(UserContent::Text(prompt)),
            view: None,
            model: recipe.model.map(ModelId::new),
            terms: RunTerms {
                max_steps: recipe.max_steps,
                action: (ask.dry_run == DryRun::Off).then_some(action),
                ..RunTerms::default()
            },
            attendance: Attendance::Attended,
            dry_run: ask.dry_run,
        })
    }

    /// The prompt that the agent would get if the action ran now.
    pub async fn prompt(
        &self,
        person: &PersonId,
        action: &str,
        selection: Option<&str>,
    ) -> Result<String, Fault> {
        let (_, recipe) = self.runnable(person, action).await?;
        Ok(fill_in(&recipe.prompt, &*self.clock, person, selection.unwrap_or_default()))
    }

    /// The action of this id, if it can run.
    async fn runnable(
        &self,
        person: &PersonId,
        id: &str,
    ) -> Result<(ActionName, ActionSpec), Fault> {
        let vault = self.vault(person)?;
        let mut named = named_in(&*vault).await?.into_iter().filter(|named| named.id == id);
        let named = named.next().ok_or_else(|| {
            Fault::new(ErrorCode::NotFound, format!("There is no action {id:?}."))
                .with_hint(format!("Actions are the files of {ACTIONS_FOLDER} in the vault."))
        })?;
        let Action { id, label, recipe, .. } = self.read_action(&*vault, person, named).await?;
        let recipe = recipe.map_err(|why| {
            Fault::new(ErrorCode::InvalidAction, format!("The action {label:?}: {why}"))
        })?;
        Ok((ActionName { id, label }, recipe))
    }

    fn vault(&self, person: &PersonId) -> Result<Arc<dyn Objects>, Fault> {
        Ok(self.files.objects(&Area::Vault(person.clone()))?)
    }

    async fn read_action(
        &self,
        vault: &dyn Objects,
        person: &PersonId,
        named: NamedAction,
    ) -> Result<Action, Fault> {
        let read = vault.get(&named.key, self.longest_file()).await;
        self.found_action(person, named, read).await
    }

    /// The action that a file describes; `read` is the file.
    async fn found_action(
        &self,
        person: &PersonId,
        named: NamedAction,
        read: Result<Option<Object>, StoreError>,
    ) -> Result<Action, Fault> {
        let NamedAction { id, label, key, warning } = named;
        let mut warnings: Vec<String> = warning.into_iter().collect();
        let mut text = String::new();
        let recipe = match self.recipe(person, &key, read, &mut text).await? {
            Ok((recipe, more)) => {
                warnings.extend(more);
                Ok(recipe)
            }
            Err(why) => Err(why),
        };
        let path = format!("vault/{key}");
        Ok(Action { id, label, path, text, warnings, recipe })
    }

    async fn recipe(
        &self,
        person: &PersonId,
        key: &ObjectKey,
        read: Result<Option<Object>, StoreError>,
        whole: &mut String,
    ) -> Result<Result<(ActionSpec, Vec<String>), String>, Fault> {
        let roster = self.roster.get();
        let longest = roster.limits().max_action_bytes;
        let object = match read {
            Ok(Some(object)) => object,
            Ok(None) => return Ok(Err("the file is gone".to_owned())),
            // The file is a link, or longer than any action may be.
            Err(StoreError::Refused(why)) => return Ok(Err(why)),
            Err(error) => return Err(error.into()),
        };
        let Ok(text) = std::str::from_utf8(&object.bytes) else {
            return Ok(Err("the file is not UTF-8".to_owned()));
        };
        text.clone_into(whole);
        let (recipe, warnings) = match front::parse(text, longest) {
            Ok(parsed) => parsed,
            Err(why) => return Ok(Err(why)),
        };
        if let Some(agent) = recipe.agent.as_ref().filter(|agent| roster.get(agent).is_none()) {
            return Ok(Err(format!("agent: there is no agent {agent}")));
        }
        let kept_as: ObjectKey = format!("vault/{key}").parse().map_err(StoreError::from)?;
        let history = self.files.history(person)?;
        // Pressing a button does not make text from outside the person's own, so such a file is
        // refused.
        if history.origin(&kept_as, &object).await?.taints() {
            return Ok(Err(format!(
                "it came from outside; read it, then accept it: {ACCEPT} {kept_as}"
            )));
        }
        Ok(Ok((recipe, warnings)))
    }
}

/// Fills in a prompt's placeholders; dates and times are those of the person's time zone.
pub(crate) fn fill_in(
    prompt: &str,
    clock: &dyn Clock,
    person: &PersonId,
    selection: &str,
) -> String {
    let (zone, now) = (clock.zone_of(person), clock.wall());
    let (date, time) = (zone.date(now), zone.time(now));
    let person = person.as_str();
    template::render(prompt, &TemplateValues { date: &date, time: &time, person, selection })
}

/// The actions of a vault with their ids, by the names of their files.
async fn named_in(vault: &dyn Objects) -> Result<Vec<NamedAction>, Fault> {
    let folder = ACTIONS_FOLDER.parse().map_err(StoreError::from)?;
    match vault.list(Some(&folder), MOST_ACTIONS).await {
        Err(StoreError::NotFound) => Ok(Vec::new()),
        listed => Ok(names(listed?)),
    }
}

/// The files among the entries of the folder with their ids, by name.
fn names(listed: Vec<ObjectMeta>) -> Vec<NamedAction> {
    let files = listed.into_iter().filter(|entry| !entry.is_folder && !entry.key.is_hidden());
    let mut taken = BTreeSet::new();
    let mut names = Vec::new();
    for key in files.map(|file| file.key) {
        let Some(label) = key.parts().last().and_then(label_of).map(str::to_owned) else {
            continue;
        };
        let wanted = Some(slug(&label)).filter(|id| !id.is_empty());
        let wanted = wanted.unwrap_or_else(|| "action".to_owned());
        let id = free(&wanted, &taken);
        let warning = (id != wanted)
            .then(|| format!("another file has the id {wanted:?}, so this one is {id:?}"));
        taken.insert(id.clone());
        names.push(NamedAction { id, label, key, warning });
    }
    names
}

fn label_of(name: &str) -> Option<&str> {
    let label = name.strip_suffix(".prompt.md").or_else(|| name.strip_suffix(".md"))?;
    (!label.is_empty()).then_some(label)
}

fn free(wanted: &str, taken: &BTreeSet<String>) -> String {
    let mut id = wanted.to_owned();
    let mut number = 2;
    while taken.contains(&id) {
        id = format!("{wanted}-{number}");
        number += 1;
    }
    id
}
