//! The newest lines of the log, for the owner to look at and to follow.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use onyx_types::{Timestamp, visible};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::broadcast;

const MOST_LINES: usize = 2_000;
/// The number of lines that a slow reader may be behind before it misses some.
const BEHIND: usize = 256;
const LONGEST: usize = 4_096;

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LogLine {
    /// Rises by one with each line; give it as `after` to continue from there.
    pub seq: u64,
    pub ts: Timestamp,
    pub level: LogLevel,
    /// The part of the program that logged the line.
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

impl LogLevel {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// Takes secrets out of a text.
pub type Mask = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Changes the log level; `None`: the level at the start.
pub type SetLevel = Arc<dyn Fn(Option<LogLevel>) -> Result<(), String> + Send + Sync>;

/// The current log level, and the level at the next start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LogLevels {
    /// This level and more severe ones.
    pub level: LogLevel,
    /// The level at the next start: that of `ONYX_LOG`, or `info`.
    pub at_start: LogLevel,
}

struct LevelControl {
    levels: LogLevels,
    set: SetLevel,
}

/// Keeps a fixed number of the newest lines.
pub struct LogRing {
    lines: Mutex<Lines>,
    followers: broadcast::Sender<Arc<LogLine>>,
    mask: RwLock<Option<Mask>>,
    /// Changes the log level of the process. Without it, only the ring's own level changes.
    control: RwLock<Option<LevelControl>>,
}

#[derive(Default)]
struct Lines {
    last: u64,
    /// Lines as JSON, which takes far less memory than a line with its fields: every run writes
    /// one, and few are ever read.
    packed: VecDeque<(u64, Box<[u8]>)>,
}

impl Default for LogRing {
    fn default() -> Self {
        let (followers, _) = broadcast::channel(BEHIND);
        Self {
            lines: Mutex::default(),
            followers,
            mask: RwLock::default(),
            control: RwLock::default(),
        }
    }
}

impl LogLine {
    fn packed(&self) -> Box<[u8]> {
        let Self { seq: _, ts, level, target, message, fields } = self;
        // Serialising texts and numbers cannot fail; logging a failure here would add another line.
        serde_json::to_vec(&(ts, level, target, message, fields)).unwrap_or_default().into()
    }

    fn unpacked(seq: u64, packed: &[u8]) -> Option<Self> {
        let (ts, level, target, message, fields) = serde_json::from_slice(packed).ok()?;
        Some(Self { seq, ts, level, target, message, fields })
    }
}

impl LogRing {
    /// Sets the secrets to mask in all lines from now on.
    pub fn set_mask(&self, mask: Mask) {
        *self.mask.write().unwrap_or_else(PoisonError::into_inner) = Some(mask);
    }

    /// Sets the function that changes the level, and the level at the start.
    pub fn set_control(&self, at_start: LogLevel, set: SetLevel) {
        let levels = LogLevels { level: at_start, at_start };
        *self.control.write().unwrap_or_else(PoisonError::into_inner) =
            Some(LevelControl { levels, set });
    }

    pub(crate) fn levels(&self) -> LogLevels {
        let control = self.control.read().unwrap_or_else(PoisonError::into_inner);
        let usual = LogLevels { level: LogLevel::Info, at_start: LogLevel::Info };
        control.as_ref().map_or(usual, |control| control.levels)
    }

    /// `None` resets the level to that at the start.
    pub(crate) fn set_level(&self, level: Option<LogLevel>) -> Result<LogLevels, String> {
        let mut control = self.control.write().unwrap_or_else(PoisonError::into_inner);
        let control = control.as_mut().ok_or("the log level cannot be changed here")?;
        (control.set)(level)?;
        control.levels.level = level.unwrap_or(control.levels.at_start);
        Ok(control.levels)
    }

    /// A text without the currently known secrets.
    pub fn masked<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mask = self.mask.read().unwrap_or_else(PoisonError::into_inner).clone();
        mask.map_or(Cow::Borrowed(text), |mask| Cow::Owned(mask(text)))
    }

    pub fn push(
        &self,
        ts: Timestamp,
        level: LogLevel,
        target: &str,
        message: &str,
        mut fields: Map<String, Value>,
    ) {
        // The line is masked before it is cut, because a cut could leave half a secret.
        let clean = |text: &str| {
            let text = self.masked(text);
            visible(&text[..text.floor_char_boundary(LONGEST)]).into_owned()
        };
        for value in fields.values_mut() {
            if let Value::String(text) = value {
                *text = clean(text);
            }
        }
        let message = clean(message);
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.last += 1;
        let seq = lines.last;
        let line = LogLine { seq, ts, level, target: target.to_owned(), message, fields };
        if lines.packed.len() == MOST_LINES {
            lines.packed.pop_front();
        }
        lines.packed.push_back((seq, line.packed()));
        if self.followers.receiver_count() > 0 {
            // Sending fails only when the last reader has just gone.
            let _ = self.followers.send(Arc::new(line));
        }
    }

    /// The lines kept after `seq`, and those that follow.
    pub(crate) fn follow(
        &self,
        after: u64,
    ) -> (Vec<Arc<LogLine>>, broadcast::Receiver<Arc<LogLine>>) {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let found = lines.packed.iter().filter(|(seq, _)| *seq > after);
        let found = found.filter_map(|(seq, packed)| LogLine::unpacked(*seq, packed).map(Arc::new));
        (found.collect(), self.followers.subscribe())
    }
}

/// Selects the lines that a reader asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogFilter {
    pub(crate) level: LogLevel,
    /// The text to search for, in lower case.
    pub(crate) text: Option<String>,
}

impl LogFilter {
    pub(crate) fn shows(&self, line: &LogLine) -> bool {
        let mentions = |wanted: &String| {
            let contains = |text: &str| text.to_lowercase().contains(wanted);
            contains(&line.message)
                || contains(&line.target)
                || line.fields.values().any(|value| {
                    value.as_str().map_or_else(|| contains(&value.to_string()), contains)
                })
        };
        line.level >= self.level && self.text.as_ref().is_none_or(mentions)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kept_line_is_masked_before_it_is_cut_and_shows_what_is_hidden() {
        let ring = LogRing::default();
        ring.set_mask(Arc::new(|text: &str| text.replace("sk-live-123456", "[secret]")));
        let message = format!("{}sk-live-123456", "x".repeat(LONGEST - 6));
        let fields = json!({"path": "a\u{202e}b\u{1b}[2K"}).as_object().unwrap().clone();
        ring.push(Timestamp::from_millis(0), LogLevel::Info, "onyx", &message, fields);
        let (found, _) = ring.follow(0);
        assert_eq!(found[0].message, format!("{}[secre", "x".repeat(LONGEST - 6)));
        assert_eq!(found[0].fields["path"], r"a\u{202e}b\u{1b}[2K");
    }

    #[test]
    fn a_line_that_was_kept_is_told_as_it_was() {
        let ring = LogRing::default();
        let fields = json!({"run": "r-1", "input": 7, "ok": true, "note": "a \"quote\"\n"});
        let fields = fields.as_object().unwrap().clone();
        let ts = Timestamp::from_millis(1_767_225_600_123);
        let (_, mut new_lines) = ring.follow(0);
        ring.push(ts, LogLevel::Info, "onyx_agent", "a run ended", fields.clone());
        let (found, _) = ring.follow(0);
        let expected = LogLine {
            seq: 1,
            ts,
            level: LogLevel::Info,
            target: "onyx_agent".to_owned(),
            message: "a run ended".to_owned(),
            fields,
        };
        assert_eq!(*found[0], expected);
        assert_eq!(*new_lines.try_recv().unwrap(), expected);
        assert!(ring.follow(1).0.is_empty());
    }
}
