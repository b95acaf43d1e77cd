//! Sends the results of jobs by mail, through the mail server that the config names. Agents do not
//! receive mail.

use std::time::Duration;

use lettre::message::header::ContentType;
use lettre::message::{Mailbox, Message};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{Address, AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};
use onyx_types::{ErrorCode, Fault, Hash, visible, visible_line};
use serde::Deserialize;

use crate::settings::{LookUp, Secret};

/// How long a mail server may take. If it takes longer, the mail is tried again later.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest subject, because mail programs show no more of it.
const LONGEST_SUBJECT: usize = 120;

/// The settings under `mail` in the config.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MailSettings {
    pub host: String,
    /// The port of the server. The default is 465 with `tls`, 587 with `starttls`, 25 with `none`.
    pub port: Option<u16>,
    #[serde(default)]
    pub security: MailSecurity,
    pub user: Option<String>,
    /// The password, or a reference to it as `secret:<name>` or `env:<NAME>`.
    pub password: Option<Secret>,
    /// The sender, written as `me@example.org` or `Onyx <me@example.org>`.
    pub from: String,
    /// The allowed recipients: addresses, or `*@example.org` for a whole domain. If none are given,
    /// only the sender is allowed, so that no job writes to strangers in the owner's name.
    #[serde(default)]
    pub recipients: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MailSecurity {
    /// The connection is encrypted from the first byte.
    #[default]
    Tls,
    /// The connection is encrypted after an unencrypted greeting. It is refused if the server does
    /// not offer that.
    StartTls,
    /// The connection is not encrypted. This is meant for a server on this machine.
    None,
}

/// A mail that a job sends.
#[derive(Clone, Copy, Debug)]
pub struct Letter<'a> {
    pub to: &'a str,
    /// A key that is the same at each attempt, so that a mail program can recognise a repeated
    /// mail.
    pub key: &'a str,
    pub subject: &'a str,
    pub text: &'a str,
}

/// The reason why a mail was not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// The mail was not sent now, but it may work later.
    #[error("{0}")]
    NotNow(String),
    #[error("{0}")]
    Refused(String),
}

/// The connection to a mail server. It is cheap to clone.
#[derive(Clone)]
pub struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    password: Secret,
    from: Mailbox,
    recipients: Vec<String>,
}

impl Mailer {
    pub fn new(settings: &MailSettings, look_up: LookUp<'_>) -> Result<Self, Fault> {
        let from: Mailbox = settings.from.parse().map_err(|_| {
            wrong("mail.from", "it is not an e-mail address")
                .with_hint("Write it like `Onyx <me@example.org>`.")
        })?;
        for recipient in &settings.recipients {
            check_pattern(recipient)?;
        }
        let password = match &settings.password {
            None => Secret::default(),
            Some(reference) => Secret::new(look_up(reference.reveal())?.ok_or_else(|| {
                wrong("mail.password", "there is no secret with that name")
                    .with_hint("Set it with `onyx secrets set`.")
            })?),
        };
        let transport = transport(settings, &password)?;
        Ok(Self { transport, password, from, recipients: settings.recipients.clone() })
    }

    /// Checks that mail to this address is allowed; the error says why it is not.
    pub fn check_recipient(&self, to: &str) -> Result<(), String> {
        if to.parse::<Address>().is_err() {
            return Err(format!("{to:?} is not an e-mail address"));
        }
        let to = to.to_lowercase();
        let is_listed = self.recipients.iter().any(|known| matches(&known.to_lowercase(), &to));
        if is_listed || self.from.email.to_string().to_lowercase() == to {
            return Ok(());
        }
        Err(format!("{to} is not an allowed recipient; add it to `mail.recipients` in the config"))
    }

    pub async fn send(&self, letter: Letter<'_>) -> Result<(), MailError> {
        self.check_recipient(letter.to).map_err(MailError::Refused)?;
        let message = self.message(letter).map_err(MailError::Refused)?;
        let sent = tokio::time::timeout(PATIENCE, self.transport.send(message)).await;
        match sent {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) if error.is_permanent() => Err(MailError::Refused(format!(
                "the mail server refused it: {}",
                with_causes(&error)
            ))),
            Ok(Err(error)) => Err(MailError::NotNow(format!(
                "the mail server could not take it: {}",
                with_causes(&error)
            ))),
            Err(_) => {
                let seconds = PATIENCE.as_secs();
                Err(MailError::NotNow(format!("the mail server took longer than {seconds} s")))
            }
        }
    }

    /// The password, which must be masked wherever text is shown.
    pub(crate) fn secret(&self) -> &Secret {
        &self.password
    }

    fn message(&self, letter: Letter<'_>) -> Result<Message, String> {
        let to: Address =
            letter.to.parse().map_err(|_| "that is not an e-mail address".to_owned())?;
        let id = Hash::of(letter.key.as_bytes());
        let message = Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(subject(letter.subject))
            .message_id(Some(format!("<{id}@{}>", self.from.email.domain())))
            .header(AutoSubmitted)
            .header(ContentType::TEXT_PLAIN)
            .body(letter.text.to_owned());
        message.map_err(|error| error.to_string())
    }
}

/// Marks the mail as automatic, so that no other program replies to it automatically (RFC 3834).
#[derive(Clone)]
struct AutoSubmitted;

impl lettre::message::header::Header for AutoSubmitted {
    fn name() -> lettre::message::header::HeaderName {
        lettre::message::header::HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> lettre::message::header::HeaderValue {
        let value = "auto-generated".to_owned();
        lettre::message::header::HeaderValue::new(Self::name(), value)
    }
}

fn transport(
    settings: &MailSettings,
    password: &Secret,
) -> Result<AsyncSmtpTransport<Tokio1Executor>, Fault> {
    let host = settings.host.as_str();
    let parameters = || {
        TlsParameters::new(host.to_owned()).map_err(|error| {
            wrong("mail.host", &format!("an encrypted connection could not be made: {error}"))
        })
    };
    let (tls, port) = match settings.security {
        MailSecurity::Tls => (Tls::Wrapper(parameters()?), 465),
        MailSecurity::StartTls => (Tls::Required(parameters()?), 587),
        MailSecurity::None if is_here(host) => (Tls::None, 25),
        MailSecurity::None => {
            let why = "mails and the password would cross the network unencrypted";
            return Err(wrong("mail.security", why).with_hint("Set it to `tls` or `starttls`."));
        }
    };
    let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host)
        .tls(tls)
        .port(settings.port.unwrap_or(port))
        .timeout(Some(PATIENCE));
    if let Some(user) = &settings.user {
        let credentials = Credentials::new(user.clone(), password.reveal().to_owned());
        builder = builder.credentials(credentials);
    }
    Ok(builder.build())
}

fn is_here(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse();
    host == "localhost" || address.is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

fn check_pattern(pattern: &str) -> Result<(), Fault> {
    let as_address = pattern.strip_prefix('*').map(|rest| format!("somebody{rest}"));
    let as_address = as_address.unwrap_or_else(|| pattern.to_owned());
    if as_address.parse::<Address>().is_ok() && as_address.contains('@') {
        return Ok(());
    }
    let why = format!("{pattern:?} is neither an address nor a domain such as `*@example.org`");
    Err(wrong("mail.recipients", &why))
}

fn matches(pattern: &str, to: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(domain) => to.ends_with(domain),
        None => pattern == to,
    }
}

/// Shortens a text to one line, as a mail header requires.
fn subject(text: &str) -> String {
    let line = visible_line(text.lines().next().unwrap_or_default()).into_owned();
    let end = line.floor_char_boundary(LONGEST_SUBJECT);
    if end < line.len() { format!("{}…", &line[..end]) } else { line }
}

/// The error followed by its causes, because the error alone often says only "network error".
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut under = error.source();
    while let Some(error) = under {
        let more = error.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        under = error.source();
    }
    visible(&words).into_owned()
}

fn wrong(field: &str, why: &str) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, format!("{field}: {why}"))
}
