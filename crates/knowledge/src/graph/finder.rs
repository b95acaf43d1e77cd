//! How facts are found by a model: what it is given and what it must give back. The agent crate
//! decides which model that is and how it is asked.

use futures::future::BoxFuture;
use onyx_types::{ModelFailure, PersonId, Timestamp};

/// A text in which facts are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactPassage {
    pub text: String,
    /// The title of its note; empty for a message.
    pub title: String,
    /// Who said it.
    pub author: Option<String>,
    pub at: Timestamp,
    /// Whose text it is, and who pays.
    pub person: PersonId,
}

/// A fact that a model found in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFact {
    pub subject: String,
    pub relation: String,
    pub object: String,
    /// A part of the text, word for word: a fact whose quote is not in the text is not believed.
    pub quote: String,
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
    /// It is said to be so no longer.
    pub has_ended: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundFacts {
    pub facts: Vec<FoundFact>,
    /// How many tokens it took, for the budget of the day.
    pub tokens: u64,
}

/// Finds facts in texts.
pub trait FactFinder: Send + Sync {
    /// The name under which its facts are kept.
    fn name(&self) -> String;

    fn find(&self, passage: FactPassage) -> BoxFuture<'_, Result<FoundFacts, ModelFailure>>;
}
