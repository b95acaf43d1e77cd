//! Why a request got no answer, found by the types of an error's causes.

use std::error::Error;
use std::io::ErrorKind;

use onyx_types::{ModelFailure, ModelFailureClass};

use super::client::UnknownName;
use crate::failure::failure;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectFailure {
    /// The server's name resolves to no address.
    Name,
    /// The machine answers, but nothing listens on the port.
    Refused,
    /// The network has no route to the machine.
    Route,
    /// A server listens, but no trusted connection to it can be made.
    Tls,
    Slow,
    /// The connection was made and then broke.
    Broken,
}

impl ConnectFailure {
    pub(crate) fn of(error: &reqwest::Error) -> Self {
        let whole: &(dyn Error + 'static) = error;
        let causes = || std::iter::successors(Some(whole), |cause| Error::source(*cause));
        if causes().any(|cause| cause.is::<UnknownName>()) {
            return Self::Name;
        }
        if causes().any(is_tls) {
            return Self::Tls;
        }
        if error.is_timeout() {
            return Self::Slow;
        }
        let refused = |cause: &(dyn Error + 'static)| {
            let kind = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
            kind == Some(ErrorKind::ConnectionRefused)
        };
        if !error.is_connect() {
            Self::Broken
        } else if causes().any(refused) {
            Self::Refused
        } else {
            Self::Route
        }
    }

    const fn class(self) -> ModelFailureClass {
        match self {
            Self::Name | Self::Refused | Self::Route | Self::Tls => ModelFailureClass::Unavailable,
            Self::Slow => ModelFailureClass::Timeout,
            Self::Broken => ModelFailureClass::Transport,
        }
    }
}

/// Looks at the error inside an I/O error directly: `source()` of an I/O error skips the error that
/// it carries.
fn is_tls(cause: &(dyn Error + 'static)) -> bool {
    let carried = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    cause.is::<rustls::Error>() || carried.is_some_and(|inner| is_tls(inner))
}

/// The failure leaves out the address, because the provider's name says enough.
pub(crate) fn transport(error: reqwest::Error) -> ModelFailure {
    let class = ConnectFailure::of(&error).class();
    let error = error.without_url();
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        message.push_str(": ");
        message.push_str(&inner.to_string());
        cause = inner.source();
    }
    failure(class, message)
}
