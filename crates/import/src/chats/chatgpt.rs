//! ChatGPT's export: `conversations.json`, or several `conversations-000.json`. A conversation is a
//! tree of messages; the branch that was shown goes from `current_node` to the root.

use std::collections::HashMap;

use onyx_types::Timestamp;
use serde_json::{Map, Value, json};

use super::tree::path;
use crate::error::ImportError;
use crate::form::{ImportedMessage, ImportedPart, ImportedSession};
use crate::reading::{OpenedExport, Reading, json_file, number, object, seconds, text};

pub(crate) fn read(opened: &OpenedExport, reading: &mut Reading) -> Result<(), ImportError> {
    let files = conversation_files(opened)?;
    for file in &files {
        let conversations = json_file(opened, file).and_then(|value| list(file, value));
        let Some(conversations) = reading.tolerate(conversations)? else { continue };
        for (index, value) in conversations.iter().enumerate() {
            let read = conversation(file, index, value);
            let Some((session, counts)) = reading.tolerate(read)? else { continue };
            counts.tell(&session, reading);
            reading.add_session(session);
        }
    }
    if opened.only().is_none() {
        tell_the_rest(opened, &files, reading)?;
    }
    Ok(())
}

fn conversation_files(opened: &OpenedExport) -> Result<Vec<String>, ImportError> {
    if let Some(only) = opened.only() {
        return Ok(vec![only.to_owned()]);
    }
    let is_one = |name: &String| name.starts_with("conversations") && name.ends_with(".json");
    let files: Vec<String> = opened.names("")?.into_iter().filter(is_one).collect();
    if files.is_empty() {
        let why = "it holds no conversations.json".to_owned();
        let path = opened.root().to_owned();
        return Err(ImportError::NotIt { path, program: "export of ChatGPT", why });
    }
    Ok(files)
}

/// Names the rest of the archive in the report, with one line for each kind.
fn tell_the_rest(
    opened: &OpenedExport,
    taken: &[String],
    reading: &mut Reading,
) -> Result<(), ImportError> {
    let (mut pictures, mut others) = (0, Vec::new());
    for name in opened.names("")?.into_iter().filter(|name| !taken.contains(name)) {
        if name.ends_with(".json") || name.ends_with(".html") {
            others.push(name);
        } else {
            pictures += 1;
        }
    }
    if pictures > 0 {
        reading.left_out(
            format!("{pictures} pictures, recordings and folders of them"),
            "only the text of conversations is imported",
        );
    }
    if !others.is_empty() {
        reading.left_out(others.join(", "), "it has no conversation");
    }
    Ok(())
}

fn list(file: &str, value: Value) -> Result<Vec<Value>, ImportError> {
    match value {
        Value::Array(list) => Ok(list),
        _ => Err(ImportError::broken(file, 1, "a list of conversations is expected")),
    }
}

/// The parts of a conversation that were left out.
#[derive(Default)]
struct Counts {
    beside: usize,
    reasoning: usize,
    media: usize,
}

impl Counts {
    fn tell(&self, session: &ImportedSession, reading: &mut Reading) {
        let name = session.title.as_ref().unwrap_or(&session.key);
        for (count, what, why) in [
            (
                self.beside,
                "messages of other branches",
                "only the branch that was shown is imported",
            ),
            (self.reasoning, "thoughts of models", "only the provider can use them"),
            (self.media, "pictures and recordings", "only text is imported"),
        ] {
            if count > 0 {
                reading.left_out(format!("{count} {what} in {name}"), why);
            }
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
    let key = text(fields, "conversation_id").or_else(|| text(fields, "id"));
    let key = key.ok_or_else(|| flaw("it has no id"))?;
    let mapping = object(fields, "mapping").ok_or_else(|| flaw("it has no `mapping`"))?;
    let created_at = number(fields, "create_time").map(seconds);
    let created_at = created_at.ok_or_else(|| flaw("it has no `create_time`"))?;
    let nodes: HashMap<&str, &Map<String, Value>> =
        mapping.iter().filter_map(|(id, node)| Some((id.as_str(), node.as_object()?))).collect();
    let newest = text(fields, "current_node").ok_or_else(|| flaw("it has no `current_node`"))?;
    if !nodes.contains_key(newest) {
        return Err(flaw("its `current_node` is not in its `mapping`"));
    }
    let (way, beside) = path(&nodes, newest, |node| text(node, "parent"));
    let mut talk =
        ChatGptChat { messages: Vec::new(), at: created_at, call: None, counts: Counts::default() };
    for message in way.iter().filter_map(|node| object(node, "message")) {
        talk.add(message);
    }
    let said_beside = nodes.values().filter(|node| object(node, "message").is_some()).count();
    let said_here = way.iter().filter(|node| object(node, "message").is_some()).count();
    let beside = beside.min(said_beside - said_here);
    let session = ImportedSession {
        key: key.to_owned(),
        agent: None,
        title: text(fields, "title").map(str::to_owned),
        archived: fields.get("is_archived").and_then(Value::as_bool).unwrap_or(false),
        created_at,
        messages: talk.messages,
    };
    Ok((session, Counts { beside, ..talk.counts }))
}

struct ChatGptChat {
    messages: Vec<ImportedMessage>,
    at: Timestamp,
    /// The call that has no answer yet.
    call: Option<String>,
    counts: Counts,
}

impl ChatGptChat {
    fn add(&mut self, message: &Map<String, Value>) {
        let author = object(message, "author");
        let role = author.and_then(|author| text(author, "role")).unwrap_or_default();
        let metadata = object(message, "metadata");
        let hidden = metadata.and_then(|it| it.get("is_visually_hidden_from_conversation"));
        if hidden.and_then(Value::as_bool).unwrap_or(false) || role == "system" {
            return;
        }
        self.at = number(message, "create_time").map_or(self.at, seconds);
        let Some(content) = object(message, "content") else { return };
        let kind = text(content, "content_type").unwrap_or_default();
        if matches!(kind, "thoughts" | "reasoning_recap") {
            self.counts.reasoning += 1;
            return;
        }
        let words = self.words(content);
        let id = text(message, "id").unwrap_or_default().to_owned();
        let said = match role {
            "user" => ImportedPart::Person { text: words },
            "tool" => {
                let tool = author.and_then(|author| text(author, "name")).unwrap_or("tool");
                let Some(id) = self.call.take() else {
                    return self.result_without_call(id, tool.to_owned(), words);
                };
                ImportedPart::Result { id, output: words, is_error: kind == "system_error" }
            }
            _ => match text(message, "recipient").filter(|to| *to != "all") {
                Some(tool) => {
                    self.call = Some(id.clone());
                    ImportedPart::Call { id, tool: tool.to_owned(), input: json!({"text": words}) }
                }
                None => {
                    let model = metadata.and_then(|metadata| text(metadata, "model_slug"));
                    let model = format!("openai/{}", model.unwrap_or("chatgpt"));
                    ImportedPart::Model { text: words, model }
                }
            },
        };
        self.messages.push(ImportedMessage { at: self.at, said });
    }

    /// Adds a result with a call of its own: tools may answer without a call, or several times.
    fn result_without_call(&mut self, id: String, tool: String, output: String) {
        if output.trim().is_empty() {
            return;
        }
        let call = ImportedPart::Call { id: id.clone(), tool, input: json!({}) };
        let result = ImportedPart::Result { id, output, is_error: false };
        self.messages.extend([call, result].map(|said| ImportedMessage { at: self.at, said }));
    }

    fn words(&mut self, content: &Map<String, Value>) -> String {
        if let Some(text) = text(content, "text").or_else(|| text(content, "result")) {
            return text.to_owned();
        }
        let parts = content.get("parts").and_then(Value::as_array);
        let mut words = Vec::new();
        for part in parts.into_iter().flatten() {
            match part {
                Value::String(text) => words.push(text.as_str()),
                Value::Object(part) => match text(part, "text") {
                    Some(text) => words.push(text),
                    None => self.counts.media += 1,
                },
                _ => {}
            }
        }
        words.join("\n")
    }
}
