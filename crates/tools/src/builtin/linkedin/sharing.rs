//! The parts that posting and commenting share: the preview, the single request, and the record.

use onyx_types::{
    Capability, Consent, Origin, Plan, Preview, Target, ToolEffect, ToolOutcome, ToolSpec,
};

use super::LinkedIn;
use super::record::{Ending, PostDraft, Record};
use super::service::{Profile, Request};
use crate::builtin::acting;
use crate::{ToolCx, ToolError};

/// The plan to post or comment. The person sees the whole text and the account. What was published
/// cannot be taken back, so each call needs an approval of its own.
pub(super) fn plan(
    linkedin: &LinkedIn,
    spec: &ToolSpec,
    cx: &ToolCx,
    shown: &str,
) -> Result<Plan, ToolError> {
    let base = linkedin.base()?;
    let name = linkedin.accounts.name(&cx.key.person);
    let name = name.unwrap_or_else(|| "your account".to_owned());
    let text = format!("As {name} at {base}\n{shown}");
    let target = Target::Address(onyx_types::Address::new(base.to_string()));
    let plan = acting(spec, ToolEffect::Reach, target, Preview::Text { text });
    Ok(Plan { consent: Consent::Person, ..plan })
}

/// A post or comment, before it is known in whose name it is sent.
pub(super) struct Sharing<'a> {
    pub(super) kind: &'static str,
    pub(super) about: &'a str,
    pub(super) text: &'a str,
}

impl Sharing<'_> {
    pub(super) async fn send(
        &self,
        linkedin: &LinkedIn,
        plan: Plan,
        cx: &ToolCx,
        request: impl Fn(&Profile) -> Request<'static> + Send,
    ) -> Result<ToolOutcome, ToolError> {
        let service = linkedin.service(&cx.key.person, &*cx.clock)?;
        let profile = service.profile().await?;
        let (author, name) = (profile.urn(), profile.name());
        let Self { kind, about, text } = self;
        let draft = PostDraft { kind, author: &author, name: &name, about, text };
        let record = Record::begin(&draft, &plan.tool, cx).await?;
        let sent = service.ask(&request(&profile)).await;
        let made = sent.as_ref().ok().and_then(super::service::LinkedInReply::made);
        let words = sent.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let ending = match &sent {
            Ok(_) => Ending::Done { id: made.as_deref() },
            Err(error) if error.leaves_doubt() => Ending::Unknown(&words),
            Err(_) => Ending::NotDone(&words),
        };
        let written = record.end(&ending).await;
        sent?;
        let id = made.map(|id| format!(", {id}")).unwrap_or_default();
        let mut text =
            format!("The {kind} is on LinkedIn as {name}{id}. Kept in {}.", record.path());
        if let Err(error) = written {
            text.push_str(&format!(" That file lacks its last line: {error}"));
        }
        Ok(ToolOutcome::ok(text, plan.summary).from_origin(Origin::External))
    }
}

pub(super) fn needing_account(spec: ToolSpec) -> ToolSpec {
    let timeout = std::time::Duration::from_secs(90);
    ToolSpec { timeout, needs: vec![Capability::LinkedIn], ..spec }
}

/// Checks that a text has at most this many characters, as people count them.
pub(super) fn checked(text: &str, most: usize) -> Result<(), ToolError> {
    if text.trim().is_empty() {
        return Err(ToolError::Arguments("\"text\" is empty".to_owned()));
    }
    let length = text.chars().count();
    if length > most {
        let why = format!("\"text\" has {length} characters; LinkedIn takes {most}");
        return Err(ToolError::Arguments(why));
    }
    Ok(())
}
