//! What becomes of each field of a request: it is read, or it does not matter, or the client is
//! told. Nothing that would make another answer is left out in silence.

use serde_json::{Map, Value};

use crate::Problem;

/// What the fields of a wire mean to us.
pub(super) struct Fields {
    /// Read by us.
    pub(super) known: &'static [&'static str],
    /// Of no consequence for the answer.
    pub(super) idle: &'static [&'static str],
    /// How hard to think, how much to say: an agent has a mind of its own about it and says so.
    pub(super) advice: &'static [Field],
    /// They would make another answer than the client expects.
    pub(super) refused: &'static [Field],
}

/// A field that we do not do, and the values with which it asks for nothing special.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) harmless: &'static [&'static str],
}

/// Who reads the request decides how strict we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// An agent, which takes no advice.
    Agent,
    /// A model of another wire: what cannot be said there must not be lost on the way.
    OtherWire,
}

impl Reader {
    /// A piece of advice, by its path.
    pub(super) fn advised(self, path: &str, told: &mut Vec<String>) -> Result<(), Problem> {
        match self {
            Self::Agent => {
                told.push(path.to_owned());
                Ok(())
            }
            Self::OtherWire => {
                let why = "the model's provider speaks another wire, which cannot express it";
                Err(Problem::field(path, why))
            }
        }
    }
}

impl Fields {
    /// The fields that are passed over.
    pub(super) fn check(
        &self,
        body: &Map<String, Value>,
        reader: Reader,
    ) -> Result<Vec<String>, Problem> {
        let mut passed_over = Vec::new();
        for (name, value) in body.iter().filter(|(_, value)| !value.is_null()) {
            let read = |names: &[&str]| names.contains(&name.as_str());
            if name.starts_with("x-onyx-") || read(self.known) || read(self.idle) {
                continue;
            }
            let find = |fields: &'static [Field]| fields.iter().find(|field| field.name == name);
            let refused = find(self.refused);
            if let Some(field) = refused.or_else(|| find(self.advice))
                && field.asks_nothing(value)
            {
                continue;
            }
            if refused.is_some() {
                return Err(Problem::field(name, "it cannot be done here; leave it out"));
            }
            reader.advised(name, &mut passed_over)?;
        }
        Ok(passed_over)
    }
}

impl Field {
    fn asks_nothing(&self, value: &Value) -> bool {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.harmless.contains(&text.as_str())
    }
}
