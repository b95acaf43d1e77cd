//! Checks that no token is in any log or error, whatever the networks do.

use std::io::Write;
use std::sync::{Arc, Mutex};

use futures::{StreamExt as _, stream};
use onyx_test_support::networks::{DISCORD_TOKEN, TELEGRAM_TOKEN};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::{discord, telegram, webhook};

/// Collects everything that is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// The log levels: the finest for this project's crates, and `debug` for all others.
const LEVELS: &str = "debug,onyx_connectors=trace,onyx_egress=trace";

#[tokio::test(flavor = "multi_thread")]
async fn no_token_is_in_any_log_or_error_of_seeded_conversations() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false);
    subscriber.with_env_filter(EnvFilter::new(LEVELS)).try_init().unwrap();
    let shown = Mutex::new(String::new());
    // An error is shown only if a process ends while it sends, which is a matter of chance. So
    // enough conversations are held to see one.
    for first in (2_000..2_060).step_by(6) {
        stream::iter(first..first + 6)
            .for_each_concurrent(3, async |seed| {
                let said = [
                    telegram::seeds::conversation(seed).await,
                    discord::seeds::conversation(seed).await,
                    webhook::conversation(seed).await,
                ];
                shown.lock().unwrap().push_str(&said.concat());
            })
            .await;
        if shown.lock().unwrap().contains("It is not known") {
            break;
        }
    }
    let log = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    for part in ["onyx_connectors", "twilight_gateway", "updates could not be read"] {
        assert!(log.contains(part), "the log says nothing of {part}");
    }
    let shown = shown.into_inner().unwrap();
    assert!(shown.contains("It is not known"), "no error was shown: {shown}");
    for secret in [TELEGRAM_TOKEN, DISCORD_TOKEN, webhook::SECRET] {
        for form in [secret.to_owned(), secret.replace(':', "%3A"), secret.replace(' ', "%20")] {
            assert!(!shown.contains(&form), "{form} is in an error");
            if let Some(line) = log.lines().find(|line| line.contains(&form)) {
                panic!("{form} is in the log: {line}");
            }
        }
    }
}
