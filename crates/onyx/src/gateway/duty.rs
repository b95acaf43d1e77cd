//! Duties that one gateway performs for all, and the names of their leases in the database.

use std::fmt;

use onyx_api::GatewayDuty;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Duty {
    /// Cleans up after gateways that died.
    CleanUp,
    /// Receives the messages of an account.
    Connector(String),
    /// Applies an approved change.
    Draft(String),
    /// Delivers the result of a job.
    Delivery(String),
    RenewSignIn(String),
    /// Asks a provider whether a sign-in was finished.
    AwaitSignIn(String),
    /// Imports a source.
    Source(String),
    /// Waits for the import of a source at another gateway to stop.
    StopSource(String),
    /// Reads texts for facts with a model.
    Facts,
    /// Makes the vectors of texts.
    Vectors,
    /// A duty that only a newer gateway knows.
    Other(String),
}

impl fmt::Display for Duty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CleanUp => f.write_str("sweep"),
            Self::Connector(account) => write!(f, "connector {account}"),
            Self::Draft(draft) => write!(f, "draft {draft}"),
            Self::Delivery(slot) => write!(f, "delivery {slot}"),
            Self::RenewSignIn(name) => write!(f, "sign-in {name}"),
            Self::AwaitSignIn(provider) => write!(f, "sign-in asks {provider}"),
            Self::Source(id) => write!(f, "source {id}"),
            Self::StopSource(id) => write!(f, "source stop {id}"),
            Self::Facts => f.write_str("facts"),
            Self::Vectors => f.write_str("vectors"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

/// Makes the duty of one kind from the rest of its name.
type OfKind = fn(String) -> Duty;

impl Duty {
    pub(super) fn named(name: &str) -> Self {
        let after = |kind: &str| name.strip_prefix(kind).map(str::to_owned);
        match name {
            "sweep" => return Self::CleanUp,
            "facts" => return Self::Facts,
            "vectors" => return Self::Vectors,
            _ => {}
        }
        // If one kind begins with the name of another, the longer name comes first.
        let kinds: [(&str, OfKind); 7] = [
            ("connector ", Self::Connector),
            ("draft ", Self::Draft),
            ("delivery ", Self::Delivery),
            ("sign-in asks ", Self::AwaitSignIn),
            ("sign-in ", Self::RenewSignIn),
            ("source stop ", Self::StopSource),
            ("source ", Self::Source),
        ];
        let known = kinds.into_iter().find_map(|(kind, duty)| Some(duty(after(kind)?)));
        known.unwrap_or_else(|| Self::Other(name.to_owned()))
    }

    /// The duty as the API shows it; `None` for duties that the API shows elsewhere.
    pub(super) fn view(self) -> Option<GatewayDuty> {
        match self {
            Self::CleanUp => Some(GatewayDuty::CleansUp),
            Self::RenewSignIn(name) => Some(GatewayDuty::RenewsSignIn { of: name }),
            Self::AwaitSignIn(provider) => Some(GatewayDuty::AwaitsSignIn { of: provider }),
            Self::Source(id) => Some(GatewayDuty::ImportsSource { of: id }),
            Self::Facts => Some(GatewayDuty::ReadsFacts),
            Self::Vectors => Some(GatewayDuty::MakesVectors),
            Self::Other(name) => Some(GatewayDuty::Other { name }),
            Self::Connector(_) | Self::Draft(_) | Self::Delivery(_) | Self::StopSource(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duty_is_read_back_from_its_name() {
        let of = || "x y".to_owned();
        let all = [
            Duty::CleanUp,
            Duty::Connector(of()),
            Duty::Draft(of()),
            Duty::Delivery(of()),
            Duty::RenewSignIn(of()),
            Duty::AwaitSignIn(of()),
            Duty::Source(of()),
            Duty::StopSource(of()),
            Duty::Facts,
            Duty::Vectors,
            Duty::Other(of()),
        ];
        for duty in all {
            assert_eq!(Duty::named(&duty.to_string()), duty);
        }
    }
}
