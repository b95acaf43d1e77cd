//! Writes the log to stderr, and keeps the newest lines for the API.

use std::fmt::{self, Write as _};
use std::io::{self, Write as _};
use std::sync::Arc;

use onyx_api::{LogLevel, LogRing};
use onyx_types::{Clock, SystemClock, visible_json, visible_line};
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Directive;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, reload};

use crate::cli::Command;
use crate::{env, output};

/// The default level: a server logs what it does, a command only errors.
pub(crate) fn start(command: &Command) -> Arc<LogRing> {
    let usual =
        if matches!(command, Command::Serve(_)) { "info,refinery_core=warn" } else { "error" };
    let wanted = env::text(env::ONYX_LOG).unwrap_or_else(|| usual.to_owned());
    let (filter, as_started, bad) = match filter_of(&wanted) {
        Ok(filter) => (filter, wanted, None),
        Err(error) => (EnvFilter::new(usual), usual.to_owned(), Some(error)),
    };
    let ring = Arc::new(LogRing::default());
    let at_start = hint(&filter);
    let (filter, handle) = reload::Layer::new(filter);
    let set = move |level: Option<LogLevel>| {
        let text = level.map_or_else(|| as_started.clone(), directives);
        let filter = filter_of(&text)?;
        handle.reload(filter).map_err(|error| error.to_string())
    };
    ring.set_control(at_start, Arc::new(set));
    // Colours are off: any other escape code in a line comes from untrusted text and is made visible.
    let stderr = tracing_subscriber::fmt::layer().with_ansi(false);
    let stderr = match env::text(env::ONYX_LOG_FORMAT).as_deref() {
        Some("json") => stderr.json().with_writer(Stderr::new(&ring, Form::Json)).boxed(),
        _ => stderr.with_writer(Stderr::new(&ring, Form::Text)).boxed(),
    };
    let kept = RingLayer { ring: Arc::clone(&ring), clock: SystemClock::new() };
    tracing_subscriber::registry().with(filter).with(stderr).with(kept).init();
    if let Some(error) = bad {
        output::warning(&format!("ONYX_LOG is invalid ({error}); logging at {usual}"));
    }
    ring
}

/// Keeps the values of database statements out of the log, because they include conversations and secrets.
fn filter_of(directives: &str) -> Result<EnvFilter, String> {
    let filter = EnvFilter::try_new(directives).map_err(|error| error.to_string())?;
    let quiet: Result<Directive, _> = "tokio_postgres=info".parse();
    let quiet = quiet.map_err(|error| error.to_string())?;
    Ok(filter.add_directive(quiet))
}

/// The filter for a level: it applies to Onyx's own code; other crates log no more than usual.
fn directives(level: LogLevel) -> String {
    let others = level.max(LogLevel::Info).as_str();
    format!("{others},refinery_core=warn,onyx={}", level.as_str())
}

/// The level down to which anything is logged.
fn hint(filter: &EnvFilter) -> LogLevel {
    let level = filter.max_level_hint().and_then(|hint| hint.into_level());
    // If nothing is logged, the highest level stands for that.
    level.map_or(LogLevel::Error, self::level)
}

/// Writes events to stderr, each as one line without secrets or hidden characters.
struct Stderr {
    ring: Arc<LogRing>,
    form: Form,
}

#[derive(Clone, Copy)]
enum Form {
    Text,
    Json,
}

impl Stderr {
    fn new(ring: &Arc<LogRing>, form: Form) -> Self {
        Self { ring: Arc::clone(ring), form }
    }

    /// An event as it is written.
    fn line(&self, event: &[u8]) -> String {
        let text = String::from_utf8_lossy(event);
        let text = self.ring.masked(text.trim_end_matches('\n'));
        let shown = match self.form {
            Form::Text => visible_line(&text),
            Form::Json => visible_json(&text),
        };
        shown.into_owned()
    }
}

impl<'a> MakeWriter<'a> for Stderr {
    type Writer = EventLine<'a>;

    fn make_writer(&'a self) -> EventLine<'a> {
        EventLine { stderr: self, bytes: Vec::new() }
    }
}

/// An event while it is written. It is printed when it is complete.
struct EventLine<'a> {
    stderr: &'a Stderr,
    bytes: Vec<u8>,
}

impl io::Write for EventLine<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for EventLine<'_> {
    fn drop(&mut self) {
        // A closed stderr cannot be reported anywhere.
        let _ = writeln!(io::stderr().lock(), "{}", self.stderr.line(&self.bytes));
    }
}

struct RingLayer {
    ring: Arc<LogRing>,
    clock: SystemClock,
}

/// The fields of a span, which apply to all its events. They are a list, because most spans have
/// few fields.
struct SpanFields(Vec<(&'static str, Value)>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for RingLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(SpanFields(fields.others));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let owned = |(name, value): (&str, Value)| (name.to_owned(), value);
        let mut others: Map<String, Value> = fields.others.into_iter().map(owned).collect();
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(SpanFields(said)) = span.extensions().get::<SpanFields>() {
                for (name, value) in said {
                    let name = format!("{}.{name}", span.name());
                    others.entry(name).or_insert_with(|| value.clone());
                }
            }
        }
        let metadata = event.metadata();
        let level = level(*metadata.level());
        self.ring.push(self.clock.wall(), level, metadata.target(), &fields.message, others);
    }
}

const fn level(level: Level) -> LogLevel {
    match level {
        Level::TRACE => LogLevel::Trace,
        Level::DEBUG => LogLevel::Debug,
        Level::INFO => LogLevel::Info,
        Level::WARN => LogLevel::Warn,
        Level::ERROR => LogLevel::Error,
    }
}

#[derive(Default)]
struct Fields {
    message: String,
    others: Vec<(&'static str, Value)>,
}

impl Fields {
    fn add(&mut self, field: &Field, value: impl Into<Value>) {
        self.others.push((field.name(), value.into()));
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            // Writing to a string cannot fail.
            let _ = write!(self.message, "{value:?}");
        } else {
            self.add(field, format!("{value:?}"));
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_without_secrets_or_hidden_characters() {
        let ring = Arc::new(LogRing::default());
        ring.set_mask(Arc::new(|text: &str| text.replace("sk-live-1", "[secret]")));
        let event = "WARN a sk-live-1 b\u{202e}c\nINFO forged \u{1b}[2K\r\n";
        assert_eq!(
            Stderr::new(&ring, Form::Text).line(event.as_bytes()),
            r"WARN a [secret] b\u{202e}c\nINFO forged \u{1b}[2K\r"
        );
        let json = serde_json::json!({"message": "sk-live-1 \u{202e}"}).to_string();
        let line = Stderr::new(&ring, Form::Json).line(json.as_bytes());
        assert_eq!(line, r#"{"message":"[secret] \u202e"}"#);
    }
}
