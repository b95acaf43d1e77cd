//! Records sign-ins and failed attempts in the person's audit chain.

use std::net::IpAddr;

use onyx_storage::AuditEntry;
use onyx_types::{Actor, PersonId};

use crate::ApiState;

/// The means of a sign-in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SignInMeans {
    Password,
    Link,
    Pairing,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Outcome {
    SignedIn,
    Refused,
    PasswordChanged,
}

/// A failed record is only logged: sign-in does not depend on the audit log.
pub(crate) async fn note(
    state: &ApiState,
    person: &PersonId,
    by: SignInMeans,
    from: Option<IpAddr>,
    outcome: Outcome,
) {
    let by = match by {
        SignInMeans::Password => "password",
        SignInMeans::Link => "link",
        SignInMeans::Pairing => "pairing",
    };
    let (what, result) = match outcome {
        Outcome::SignedIn => ("sign-in", "ok"),
        Outcome::Refused => ("sign-in", "refused"),
        Outcome::PasswordChanged => ("password changed", "ok"),
    };
    let place = from.map_or_else(|| "this machine's own user".to_owned(), |from| from.to_string());
    let entry = AuditEntry {
        ts: state.agent.now(),
        person: person.clone(),
        actor: Actor::Person(person.clone()),
        agent: None,
        session: None,
        run: None,
        tool: None,
        effect: None,
        decision: None,
        diff_summary: format!("{what} by {by} from {place}"),
        result: result.to_owned(),
    };
    if let Err(error) = state.store.ledger.append_audit(entry).await {
        tracing::error!(%error, "a sign-in could not be recorded in the audit log");
    }
}
