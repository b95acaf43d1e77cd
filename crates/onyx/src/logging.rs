//! Where the log goes: to stderr, and the newest of it to those who look through the API.

use std::fmt::{self, Write as _};
use std::io::IsTerminal;
use std::sync::Arc;

use onyx_api::{LogLevel, LogRing};
use onyx_types::{Clock, SystemClock};
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer};

use crate::cli::Command;
use crate::{env, output};

/// A server tells what it does; a command only what went wrong.
pub(crate) fn start(command: &Command) -> Arc<LogRing> {
    let usual =
        if matches!(command, Command::Serve(_)) { "info,refinery_core=warn" } else { "error" };
    let wanted = env::text(env::ONYX_LOG).unwrap_or_else(|| usual.to_owned());
    let (filter, bad) = match EnvFilter::try_new(&wanted) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new(usual), Some(error)),
    };
    let stderr = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && !env::no_color());
    let stderr = match env::text(env::ONYX_LOG_FORMAT).as_deref() {
        Some("json") => stderr.json().boxed(),
        _ => stderr.boxed(),
    };
    let ring = Arc::new(LogRing::default());
    let kept = Kept { ring: Arc::clone(&ring), clock: SystemClock::new() };
    tracing_subscriber::registry().with(filter).with(stderr).with(kept).init();
    if let Some(error) = bad {
        output::warning(&format!("ONYX_LOG is not understood ({error}); logging at {usual}"));
    }
    ring
}

struct Kept {
    ring: Arc<LogRing>,
    clock: SystemClock,
}

/// What a span says of everything that happens in it. A list: hardly a word is said in most spans.
struct Said(Vec<(&'static str, Value)>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Kept {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(Said(fields.others));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let owned = |(name, value): (&str, Value)| (name.to_owned(), value);
        let mut others: Map<String, Value> = fields.others.into_iter().map(owned).collect();
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(Said(said)) = span.extensions().get::<Said>() {
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
