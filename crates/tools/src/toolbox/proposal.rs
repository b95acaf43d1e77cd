//! Makes drafts of plans that need a person. A session has at most one open draft for a target: a
//! later plan is combined with it, so that a person decides once on the whole.

use onyx_storage::{Draft, DraftCondition, StoreError};
use onyx_types::{
    AsksFor, DecisionTiming, DraftId, DraftState, FileChange, Hash, IdGenerator, Plan, Preview,
    Proposal, Target, ToolCall, ToolEffect, ToolOutcome, Verdict, diff_lines,
};

use super::Services;
use super::audit::{AuditTrail, Record};
use crate::files::{AgentFiles, current_hash, diff_to_disk};
use crate::paths::{self, instruction::STEERS_AGENTS};
use crate::text::one_line;
use crate::{ToolCx, ToolError};

/// The most bytes of a preview. Nobody reads more, so larger changes are not offered for approval.
const PREVIEW_BYTES: usize = 256 * 1024;

/// Makes a draft of the plan. Nothing else happens before a person decides.
pub(crate) async fn propose(
    services: &Services,
    cx: &ToolCx,
    trail: &AuditTrail<'_>,
    call: &ToolCall,
    verdict: Verdict,
    plan: Plan,
) -> Result<ToolOutcome, ToolError> {
    let replaced = cx.pending.touched_by(&plan);
    let effect = plan.strictest();
    let (plan, input) = match combine(&replaced, &plan, cx).await? {
        Some(combined) => (combined, None),
        // The changes that a call left behind are no call, so they cannot be planned again from its
        // input.
        None if *plan.tool != *call.name => (plan, None),
        None => (plan, Some(call.input.clone())),
    };
    let plan = shown_whole(plan, services, cx)?;
    let draft = draft(cx, call, plan, input, &replaced);
    let ids: Vec<_> = replaced.iter().map(|old| old.id).collect();
    let mut result = format!("draft {}", draft.id);
    for id in &ids {
        result.push_str(&format!(", replaces {id}"));
    }
    let record =
        Record { effect: Some(effect), decision: verdict, summary: &draft.plan.summary, result };
    // Others may have closed the run meanwhile, so it proposes only in the life in which it began.
    let drafts = services.drafts_under(DraftCondition::Alive(cx.files.life()));
    match drafts.put_draft(draft.clone(), &ids, trail.entry(&record)).await {
        Ok(()) => Ok(outcome(draft, ids, verdict)),
        Err(StoreError::Conflict) => Err(ToolError::Conflict("what is drafted here".to_owned())),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn draft(
    cx: &ToolCx,
    call: &ToolCall,
    plan: Plan,
    input: Option<serde_json::Value>,
    replaced: &[&Draft],
) -> Draft {
    let now = cx.clock.wall();
    let hash = Draft::hash_of(&plan, &cx.key, cx.run);
    // The id of a draft depends on the call and the run, because different calls may have equal
    // plans.
    let run = cx.run.to_string();
    let seed = Hash::of_parts([hash.as_bytes(), call.id.0.as_bytes(), run.as_bytes()]);
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&seed.as_bytes()[..8]);
    Draft {
        id: IdGenerator::new(u64::from_le_bytes(bytes)).draft(now),
        key: cx.key.clone(),
        agent: cx.agent.clone(),
        run: cx.run,
        call: call.id.clone(),
        input,
        taint: replaced.iter().map(|old| old.taint).fold(cx.taint, Ord::max),
        plan,
        hash,
        state: DraftState::Pending,
        created_at: now,
        expires_at: now.saturating_add(cx.decisions.draft_time),
        decided: None,
        reason: None,
        output: None,
        superseded_by: None,
        delivered: false,
    }
}

fn outcome(draft: Draft, replaces: Vec<DraftId>, verdict: Verdict) -> ToolOutcome {
    let asks_for = draft.plan.asks_for();
    let is_question = asks_for == AsksFor::Answer;
    let Plan { tool, summary, preview, .. } = draft.plan;
    let tool = tool.to_string();
    let (answer, output) = match verdict {
        Verdict::Draft if is_question => (
            DecisionTiming::Later,
            format!(
                "Nobody is here to answer now. The question waits in the person's Inbox as draft \
                 {}; an answer reaches you later. Go on without it and do not ask again.",
                draft.id
            ),
        ),
        Verdict::Confirm => (DecisionTiming::Awaited, undecided(&draft.id.to_string(), &summary)),
        Verdict::Draft | Verdict::Allow | Verdict::Deny => (
            DecisionTiming::Later,
            format!(
                "Drafted as {}: {summary}. Nothing has changed yet; a person decides, and you will \
                 be told. Go on without it and do not repeat it.",
                draft.id
            ),
        ),
    };
    let line = format!("Drafted: {summary}");
    let proposal = Proposal { draft: draft.id, tool, summary, preview, asks_for, answer, replaces };
    ToolOutcome { draft: Some(Box::new(proposal)), ..ToolOutcome::ok(output, line) }
}

/// The result for a run whose draft was not decided in time.
fn undecided(draft: &str, summary: &str) -> String {
    format!(
        "Not decided: {summary}. Nobody answered in time; it stays in the person's Inbox as draft \
         {draft}. Nothing has changed. Go on without it and do not repeat it."
    )
}

/// Combines earlier drafts and a new plan into one plan, compared with the files on disk. `None` if
/// there is nothing to combine, or if one of them does not say how its targets would end up; then
/// the new plan stays alone.
async fn combine(replaced: &[&Draft], plan: &Plan, cx: &ToolCx) -> Result<Option<Plan>, ToolError> {
    let whole = |plan: &Plan| !plan.changes.is_empty();
    if replaced.is_empty() || !whole(plan) || !replaced.iter().all(|old| whole(&old.plan)) {
        return Ok(None);
    }
    let mut combined = plan.clone();
    for old in replaced.iter().map(|old| &old.plan) {
        let targets = old.targets.iter().filter(|own| plan.target(&own.target).is_none());
        combined.targets.extend(targets.cloned());
        let is_new = |change: &&FileChange| {
            let file = Target::File(change.target.clone());
            plan.target(&file).is_none()
        };
        combined.changes.extend(old.changes.iter().filter(is_new).cloned());
        combined.effects.extend(&old.effects);
    }
    combined.effects.sort();
    combined.effects.dedup();
    combined.preview = diff_to_disk(&combined, cx).await?;
    Ok(Some(combined))
}

/// The plan with the same changes, built on the present files.
pub(crate) async fn rebase(plan: &Plan, cx: &ToolCx) -> Result<Plan, ToolError> {
    let mut fresh = plan.clone();
    for own in &mut fresh.targets {
        let Some(file) = own.target.file() else {
            return Err(ToolError::Refused(format!("{} is no file", own.target)));
        };
        own.base = current_hash(cx, &file).await?;
    }
    fresh.preview = diff_to_disk(&fresh, cx).await?;
    Ok(fresh)
}

/// Checks that the preview shows the whole change, because a person decides on what they see.
pub(crate) fn shown_whole(
    mut plan: Plan,
    services: &Services,
    cx: &ToolCx,
) -> Result<Plan, ToolError> {
    plan.summary = one_line(&services.masker.mask(&plan.summary));
    plan.preview = match plan.preview {
        Preview::None => Preview::Text { text: format!("{:#}", plan.arguments) },
        shown @ (Preview::Text { .. } | Preview::Diff { .. } | Preview::Choice { .. }) => shown,
    };
    let why = why_instructions(&plan, cx)?;
    plan.preview = match plan.preview {
        Preview::None => Preview::None,
        Preview::Text { text } => Preview::Text { text: format!("{why}{text}") },
        Preview::Diff { path, unified, document, .. } => {
            let unified = format!("{why}{unified}");
            Preview::Diff { path, diff_lines: diff_lines(&unified), unified, document }
        }
        // A question changes no file, so its preview stays as it is.
        choice @ Preview::Choice { .. } => choice,
    };
    plan.preview = plan.preview.map_text(|text| services.masker.mask(&text).into_owned());
    let bytes = match &plan.preview {
        Preview::None => 0,
        Preview::Text { text } => text.len(),
        Preview::Diff { unified, .. } => unified.len(),
        Preview::Choice { text, options } => {
            text.len() + options.iter().map(String::len).sum::<usize>()
        }
    };
    if bytes > PREVIEW_BYTES {
        return Err(ToolError::Refused(format!(
            "{} takes {bytes} bytes to show, and a person must see all of what they approve; do it \
             in smaller steps",
            plan.summary
        )));
    }
    Ok(plan)
}

/// One line for each target that agents or the person's own programs would obey. The lines come
/// before the change, so that such a file is not taken for an ordinary one.
fn why_instructions(plan: &Plan, cx: &ToolCx) -> Result<String, ToolError> {
    if plan.strictest() == ToolEffect::Read {
        return Ok(String::new());
    }
    let vault = format!("{}/", AgentFiles::vault(cx)?.root());
    let mut lines = String::new();
    for own in plan.targets.iter().filter(|own| own.instruction) {
        let name = own.target.to_string();
        let in_vault = own.target.file().and(name.strip_prefix(&vault));
        let (path, why) = match in_vault {
            Some(path) => (path, cx.paths.why_steers(&paths::key(path)?).unwrap_or(STEERS_AGENTS)),
            None => (name.as_str(), STEERS_AGENTS),
        };
        lines.push_str(&format!("Note: {path}: {why}\n"));
    }
    Ok(lines)
}
