//! The keyring of a person's desktop: the freedesktop.org Secret Service (GNOME, KDE, KeePassXC) on
//! their message bus. This module does not know what the stored values mean. The few calls are
//! implemented here, because a D-Bus library would add some sixty crates.

mod bus;
mod wire;

use std::time::Duration;

use tokio::time::timeout;

use crate::random::Secret;
use bus::Bus;
use wire::{Call, Message, Writer};

const SERVICE: &str = "org.freedesktop.secrets";
const ROOT: &str = "/org/freedesktop/secrets";
/// The path that the service returns for "nothing".
const NOTHING: &str = "/";
/// This collection is kept in memory until the person logs out, so a key must not be stored in it.
const SESSION_COLLECTION: &str = "/org/freedesktop/secrets/collection/session";
/// How long to wait when storing. A new value can be stored elsewhere, so the wait is short.
const TO_KEEP: Duration = Duration::from_millis(900);
/// How long to wait when reading. A stored value exists nowhere else, and the service may still be
/// starting.
const TO_FETCH: Duration = Duration::from_secs(5);

/// A keyring, which may be absent.
#[derive(Clone, Debug)]
pub struct Keyring {
    addresses: String,
    to_keep: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyringError {
    /// There is no bus, no service on it, or no answer.
    Absent(String),
    /// The keyring requires its person's password first.
    Locked,
    /// The keyring answers, but has no value of this name.
    NotThere,
    Refused(String),
}

impl std::fmt::Display for KeyringError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Absent(why) => write!(f, "no keyring answers ({why})"),
            Self::Locked => f.write_str("the keyring is locked"),
            Self::NotThere => f.write_str("the keyring does not have it"),
            Self::Refused(why) => write!(f, "the keyring refuses ({why})"),
        }
    }
}

impl KeyringError {
    fn named(name: &str, message: &str) -> Self {
        match name {
            "org.freedesktop.Secret.Error.IsLocked" => Self::Locked,
            "org.freedesktop.Secret.Error.NoSuchObject" => Self::NotThere,
            "org.freedesktop.DBus.Error.ServiceUnknown"
            | "org.freedesktop.DBus.Error.NameHasNoOwner"
            | "org.freedesktop.DBus.Error.NoReply" => Self::Absent(message.to_owned()),
            name if name.starts_with("org.freedesktop.DBus.Error.Spawn.") => {
                Self::Absent(message.to_owned())
            }
            name => Self::Refused(format!("{name}: {message}")),
        }
    }

    fn not_understood() -> Self {
        Self::Refused("an answer that is not understood".to_owned())
    }
}

impl Keyring {
    /// The keyring on a bus; `addresses` has the form of `DBUS_SESSION_BUS_ADDRESS`.
    pub fn on_bus(addresses: impl Into<String>) -> Self {
        Self { addresses: addresses.into(), to_keep: TO_KEEP }
    }

    /// The same keyring, which may take this long to store a value.
    #[must_use]
    pub fn patiently(mut self, to_keep: Duration) -> Self {
        self.to_keep = to_keep;
        self
    }

    /// Stores a value in the person's own collection and reads it back, so it is durable when this
    /// returns.
    pub(crate) async fn keep(
        &self,
        name: &str,
        label: &str,
        secret: &Secret,
    ) -> Result<(), KeyringError> {
        within(self.to_keep, async {
            let mut service = Service::open(&self.addresses).await?;
            service.create(name, label, secret).await?;
            if service.read(name).await? != *secret {
                return Err(KeyringError::Refused("it gives back something else".to_owned()));
            }
            Ok(())
        })
        .await
    }

    pub(crate) async fn fetch(&self, name: &str) -> Result<Secret, KeyringError> {
        within(TO_FETCH, async { Service::open(&self.addresses).await?.read(name).await }).await
    }

    /// Removes a value; a missing one is no error.
    pub(crate) async fn remove(&self, name: &str) -> Result<(), KeyringError> {
        within(TO_FETCH, async { Service::open(&self.addresses).await?.remove(name).await }).await
    }
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, KeyringError>>,
) -> Result<T, KeyringError> {
    let late = || Err(KeyringError::Absent("it takes too long".to_owned()));
    timeout(limit, work).await.unwrap_or_else(|_| late())
}

/// The keyring service, on one connection.
struct Service {
    bus: Bus,
    session: String,
}

impl Service {
    async fn open(addresses: &str) -> Result<Self, KeyringError> {
        let mut bus = Bus::connect(addresses).await?;
        let mut arguments = Writer::default();
        // A plain session is enough, because only the bus of this machine is between Onyx and the
        // service.
        arguments.string("plain");
        arguments.signature("s");
        arguments.string("");
        let opened = bus.call(&service("OpenSession", "sv", arguments)).await?;
        let session = session_of(&opened).ok_or_else(KeyringError::not_understood)?;
        Ok(Self { bus, session })
    }

    async fn create(
        &mut self,
        name: &str,
        label: &str,
        secret: &Secret,
    ) -> Result<(), KeyringError> {
        let collection = self.collection().await?;
        let mut arguments = Writer::default();
        arguments.list(8, |properties| {
            properties.pad(8);
            properties.string("org.freedesktop.Secret.Item.Label");
            properties.signature("s");
            properties.string(label);
            properties.pad(8);
            properties.string("org.freedesktop.Secret.Item.Attributes");
            properties.signature("a{ss}");
            properties.dictionary(&attributes(name));
        });
        arguments.pad(8);
        arguments.string(&self.session);
        arguments.byte_list(&[]);
        arguments.byte_list(secret.reveal().as_bytes());
        arguments.string("text/plain");
        arguments.boolean(false);
        let call = Call {
            to: SERVICE,
            path: &collection,
            interface: "org.freedesktop.Secret.Collection",
            member: "CreateItem",
            signature: "a{sv}(oayays)b",
            arguments,
        };
        let created = self.bus.call(&call).await?;
        let mut body = created.body();
        let (item, prompt) = (body.string(), body.string());
        match (item, prompt) {
            (Some(item), Some(NOTHING)) if item != NOTHING => Ok(()),
            (Some(_), Some(_)) => Err(KeyringError::Locked),
            _ => Err(KeyringError::not_understood()),
        }
    }

    /// The person's default collection, if it outlives their session.
    async fn collection(&mut self) -> Result<String, KeyringError> {
        let mut arguments = Writer::default();
        arguments.string("default");
        let answer = self.bus.call(&service("ReadAlias", "s", arguments)).await?;
        match answer.body().string().ok_or_else(KeyringError::not_understood)? {
            NOTHING | SESSION_COLLECTION => {
                Err(KeyringError::Absent("it has no permanent collection".to_owned()))
            }
            collection => Ok(collection.to_owned()),
        }
    }

    async fn read(&mut self, name: &str) -> Result<Secret, KeyringError> {
        let item = self.find(name).await?;
        let mut arguments = Writer::default();
        arguments.string(&self.session);
        let call = item_call(&item, "GetSecret", "o", arguments);
        let answer = self.bus.call(&call).await?;
        secret_of(&answer).ok_or_else(KeyringError::not_understood)
    }

    async fn remove(&mut self, name: &str) -> Result<(), KeyringError> {
        let item = match self.find(name).await {
            Err(KeyringError::NotThere) => return Ok(()),
            found => found?,
        };
        let answer = self.bus.call(&item_call(&item, "Delete", "", Writer::default())).await?;
        match answer.body().string() {
            Some(NOTHING) => Ok(()),
            Some(_) => Err(KeyringError::Locked),
            None => Err(KeyringError::not_understood()),
        }
    }

    async fn find(&mut self, name: &str) -> Result<String, KeyringError> {
        let mut arguments = Writer::default();
        arguments.dictionary(&attributes(name));
        let answer = self.bus.call(&service("SearchItems", "a{ss}", arguments)).await?;
        let mut body = answer.body();
        let (Some(open), Some(locked)) = (body.strings(), body.strings()) else {
            return Err(KeyringError::not_understood());
        };
        match (open.into_iter().next(), locked.is_empty()) {
            (Some(item), _) => Ok(item),
            (None, false) => Err(KeyringError::Locked),
            (None, true) => Err(KeyringError::NotThere),
        }
    }
}

/// The attributes by which an item is found.
fn attributes(name: &str) -> [(&str, &str); 2] {
    [("application", "onyx"), ("key", name)]
}

fn service(member: &'static str, signature: &'static str, arguments: Writer) -> Call<'static> {
    let interface = "org.freedesktop.Secret.Service";
    Call { to: SERVICE, path: ROOT, interface, member, signature, arguments }
}

fn item_call<'a>(
    path: &'a str,
    member: &'static str,
    signature: &'static str,
    arguments: Writer,
) -> Call<'a> {
    let interface = "org.freedesktop.Secret.Item";
    Call { to: SERVICE, path, interface, member, signature, arguments }
}

/// Reads the path from `(variant, path)`.
fn session_of(message: &Message) -> Option<String> {
    let mut body = message.body();
    match body.signature()? {
        "s" => drop(body.string()?),
        "ay" => drop(body.byte_list()?),
        _ => return None,
    }
    body.string().map(str::to_owned)
}

/// Reads the value from `(session, parameters, value, content type)`.
fn secret_of(message: &Message) -> Option<Secret> {
    let mut body = message.body();
    body.string()?;
    body.byte_list()?;
    std::str::from_utf8(body.byte_list()?).ok().map(Secret::new)
}
