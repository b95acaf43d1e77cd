//! Tests exports of conversations, which are written by hand as their makers document and write
//! them.

use std::fs;
use std::io::Write as _;

use onyx_import::{BrokenFiles, Import, ImportedPart, ImportedSession, Item, Source, read};
use zip::write::SimpleFileOptions;

use super::support::{copy_of, fixture, notes, read_copy};

fn only(import: &Import, title: &str) -> ImportedSession {
    let found = import.items.iter().find_map(|item| match item {
        Item::Session(session) if session.title.as_deref() == Some(title) => Some(session),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no session {title}")).clone()
}

fn talk(session: &ImportedSession) -> Vec<String> {
    let lines = session.messages.iter().map(|message| {
        let said = match &message.said {
            ImportedPart::Person { text } => format!("person: {text}"),
            ImportedPart::Model { text, model } => format!("{model}: {text}"),
            ImportedPart::Call { tool, input, .. } => format!("call {tool} {input}"),
            ImportedPart::Result { output, .. } => format!("result {output}"),
        };
        format!("{} {said}", message.at.as_millis())
    });
    lines.collect()
}

#[test]
fn a_conversation_of_chatgpt_is_the_branch_that_was_shown() {
    let import = read_copy(Source::ChatGpt, &fixture("chatgpt"));
    let eggs = only(&import, "Boiling eggs");
    assert_eq!(
        talk(&eggs),
        [
            "1700000000500 person: How long do eggs boil?",
            "1700000005000 call web {\"text\":\"search(\\\"egg times\\\")\"}",
            "1700000006000 result Soft: 6 minutes.",
            "1700000007000 openai/gpt-5: Six minutes for soft ones.",
            "1700000060000 person: And these?",
            "1700000065000 openai/gpt-5: Those are quail eggs: three minutes.",
        ]
    );
    assert!(only(&import, "Old plans").archived);
    assert_eq!(
        notes(&import),
        [
            "1 messages of other branches in Boiling eggs -> only the branch that was shown is imported",
            "1 thoughts of models in Boiling eggs -> only the provider can use them",
            "1 pictures and recordings in Boiling eggs -> only text is imported",
            "user.json -> it has no conversation",
        ]
    );
}

/// The single archive is what a person downloads.
#[test]
fn an_archive_and_a_single_file_say_what_the_folder_says() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("export.zip");
    let mut zip = zip::ZipWriter::new(fs::File::create(&archive).unwrap());
    for name in ["conversations.json", "user.json"] {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(&fs::read(fixture("chatgpt").join(name)).unwrap()).unwrap();
    }
    zip.finish().unwrap();
    let whole = read_copy(Source::ChatGpt, &fixture("chatgpt"));
    assert_eq!(read_copy(Source::ChatGpt, &archive), whole);
    let one = read_copy(Source::ChatGpt, &fixture("chatgpt").join("conversations.json"));
    assert_eq!(one.items[..2], whole.items[..2]);
}

#[test]
fn a_name_that_leads_out_of_an_archive_stops_it() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("export.zip");
    let mut zip = zip::ZipWriter::new(fs::File::create(&archive).unwrap());
    zip.start_file("../evil.json", SimpleFileOptions::default()).unwrap();
    zip.write_all(b"[]").unwrap();
    zip.finish().unwrap();
    let error = read(Source::ChatGpt, &archive, BrokenFiles::Stop).unwrap_err().to_string();
    assert_eq!(error, "export.zip, line 1: \"../evil.json\" leads out of the archive");
}

#[test]
fn a_broken_export_is_told_by_file_and_line() {
    let folder = copy_of("chatgpt");
    let path = folder.path().join("conversations.json");
    let text = fs::read_to_string(&path).unwrap();
    let cut: Vec<&str> = text.lines().take(40).collect();
    fs::write(&path, cut.join("\n")).unwrap();
    let error = read(Source::ChatGpt, folder.path(), BrokenFiles::Stop).unwrap_err().to_string();
    assert_eq!(error, "conversations.json, line 40: EOF while parsing an object");
    fs::write(&path, "[{\"id\": \"a\", \"create_time\": 1, \"mapping\": {}}]").unwrap();
    let error = read(Source::ChatGpt, folder.path(), BrokenFiles::Stop).unwrap_err().to_string();
    assert_eq!(error, "conversations.json, line 1: conversation 1: it has no `current_node`");
}

#[test]
fn conversations_and_projects_of_claude_are_read() {
    let import = read_copy(Source::Claude, &fixture("claude"));
    assert_eq!(
        talk(&only(&import, "A letter")),
        [
            "1770112800000 person: Shorten this letter.",
            "1770112800000 person: letter.txt:\nDear Ben, thank you.",
            "1770112860000 anthropic/claude: I count first.",
            "1770112860000 call repl {\"code\":\"4\"}",
            "1770112860000 result 4 words",
            "1770112860000 anthropic/claude: Thank you, Ben.",
        ]
    );
    let files: Vec<_> = import
        .items
        .iter()
        .filter_map(|item| match item {
            Item::File(file) => {
                Some((file.path.as_str(), String::from_utf8(file.content.clone()).unwrap()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        files,
        [
            (
                "claude/garden-book/instructions.md",
                "# Garden book\n\nAnswer like a gardener.\n".to_owned()
            ),
            ("claude/garden-book/beds.md", "# Beds\n\nBeans in the sun.".to_owned()),
        ]
    );
    assert_eq!(
        notes(&import),
        [
            "1 thoughts of models in A letter -> only the provider can use them",
            "1 pictures and files in A letter -> the export has their names and not their contents",
            "session 0b0c0d0e-0000-4000-8000-000000000002 -> it has no messages",
            "users.json -> it has no conversation and no document",
        ]
    );
}

#[test]
fn chats_of_open_webui_are_the_same_from_its_export_and_its_database() {
    let export = read_copy(Source::OpenWebUi, &fixture("open-webui"));
    assert_eq!(
        talk(&only(&export, "Trees")),
        ["1760000000000 person: Name a tree.", "1760000009000 open-webui/llama3: Birch."]
    );
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(fixture("open-webui/chat-export-1760000100.json")).unwrap();
    let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
    let database = rusqlite::Connection::open(folder.path().join("webui.db")).unwrap();
    database
        .execute_batch(
            "CREATE TABLE user (id TEXT, role TEXT, created_at INTEGER);
             INSERT INTO user VALUES ('u2', 'user', 1), ('u1', 'admin', 2);
             CREATE TABLE chat (id TEXT, user_id TEXT, title TEXT, chat TEXT, created_at INTEGER,
                updated_at INTEGER, archived BOOLEAN);
             INSERT INTO chat VALUES ('c2', 'u2', 'Not mine', '{}', 1, 1, 0);",
        )
        .unwrap();
    database
        .execute(
            "INSERT INTO chat VALUES ('c1', 'u1', 'Trees', ?1, 1760000000, 1760000009, 0)",
            [rows[0]["chat"].to_string()],
        )
        .unwrap();
    drop(database);
    let import = read_copy(Source::OpenWebUi, folder.path());
    assert_eq!(only(&import, "Trees"), only(&export, "Trees"));
    assert!(
        notes(&import).contains(
            &"1 chats of other accounts -> only those of the first administrator are imported"
                .to_owned()
        )
    );
}
