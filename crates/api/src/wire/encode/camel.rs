//! Writes the same views in camelCase, for surfaces that use it: the names of struct fields are
//! converted while they are written.
//!
//! Names in content of people, models and tools stay unchanged. Such content is a map, which knows
//! its length before it is written; serde writes a struct with a flattened field as a map without a
//! length, and that is how they are told apart.

use std::borrow::Cow;

use serde::ser::{
    Error, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// Writes the value with the names of its fields in camelCase.
pub(crate) struct CamelCase<'a, T: ?Sized>(pub(crate) &'a T);

impl<T: Serialize + ?Sized> Serialize for CamelCase<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(Renaming(serializer))
    }
}

/// Writes the value as JSON text, with the names of fields in camelCase.
pub(crate) fn camel_json(value: &impl Serialize) -> String {
    // Serialising plain data into memory cannot fail: every key is a string.
    serde_json::to_string(&CamelCase(value)).unwrap_or_default()
}

fn camel(name: &str) -> Cow<'_, str> {
    if !name.contains('_') {
        return Cow::Borrowed(name);
    }
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    Cow::Owned(words.fold(first, |mut whole, word| {
        let mut letters = word.chars();
        whole.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        whole.push_str(letters.as_str());
        whole
    }))
}

/// Passes values on to the inner serializer and renames fields.
struct Renaming<S>(S);

/// Writes the items of a list.
struct Items<S>(S);

/// Writes the fields of a struct or the entries of a map.
struct Entries<S> {
    entries: S,
    names: Names,
}

enum Names {
    /// The keys are names of fields, which are converted.
    Fields,
    /// The keys are content, which stays unchanged.
    Content,
}

macro_rules! hand_on {
    ($($method:ident($($argument:ident: $kind:ty),*);)*) => {$(
        fn $method(self, $($argument: $kind),*) -> Result<S::Ok, S::Error> {
            self.0.$method($($argument),*)
        }
    )*};
}

impl<S: Serializer> Serializer for Renaming<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Items<S::SerializeSeq>;
    type SerializeTuple = Items<S::SerializeTuple>;
    type SerializeTupleStruct = Items<S::SerializeTupleStruct>;
    type SerializeTupleVariant = Items<S::SerializeTupleVariant>;
    type SerializeMap = Entries<S::SerializeMap>;
    type SerializeStruct = Entries<S::SerializeMap>;
    /// No view is an enum that writes its variant's name around the fields, so their names are
    /// kept.
    type SerializeStructVariant = S::SerializeStructVariant;

    hand_on! {
        serialize_bool(value: bool);
        serialize_i8(value: i8);
        serialize_i16(value: i16);
        serialize_i32(value: i32);
        serialize_i64(value: i64);
        serialize_u8(value: u8);
        serialize_u16(value: u16);
        serialize_u32(value: u32);
        serialize_u64(value: u64);
        serialize_f32(value: f32);
        serialize_f64(value: f64);
        serialize_char(value: char);
        serialize_str(value: &str);
        serialize_bytes(value: &[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(name: &'static str);
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str);
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.serialize_some(&CamelCase(value))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_struct(name, &CamelCase(value))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_variant(name, index, variant, &CamelCase(value))
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        self.0.serialize_seq(length).map(Items)
    }

    fn serialize_tuple(self, length: usize) -> Result<Self::SerializeTuple, S::Error> {
        self.0.serialize_tuple(length).map(Items)
    }

    fn serialize_tuple_struct(
        self,
        name: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleStruct, S::Error> {
        self.0.serialize_tuple_struct(name, length).map(Items)
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        self.0.serialize_tuple_variant(name, index, variant, length).map(Items)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        let names = if length.is_some() { Names::Content } else { Names::Fields };
        Ok(Entries { entries: self.0.serialize_map(length)?, names })
    }

    fn serialize_struct(
        self,
        _: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStruct, S::Error> {
        Ok(Entries { entries: self.0.serialize_map(Some(length))?, names: Names::Fields })
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        self.0.serialize_struct_variant(name, index, variant, length)
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

macro_rules! items {
    ($($list:ident $add:ident;)*) => {$(
        impl<S: $list> $list for Items<S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn $add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
                self.0.$add(&CamelCase(value))
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        }
    )*};
}

items! {
    SerializeSeq serialize_element;
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
    SerializeTupleVariant serialize_field;
}

impl<S: SerializeMap> SerializeMap for Entries<S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), S::Error> {
        match self.names {
            Names::Content => self.entries.serialize_key(key),
            Names::Fields => {
                let name = serde_json::to_value(key).map_err(S::Error::custom)?;
                self.entries.serialize_key(&camel(name.as_str().unwrap_or_default()))
            }
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        self.entries.serialize_value(&CamelCase(value))
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        self.entries.end()
    }
}

impl<S: SerializeMap> SerializeStruct for Entries<S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), S::Error> {
        self.entries.serialize_entry(&camel(name), &CamelCase(value))
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        self.entries.end()
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde_json::{Map, Value, json};

    use super::*;

    #[derive(Serialize)]
    struct Whole {
        plain: u8,
        of_ours: Option<Inner>,
        more_of_ours: Vec<Inner>,
        of_a_model: Value,
        #[serde(flatten)]
        beside_them: Beside,
    }

    #[derive(Serialize)]
    struct Inner {
        two_words: &'static str,
        tool_input: Map<String, Value>,
    }

    #[derive(Serialize)]
    #[serde(tag = "type", rename_all = "snake_case")]
    enum Beside {
        SomeKind { media_type: &'static str },
    }

    fn inner() -> Inner {
        let tool_input = json!({"file_path": {"and_more": 1}}).as_object().unwrap().clone();
        Inner { two_words: "kept_as_it_is", tool_input }
    }

    #[test]
    fn names_of_fields_are_spelled_anew_at_every_depth_and_content_is_not() {
        let whole = Whole {
            plain: 1,
            of_ours: Some(inner()),
            more_of_ours: vec![inner()],
            of_a_model: json!({"snake_case": [{"stays_so": true}]}),
            beside_them: Beside::SomeKind { media_type: "image/png" },
        };
        let inner =
            json!({"twoWords": "kept_as_it_is", "toolInput": {"file_path": {"and_more": 1}}});
        let expected = json!({
            "plain": 1,
            "ofOurs": inner,
            "moreOfOurs": [inner],
            "ofAModel": {"snake_case": [{"stays_so": true}]},
            "type": "some_kind",
            "mediaType": "image/png",
        });
        assert_eq!(camel_json(&whole), expected.to_string());
    }
}
