//! The URL in `storage.database`: the parts that tokio-postgres reads, and two options about
//! certificates that it does not.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::config::{Config, Host, SslMode};

use super::ServerError;

/// A checked URL of a database. Its password is never shown.
#[derive(Clone)]
pub struct DatabaseUrl {
    pub(super) config: Config,
    /// The file with the authorities that may sign the server's certificate. `None`: the machine's
    /// own authorities.
    pub(super) root_certificate: Option<PathBuf>,
    /// Host and port, for use in messages.
    pub(super) place: String,
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseUrl").field("place", &self.place).finish_non_exhaustive()
    }
}

impl DatabaseUrl {
    /// Checks a URL. A server on another machine is only reached encrypted, unless the URL says
    /// `sslmode=disable`, because PostgreSQL's own default falls back to plain text without
    /// telling.
    pub fn parse(url: &str) -> Result<Self, ServerError> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(ServerError::DatabaseUrl("it does not begin with postgres://".to_owned()));
        }
        let (url, ours) = split_options(url);
        let mut config: Config =
            url.parse().map_err(|error: tokio_postgres::Error| wrong(&error))?;
        if config.get_hosts().is_empty() {
            return Err(ServerError::DatabaseUrl("it names no host".to_owned()));
        }
        if config.get_dbname().is_none_or(str::is_empty) {
            return Err(ServerError::DatabaseUrl("it names no database".to_owned()));
        }
        let mode = match ours.mode.as_deref() {
            Some("disable") => SslMode::Disable,
            Some("require" | "verify-ca" | "verify-full") => SslMode::Require,
            Some("prefer") => SslMode::Prefer,
            Some(other) => {
                let why = format!("sslmode={other} is not known; disable, prefer or require is");
                return Err(ServerError::DatabaseUrl(why));
            }
            None if config.get_hosts().iter().all(is_here) => SslMode::Prefer,
            None => SslMode::Require,
        };
        config.ssl_mode(mode);
        config.application_name("onyx");
        set_keepalives(&mut config);
        let place = place_of(&config);
        Ok(Self { config, root_certificate: ours.root_certificate, place })
    }

    /// Returns the URL with another database on the same server.
    #[must_use]
    pub fn with_database(mut self, name: &str) -> Self {
        self.config.dbname(name);
        self
    }
}

/// What tokio-postgres uses where the URL does not say when an idle connection is tested. It is too
/// long for anybody to ask for it.
const UNSET_IDLE: Duration = Duration::from_secs(2 * 60 * 60);

/// Makes connections notice within 15 seconds that the server's machine is gone without a word.
/// Otherwise a statement would wait for its answer until the system gives up, which takes hours.
/// What the URL sets stays.
fn set_keepalives(config: &mut Config) {
    let seconds = Duration::from_secs;
    if config.get_keepalives_idle() == UNSET_IDLE {
        config.keepalives_idle(seconds(5));
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(seconds(3));
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(3);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(seconds(15));
    }
}

/// Makes an error from the cause alone of tokio-postgres's error, because the cause contains
/// nothing of the URL.
fn wrong(error: &tokio_postgres::Error) -> ServerError {
    let why =
        std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    ServerError::DatabaseUrl(why)
}

#[derive(Default)]
struct OurOptions {
    mode: Option<String>,
    root_certificate: Option<PathBuf>,
}

/// Takes `sslmode` and `sslrootcert` out of the URL.
fn split_options(url: &str) -> (String, OurOptions) {
    let mut ours = OurOptions::default();
    let Some((base, query)) = url.split_once('?') else { return (url.to_owned(), ours) };
    let mut rest = Vec::new();
    for option in query.split('&').filter(|option| !option.is_empty()) {
        match option.split_once('=') {
            Some(("sslmode", mode)) => ours.mode = Some(mode.to_owned()),
            Some(("sslrootcert", path)) => ours.root_certificate = Some(PathBuf::from(path)),
            _ => rest.push(option),
        }
    }
    if rest.is_empty() {
        (base.to_owned(), ours)
    } else {
        (format!("{base}?{}", rest.join("&")), ours)
    }
}

/// Whether connections to this host stay on this machine.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost"
                || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        Host::Unix(_) => true,
    }
}

fn place_of(config: &Config) -> String {
    let ports = config.get_ports();
    let places = config.get_hosts().iter().enumerate().map(|(index, host)| {
        let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
        match host {
            Host::Tcp(name) => format!("{name}:{port}"),
            Host::Unix(path) => format!("{}:{port}", path.display()),
        }
    });
    places.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaw(url: &str) -> String {
        DatabaseUrl::parse(url).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_url_of_a_database_is_told_without_its_password() {
        for (url, why) in [
            ("mysql://a:secret@b/c", "does not begin with postgres://"),
            ("postgres://a:secret@host", "names no database"),
            ("postgres:///db?user=a", "names no host"),
            ("postgres://a:secret@host:port/db", "invalid"),
            ("postgres://a:secret@host/db?sslmode=maybe", "sslmode=maybe is not known"),
            ("postgres://a:secret@host/db?colour=blue", "colour"),
        ] {
            let flaw = flaw(url);
            assert!(flaw.contains(why), "{url}: {flaw}");
            assert!(!flaw.contains("secret"), "{flaw}");
        }
        let url = DatabaseUrl::parse("postgres://a:secret@host/db").unwrap();
        assert!(!format!("{url:?}").contains("secret"));
    }

    #[test]
    fn a_server_elsewhere_is_only_talked_to_encrypted_unless_the_url_says_so() {
        let mode = |url: &str| DatabaseUrl::parse(url).unwrap().config.get_ssl_mode();
        assert_eq!(mode("postgres://a@db.example.org/x"), SslMode::Require);
        assert_eq!(mode("postgres://a@db.example.org/x?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres://a@127.0.0.1/x"), SslMode::Prefer);
        assert_eq!(mode("postgres://a@localhost/x?sslmode=verify-full"), SslMode::Require);
        let other = "postgres://a@h/x?connect_timeout=3&sslrootcert=/etc/ca.pem";
        let url = DatabaseUrl::parse(other).unwrap();
        assert_eq!(url.root_certificate, Some(PathBuf::from("/etc/ca.pem")));
        assert_eq!(url.config.get_connect_timeout(), Some(&Duration::from_secs(3)));
    }
    #[test]
    fn a_server_that_vanished_is_noticed_within_fifteen_seconds_unless_the_url_says_otherwise() {
        let limits = |url: &str| {
            let config = DatabaseUrl::parse(url).unwrap().config;
            let seconds = |limit: Option<&Duration>| limit.map(Duration::as_secs);
            (
                config.get_keepalives().then_some(config.get_keepalives_idle().as_secs()),
                seconds(config.get_keepalives_interval().as_ref()),
                config.get_keepalives_retries(),
                seconds(config.get_tcp_user_timeout()),
            )
        };
        let usual = (Some(5), Some(3), Some(3), Some(15));
        assert_eq!(limits("postgres://a@db.example.org/x"), usual);
        assert_eq!(limits("postgres://a@db.example.org/x?sslmode=disable"), usual);
        let other = "postgres://a@h/x?keepalives_idle=60&tcp_user_timeout=90";
        assert_eq!(limits(other), (Some(60), Some(3), Some(3), Some(90)));
        assert_eq!(limits("postgres://a@h/x?keepalives=0").0, None);
    }
}
