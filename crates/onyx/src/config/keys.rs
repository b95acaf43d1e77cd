//! Finds every key of the config by asking the settings structs: a deserializer follows one path of
//! keys at a time and notes what the struct would read there. A test compares the result with
//! `docs/reference/config.md`.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use onyx_agent::{AgentsSettings, JobsSettings};
use onyx_api::GatewaySettings;
use onyx_connectors::{Binding, ConnectorsSettings, MailSettings, TranscriberSettings};
use onyx_identity::PersonSettings;
use onyx_knowledge::MemorySettings;
use onyx_mcp::McpSettings;
use onyx_providers::{ModelsSettings, ProviderSettings, RoutingSettings};
use onyx_storage::StorageSettings;
use onyx_tools::ToolsSettings;
use onyx_types::Limits;
use serde::de::value::{Error, StrDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess,
    SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::SECTIONS;

const PAGE: &str = include_str!("../../../../docs/reference/config.md");

/// What a struct would read at the end of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum ConfigShape {
    #[default]
    Nothing,
    Fields(&'static [&'static str]),
    /// Fields with any names, all of one type.
    Names,
    List,
    Value,
    /// One of several forms, whose contents cannot be seen.
    Forms,
}

#[derive(Clone, Copy, Debug)]
enum KeySegment {
    Field(&'static str),
    AnyName,
    AnyItem,
}

struct Probe<'a> {
    path: &'a [KeySegment],
    seen: &'a Cell<ConfigShape>,
}

impl Probe<'_> {
    fn end<T>(&self, seen: ConfigShape) -> Result<T, Error> {
        if self.path.is_empty() {
            self.seen.set(seen);
        }
        Err(Error::custom("looked at"))
    }
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        self.end(ConfigShape::Forms)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.path.split_first() {
            Some((KeySegment::Field(name), rest)) => {
                visitor.visit_map(FieldAccess { name: Some(*name), rest, seen: self.seen })
            }
            _ => self.end(ConfigShape::Fields(fields)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.path.split_first() {
            Some((KeySegment::AnyName, rest)) => {
                visitor.visit_map(FieldAccess { name: Some("any"), rest, seen: self.seen })
            }
            _ => self.end(ConfigShape::Names),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.path.split_first() {
            Some((KeySegment::AnyItem, rest)) => {
                visitor.visit_seq(FieldAccess { name: None, rest, seen: self.seen })
            }
            _ => self.end(ConfigShape::List),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        self.end(ConfigShape::Value)
    }

    fn deserialize_str<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        self.end(ConfigShape::Value)
    }

    fn deserialize_string<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        self.end(ConfigShape::Value)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        self.end(ConfigShape::Value)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf
        unit unit_struct tuple tuple_struct identifier ignored_any
    }
}

/// Access to one field or one item.
struct FieldAccess<'a> {
    name: Option<&'static str>,
    rest: &'a [KeySegment],
    seen: &'a Cell<ConfigShape>,
}

impl<'de> MapAccess<'de> for FieldAccess<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let name: Option<StrDeserializer<'static, Error>> =
            self.name.take().map(IntoDeserializer::into_deserializer);
        name.map(|name| seed.deserialize(name)).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(Probe { path: self.rest, seen: self.seen })
    }
}

impl<'de> SeqAccess<'de> for FieldAccess<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        seed.deserialize(Probe { path: self.rest, seen: self.seen }).map(Some)
    }
}

fn look<T: DeserializeOwned>(path: &[KeySegment]) -> ConfigShape {
    let seen = Cell::new(ConfigShape::Nothing);
    // This always ends with an error; only what was noted on the way matters.
    let _ = T::deserialize(Probe { path, seen: &seen });
    seen.get()
}

/// All keys of a section that hold a value, by their full names.
fn keys<T: DeserializeOwned>(section: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting: VecDeque<(String, Vec<KeySegment>)> =
        VecDeque::from([(section.to_owned(), Vec::new())]);
    while let Some((name, path)) = waiting.pop_front() {
        let mut after = |name: String, segment: KeySegment| {
            waiting.push_back((name, [path.as_slice(), &[segment]].concat()))
        };
        match look::<T>(&path) {
            ConfigShape::Fields(fields) => {
                for field in fields {
                    after(format!("{name}.{field}"), KeySegment::Field(field));
                }
            }
            ConfigShape::Names if has_fields::<T>(&path, KeySegment::AnyName) => {
                after(format!("{name}.<name>"), KeySegment::AnyName)
            }
            ConfigShape::List if has_fields::<T>(&path, KeySegment::AnyItem) => {
                after(format!("{name}[]"), KeySegment::AnyItem)
            }
            ConfigShape::Nothing
            | ConfigShape::Names
            | ConfigShape::List
            | ConfigShape::Value
            | ConfigShape::Forms => found.push(name),
        }
    }
    found
}

fn has_fields<T: DeserializeOwned>(path: &[KeySegment], segment: KeySegment) -> bool {
    matches!(look::<T>(&[path, &[segment]].concat()), ConfigShape::Fields(_))
}

/// All sections with their keys. A section that always has several forms counts as one key.
fn all_keys() -> BTreeMap<&'static str, Vec<String>> {
    let mut all = BTreeMap::from([
        ("gateway", keys::<GatewaySettings>("gateway")),
        ("providers", keys::<BTreeMap<String, ProviderSettings>>("providers")),
        ("agents", keys::<AgentsSettings>("agents")),
        ("default_model", vec!["default_model".to_owned()]),
        ("models", keys::<ModelsSettings>("models")),
        ("limits", keys::<Limits>("limits")),
        ("routing", keys::<RoutingSettings>("routing")),
        ("tools", keys::<ToolsSettings>("tools")),
        ("bindings", keys::<Vec<Binding>>("bindings")),
        ("connectors", keys::<ConnectorsSettings>("connectors")),
        ("memory", keys::<MemorySettings>("memory")),
        ("people", keys::<Vec<PersonSettings>>("people")),
        ("jobs", keys::<JobsSettings>("jobs")),
        ("mail", keys::<MailSettings>("mail")),
        ("mcp", keys::<McpSettings>("mcp")),
        ("storage", keys::<StorageSettings>("storage")),
    ]);
    // This section is read separately, because it is not a network.
    let transcriber = keys::<TranscriberSettings>("connectors.transcriber");
    all.entry("connectors").or_default().extend(transcriber);
    // The keys besides `enabled` are names of plugins.
    all.insert("plugins", ["plugins.enabled", "plugins.<name>"].map(str::to_owned).to_vec());
    // The key `channels` is another name for `connectors`.
    all.insert("channels", vec!["channels".to_owned()]);
    all
}

/// The key as the page spells it.
fn as_on_the_page(key: &str) -> Option<String> {
    if key.starts_with("agents.entries.") {
        return None;
    }
    let key = key.replacen("connectors.<name>.", "connectors.<network>.", 1);
    Some(if key == "people" { "people[]".to_owned() } else { key })
}

/// The keys in the first cells of the page's tables.
fn keys_of_page() -> BTreeSet<String> {
    let before = PAGE.split("## The environment").next().unwrap_or_default();
    let rows = before.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    rows.map(str::to_owned).collect()
}

#[test]
fn the_page_of_the_config_has_every_key_with_a_sentence_and_no_other() {
    let all = all_keys();
    let sections: BTreeSet<&str> = SECTIONS.iter().copied().collect();
    assert_eq!(
        all.keys().copied().collect::<BTreeSet<_>>(),
        sections,
        "name each section's type in all_keys()"
    );
    let known: BTreeSet<String> =
        all.values().flatten().filter_map(|key| as_on_the_page(key)).collect();
    let page = keys_of_page();
    let missing: Vec<_> = known.difference(&page).collect();
    let surplus: Vec<_> = page.difference(&known).collect();
    assert!(missing.is_empty(), "docs/reference/config.md needs a row for each of {missing:#?}");
    assert!(
        surplus.is_empty(),
        "docs/reference/config.md has rows that nothing reads: {surplus:#?}"
    );
    let empty: Vec<&str> =
        PAGE.lines().filter(|line| line.starts_with("| `") && line.ends_with("|  |")).collect();
    assert_eq!(empty, Vec::<&str>::new(), "each key needs a sentence");
}

#[test]
fn keys_are_found_through_lists_names_and_options() {
    let all = all_keys();
    let has = |section: &str, key: &str| all[section].iter().any(|found| found == key);
    assert!(has("gateway", "gateway.connections.perAddress"));
    assert!(has("agents", "agents.list[].tools.commands"));
    assert!(has("mcp", "mcp.servers.<name>.folders.read"));
    assert!(has("jobs", "jobs.backup.passphrase"));
}
