//! Claude's export: `conversations.json`, and `projects.json` with instructions and documents.

use std::collections::VecDeque;

use onyx_types::{Timestamp, slug};
use serde_json::{Map, Value};

use crate::error::ImportError;
use crate::form::{
    ImportTarget, ImportedFile, ImportedMessage, ImportedPart, ImportedSession, Item,
};
use crate::reading::{OpenedExport, Reading, iso, json_file, text};

pub(crate) fn read(opened: &OpenedExport, reading: &mut Reading) -> Result<(), ImportError> {
    let file = opened.only().unwrap_or("conversations.json");
    if !opened.has(file) {
        let why = "it holds no conversations.json".to_owned();
        let path = opened.root().to_owned();
        return Err(ImportError::NotIt { path, program: "export of Claude", why });
    }
    let conversations = json_file(opened, file).and_then(|value| list(file, value));
    for (index, value) in reading.tolerate(conversations)?.into_iter().flatten().enumerate() {
        let read = conversation(file, index, &value);
        let Some((session, counts)) = reading.tolerate(read)? else { continue };
        counts.tell(&session, reading);
        reading.add_session(session);
    }
    if opened.only().is_none() {
        projects(opened, reading)?;
        for name in ["users.json", "memories.json"] {
            if opened.has(name) {
                reading.left_out(name, "it has no conversation and no document");
            }
        }
    }
    Ok(())
}

fn list(file: &str, value: Value) -> Result<Vec<Value>, ImportError> {
    match value {
        Value::Array(list) => Ok(list),
        _ => Err(ImportError::broken(file, 1, "a list is expected")),
    }
}

#[derive(Default)]
struct Counts {
    reasoning: usize,
    files: usize,
}

impl Counts {
    fn tell(&self, session: &ImportedSession, reading: &mut Reading) {
        let name = session.title.as_ref().unwrap_or(&session.key);
        if self.reasoning > 0 {
            let what = format!("{} thoughts of models in {name}", self.reasoning);
            reading.left_out(what, "only the provider can use them");
        }
        if self.files > 0 {
            let what = format!("{} pictures and files in {name}", self.files);
            reading.left_out(what, "the export has their names and not their contents");
        }
    }
}

fn conversation(
    file: &str,
    index: usize,
    value: &Value,
) -> Result<(ImportedSession, Counts), ImportError> {
    let flaw =
        |why: &str| ImportError::broken(file, 1, format!("conversation {}: {why}", index + 1));
    let fields = value.as_object().ok_or_else(|| flaw("an object is expected"))?;
    let key = text(fields, "uuid").ok_or_else(|| flaw("it has no `uuid`"))?;
    let created_at = text(fields, "created_at").and_then(iso);
    let created_at = created_at.ok_or_else(|| flaw("it has no `created_at`"))?;
    let said = fields.get("chat_messages").and_then(Value::as_array);
    let said = said.ok_or_else(|| flaw("it has no `chat_messages`"))?;
    let mut talk = ClaudeChat {
        messages: Vec::new(),
        at: created_at,
        calls: 0,
        open: VecDeque::new(),
        counts: Counts::default(),
    };
    for message in said {
        let message = message.as_object().ok_or_else(|| flaw("a message is not an object"))?;
        talk.add(message);
    }
    let session = ImportedSession {
        key: key.to_owned(),
        agent: None,
        title: text(fields, "name").map(str::to_owned),
        archived: false,
        created_at,
        messages: talk.messages,
    };
    Ok((session, talk.counts))
}

struct ClaudeChat {
    messages: Vec<ImportedMessage>,
    at: Timestamp,
    calls: usize,
    /// Calls that have no result yet, oldest first.
    open: VecDeque<String>,
    counts: Counts,
}

impl ClaudeChat {
    fn add(&mut self, message: &Map<String, Value>) {
        self.at = text(message, "created_at").and_then(iso).unwrap_or(self.at);
        let is_person = text(message, "sender") == Some("human");
        let blocks = message.get("content").and_then(Value::as_array);
        let blocks: Vec<_> = blocks.into_iter().flatten().filter_map(Value::as_object).collect();
        if blocks.is_empty() {
            let words = text(message, "text").unwrap_or_default().to_owned();
            self.say(is_person, words + &attachments(message));
        } else {
            for block in &blocks {
                self.block(block, is_person);
            }
            let attached = attachments(message);
            if !attached.is_empty() {
                self.say(is_person, attached.trim_start().to_owned());
            }
        }
        self.counts.files += message.get("files").and_then(Value::as_array).map_or(0, Vec::len);
    }

    fn block(&mut self, block: &Map<String, Value>, is_person: bool) {
        match text(block, "type").unwrap_or_default() {
            "text" => self.say(is_person, text(block, "text").unwrap_or_default().to_owned()),
            "tool_use" => {
                self.calls += 1;
                let id = format!("call_{}", self.calls);
                self.open.push_back(id.clone());
                let said = ImportedPart::Call {
                    id,
                    tool: text(block, "name").unwrap_or("tool").to_owned(),
                    input: block.get("input").cloned().unwrap_or_default(),
                };
                self.messages.push(ImportedMessage { at: self.at, said });
            }
            "tool_result" => {
                let Some(id) = self.open.pop_front() else { return };
                let said = ImportedPart::Result {
                    id,
                    output: output(block.get("content")),
                    is_error: block.get("is_error").and_then(Value::as_bool).unwrap_or(false),
                };
                self.messages.push(ImportedMessage { at: self.at, said });
            }
            "thinking" => self.counts.reasoning += 1,
            _ => {}
        }
    }

    fn say(&mut self, is_person: bool, text: String) {
        let said = if is_person {
            ImportedPart::Person { text }
        } else {
            ImportedPart::Model { text, model: "anthropic/claude".to_owned() }
        };
        self.messages.push(ImportedMessage { at: self.at, said });
    }
}

fn output(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
            texts.collect::<Vec<_>>().join("\n")
        }
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

/// The texts of attachments, which the export holds completely.
fn attachments(message: &Map<String, Value>) -> String {
    let attached = message.get("attachments").and_then(Value::as_array);
    let mut words = String::new();
    for file in attached.into_iter().flatten().filter_map(Value::as_object) {
        if let Some(content) = text(file, "extracted_content") {
            let name = text(file, "file_name").unwrap_or("a file");
            words.push_str(&format!("\n\n{name}:\n{content}"));
        }
    }
    words
}

/// Imports the instructions and documents of projects as files of the vault.
fn projects(opened: &OpenedExport, reading: &mut Reading) -> Result<(), ImportError> {
    let file = "projects.json";
    if !opened.has(file) {
        return Ok(());
    }
    let projects = json_file(opened, file).and_then(|value| list(file, value));
    for project in reading.tolerate(projects)?.iter().flatten().filter_map(Value::as_object) {
        let name = text(project, "name").unwrap_or("project");
        let folder = format!(
            "claude/{}",
            Some(slug(name)).filter(|it| !it.is_empty()).unwrap_or_else(|| "project".to_owned())
        );
        if let Some(words) = text(project, "prompt_template") {
            let content = format!("# {name}\n\n{words}\n").into_bytes();
            add_file(reading, format!("{folder}/instructions.md"), content);
        }
        let documents = project.get("docs").and_then(Value::as_array);
        for document in documents.into_iter().flatten().filter_map(Value::as_object) {
            let (Some(name), Some(content)) =
                (text(document, "filename"), text(document, "content"))
            else {
                continue;
            };
            let name: String = name
                .chars()
                .map(|c| if matches!(c, '/' | '\\') || c.is_control() { '-' } else { c })
                .collect();
            add_file(reading, format!("{folder}/{name}"), content.as_bytes().to_vec());
        }
    }
    Ok(())
}

fn add_file(reading: &mut Reading, path: String, content: Vec<u8>) {
    reading.add(Item::File(ImportedFile { place: ImportTarget::Vault, path, content }));
}
