//! The file in the vault that records one post or comment. It is begun before anything is sent, so
//! that no crash hides what may have happened.

use onyx_storage::ObjectKey;
use onyx_types::Timestamp;

use crate::files::{AgentFiles, Writer};
use crate::paths;
use crate::{ToolCx, ToolError};

const FOLDER: &str = "agent/linkedin";

/// A post or comment that is about to be sent to LinkedIn.
pub(super) struct PostDraft<'a> {
    /// `post` or `comment`.
    pub(super) kind: &'static str,
    /// The account's URN; `name` is the name that people know.
    pub(super) author: &'a str,
    pub(super) name: &'a str,
    /// The visibility of a post, or the post that is commented on.
    pub(super) about: &'a str,
    pub(super) text: &'a str,
}

/// How the post or comment ended.
pub(super) enum Ending<'a> {
    Done { id: Option<&'a str> },
    NotDone(&'a str),
    Unknown(&'a str),
}

pub(super) struct Record<'a> {
    files: AgentFiles,
    key: ObjectKey,
    by: Writer<'a>,
}

impl<'a> Record<'a> {
    pub(super) async fn begin(
        draft: &PostDraft<'_>,
        tool: &'a str,
        cx: &'a ToolCx,
    ) -> Result<Self, ToolError> {
        let (files, by) = (AgentFiles::vault(cx)?, Writer { cx, tool });
        let at = cx.clock.wall();
        let zone = cx.clock.zone_of(&cx.key.person);
        let PostDraft { kind, author, name, about, text } = draft;
        let time = zone.time(at).replace(':', "-");
        let path = format!("{FOLDER}/{}-{time}-{kind}-{}.md", zone.date(at), within_minute(at));
        let key = paths::key(&path)?;
        let head = format!(
            "# LinkedIn {kind}, {}\n\n- as: {name} ({author})\n- {about}\n- by: agent {}, run {}\n- sent \
             now. If no line at the end says how it ended, look at LinkedIn before sending it \
             again.\n\n---\n\n{text}\n\n---\n\n",
            zone.stamp(at),
            cx.agent,
            cx.run,
        );
        files.append(&key, &head, &by).await?;
        Ok(Self { files, key, by })
    }

    /// The path of the record in the vault.
    pub(super) fn path(&self) -> String {
        format!("vault/{}", self.key)
    }

    pub(super) async fn end(&self, ending: &Ending<'_>) -> Result<(), ToolError> {
        let line = match ending {
            Ending::Done { id: Some(id) } => {
                format!("- done: {id}, https://www.linkedin.com/feed/update/{id}/\n")
            }
            Ending::Done { id: None } => "- done; LinkedIn gave no address\n".to_owned(),
            Ending::NotDone(why) => format!("- not done: {why}\n"),
            Ending::Unknown(why) => format!("- it is not known whether it was done: {why}\n"),
        };
        self.files.append(&self.key, &line, &self.by).await
    }
}

/// Distinguishes records of the same minute.
fn within_minute(at: Timestamp) -> String {
    format!("{:05}", at.as_millis().rem_euclid(60_000))
}
