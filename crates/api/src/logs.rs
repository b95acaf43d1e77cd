//! The newest lines of the log, for the owner to look at and to follow.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use onyx_types::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::broadcast;

const MOST_LINES: usize = 2_000;
/// Lines that a slow reader may be behind before it misses some.
const BEHIND: usize = 256;
const LONGEST: usize = 4_096;

/// One thing that was logged.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LogLine {
    /// Rises by one with each line; give it as `after` to go on from there.
    pub seq: u64,
    pub ts: Timestamp,
    pub level: LogLevel,
    /// Which part of the program says it.
    pub target: String,
    pub message: String,
    /// Run, session, request and other details.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub fields: Map<String, Value>,
}

#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    #[default]
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

/// Takes secrets out of a text.
pub type Mask = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Keeps so many lines and no more.
pub struct LogRing {
    lines: Mutex<(u64, VecDeque<Arc<LogLine>>)>,
    told: broadcast::Sender<Arc<LogLine>>,
    mask: RwLock<Option<Mask>>,
}

impl Default for LogRing {
    fn default() -> Self {
        let (told, _) = broadcast::channel(BEHIND);
        Self { lines: Mutex::default(), told, mask: RwLock::default() }
    }
}

impl LogRing {
    /// What no line may hold from now on.
    pub fn set_mask(&self, mask: Mask) {
        *self.mask.write().unwrap_or_else(PoisonError::into_inner) = Some(mask);
    }

    pub fn push(
        &self,
        ts: Timestamp,
        level: LogLevel,
        target: &str,
        message: &str,
        fields: Map<String, Value>,
    ) {
        let mask = self.mask.read().unwrap_or_else(PoisonError::into_inner).clone();
        let clean = |text: &str| {
            let text = &text[..text.floor_char_boundary(LONGEST)];
            mask.as_ref().map_or_else(|| text.to_owned(), |mask| mask(text))
        };
        let fields = fields.into_iter().map(|(name, value)| match value {
            Value::String(text) => (name, clean(&text).into()),
            other => (name, other),
        });
        let (fields, message) = (fields.collect(), clean(message));
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.0 += 1;
        let line = LogLine { seq: lines.0, ts, level, target: target.to_owned(), message, fields };
        let line = Arc::new(line);
        if lines.1.len() == MOST_LINES {
            lines.1.pop_front();
        }
        lines.1.push_back(Arc::clone(&line));
        // Nobody may be listening.
        let _ = self.told.send(line);
    }

    /// What is kept after a line, and what comes from now on.
    pub(crate) fn follow(
        &self,
        after: u64,
    ) -> (Vec<Arc<LogLine>>, broadcast::Receiver<Arc<LogLine>>) {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = lines.1.iter().filter(|line| line.seq > after).cloned().collect();
        (kept, self.told.subscribe())
    }
}

/// Which lines somebody wants to see.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogFilter {
    pub(crate) level: LogLevel,
    /// In lower case.
    pub(crate) text: Option<String>,
}

impl LogFilter {
    pub(crate) fn shows(&self, line: &LogLine) -> bool {
        let mentions = |wanted: &String| {
            let said = |text: &str| text.to_lowercase().contains(wanted);
            said(&line.message)
                || said(&line.target)
                || line
                    .fields
                    .values()
                    .any(|value| value.as_str().map_or_else(|| said(&value.to_string()), said))
        };
        line.level >= self.level && self.text.as_ref().is_none_or(mentions)
    }
}
