use std::net::{IpAddr, Ipv6Addr};

/// What a request shows of its sender.
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
    /// The kernel says that it is the user who runs the server.
    LocalUser,
    /// An API token, the owner's token, or a short-lived access token.
    Bearer(&'a str),
    /// The value of a browser's cookie.
    Session(&'a str),
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
            Self::Session(_) => "Session(…)",
            Self::Password { .. } => "Password(…)",
        })
    }
}

/// One address for all that one sender can have: IPv4 in any dress, and a whole IPv6 network.
pub(crate) fn canonical(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let network = address.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sender_is_one_address_however_it_is_written() {
        for (sent, counted) in [
            ("192.0.2.7", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("2001:db8:1:2:ffff::", "2001:db8:1:2::"),
        ] {
            let sent: IpAddr = sent.parse().unwrap();
            assert_eq!(canonical(sent).to_string(), counted);
        }
    }
}
