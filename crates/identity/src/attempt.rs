use std::net::IpAddr;

/// The proof of identity in a request.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    pub proof: Proof<'a>,
    /// The address of the sender; `None` is this machine's own user.
    pub from: Option<IpAddr>,
    /// The person to speak for, if the credential may speak for several.
    pub speaks_for: Option<&'a str>,
}

#[derive(Clone, Copy)]
pub enum Proof<'a> {
    /// The kernel reports that the sender is the user who runs the server.
    LocalUser,
    /// An API token, the owner's token, or a short-lived access token.
    Bearer(&'a str),
    /// The two credentials of a signed-in browser: the cookie, which the browser sends
    /// automatically, also to other ports of the machine, and the key that only pages of the
    /// server's own origin can read. One without the other is refused.
    Session {
        cookie: &'a str,
        page_key: Option<&'a str>,
    },
    Password {
        person: &'a str,
        password: &'a str,
    },
}

impl std::fmt::Debug for Proof<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::LocalUser => "LocalUser",
            Self::Bearer(_) => "Bearer(…)",
            Self::Session { .. } => "Session(…)",
            Self::Password { .. } => "Password(…)",
        })
    }
}
