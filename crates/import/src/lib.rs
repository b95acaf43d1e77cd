//! Imports: homes and exports of other programs (OpenClaw, nanobot, Open WebUI, ChatGPT, Claude)
//! become one plain form, [`Import`], which is then written into a home.
//!
//! Readers (`openclaw/`, `nanobot/`, `chats/`) each know one foreign format and nothing of a home;
//! `writing/` knows homes and nothing of foreign formats. An export is read completely before
//! anything is written, so an error in it stops the import and names the file and the line. Each
//! item has an id derived from its origin, so that a second import finds it.
//!
//! Imported items are foreign: turns and files are `external`, and jobs and skills wait in the
//! vault until a person accepts them. The originals are only read. Nothing here decides who may
//! import, edits the config, or calls a model or the network.

mod chats;
mod error;
mod form;
mod ids;
mod nanobot;
mod openclaw;
mod reading;
mod report;
mod source;
mod writing;

pub use error::ImportError;
pub use form::{
    Import, ImportTarget, ImportedAgent, ImportedFile, ImportedJob, ImportedMessage, ImportedPart,
    ImportedSession, ImportedSetting, ImportedSkill, Item, Note, NoteKind, SettingPlace, SkillFile,
};
pub use reading::{BrokenFiles, JSON5, Upload};
pub use report::{Counts, Entry, ImportReport, Kind, Outcome, Remark};
pub use source::{Source, read, read_lines};
pub use writing::{ItemOutcome, Mode, Writer};
