//! The tokens of a sign-in, in memory and as they are stored.

use std::time::Duration;

use onyx_types::{Clock, Hash, Timestamp};
use serde::{Deserialize, Serialize};

use super::resolved_login::ResolvedLogin;
use crate::Secret;

/// A token is renewed this long before its end, or in the last tenth of a short life.
const MARGIN: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
pub(super) struct Tokens {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    /// `None` if the server does not say when: the tokens are then renewed after a refusal.
    pub(super) renew_at: Option<Timestamp>,
    pub(super) account: Option<String>,
    /// The id that names the account in requests, if the provider requires it.
    pub(super) account_id: Option<String>,
    /// The short-lived token for the access token. It is not stored: after a restart a new one is
    /// fetched.
    pub(super) short: Option<AccessToken>,
}

#[derive(Clone, Debug)]
pub(super) struct AccessToken {
    pub(super) token: Secret,
    pub(super) renew_at: Option<Timestamp>,
}

/// When a token with this lifetime, received now, must be renewed.
pub(super) fn renew_at(clock: &dyn Clock, life: Duration) -> Timestamp {
    clock.wall().saturating_add(life.saturating_sub(MARGIN.min(life / 10)))
}

pub(super) fn is_stale(renew_at: Option<Timestamp>, clock: &dyn Clock) -> bool {
    renew_at.is_some_and(|at| at <= clock.wall())
}

/// The stored state of an earlier sign-in.
pub(super) enum SavedSignIn {
    Tokens(Tokens),
    /// The tokens were refused, or belong to other addresses than the config names now.
    Refused {
        account: Option<String>,
        why: &'static str,
    },
}

/// One line of JSON in the store of secrets. Without `access`, the sign-in was refused.
#[derive(Serialize, Deserialize)]
struct Record {
    bound: Hash,
    #[serde(default)]
    account: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account_id: Option<String>,
    #[serde(default)]
    access: Option<String>,
    #[serde(default)]
    refresh: Option<String>,
    #[serde(default)]
    renew_at: Option<Timestamp>,
}

pub(super) fn read(text: &Secret, resolved: &ResolvedLogin) -> SavedSignIn {
    let Ok(record) = serde_json::from_str::<Record>(text.reveal()) else {
        return SavedSignIn::Refused {
            account: None,
            why: "what was kept of the sign-in does not read",
        };
    };
    let account = record.account;
    match record.access {
        None => SavedSignIn::Refused { account, why: "the provider no longer takes the sign-in" },
        Some(_) if record.bound != resolved.binding() => SavedSignIn::Refused {
            account,
            why: "addresses or client id were changed since the sign-in",
        },
        Some(access) => SavedSignIn::Tokens(Tokens {
            access: Secret::new(access),
            refresh: record.refresh.map(Secret::new),
            renew_at: record.renew_at,
            account,
            account_id: record.account_id,
            short: None,
        }),
    }
}

pub(super) fn written(tokens: &Tokens, resolved: &ResolvedLogin) -> Secret {
    let reveal = |secret: &Secret| secret.reveal().to_owned();
    line(&Record {
        bound: resolved.binding(),
        account: tokens.account.clone(),
        account_id: tokens.account_id.clone(),
        access: Some(reveal(&tokens.access)),
        refresh: tokens.refresh.as_ref().map(reveal),
        renew_at: tokens.renew_at,
    })
}

pub(super) fn refused(account: Option<String>, resolved: &ResolvedLogin) -> Secret {
    let bound = resolved.binding();
    line(&Record { bound, account, account_id: None, access: None, refresh: None, renew_at: None })
}

fn line(record: &Record) -> Secret {
    // The record holds only strings and numbers, so this cannot fail.
    Secret::new(serde_json::to_string(record).unwrap_or_default())
}
