//! A session as OpenClaw writes it: a tree of records, each with its id and that of the record
//! before it. The newest record decides which branch was shown.

use std::collections::{HashMap, HashSet};

use onyx_types::{AgentId, Timestamp, our_tool_name};
use serde_json::{Map, Value};

use super::our_model_name;
use crate::error::ImportError;
use crate::form::{ImportedMessage, ImportedPart, ImportedSession};
use crate::reading::{Reading, iso, millis, number, object, text, words};

/// A record, with the number of its line or row.
pub(super) type Record = (usize, Map<String, Value>);

/// A session with its details beside the records.
pub(super) struct Transcript<'a> {
    pub(super) file: &'a str,
    pub(super) session: &'a str,
    pub(super) agent: &'a AgentId,
    pub(super) title: Option<String>,
    pub(super) archived: bool,
}

/// The branch of records that was shown.
#[derive(Clone, Copy)]
pub(super) enum Branch<'a> {
    /// The newest record and those before it.
    OfNewest,
    /// The records at these positions.
    Given(&'a HashSet<usize>),
}

impl Transcript<'_> {
    pub(super) fn read(
        self,
        records: &[Record],
        branch: Branch<'_>,
        reading: &mut Reading,
    ) -> Result<ImportedSession, ImportError> {
        let way = match branch {
            Branch::OfNewest => way(records),
            Branch::Given(places) => {
                records.iter().filter(|(place, _)| places.contains(place)).collect()
            }
        };
        let mut talk = ReadMessages { messages: Vec::new(), at: None, counts: Counts::default() };
        let mut title = self.title.clone();
        for (line, record) in &way {
            match text(record, "type") {
                Some("message") => {
                    let message = object(record, "message").ok_or_else(|| {
                        ImportError::broken(self.file, *line, "a message without its content")
                    })?;
                    talk.add(record, message, self.file, *line)?;
                }
                Some("session_info") => title = text(record, "name").map(str::to_owned).or(title),
                Some("compaction" | "branch_summary") => talk.counts.summaries += 1,
                _ => {}
            }
        }
        let began = records.iter().find_map(|(_, record)| text(record, "timestamp").and_then(iso));
        let first = talk.messages.first().map(|message| message.at);
        let session = ImportedSession {
            key: self.session.to_owned(),
            agent: Some(self.agent.clone()),
            title,
            archived: self.archived,
            created_at: began.or(first).unwrap_or(Timestamp::UNIX_EPOCH),
            messages: talk.messages,
        };
        let said = |record: &&Record| text(&record.1, "type") == Some("message");
        let beside = records.iter().filter(said).count() - way.iter().copied().filter(said).count();
        talk.counts.tell(&session, beside, reading);
        Ok(session)
    }
}

/// The records of the branch that was shown, in order. Records of versions without branches have no
/// ids.
fn way(records: &[Record]) -> Vec<&Record> {
    let is_part = |record: &&Record| text(&record.1, "type") != Some("session");
    let parts: Vec<&Record> = records.iter().filter(is_part).collect();
    if parts.iter().any(|(_, record)| text(record, "id").is_none()) {
        return parts;
    }
    let known: HashMap<&str, &Record> =
        parts.iter().filter_map(|record| Some((text(&record.1, "id")?, *record))).collect();
    let mut way = Vec::new();
    let mut next = parts.last().copied();
    while let Some(record) = next {
        way.push(record);
        // A record that comes before itself would make the loop endless.
        if way.len() > parts.len() {
            return parts;
        }
        next = text(&record.1, "parentId").and_then(|id| known.get(id).copied());
    }
    way.reverse();
    way
}

#[derive(Default)]
struct Counts {
    thoughts: usize,
    media: usize,
    summaries: usize,
}

impl Counts {
    fn tell(&self, session: &ImportedSession, beside: usize, reading: &mut Reading) {
        let name = session.title.as_ref().unwrap_or(&session.key);
        for (count, what, why) in [
            (beside, "messages of other branches", "only the branch that was shown is imported"),
            (self.thoughts, "thoughts of models", "only the provider can use them"),
            (self.media, "pictures and files", "only text is imported"),
            (self.summaries, "summaries", "the messages they summarise are imported"),
        ] {
            if count > 0 {
                reading.left_out(format!("{count} {what} in {name}"), why);
            }
        }
    }
}

struct ReadMessages {
    messages: Vec<ImportedMessage>,
    at: Option<Timestamp>,
    counts: Counts,
}

impl ReadMessages {
    fn add(
        &mut self,
        record: &Map<String, Value>,
        message: &Map<String, Value>,
        file: &str,
        line: usize,
    ) -> Result<(), ImportError> {
        let at = text(record, "timestamp").and_then(iso);
        let at = at.or_else(|| number(message, "timestamp").map(millis)).or(self.at);
        let at = at.ok_or_else(|| ImportError::broken(file, line, "a message without a time"))?;
        self.at = Some(at);
        match text(message, "role") {
            Some("user") => {
                let text = words(message.get("content"), &mut self.counts.media);
                self.say(ImportedPart::Person { text });
            }
            Some("assistant") => self.answer(message),
            Some("toolResult") => {
                let output = words(message.get("content"), &mut self.counts.media);
                let id = text(message, "toolCallId").unwrap_or_default().to_owned();
                let is_error = message.get("isError").and_then(Value::as_bool).unwrap_or(false);
                self.say(ImportedPart::Result { id, output, is_error });
            }
            Some(_) => {}
            None => return Err(ImportError::broken(file, line, "a message without a role")),
        }
        Ok(())
    }

    fn answer(&mut self, message: &Map<String, Value>) {
        let provider = text(message, "provider").unwrap_or("openclaw");
        let model = text(message, "model").unwrap_or("model");
        let model = our_model_name(&format!("{provider}/{model}"));
        let Some(Value::Array(blocks)) = message.get("content") else {
            let text = words(message.get("content"), &mut self.counts.media);
            return self.say(ImportedPart::Model { text, model });
        };
        for block in blocks.iter().filter_map(Value::as_object) {
            match text(block, "type") {
                Some("text") => {
                    let text = text(block, "text").unwrap_or_default().to_owned();
                    self.say(ImportedPart::Model { text, model: model.clone() });
                }
                Some("toolCall") => self.say(ImportedPart::Call {
                    id: text(block, "id").unwrap_or_default().to_owned(),
                    tool: our_tool_name(text(block, "name").unwrap_or("tool")).to_owned(),
                    input: block.get("arguments").cloned().unwrap_or_default(),
                }),
                Some("thinking") => self.counts.thoughts += 1,
                _ => self.counts.media += 1,
            }
        }
    }

    fn say(&mut self, said: ImportedPart) {
        if let Some(at) = self.at {
            self.messages.push(ImportedMessage { at, said });
        }
    }
}
