use std::net::IpAddr;

/// The proof of identity in a request.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    pub proof: Proof<'a>,
    /// Where it comes from; `None` is this machine's own user.
    pub from: Option<IpAddr>,
    /// The person that a credential of several is to speak for.
    pub speaks_for: Option<&'a str>,
}

#[derive(Clone, Copy)]
pub enum Proof<'a> {
    /// The kernel reports that it is the user who runs the server.
    LocalUser,
    /// An API token, the owner's token, or a short-lived access token.
    Bearer(&'a str),
    /// What a signed-in browser sends: the cookie, which it sends automatically, also to other
    /// ports of the machine, and the key that only pages of the server's own origin can read. One
    /// without the other is refused.
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
