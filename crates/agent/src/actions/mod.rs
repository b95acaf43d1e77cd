//! Actions: prompt files in the person's vault, each shown as a button and run like a message.
//!
//! Surfaces come in: they list actions, and turn one into a request that `runs` starts. Nothing here
//! starts a run or writes to the vault.

mod front;
mod template;

use std::collections::BTreeSet;
use std::sync::Arc;

use onyx_storage::{Area, Files, ObjectKey, Objects, StoreError};
use onyx_types::{
    AgentId, Approver, Attendance, Clock, ErrorCode, Fault, PersonId, SessionId, SessionOrigin,
    UserContent, slug,
};

use crate::agents::CurrentRoster;
use crate::drive::ActionName;
use crate::runs::{DryRun, RunInput, RunRequest, RunTerms, SessionRef};
use template::Values;

/// Where they lie in the vault. Not for anybody to move: what lies there counts as instructions.
pub const ACTIONS_FOLDER: &str = "agent/actions";

const MOST_ACTIONS: usize = 200;
const ACCEPT: &str = "onyx memory accept";
/// Beside its body a file may hold this much front matter.
const LONGEST_FRONT: usize = 16 * 1024;

/// One file of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    pub id: String,
    pub label: String,
    /// What works but is probably not what was meant.
    pub warnings: Vec<String>,
    /// Or why it does not run.
    pub recipe: Result<ActionSpec, String>,
}

/// What an action does when it is run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionSpec {
    pub requires_confirmation: bool,
    pub max_steps: Option<u32>,
    pub agent: Option<AgentId>,
    pub model: Option<String>,
    /// When it runs by itself.
    pub schedule: Option<String>,
    pub prompt: String,
}

/// An action that a person wants to run.
#[derive(Clone, Debug)]
pub struct ActionRequest {
    pub person: PersonId,
    pub action: String,
    pub session: Option<SessionId>,
    /// Instead of the one that the file names.
    pub agent: Option<AgentId>,
    /// What the person has marked, or says beside it.
    pub selection: Option<String>,
    pub confirmation: Confirmation,
    pub dry_run: DryRun,
}

/// Did the person agree to what the action may do?
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confirmation {
    Given(Approver),
    NotYet,
}

struct Named {
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
        for named in names(&*vault).await? {
            actions.push(self.read_action(&*vault, person, named).await?);
        }
        Ok(actions)
    }

    /// The run that an action asks for.
    pub async fn run_request(&self, ask: ActionRequest) -> Result<RunRequest, Fault> {
        let vault = self.vault(&ask.person)?;
        let mut named = names(&*vault).await?.into_iter().filter(|named| named.id == ask.action);
        let named = named.next().ok_or_else(|| {
            Fault::new(ErrorCode::NotFound, format!("There is no action {:?}.", ask.action))
                .with_hint(format!("Actions are the files of {ACTIONS_FOLDER} in the vault."))
        })?;
        let action = self.read_action(&*vault, &ask.person, named).await?;
        let recipe = action.recipe.map_err(|why| {
            Fault::new(ErrorCode::InvalidAction, format!("The action {:?}: {why}", action.label))
        })?;
        // What a dry run shows is what there is to agree to.
        let asks = recipe.requires_confirmation && ask.dry_run == DryRun::Off;
        if asks && ask.confirmation == Confirmation::NotYet {
            let message = format!("The action {:?} runs only when you confirm it.", action.label);
            return Err(Fault::new(ErrorCode::ConfirmationRequired, message));
        }
        let now = self.clock.wall();
        let (date, time) = (now.utc_date(), now.utc_time());
        let prompt = template::render(
            &recipe.prompt,
            &Values {
                date: &date,
                time: &time,
                person: ask.person.as_str(),
                selection: ask.selection.as_deref().unwrap_or_default(),
            },
        );
        let agent = ask.agent.or(recipe.agent);
        let session = match (ask.session, agent) {
            (Some(session), None) => SessionRef::Existing(session),
            (Some(session), Some(agent)) => SessionRef::Asking { session, agents: vec![agent] },
            (None, agent) => {
                SessionRef::New { origin: SessionOrigin::Chat, agents: agent.into_iter().collect() }
            }
        };
        let name = ActionName { id: action.id, label: action.label };
        Ok(RunRequest {
            person: ask.person,
            session,
            input: RunInput::New(UserContent::Text(prompt)),
            view: None,
            model: recipe.model,
            terms: RunTerms {
                max_steps: recipe.max_steps,
                action: (ask.dry_run == DryRun::Off).then_some(name),
                ..RunTerms::default()
            },
            attendance: Attendance::Attended,
            dry_run: ask.dry_run,
        })
    }

    fn vault(&self, person: &PersonId) -> Result<Arc<dyn Objects>, Fault> {
        Ok(self.files.objects(&Area::Vault(person.clone()))?)
    }

    async fn read_action(
        &self,
        vault: &dyn Objects,
        person: &PersonId,
        named: Named,
    ) -> Result<Action, Fault> {
        let Named { id, label, key, warning } = named;
        let mut warnings: Vec<String> = warning.into_iter().collect();
        let recipe = match self.recipe(vault, person, &key).await? {
            Ok((recipe, more)) => {
                warnings.extend(more);
                Ok(recipe)
            }
            Err(why) => Err(why),
        };
        Ok(Action { id, label, warnings, recipe })
    }

    async fn recipe(
        &self,
        vault: &dyn Objects,
        person: &PersonId,
        key: &ObjectKey,
    ) -> Result<Result<(ActionSpec, Vec<String>), String>, Fault> {
        let roster = self.roster.get();
        let longest = roster.limits().max_action_bytes;
        let object = match vault.get(key, (longest + LONGEST_FRONT) as u64).await {
            Ok(Some(object)) => object,
            Ok(None) => return Ok(Err("the file is gone".to_owned())),
            // A link, or a file longer than any action.
            Err(StoreError::Refused(why)) => return Ok(Err(why)),
            Err(error) => return Err(error.into()),
        };
        let Ok(text) = std::str::from_utf8(&object.bytes) else {
            return Ok(Err("the file is not UTF-8".to_owned()));
        };
        let (recipe, warnings) = match front::parse(text, longest) {
            Ok(parsed) => parsed,
            Err(why) => return Ok(Err(why)),
        };
        if let Some(agent) = recipe.agent.as_ref().filter(|agent| roster.get(agent).is_none()) {
            return Ok(Err(format!("agent: there is no agent {agent}")));
        }
        let kept_as: ObjectKey = format!("vault/{key}").parse().map_err(StoreError::from)?;
        let history = self.files.history(person)?;
        // Words from outside do not become the person's own at the press of a button.
        if history.origin(&kept_as, &object).await?.taints() {
            return Ok(Err(format!("it came from outside; read it, then accept it: {ACCEPT} {kept_as}")));
        }
        Ok(Ok((recipe, warnings)))
    }
}

/// The files of the folder with their ids, by name.
async fn names(vault: &dyn Objects) -> Result<Vec<Named>, Fault> {
    let folder = ACTIONS_FOLDER.parse().map_err(StoreError::from)?;
    let listed = match vault.list(Some(&folder), MOST_ACTIONS).await {
        Err(StoreError::NotFound) => return Ok(Vec::new()),
        listed => listed?,
    };
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
        names.push(Named { id, label, key, warning });
    }
    Ok(names)
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
