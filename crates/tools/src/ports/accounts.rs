use async_trait::async_trait;
use onyx_types::PersonId;

/// The accounts of people at a service that tools use. The server signs in to them.
#[async_trait]
pub trait Accounts: Send + Sync {
    /// Why this person has no usable account; `None` if they have one. Every run asks this, so it
    /// must be cheap.
    fn absence(&self, person: &PersonId) -> Option<String>;

    /// The person's name at the service, if it is known.
    fn name(&self, person: &PersonId) -> Option<String>;

    /// A token for requests, other than the one that was refused.
    async fn token(&self, person: &PersonId, refused: Option<&str>) -> Result<String, NoToken>;
}

/// Why there is no token, as a message for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoToken {
    /// The person must sign in again.
    SignIn(String),
    /// A later try may succeed.
    Passing(String),
}
