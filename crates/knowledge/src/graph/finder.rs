//! The port to a model that finds facts: what the model is given and what it returns. The agent
//! crate decides which model that is and how it is asked.

use futures::future::BoxFuture;
use onyx_types::{ModelFailure, PersonId, Timestamp};

/// A text in which facts are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactPassage {
    pub text: String,
    /// The title of the note that contains the text; empty for a message.
    pub title: String,
    /// The person or agent who wrote the message.
    pub author: Option<String>,
    pub at: Timestamp,
    /// The person to whom the text belongs, and whose budget pays for reading it.
    pub person: PersonId,
}

/// A fact that a model found in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFact {
    pub subject: String,
    pub relation: String,
    pub object: String,
    /// A verbatim part of the text. A fact whose quote is not in the text is ignored.
    pub quote: String,
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
    /// Whether the text says that the fact does not hold any more.
    pub has_ended: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundFacts {
    pub facts: Vec<FoundFact>,
    /// How many tokens were used, for the budget of the day.
    pub tokens: u64,
}

/// Finds facts in texts.
pub trait FactFinder: Send + Sync {
    /// The name under which the finder's facts are stored.
    fn name(&self) -> String;

    fn find(&self, passage: FactPassage) -> BoxFuture<'_, Result<FoundFacts, ModelFailure>>;
}
