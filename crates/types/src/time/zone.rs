//! Time zones, and the day and time in a zone.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{PersonId, Timestamp};

/// A time zone by its IANA name.
#[derive(Clone, PartialEq, Eq)]
pub struct Zone(TimeZone);

/// The error of a name that is not a time zone, with the zone that was probably meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no time zone {name:?}; {hint}")]
pub struct UnknownZone {
    name: String,
    hint: String,
}

impl Zone {
    pub const fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    pub fn named(name: &str) -> Result<Self, UnknownZone> {
        let found = TimeZone::get(name).ok().filter(|zone| zone.iana_name().is_some());
        found.map(Self).ok_or_else(|| UnknownZone { name: name.to_owned(), hint: hint(name) })
    }

    /// The zone of this machine, or UTC if the machine sets no known zone.
    pub fn of_this_machine() -> Self {
        TimeZone::try_system()
            .ok()
            .filter(|zone| zone.iana_name().is_some())
            .map_or_else(Self::utc, Self)
    }

    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// Whether the zone is UTC under any name, as a machine's own zone may be.
    fn is_utc(&self) -> bool {
        self.0 == TimeZone::UTC
            || matches!(self.0.iana_name(), Some("UTC" | "Etc/UTC" | "Etc/UCT" | "Etc/Universal"))
    }

    /// The zone for calculations with its days and hours.
    pub fn time_zone(&self) -> &TimeZone {
        &self.0
    }

    /// The calendar date in this zone, as `YYYY-MM-DD`.
    pub fn date(&self, at: Timestamp) -> String {
        if self.is_utc() {
            return at.utc_date();
        }
        self.0.to_datetime(at.to_jiff()).date().to_string()
    }

    /// The date of the day before, in this zone.
    pub fn date_before(&self, at: Timestamp) -> String {
        let today = self.0.to_datetime(at.to_jiff()).date();
        today.yesterday().unwrap_or(today).to_string()
    }

    /// The time of day in this zone, as `HH:MM`.
    pub fn time(&self, at: Timestamp) -> String {
        let there = self.0.to_datetime(at.to_jiff());
        format!("{:02}:{:02}", there.hour(), there.minute())
    }

    /// Date, time and offset, to the minute: `2026-11-17T09:00+13:00`, or `…Z` in UTC.
    pub fn stamp(&self, at: Timestamp) -> String {
        let (date, time) = (self.date(at), self.time(at));
        if self.is_utc() {
            return format!("{date}T{time}Z");
        }
        let seconds = self.0.to_offset(at.to_jiff()).seconds();
        let (sign, minutes) = (if seconds < 0 { '-' } else { '+' }, seconds.abs() / 60);
        format!("{date}T{time}{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

/// A zone whose name ends with the given name (`berlin`), else an example.
fn hint(name: &str) -> String {
    let wanted = name.rsplit('/').next().unwrap_or(name).replace(' ', "_");
    let ends_alike = |known: &String| {
        !wanted.is_empty()
            && known.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(&wanted))
    };
    let known = jiff::tz::db().available().map(|known| known.to_string()).find(ends_alike);
    match known {
        Some(known) => format!("did you mean {known}?"),
        None => "write it like Europe/Berlin or America/New_York".to_owned(),
    }
}

impl Default for Zone {
    fn default() -> Self {
        Self::utc()
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.name())
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Zone {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Zone {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::named(&name).map_err(serde::de::Error::custom)
    }
}

/// The zones of people. Clones share their content.
#[derive(Clone, Debug, Default)]
pub struct Zones(Arc<RwLock<KnownZones>>);

#[derive(Debug, Default)]
struct KnownZones {
    server: Zone,
    /// The zones in the config.
    declared: BTreeMap<PersonId, Zone>,
    /// The zones that people chose, which take precedence over those of the config.
    chosen: BTreeMap<PersonId, Zone>,
}

impl Zones {
    pub fn new(server: Zone) -> Self {
        Self(Arc::new(RwLock::new(KnownZones { server, ..KnownZones::default() })))
    }

    /// The zone that the person chose, else the one in the config, else the server's.
    pub fn of(&self, person: &PersonId) -> Zone {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let own = known.chosen.get(person).or_else(|| known.declared.get(person));
        own.unwrap_or(&known.server).clone()
    }

    /// Replaces the zones of the config.
    pub fn declare(&self, declared: BTreeMap<PersonId, Zone>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).declared = declared;
    }

    /// Sets the person's choice; `None` withdraws it.
    pub fn choose(&self, person: &PersonId, zone: Option<Zone>) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match zone {
            Some(zone) => known.chosen.insert(person.clone(), zone),
            None => known.chosen.remove(person),
        };
    }
}
