//! Asks the person in the Inbox about foreign files that would steer agents. The person sees what
//! is new in them and accepts them or not. No model can ask for this, and accepting changes only a
//! record.

use onyx_storage::{
    Area, Draft, DraftCondition, DraftFilter, History, Object, ObjectKey, StoreError,
};
use onyx_types::{
    DraftId, DraftState, HomePath, Plan, PlanTarget, RecordedTool, Target, ToolCall, ToolEffect,
    ToolUseId, Verdict,
};
use serde_json::json;

use super::audit::{AuditTrail, Record};
use super::{Toolbox, proposal};
use crate::text::diff::Change;
use crate::{ToolCx, ToolError};

/// The name that such drafts have in the place of a tool's name. There is no such tool.
pub(crate) const ACCEPT_FILE: &str = "accept_file";

const LARGEST: u64 = 8 * 1024 * 1024;
/// How many versions are searched for the last one that was the person's own.
const MOST_VERSIONS: usize = 50;
const MOST_DRAFTS: u32 = 200;

impl Toolbox {
    /// Asks the person about each of these files, once for each content. Returns the new drafts.
    pub async fn propose_acceptance(
        &self,
        files: &[(Area, ObjectKey)],
        cx: &ToolCx,
    ) -> Result<Vec<DraftId>, ToolError> {
        let mut made = Vec::new();
        for (area, path) in files {
            // The files of agents belong to the owner, who edits and accepts them elsewhere.
            if *area != Area::Person(cx.key.person.clone()) {
                continue;
            }
            let objects = cx.files.objects(area)?;
            let Some(object) = objects.get(path, LARGEST).await? else { continue };
            let file = Target::File(HomePath::new(format!("{}/{path}", area.path())));
            let target = PlanTarget { target: file, base: Some(object.hash), instruction: true };
            if !self.was_asked(&target, cx).await? {
                made.push(self.ask_to_accept(path, &object, target, cx).await?);
            }
        }
        Ok(made)
    }

    async fn was_asked(&self, target: &PlanTarget, cx: &ToolCx) -> Result<bool, StoreError> {
        for state in [DraftState::Pending, DraftState::Rejected] {
            let filter =
                DraftFilter { state: Some(state), limit: MOST_DRAFTS, ..DraftFilter::default() };
            let drafts = self.services().drafts.drafts(&cx.key.person, &filter).await?;
            let is_it =
                |draft: &Draft| is_acceptance(&draft.plan) && draft.plan.targets.contains(target);
            if drafts.iter().any(is_it) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn ask_to_accept(
        &self,
        path: &ObjectKey,
        object: &Object,
        target: PlanTarget,
        cx: &ToolCx,
    ) -> Result<DraftId, ToolError> {
        let history = cx.files.history(&cx.key.person)?;
        let before = last_own(&history, path).await?;
        let after = String::from_utf8_lossy(&object.bytes);
        let change = Change::between(path.as_str(), &before, &after);
        let summary = format!("Let agents follow {path} {}", change.counts());
        let arguments = json!({"path": path.as_str()});
        let plan = Plan {
            targets: vec![target],
            preview: change.preview,
            ..Plan::new(ACCEPT_FILE, arguments.clone(), ToolEffect::Write, summary).draft_only()
        };
        let plan = proposal::shown_whole(plan, self.services(), cx)?;
        let call = ToolCall {
            id: ToolUseId(format!("accept-{}", object.hash)),
            name: ACCEPT_FILE.to_owned(),
            input: arguments,
        };
        let draft = proposal::draft(cx, &call, plan, None, &[]);
        let (ledger, masker) = (&*self.services().ledger, &self.services().masker);
        let tool = RecordedTool::constant(ACCEPT_FILE);
        let trail = AuditTrail { ledger, masker, cx, tool };
        let record = Record {
            effect: Some(ToolEffect::Write),
            decision: Verdict::Draft,
            summary: &draft.plan.summary,
            result: format!("draft {}", draft.id),
        };
        let (id, entry) = (draft.id, trail.entry(&record));
        let drafts = self.services().drafts_under(DraftCondition::Alive(cx.files.life()));
        match drafts.put_draft(draft, &[], entry).await {
            Ok(()) => Ok(id),
            Err(StoreError::Conflict) => Err(ToolError::Conflict(path.to_string())),
            Err(error) => Err(error.into()),
        }
    }

    /// Records content that a person has approved after seeing all of it as the person's own: the
    /// file of an acceptance, and files that steer agents whose previous content was trusted, so
    /// that the shown change is all that is foreign in them.
    pub(super) async fn accept_approved(
        &self,
        plan: &Plan,
        trusted: &[PlanTarget],
        cx: &ToolCx,
    ) -> Result<(), ToolError> {
        let seen = if is_acceptance(plan) { &plan.targets } else { trusted };
        for target in seen {
            let Some((area, path)) = place_of(&target.target) else { continue };
            let Some(object) = cx.files.objects(&area)?.get(&path, LARGEST).await? else {
                continue;
            };
            if is_acceptance(plan) && Some(object.hash) != target.base {
                return Err(ToolError::Conflict(path.to_string()));
            }
            cx.files.history_of(&area)?.accept(&path, &object).await?;
        }
        Ok(())
    }

    /// The targets that steer agents and hold nothing foreign now.
    pub(super) async fn trusted_targets(
        &self,
        plan: &Plan,
        cx: &ToolCx,
    ) -> Result<Vec<PlanTarget>, ToolError> {
        let mut trusted = Vec::new();
        for target in plan.targets.iter().filter(|target| target.instruction) {
            let Some((area, path)) = place_of(&target.target) else { continue };
            let held = cx.files.objects(&area)?.get(&path, LARGEST).await?;
            let is_trusted = match &held {
                Some(object) => !cx.files.history_of(&area)?.origin(&path, object).await?.taints(),
                None => true,
            };
            if is_trusted {
                trusted.push(target.clone());
            }
        }
        Ok(trusted)
    }
}

pub(super) fn is_acceptance(plan: &Plan) -> bool {
    plan.tool == *ACCEPT_FILE
}

/// The area whose history knows the target, and its path there.
fn place_of(target: &Target) -> Option<(Area, ObjectKey)> {
    let file = target.file()?;
    let (kind, rest) = file.as_str().split_once('/')?;
    let (id, path) = rest.split_once('/')?;
    let area = match kind {
        "people" => Area::Person(id.parse().ok()?),
        "agents" => Area::Agent(id.parse().ok()?),
        _ => return None,
    };
    Some((area, path.parse().ok()?))
}

/// The content of the file when it was last the person's own; empty if it never was.
async fn last_own(history: &History, path: &ObjectKey) -> Result<String, StoreError> {
    for version in history.versions(path).await?.iter().take(MOST_VERSIONS) {
        let Some(bytes) = history.read(version).await? else { continue };
        let Some(hash) = version.before else { continue };
        let (modified, changed) = (version.change.ts, onyx_types::Timestamp::UNIX_EPOCH);
        let object = Object { bytes, hash, modified, changed };
        if !history.origin(path, &object).await?.taints() {
            return Ok(String::from_utf8_lossy(&object.bytes).into_owned());
        }
    }
    Ok(String::new())
}
