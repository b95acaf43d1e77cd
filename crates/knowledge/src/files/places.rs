//! Decides which files are indexed, and whose searches may see them. Only the path decides, never
//! the content.

use std::str::FromStr;

use onyx_storage::{Area, SourceKey, SourceKind};
use onyx_types::{PersonId, Scope};

/// The kind and scope of a file, as its path decides them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlacedFile {
    pub(crate) kind: SourceKind,
    pub(crate) scope: Scope,
}

/// The folders of a person that are indexed.
pub(crate) const PERSON_FOLDERS: [&str; 3] = ["memory", "vault", "spaces"];

/// The kind and scope of a file; `None` if the file is not indexed.
pub(crate) fn place_of(key: &SourceKey) -> Option<PlacedFile> {
    if is_hidden(&key.path) {
        return None;
    }
    let parts: Vec<&str> = key.path.split('/').collect();
    // This file describes a source and is not part of the source's text.
    if matches!(parts.as_slice(), [.., "sources", _, "source.json"]) {
        return None;
    }
    if key.person.is_none() {
        return Some(PlacedFile { kind: SourceKind::Shared, scope: Scope::Shared });
    }
    match parts.as_slice() {
        ["memory", agent, rest @ ..] => in_memory(agent, rest),
        // Reports of actions repeat what is in their sessions.
        ["vault", "agent", "runs", ..] => None,
        ["vault", _, ..] => place(SourceKind::Note, Some(Scope::Person)),
        ["spaces", space, folder, rest @ ..] => in_space(space, folder, rest),
        _ => None,
    }
}

/// Whether the name of a file or folder, or that of a folder above it, begins with a dot. Nothing at
/// such a path is indexed.
pub(crate) fn is_hidden(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with('.'))
}

fn in_memory(agent: &str, rest: &[&str]) -> Option<PlacedFile> {
    let scope = scoped(agent, Scope::Agent);
    match rest {
        ["daily", _] => place(SourceKind::Daily, scope),
        ["sources", _, ..] => place(SourceKind::Source, scope),
        [_, ..] => place(SourceKind::Memory, scope),
        [] => None,
    }
}

fn in_space(space: &str, folder: &str, rest: &[&str]) -> Option<PlacedFile> {
    let in_space = scoped(space, Scope::Space);
    match (folder, rest) {
        ("pages", [_]) => place(SourceKind::Page, in_space),
        ("tasks", [_]) => place(SourceKind::Task, in_space),
        ("refs", [_]) => place(SourceKind::Ref, in_space),
        ("projects", [_]) => place(SourceKind::Project, in_space),
        ("sources", [_, ..]) => place(SourceKind::Source, in_space),
        ("channels", [channel, "sources", _, ..]) => {
            place(SourceKind::Source, scoped(channel, Scope::Channel))
        }
        ("threads", [thread, "sources", _, ..]) => {
            place(SourceKind::Source, scoped(thread, Scope::Thread))
        }
        _ => None,
    }
}

fn place(kind: SourceKind, scope: Option<Scope>) -> Option<PlacedFile> {
    scope.map(|scope| PlacedFile { kind, scope })
}

fn scoped<Id: FromStr>(name: &str, scope: impl Fn(Id) -> Scope) -> Option<Scope> {
    name.parse().ok().map(scope)
}

/// The area that the files of a source are in.
pub(crate) fn area_of(person: Option<&PersonId>) -> Area {
    person.map_or(Area::Shared, |person| Area::Person(person.clone()))
}

/// The key of a path within an area; `None` if files of the area are not indexed.
pub(crate) fn key_in(area: &Area, path: &str) -> Option<SourceKey> {
    let person = match area {
        Area::Agent(_) => return None,
        Area::Shared => None,
        Area::Person(person) | Area::Vault(person) | Area::Memory(person, _) => {
            Some(person.clone())
        }
    };
    let path = match area.path_in_person().as_deref() {
        None | Some("") => path.to_owned(),
        Some(folder) => format!("{folder}/{path}"),
    };
    Some(SourceKey { person, path })
}

/// Whether the name of a file says that it holds no text, so that it need not be opened.
pub(crate) fn is_binary_name(path: &str) -> bool {
    const ENDS: &[&str] = &[
        "png", "jpg", "jpeg", "gif", "webp", "bmp", "ico", "tif", "tiff", "heic", "avif", "pdf",
        "zip", "gz", "xz", "zst", "bz2", "7z", "tar", "mp3", "mp4", "m4a", "mov", "wav", "ogg",
        "flac", "webm", "mkv", "avi", "woff", "woff2", "ttf", "otf", "exe", "dll", "so", "o", "a",
        "wasm", "db", "sqlite", "docx", "xlsx", "pptx", "odt", "ods", "epub", "gguf", "onnx",
        "bin", "pyc", "class", "jar",
    ];
    path.rsplit_once('.').is_some_and(|(_, end)| ENDS.contains(&end.to_ascii_lowercase().as_str()))
}
