use std::sync::{Arc, OnceLock};

use onyx_types::{Hash, SystemBlock, estimate_tokens};

use super::house_rules::HOUSE_RULES;

/// The texts that parts 2 to 4 are made of, as read from the person's and the agent's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptSources {
    pub agent_name: String,
    pub identity: Option<String>,
    pub soul: Option<String>,
    pub agents: Option<String>,
    pub tools: Option<String>,
    /// One line per skill.
    pub skills: Vec<String>,
    pub user: Option<String>,
    pub standing_instructions: Option<String>,
    pub memory: Option<String>,
    /// Date and text, oldest first.
    pub daily: Vec<(String, String)>,
    /// Space, channel and thread the session lives in.
    pub place: Option<String>,
}

/// Parts 1 to 4 of a session's prompts, rendered once and sent byte-equal until they must change.
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

const MAX_FILE: usize = 16 * 1024;
const MAX_MEMORY: usize = 12 * 1024;
const MAX_DAILY: usize = 4 * 1024;

impl PromptSnapshot {
    /// With a client's words at the end: they add to what the agent is and replace nothing.
    pub fn followed_by(&self, words: &str) -> Self {
        self.with(format!("# From the client of this conversation\n{words}"))
    }

    pub(crate) fn with(&self, text: String) -> Self {
        let last = SystemBlock { text, stable: true };
        Self::new(self.system.iter().cloned().chain([last]))
    }

    /// What it weighs on a prompt, by the rule that holds for all models. Weighed once: sessions
    /// share it.
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

    /// With every block as the function makes it.
    pub(crate) fn render_with(&self, change: impl Fn(String) -> String) -> PromptSnapshot {
        let agent = format!("{HOUSE_RULES}\n\n{}", self.agent());
        let person = Some(self.person()).filter(|person| !person.is_empty());
        let texts = [agent].into_iter().chain(person);
        PromptSnapshot::new(texts.map(|text| SystemBlock { text: change(text), stable: true }))
    }

    /// What tells one rendering's material from another's.
    pub fn fingerprint(&self) -> Hash {
        Hash::of(format!("{self:?}").as_bytes())
    }

    fn agent(&self) -> String {
        let mut text = format!("Your name is {}.", self.agent_name);
        section(&mut text, "Identity", self.identity.as_deref(), MAX_FILE);
        section(&mut text, "Soul", self.soul.as_deref(), MAX_FILE);
        section(&mut text, "Working rules", self.agents.as_deref(), MAX_FILE);
        section(&mut text, "Tool notes", self.tools.as_deref(), MAX_FILE);
        if !self.skills.is_empty() {
            section(&mut text, "Skills", Some(&self.skills.join("\n")), MAX_FILE);
        }
        text
    }

    fn person(&self) -> String {
        let mut text = String::new();
        section(&mut text, "The person", self.user.as_deref(), MAX_FILE);
        section(
            &mut text,
            "Standing instructions",
            self.standing_instructions.as_deref(),
            MAX_FILE,
        );
        section(&mut text, "Memory", self.memory.as_deref(), MAX_MEMORY);
        for (date, log) in &self.daily {
            section(&mut text, &format!("Daily log {date}"), Some(log), MAX_DAILY);
        }
        section(&mut text, "Where this conversation lives", self.place.as_deref(), MAX_FILE);
        text
    }
}

fn section(into: &mut String, title: &str, body: Option<&str>, max_bytes: usize) {
    let Some(body) = body.map(str::trim).filter(|body| !body.is_empty()) else {
        return;
    };
    if !into.is_empty() {
        into.push_str("\n\n");
    }
    into.push_str("# ");
    into.push_str(title);
    into.push('\n');
    into.push_str(&bounded(body, max_bytes));
}

/// The text, or its end with a note where it was cut: the newest lines of memory matter most.
pub fn bounded(text: &str, max_bytes: usize) -> std::borrow::Cow<'_, str> {
    if text.len() <= max_bytes {
        return text.into();
    }
    let mut start = text.len() - max_bytes;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    format!("[{start} earlier bytes left out]\n{}", &text[start..]).into()
}
