use serde_json::{Value, json};

/// The rule for a piece of a path. The router accepts any text; the handler is stricter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PathValue {
    Text,
    Uuid,
    Pattern(&'static str),
    OneOf(&'static [&'static str]),
}

impl PathValue {
    /// The id of an agent or a person.
    pub(crate) const NAME: Self = Self::Pattern("^[a-z0-9][a-z0-9_-]{0,63}$");

    pub(crate) fn schema(self) -> Value {
        match self {
            Self::Text => json!({"type": "string", "minLength": 1}),
            Self::Uuid => json!({"type": "string", "format": "uuid"}),
            Self::Pattern(pattern) => json!({"type": "string", "pattern": pattern}),
            Self::OneOf(values) => json!({"enum": values}),
        }
    }
}
