//! Conversations in LoCoMo's form: sessions of turns, and questions with the turns that answer
//! them. They are stored outside of this project, and nothing of them is copied into it.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use onyx_types::{
    AssistantText, Author, IdGenerator, LaneId, Origin, TextStatus, Timestamp, Turn, TurnBody,
    UserContent,
};
use serde::Deserialize;
use serde_json::Value;

pub(crate) struct Conversation {
    pub(crate) name: String,
    sessions: Vec<Session>,
    first_speaker: String,
    pub(crate) questions: Vec<Question>,
}

struct Session {
    at: Timestamp,
    turns: Vec<Utterance>,
}

#[derive(Deserialize)]
struct Utterance {
    dia_id: String,
    speaker: String,
    text: String,
    blip_caption: Option<String>,
}

pub(crate) struct Question {
    pub(crate) question: String,
    pub(crate) category: u8,
    pub(crate) evidence: Vec<String>,
}

pub(crate) const CATEGORIES: [(u8, &str); 4] =
    [(1, "several places"), (2, "when"), (3, "inference"), (4, "one place")];

/// The form in which a conversation is put into a home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filed {
    /// A log of turns for each session.
    AsMessages,
    /// A note for each turn.
    AsNotes,
}

impl fmt::Display for Filed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AsMessages => "by message",
            Self::AsNotes => "as one note a turn",
        })
    }
}

/// The files of a home, and the turn that each hit belongs to.
type Files = (Vec<(String, String)>, HashMap<String, String>);

pub(crate) fn read(folder: &Path) -> Result<Vec<Conversation>> {
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .with_context(|| folder.display().to_string())?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
    paths.sort();
    if paths.is_empty() {
        bail!("{}: there are no conversations", folder.display());
    }
    paths.iter().map(|path| one(path).with_context(|| path.display().to_string())).collect()
}

fn one(path: &Path) -> Result<Conversation> {
    let whole: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    let mut sessions = Vec::new();
    for number in 1.. {
        let Some(turns) = whole.get(format!("session_{number}")) else { break };
        let at = whole[format!("session_{number}_date_time")].as_str().unwrap_or_default();
        sessions.push(Session { at: time(at)?, turns: Vec::deserialize(turns)? });
    }
    let known: Vec<&str> = sessions
        .iter()
        .flat_map(|session| session.turns.iter().map(|said| said.dia_id.as_str()))
        .collect();
    let questions = whole["qa"].as_array().into_iter().flatten();
    let questions = questions.filter_map(|row| question(row, &known)).collect();
    Ok(Conversation {
        name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        first_speaker: whole["speaker_a"].as_str().unwrap_or_default().to_owned(),
        sessions,
        questions,
    })
}

/// Reads a question; `None` if it has no answer, or its answer is not among the known turns.
fn question(row: &Value, known: &[&str]) -> Option<Question> {
    let category = u8::try_from(row["category"].as_u64()?).ok().filter(|of| *of != 5)?;
    let named = row["evidence"].as_array()?.iter().filter_map(Value::as_str);
    let mut evidence: Vec<String> = named
        .flat_map(|text| text.split([';', ',', ' ']))
        .map(|id| id.trim_matches(['(', ')']).to_owned())
        .filter(|id| known.contains(&id.as_str()))
        .collect();
    evidence.sort();
    evidence.dedup();
    let question = row["question"].as_str()?.to_owned();
    (!evidence.is_empty()).then_some(Question { question, category, evidence })
}

/// Parses a time such as `1:56 pm on 8 May, 2023`.
fn time(text: &str) -> Result<Timestamp> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let read = || {
        let (clock, day) = text.split_once(" on ")?;
        let (time, half) = clock.split_once(' ')?;
        let (hour, minute) = time.split_once(':')?;
        let hour = hour.parse::<u32>().ok()? % 12 + if half == "pm" { 12 } else { 0 };
        let parts: Vec<&str> = day.split([' ', ',']).filter(|part| !part.is_empty()).collect();
        let [day, month, year] = parts.as_slice() else { return None };
        let month = MONTHS.iter().position(|name| month.starts_with(name))? + 1;
        let day: u32 = day.parse().ok()?;
        format!("{year}-{month:02}-{day:02}T{hour:02}:{minute}:00Z").parse().ok()
    };
    read().with_context(|| format!("not a time: {text:?}"))
}

impl Utterance {
    fn words(&self) -> String {
        match &self.blip_caption {
            Some(caption) => format!("{} [shares {caption}]", self.text),
            None => self.text.clone(),
        }
    }
}

impl Conversation {
    pub(crate) fn files(&self, filed: Filed) -> Result<Files> {
        match filed {
            Filed::AsMessages => self.logs(),
            Filed::AsNotes => Ok(self.notes()),
        }
    }

    fn logs(&self) -> Result<Files> {
        let (mut files, mut named) = (Vec::new(), HashMap::new());
        let mut mint = IdGenerator::new(1);
        for session in &self.sessions {
            let (id, run) = (mint.session(session.at), mint.run(session.at));
            let mut log = String::new();
            for (minute, said) in (0..).zip(&session.turns) {
                let ts = Timestamp::from_millis(session.at.as_millis() + minute * 60_000);
                let turn = Turn {
                    id: mint.turn(ts),
                    ts,
                    run: Some(run),
                    lane: LaneId::default(),
                    author: self.author(&said.speaker)?,
                    origin: Origin::Person,
                    body: self.body(said),
                    extra: serde_json::Map::new(),
                };
                named.insert(turn.id.to_string(), said.dia_id.clone());
                log.push_str(&serde_json::to_string(&turn)?);
                log.push('\n');
            }
            files.push((format!("people/owner/sessions/main/{id}.jsonl"), log));
        }
        Ok((files, named))
    }

    fn author(&self, speaker: &str) -> Result<Author> {
        let name = speaker.to_lowercase();
        Ok(if speaker == self.first_speaker {
            Author::Person(name.parse()?)
        } else {
            Author::Agent(name.parse()?)
        })
    }

    fn body(&self, said: &Utterance) -> TurnBody {
        if said.speaker == self.first_speaker {
            return TurnBody::User(UserContent::Text(said.words()).into());
        }
        TurnBody::AssistantText(AssistantText {
            content: said.words(),
            status: TextStatus::Complete,
            model: "judge/none".to_owned(),
            provider_data: None,
        })
    }

    fn notes(&self) -> Files {
        let (mut files, mut named) = (Vec::new(), HashMap::new());
        for session in &self.sessions {
            for said in &session.turns {
                let path = format!("vault/talk/{}.md", said.dia_id.replace(':', "-"));
                let date = session.at.utc_date();
                let text = format!("---\ndate: {date}\n---\n{}: {}\n", said.speaker, said.words());
                files.push((format!("people/owner/{path}"), text));
                named.insert(path, said.dia_id.clone());
            }
        }
        (files, named)
    }
}

/// The turns in an answer of the server in order, each only once.
pub(crate) fn found_in(
    answer: &Value,
    filed: Filed,
    named: &HashMap<String, String>,
) -> Vec<String> {
    let field = match filed {
        Filed::AsMessages => "turn",
        Filed::AsNotes => "path",
    };
    let mut found = Vec::new();
    for hit in answer["results"].as_array().into_iter().flatten() {
        let turn = hit[field].as_str().and_then(|name| named.get(name));
        found.extend(turn.filter(|turn| !found.contains(*turn)).cloned());
    }
    found
}
