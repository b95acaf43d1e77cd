//! The places from which skills are read. If the config names a `workspace` for an agent, its own
//! skills are in the folder `skills` there, instead of the one in the home. That folder is read
//! each time, so that changes take effect at once. It is outside the home, belongs to the home's
//! owner, and is never written to.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use onyx_storage::{FileLookup, FoundObject, LocalObjects, Objects, StoreError};
use onyx_types::{AgentId, PersonId};

use super::{SkillPlace, Skills, SkillsCore};

impl Skills {
    /// Sets the workspaces of the agents that have one.
    pub fn set_workspaces(&self, workspaces: BTreeMap<AgentId, PathBuf>) {
        let mut known = self.shared.workspaces.write().unwrap_or_else(PoisonError::into_inner);
        *known = workspaces;
    }
}

pub(super) fn workspace(core: &SkillsCore, place: &SkillPlace) -> Option<PathBuf> {
    let SkillPlace::Agent(agent) = place else { return None };
    core.workspaces.read().unwrap_or_else(PoisonError::into_inner).get(agent).cloned()
}

pub(super) fn objects(
    core: &SkillsCore,
    person: &PersonId,
    place: &SkillPlace,
) -> Result<Arc<dyn Objects>, StoreError> {
    match workspace(core, place) {
        Some(folder) => Ok(Arc::new(LocalObjects::open(&folder)?)),
        None => core.files.objects(&place.area(person)),
    }
}

/// Looks files up as `Files::find` does, with answers in the order of the questions. Files of the
/// home are looked up together.
pub(super) async fn find(
    core: &SkillsCore,
    person: &PersonId,
    wanted: Vec<(&SkillPlace, FileLookup)>,
) -> Result<Vec<Result<FoundObject, StoreError>>, StoreError> {
    let mut answers: Vec<Option<Result<FoundObject, StoreError>>> =
        Vec::with_capacity(wanted.len());
    let mut in_home = Vec::new();
    for (place, wanted) in wanted {
        if workspace(core, place).is_none() {
            in_home.push((place.area(person), wanted));
            answers.push(None);
            continue;
        }
        answers.push(Some(match objects(core, person, place) {
            Ok(objects) => wanted.find_in(&*objects).await,
            // A folder that does not exist holds nothing.
            Err(StoreError::NotFound) => Ok(FoundObject::Nothing),
            Err(error) => Err(error),
        }));
    }
    let mut of_home = core.files.find(in_home).await?.into_iter();
    let answer =
        |known: Option<_>| known.or_else(|| of_home.next()).unwrap_or(Ok(FoundObject::Nothing));
    Ok(answers.into_iter().map(answer).collect())
}
