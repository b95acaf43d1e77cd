//! The config's settings of people.

use std::fmt;

use onyx_storage::Role;
use onyx_types::{ErrorCode, Fault, PersonId, Zone};
use serde::Deserialize;

use crate::people::OWNER;

/// A bearer token. Never shown by `Debug`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Token(String);

impl Token {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// One of `people` in `onyx.json`: a name, or a name with further fields.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected a name or { id, name, role, timezone }")]
pub enum PersonSettings {
    Id(PersonId),
    Full {
        id: PersonId,
        #[serde(default)]
        name: Option<String>,
        #[serde(default)]
        role: Role,
        /// The person's time zone if they have chosen none themselves.
        #[serde(default)]
        timezone: Option<Zone>,
    },
}

impl PersonSettings {
    pub(crate) fn id(&self) -> &PersonId {
        match self {
            Self::Id(id) | Self::Full { id, .. } => id,
        }
    }

    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Id(_) => None,
            Self::Full { name, .. } => name.as_deref(),
        }
    }

    /// The person and the zone that the config gives them.
    pub fn zone(&self) -> Option<(PersonId, Zone)> {
        match self {
            Self::Id(_) => None,
            Self::Full { id, timezone, .. } => Some((id.clone(), timezone.clone()?)),
        }
    }

    fn role(&self) -> Role {
        match self {
            Self::Id(_) => Role::Member,
            Self::Full { role, .. } => *role,
        }
    }
}

/// The people and the owner's token as the config and the environment give them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredPeople {
    pub(crate) people: Vec<PersonSettings>,
    /// The person that the config names as owner.
    pub(crate) owner: Option<PersonId>,
    pub(crate) owner_token: Token,
}

impl DeclaredPeople {
    /// The owner of this home: the person that the config names, else the one made at the first
    /// start.
    pub fn owner(&self) -> Result<PersonId, Fault> {
        match &self.owner {
            Some(owner) => Ok(owner.clone()),
            None => Ok(OWNER.parse()?),
        }
    }

    /// `valid_persons` is a comma-separated list, the value of the variable of that name.
    pub fn new(
        people: Vec<PersonSettings>,
        valid_persons: Option<&str>,
        owner_token: Token,
    ) -> Result<Self, Fault> {
        let mut people = people;
        let named = valid_persons.unwrap_or_default().split(',').map(str::trim);
        for name in named.filter(|name| !name.is_empty()) {
            let id: PersonId = name.parse().map_err(|error| {
                Fault::new(ErrorCode::InvalidRequest, format!("VALID_PERSONS: {name:?}: {error}"))
            })?;
            if people.iter().all(|person| *person.id() != id) {
                people.push(PersonSettings::Id(id));
            }
        }
        let mut owners = people.iter().filter(|person| person.role() == Role::Owner);
        let owner = owners.next().map(|person| person.id().clone());
        if owners.next().is_some() {
            return Err(Fault::new(
                ErrorCode::InvalidRequest,
                "people: more than one has the role `owner`",
            ));
        }
        for (index, person) in people.iter().enumerate() {
            if people[..index].iter().any(|other| other.id() == person.id()) {
                let message = format!("people: `{}` is there twice", person.id());
                return Err(Fault::new(ErrorCode::InvalidRequest, message));
            }
        }
        Ok(Self { people, owner, owner_token })
    }
}
