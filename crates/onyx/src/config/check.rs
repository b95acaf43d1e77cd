//! Reads a settings struct out of the config and reports every unknown key. The known keys are the
//! struct's own fields as serde reports them, so there is no second list to maintain.

use std::cell::RefCell;

use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use super::nearest::nearest;
use super::path::Path;

/// What was noticed while the config was read.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) warnings: Vec<String>,
}

/// The place of an invalid value. It never holds the value, which may be a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WrongValue {
    pub(super) at: String,
    pub(super) why: String,
}

pub(super) fn read<'de, T: Deserialize<'de>>(
    path: &Path<'_>,
    value: Value,
    notes: &mut Notes,
) -> Result<T, WrongValue> {
    let seen = Findings::default();
    let result = T::deserialize(CheckedValue { value, path: *path, seen: &seen });
    notes.warnings.extend(seen.warnings.into_inner());
    result.map_err(|error| WrongValue {
        at: seen.failed_at.into_inner().unwrap_or_else(|| path.to_string()),
        why: without_values(&error.to_string()),
    })
}

/// Notes keys of an object that no setting reads.
pub(super) fn note_unknown(
    path: &Path<'_>,
    fields: &Map<String, Value>,
    known: &[&str],
    warnings: &mut Vec<String>,
) {
    for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
        let at = path.key(name);
        warnings.push(match nearest(name, known) {
            Some(meant) => format!("unknown key `{at}`; did you mean `{meant}`?"),
            None => format!("unknown key `{at}`"),
        });
    }
}

#[derive(Default)]
struct Findings {
    warnings: RefCell<Vec<String>>,
    /// The innermost path of the first error.
    failed_at: RefCell<Option<String>>,
}

struct CheckedValue<'a> {
    value: Value,
    path: Path<'a>,
    seen: &'a Findings,
}

type Error = serde_json::Error;

impl<'de> Deserializer<'de> for CheckedValue<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let (path, seen) = (self.path, self.seen);
        match self.value {
            Value::Object(fields) => visitor.visit_map(Fields {
                rest: fields.into_iter(),
                current: None,
                path: &path,
                seen,
            }),
            Value::Array(items) => {
                visitor.visit_seq(Items { rest: items.into_iter().enumerate(), path: &path, seen })
            }
            scalar => scalar.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &mut self.value {
            Value::Object(fields) => {
                note_unknown(&self.path, fields, known, &mut self.seen.warnings.borrow_mut());
                // Unknown keys are dropped even for structs that refuse them, because a typing
                // mistake must not stop a server. A `null` means the same as no key.
                fields.retain(|name, value| known.contains(&name.as_str()) && !value.is_null());
            }
            // serde would accept a list as the fields of a struct in their order.
            Value::Array(_) => return Err(Error::invalid_type(Unexpected::Seq, &visitor)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.value.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

struct Fields<'a> {
    rest: serde_json::map::IntoIter,
    current: Option<(String, Value)>,
    path: &'a Path<'a>,
    seen: &'a Findings,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        self.current = self.rest.next();
        let Some((name, _)) = &self.current else { return Ok(None) };
        let name: StrDeserializer<'_, Error> = name.as_str().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let (name, value) = self.current.take().unwrap_or_default();
        let path = self.path.key(&name);
        seed.deserialize(CheckedValue { value, path, seen: self.seen })
            .inspect_err(|_| self.seen.fail(&path))
    }
}

struct Items<'a> {
    rest: std::iter::Enumerate<std::vec::IntoIter<Value>>,
    path: &'a Path<'a>,
    seen: &'a Findings,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let Some((index, value)) = self.rest.next() else { return Ok(None) };
        let path = self.path.index(index);
        seed.deserialize(CheckedValue { value, path, seen: self.seen })
            .map(Some)
            .inspect_err(|_| self.seen.fail(&path))
    }
}

impl Findings {
    fn fail(&self, path: &Path<'_>) {
        self.failed_at.borrow_mut().get_or_insert_with(|| path.to_string());
    }
}

/// The message without quoted values. serde quotes the value it did not expect, which may be a key
/// in the wrong place.
fn without_values(message: &str) -> String {
    match (message.find("string \""), message.rfind("\", expected")) {
        (Some(start), Some(end)) if start < end => {
            format!("{}string{}", &message[..start], &message[end + 1..])
        }
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Outer {
        base_url: Option<String>,
        inner: Option<Vec<Inner>>,
        port: u16,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Inner {
        tier: onyx_types::Tier,
        allow: Vec<String>,
    }

    fn read_outer(value: Value) -> (Result<Outer, WrongValue>, Vec<String>) {
        let mut notes = Notes::default();
        let root = Path::root();
        let result = read(&root.key("x"), value, &mut notes);
        (result, notes.warnings)
    }

    #[test]
    fn unknown_keys_are_noted_at_every_depth_and_the_rest_is_read() {
        let (outer, warnings) = read_outer(json!({
            "baseURL": "a", "inner": [{"teir": 1, "tier": "act"}], "zzz": null, "port": 7, "base_url": null,
        }));
        let inner = Inner { tier: onyx_types::Tier::Act, allow: vec![] };
        let expected = Outer { base_url: None, inner: Some(vec![inner]), port: 7 };
        assert_eq!(outer, Ok(expected));
        assert_eq!(
            warnings,
            [
                "unknown key `x.baseURL`; did you mean `baseUrl`?",
                "unknown key `x.zzz`",
                "unknown key `x.base_url`; did you mean `baseUrl`?",
                "unknown key `x.inner[0].teir`; did you mean `tier`?",
            ]
        );
    }

    #[test]
    fn a_wrong_value_is_named_by_its_place_and_never_shown() {
        let wrong = |value: Value| read_outer(value).0.unwrap_err();
        let port = wrong(json!({"port": "sk-secret, expected \"x\""}));
        assert_eq!(
            (port.at.as_str(), port.why.as_str()),
            ("x.port", "invalid type: string, expected u16")
        );
        let list = wrong(json!({"inner": [["act"]]}));
        assert_eq!(
            (list.at.as_str(), list.why.as_str()),
            ("x.inner[0]", "invalid type: sequence, expected struct Inner")
        );
        let allow = wrong(json!({"inner": [{}, {"allow": [1]}]}));
        assert_eq!(allow.at, "x.inner[1].allow[0]");
        let tier = wrong(json!({"inner": [{"tier": "king"}]}));
        assert_eq!(tier.at, "x.inner[0].tier");
        assert!(tier.why.contains("expected one of"), "{}", tier.why);
    }
}
