use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use onyx_types::{Hash, SystemBlock, estimate_tokens};

use super::house_rules::HOUSE_RULES;

/// The texts that parts 2 to 4 are made of, as read from the person's and the agent's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptSources {
    pub agent_name: String,
    pub identity: Option<FileText>,
    pub soul: Option<FileText>,
    pub agents: Option<FileText>,
    pub tools: Option<FileText>,
    pub user: Option<FileText>,
    pub standing_instructions: Option<FileText>,
    /// The skills that can be opened, one line each.
    pub skills: Option<String>,
    pub memory: Option<FileText>,
    /// Date and text, oldest first.
    pub daily: Vec<(String, FileText)>,
    /// Space, channel and thread the session lives in.
    pub place: Option<String>,
}

/// The content of a file, or its end if the file is too long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileText {
    pub text: String,
    /// How many bytes of the file come before the text.
    pub before: u64,
}

impl<T: Into<String>> From<T> for FileText {
    fn from(text: T) -> Self {
        Self { text: text.into(), before: 0 }
    }
}

/// The stable parts of a session's prompts. They are rendered once and then sent unchanged, byte by
/// byte, as long as possible.
#[derive(Clone, Debug, Default)]
pub struct PromptSnapshot {
    pub system: Arc<[SystemBlock]>,
    tokens: OnceLock<usize>,
}

impl PartialEq for PromptSnapshot {
    fn eq(&self, other: &Self) -> bool {
        self.system == other.system
    }
}

pub(crate) const MAX_FILE: usize = 16 * 1024;
const MAX_MEMORY: usize = 12 * 1024;
pub(crate) const MAX_DAILY: usize = 4 * 1024;

impl PromptSnapshot {
    /// A snapshot of this text alone.
    pub(crate) fn of(text: &str) -> Self {
        Self::new([SystemBlock { text: text.to_owned(), stable: true }])
    }

    /// Adds instructions of a client at the end. They do not replace the agent's own.
    pub fn followed_by(&self, words: &str) -> Self {
        self.with(format!("# From the client of this conversation\n{words}"))
    }

    pub(crate) fn with(&self, text: String) -> Self {
        let last = SystemBlock { text, stable: true };
        Self::new(self.system.iter().cloned().chain([last]))
    }

    /// The size in tokens, by the estimate that is used for all models. It is computed once.
    pub fn tokens(&self) -> usize {
        let weight = || self.system.iter().map(|block| estimate_tokens(&block.text)).sum();
        *self.tokens.get_or_init(weight)
    }

    fn new(system: impl IntoIterator<Item = SystemBlock>) -> Self {
        Self { system: system.into_iter().collect(), tokens: OnceLock::new() }
    }
}

impl PromptSources {
    pub fn render(&self) -> PromptSnapshot {
        self.render_with(|text| text)
    }

    /// Renders each block through `change`, which masks secrets.
    pub(crate) fn render_with(&self, change: impl Fn(String) -> String) -> PromptSnapshot {
        let agent = format!("{HOUSE_RULES}\n\n{}", self.agent());
        let person = Some(self.person()).filter(|person| !person.is_empty());
        let texts = [agent].into_iter().chain(person);
        PromptSnapshot::new(texts.map(|text| SystemBlock { text: change(text), stable: true }))
    }

    /// Tells whether two renderings are made from the same texts.
    pub fn fingerprint(&self) -> Hash {
        Hash::of(format!("{self:?}").as_bytes())
    }

    fn agent(&self) -> String {
        let mut text = format!("Your name is {}.", self.agent_name);
        section(&mut text, "Identity", self.identity.as_ref(), MAX_FILE);
        section(&mut text, "Soul", self.soul.as_ref(), MAX_FILE);
        section(&mut text, "Working rules", self.agents.as_ref(), MAX_FILE);
        section(&mut text, "Tool notes", self.tools.as_ref(), MAX_FILE);
        text
    }

    fn person(&self) -> String {
        let mut text = String::new();
        section(&mut text, "The person", self.user.as_ref(), MAX_FILE);
        section(&mut text, "Standing instructions", self.standing_instructions.as_ref(), MAX_FILE);
        let skills = self.skills.as_deref().map(FileText::from);
        section(&mut text, "Skills", skills.as_ref(), MAX_FILE);
        section(&mut text, "Memory", self.memory.as_ref(), MAX_MEMORY);
        for (date, log) in &self.daily {
            section(&mut text, &format!("Daily log {date}"), Some(log), MAX_DAILY);
        }
        let place = self.place.as_deref().map(FileText::from);
        section(&mut text, "Where this conversation lives", place.as_ref(), MAX_FILE);
        text
    }
}

fn section(into: &mut String, title: &str, file: Option<&FileText>, max_bytes: usize) {
    let Some(FileText { text, before }) = file.filter(|file| !file.text.trim().is_empty()) else {
        return;
    };
    if !into.is_empty() {
        into.push_str("\n\n");
    }
    into.push_str("# ");
    into.push_str(title);
    into.push('\n');
    into.push_str(&bounded(text.trim(), *before, max_bytes));
}

/// The text, or its end with a note about what was left out. The end is kept, because the newest
/// lines of memory matter most.
pub(crate) fn bounded(text: &str, before: u64, max_bytes: usize) -> Cow<'_, str> {
    let start = text.ceil_char_boundary(text.len().saturating_sub(max_bytes));
    match before + start as u64 {
        0 => text.into(),
        left_out => format!("[{left_out} earlier bytes left out]\n{}", &text[start..]).into(),
    }
}
