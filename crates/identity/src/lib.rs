//! Who callers are and how they prove it: people, passwords, tokens, browser sessions, one-time links,
//! pairing, and the store of sealed secrets.
//!
//! This crate decides who a caller is and which rights their credential has. No HTTP, no cookie and
//! no route may enter: a surface takes a proof out of its request and passes it in.

mod attempt;
mod caller;
mod credentials;
mod grant_codes;
mod identity;
mod issuing;
mod jwt;
mod keyring;
mod limiter;
mod links;
mod network;
mod pairing;
mod passwords;
mod people;
mod random;
mod secrets;
mod settings;

pub use attempt::{Attempt, Proof};
pub use caller::{Caller, CallerKind};
pub use credentials::{Lifetime, NewToken};
pub use grant_codes::{GrantProof, GrantRequest};
pub use identity::{BrowserSession, DeviceCredential, Identity, SharedAuthentication, Tokens};
pub use keyring::Keyring;
pub use pairing::{Pairing, PairingFor, PairingState};
pub use people::{OWNER, Person, PersonSource};
pub use random::{Secret, fresh_key};
pub use secrets::{
    KeyPlace, Keys, MasterKey, Sealer, SecretView, Secrets, UnknownKey, redacted, restored,
};
pub use settings::{DeclaredPeople, PersonSettings, Token};
