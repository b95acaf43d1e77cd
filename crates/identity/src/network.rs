use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

/// All the addresses that one sender can have: this machine, an IPv4 network of 256 addresses, or
/// an IPv6 network of one household. Guesses are counted by network, so changing the address within
/// it allows no further guesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Network(IpAddr);

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Network {
    pub(crate) fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            address if address.is_loopback() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() & !0xff).into(),
            IpAddr::V6(address) => {
                Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sender_is_one_network_whichever_of_its_addresses_it_takes() {
        for (sent, counted) in [
            ("192.0.2.7", "192.0.2.0"),
            ("192.0.2.255", "192.0.2.0"),
            ("::ffff:192.0.2.7", "192.0.2.0"),
            ("127.0.0.1", "127.0.0.1"),
            ("127.200.3.4", "127.0.0.1"),
            ("::1", "127.0.0.1"),
            ("::ffff:127.0.0.9", "127.0.0.1"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("2001:db8:1:2:ffff::", "2001:db8:1:2::"),
        ] {
            let network = Network::of(sent.parse().unwrap());
            assert_eq!(network.0.to_string(), counted, "{sent}");
        }
    }
}
