use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::is_public;

/// Resolves names to addresses.
pub trait Resolver: Send + Sync {
    fn resolve(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// Resolves names as the machine does.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Which hosts a client may connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AllowedHosts {
    /// Public addresses only.
    Internet,
    /// A host that the config lets tools reach at any address.
    Anywhere,
}

/// The resolver that the connector calls once for each connection: the connection goes to the
/// addresses that it returns, so a name cannot resolve differently between check and use.
pub(crate) struct CheckedResolver {
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) reach: AllowedHosts,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum NotResolved {
    #[error("it leads to no address")]
    Unknown,
    #[error("it leads to {0}")]
    NotPublic(IpAddr),
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.resolver.resolve(name.as_str().to_owned());
        let reach = self.reach;
        Box::pin(async move {
            let addresses = found.await.map_err(|_| NotResolved::Unknown)?;
            // The connector sets the port.
            let checked = checked(addresses, reach)?.into_iter();
            Ok(Box::new(checked.map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

/// Checks the addresses of a name. A name with a single private address is refused: a mix of both
/// is an attack or a mistake.
pub(crate) fn checked(
    addresses: Vec<IpAddr>,
    reach: AllowedHosts,
) -> Result<Vec<IpAddr>, NotResolved> {
    if addresses.is_empty() {
        return Err(NotResolved::Unknown);
    }
    let private = addresses.iter().find(|address| !is_public(**address));
    match (reach, private) {
        (AllowedHosts::Internet, Some(address)) => Err(NotResolved::NotPublic(*address)),
        (AllowedHosts::Internet, None) | (AllowedHosts::Anywhere, Some(_) | None) => Ok(addresses),
    }
}
