use async_trait::async_trait;
use onyx_types::PersonId;

/// People's own accounts at a service that tools act at, as the server signed in to them.
#[async_trait]
pub trait Accounts: Send + Sync {
    /// The reason why this person has none that could be used, if so. It is asked at each run, so
    /// it must be cheap.
    fn absence(&self, person: &PersonId) -> Option<String>;

    /// The name under which the person acts there, where it is known.
    fn name(&self, person: &PersonId) -> Option<String>;

    /// The token to ask with; another than the refused one.
    async fn token(&self, person: &PersonId, refused: Option<&str>) -> Result<String, NoToken>;
}

/// Why there is no token, in words for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoToken {
    /// Only a new sign-in helps.
    SignIn(String),
    /// Another try may do better.
    Passing(String),
}
