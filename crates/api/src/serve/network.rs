//! Groups of addresses that count as one party.

use std::net::{IpAddr, Ipv4Addr};

/// The addresses that one party can choose freely. They count as one: all of loopback, which every
/// program of this machine can use, and the 64 bits of IPv6 that every customer gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Network(IpAddr);

impl Network {
    pub(crate) fn of(address: IpAddr) -> Self {
        let address = address.to_canonical();
        if address.is_loopback() {
            return Self(Ipv4Addr::LOCALHOST.into());
        }
        match address {
            IpAddr::V4(_) => Self(address),
            IpAddr::V6(address) => {
                let prefix = address.to_bits() >> 64 << 64;
                Self(std::net::Ipv6Addr::from_bits(prefix).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(one: &str, other: &str) -> bool {
        Network::of(one.parse().unwrap()) == Network::of(other.parse().unwrap())
    }

    #[test]
    fn loopback_is_one_network_and_so_is_each_ipv6_prefix_of_64_bits() {
        for (one, other) in [
            ("127.0.0.1", "127.200.3.4"),
            ("127.0.0.1", "::1"),
            ("127.0.0.1", "::ffff:127.0.0.9"),
            ("192.0.2.1", "::ffff:192.0.2.1"),
            ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff"),
        ] {
            assert!(same(one, other), "{one} and {other}");
        }
        for (one, other) in [
            ("192.0.2.1", "192.0.2.2"),
            ("127.0.0.1", "128.0.0.1"),
            ("2001:db8:1:2::1", "2001:db8:1:3::1"),
            ("::1", "::2"),
        ] {
            assert!(!same(one, other), "{one} and {other}");
        }
    }
}
