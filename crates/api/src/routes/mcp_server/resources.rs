//! Offers the person's files (vault and memory) and conversations as resources.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use onyx_mcp::serving::{Refusal, Stop};
use onyx_storage::{SessionFilter, SourceKind, SourceRow};
use onyx_tools::PersonFiles;
use onyx_types::{percent_decoded, percent_encoded_path};
use serde_json::{Value, json};

use super::service::{AgentService, failed};
use crate::routes::sessions::export;

const FILES: &str = "onyx://files/";
const SESSIONS: &str = "onyx://sessions/";
const PAGE: usize = 200;
const MOST_SESSIONS: u32 = 50;
const MOST_COMPLETIONS: usize = 100;

/// Lists conversations, newest first, and then files by path, in pages.
pub(super) async fn list(service: &AgentService, params: &Value) -> Result<Value, Stop> {
    let after = params["cursor"].as_str();
    let mut resources = match after {
        None => sessions(service).await?,
        Some(_) => Vec::new(),
    };
    let paths = files(service).await?;
    let after = after.unwrap_or_default();
    let mut rest = paths.iter().filter(|row| row.key.path.as_str() > after);
    let page: Vec<&SourceRow> = rest.by_ref().take(PAGE).collect();
    resources.extend(page.iter().map(|row| {
        json!({
            "uri": format!("{FILES}{}", percent_encoded_path(&row.key.path)),
            "name": row.key.path,
            "title": row.title,
            "size": row.stamp.size,
        })
    }));
    let mut listed = json!({"resources": resources});
    if rest.next().is_some()
        && let Some(last) = page.last()
    {
        listed["nextCursor"] = json!(last.key.path);
    }
    Ok(listed)
}

async fn sessions(service: &AgentService) -> Result<Vec<Value>, Stop> {
    let filter = SessionFilter { limit: MOST_SESSIONS, ..SessionFilter::default() };
    let sessions = service.state.agent.sessions.list(&service.caller.person, &filter).await;
    let sessions = sessions.map_err(|fault| failed(&fault))?;
    let resource = |meta: &onyx_storage::SessionMeta| {
        let title = meta.title.as_deref().unwrap_or("Conversation");
        json!({
            "uri": format!("{SESSIONS}{}", meta.session_id),
            "name": title,
            "description": format!("A conversation with {}.", meta.agent),
            "mimeType": "text/markdown",
        })
    };
    Ok(sessions.iter().map(resource).collect())
}

/// Files by path. Conversations in the index are left out, because they are resources of their own.
async fn files(service: &AgentService) -> Result<Vec<SourceRow>, Stop> {
    let files = service.state.index.files(&service.caller.person).await;
    let mut files = files.map_err(|error| failed(&error.into()))?;
    files.retain(|row| !matches!(row.kind, SourceKind::Session | SourceKind::Shared));
    files.sort_by(|one, other| one.key.path.cmp(&other.key.path));
    Ok(files)
}

pub(super) fn templates() -> Value {
    json!({"resourceTemplates": [
        {"uriTemplate": format!("{FILES}{{+path}}"), "name": "file",
            "description": "A file of the vault or the memory, by its path."},
        {"uriTemplate": format!("{SESSIONS}{{id}}"), "name": "conversation",
            "description": "A conversation, as a page to read.", "mimeType": "text/markdown"},
    ]})
}

pub(super) async fn read(service: &AgentService, params: &Value) -> Result<Value, Stop> {
    let Some(uri) = params["uri"].as_str() else {
        return Err(Refusal::params("params.uri: missing; name a resource").into());
    };
    let missing = || Stop::NoSuchResource(uri.to_owned());
    let content = if let Some(id) = uri.strip_prefix(SESSIONS) {
        let text = export::markdown(&service.state, &service.caller.person, id).await;
        let text = text.map_err(|_| missing())?;
        json!({"uri": uri, "mimeType": "text/markdown", "text": text})
    } else {
        let path = uri.strip_prefix(FILES).and_then(percent_decoded).ok_or_else(missing)?;
        let files = Arc::clone(&service.state.store.files);
        let person = service.caller.person.clone();
        let own = PersonFiles::new(files, person, service.state.agent.clock());
        let found = own.read(&path).await.ok().flatten().ok_or_else(missing)?;
        match String::from_utf8(found.bytes) {
            Ok(text) => json!({"uri": uri, "mimeType": "text/markdown", "text": text}),
            Err(error) => {
                let blob = BASE64.encode(error.as_bytes());
                json!({"uri": uri, "mimeType": "application/octet-stream", "blob": blob})
            }
        }
    };
    Ok(json!({"contents": [content]}))
}

/// Paths that begin with what was typed.
pub(super) async fn complete(service: &AgentService, params: &Value) -> Result<Value, Stop> {
    let typed = params["argument"]["value"].as_str().unwrap_or_default();
    let is_path = params["argument"]["name"] == "path";
    let files = if is_path { files(service).await? } else { Vec::new() };
    let paths = files.iter().map(|row| row.key.path.as_str());
    let found: Vec<&str> = paths.filter(|path| path.starts_with(typed)).collect();
    let values = &found[..found.len().min(MOST_COMPLETIONS)];
    let more = values.len() < found.len();
    Ok(json!({"completion": {"values": values, "total": found.len(), "hasMore": more}}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_comes_back_from_its_address() {
        for path in ["vault/a.md", "vault/Zürich & co/100%.md", "memory/ä?#.md"] {
            let address = percent_encoded_path(path);
            assert!(address.is_ascii() && !address.contains(['?', '#', ' ', '&']), "{address}");
            assert_eq!(percent_decoded(&address).as_deref(), Some(path));
        }
    }
}
