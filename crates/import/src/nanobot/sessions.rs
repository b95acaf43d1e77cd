//! Sessions of nanobot: a JSONL file each, whose first line describes the session.

use std::path::{Path, PathBuf};

use onyx_types::{AgentId, Timestamp, our_tool_name};
use serde_json::{Map, Value};

use crate::error::ImportError;
use crate::form::{ImportedMessage, ImportedPart, ImportedSession};
use crate::reading::{OpenedExport, Reading, iso, json_lines, object, text, words};

pub(super) fn read(
    opened: &OpenedExport,
    workspace: Option<&PathBuf>,
    agent: &AgentId,
    reading: &mut Reading,
) -> Result<(), ImportError> {
    let inside = workspace.map(|folder| folder.join("sessions").display().to_string());
    for folder in ["sessions".to_owned()].into_iter().chain(inside) {
        read_folder(opened, &folder, agent, reading)?;
    }
    Ok(())
}

/// Reads a folder and the folders below it, because newer versions keep the sessions of each
/// workspace in a folder of its own.
fn read_folder(
    opened: &OpenedExport,
    folder: &str,
    agent: &AgentId,
    reading: &mut Reading,
) -> Result<(), ImportError> {
    for name in opened.names(folder)? {
        let path = Path::new(folder).join(&name).display().to_string();
        if opened.has_folder(&path) && !name.starts_with('.') {
            read_folder(opened, &path, agent, reading)?;
        } else if name.ends_with(".jsonl") {
            let records = opened.bytes(&path).and_then(|bytes| json_lines(&path, &bytes));
            let session = records.and_then(|records| session(&path, &records, agent));
            if let Some((session, pictures)) = reading.tolerate(session)? {
                if pictures > 0 {
                    let what = format!("{pictures} pictures in {}", session.key);
                    reading.left_out(what, "only text is imported");
                }
                reading.add_session(session);
            }
        }
    }
    Ok(())
}

fn session(
    file: &str,
    records: &[(usize, Map<String, Value>)],
    agent: &AgentId,
) -> Result<(ImportedSession, usize), ImportError> {
    let head = records.iter().map(|(_, record)| record);
    let head = head.clone().find(|record| text(record, "_type") == Some("metadata"));
    let stem = Path::new(file).file_stem().map(|stem| stem.display().to_string());
    let key = head.and_then(|head| text(head, "key")).map(str::to_owned);
    let key = key.or(stem).unwrap_or_default();
    let title = head.and_then(|head| object(head, "metadata"));
    let title = title.and_then(|metadata| text(metadata, "title")).map(str::to_owned);
    let began = head.and_then(|head| text(head, "created_at")).and_then(iso);
    let mut talk = NanobotSession { messages: Vec::new(), at: began, pictures: 0 };
    for (line, record) in records.iter().filter(|(_, record)| !record.contains_key("_type")) {
        talk.add(record, file, *line)?;
    }
    let first = talk.messages.first().map(|message| message.at);
    let created_at = began.or(first).unwrap_or(Timestamp::UNIX_EPOCH);
    let agent = Some(agent.clone());
    let messages = talk.messages;
    let session = ImportedSession { key, agent, title, archived: false, created_at, messages };
    Ok((session, talk.pictures))
}

struct NanobotSession {
    messages: Vec<ImportedMessage>,
    at: Option<Timestamp>,
    pictures: usize,
}

impl NanobotSession {
    fn add(
        &mut self,
        record: &Map<String, Value>,
        file: &str,
        line: usize,
    ) -> Result<(), ImportError> {
        self.at = text(record, "timestamp").and_then(iso).or(self.at);
        let Some(at) = self.at else {
            return Err(ImportError::broken(file, line, "a message without a time"));
        };
        let role = text(record, "role");
        let role =
            role.ok_or_else(|| ImportError::broken(file, line, "a message without a role"))?;
        let words = words(record.get("content"), &mut self.pictures);
        match role {
            "user" => self
                .messages
                .push(ImportedMessage { at, said: ImportedPart::Person { text: words } }),
            "assistant" => {
                let said = ImportedPart::Model { text: words, model: "nanobot/model".to_owned() };
                self.messages.push(ImportedMessage { at, said });
                self.calls(record, at);
            }
            "tool" => {
                let id = text(record, "tool_call_id").unwrap_or_default().to_owned();
                let said = ImportedPart::Result { id, output: words, is_error: false };
                self.messages.push(ImportedMessage { at, said });
            }
            _ => {}
        }
        Ok(())
    }

    fn calls(&mut self, record: &Map<String, Value>, at: Timestamp) {
        let calls = record.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten().filter_map(Value::as_object) {
            let Some(function) = object(call, "function") else { continue };
            let arguments = text(function, "arguments").unwrap_or("{}");
            // Invalid arguments of a model are kept as text.
            let input = serde_json::from_str(arguments);
            let said = ImportedPart::Call {
                id: text(call, "id").unwrap_or_default().to_owned(),
                tool: our_tool_name(text(function, "name").unwrap_or("tool")).to_owned(),
                input: input.unwrap_or_else(|_| Value::from(arguments)),
            };
            self.messages.push(ImportedMessage { at, said });
        }
    }
}
