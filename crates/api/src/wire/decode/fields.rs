//! Decides what happens with each field of a request: it is read, or it is left out and the client
//! is told so, or the request is refused because the answer would be wrong without the field.
//! Nothing is left out silently.

use serde_json::{Map, Value};

use crate::Problem;

/// What the fields of a format mean here. A path names fields from the outermost to the innermost;
/// `[]` stands for every position of a list. Both lists of paths are sorted.
pub(super) struct Fields {
    /// Fields that are read, or that Onyx does anyway. A path includes everything below it.
    pub(super) known: &'static [&'static str],
    /// Fields without which the answer would be wrong or unsafe.
    pub(super) refused: &'static [&'static str],
    /// Values with which a field asks for nothing that Onyx would not do anyway.
    pub(super) neutral: &'static [(&'static str, &'static [&'static str])],
}

enum FieldStanding {
    Known,
    /// The field itself is not known, but a field below it is.
    Holds,
    LeftOut,
}

impl Fields {
    /// The fields that are left out, each once, by their paths.
    pub(super) fn left_out(&self, body: &Map<String, Value>) -> Result<Vec<String>, Problem> {
        for name in self.refused {
            let value = body.get(*name).filter(|value| !value.is_null());
            if value.is_some_and(|value| !self.is_neutral(name, value)) {
                return Err(Problem::field(*name, "not supported here; leave it out"));
            }
        }
        let mut found = Vec::new();
        for (name, value) in body.iter().filter(|(name, _)| !name.starts_with("x-onyx-")) {
            if !self.refused.contains(&name.as_str()) {
                self.field(&mut name.clone(), value, &mut found);
            }
        }
        Ok(found)
    }

    fn field(&self, path: &mut String, value: &Value, found: &mut Vec<String>) {
        if value.is_null() || self.is_neutral(path, value) {
            return;
        }
        match self.standing(path) {
            FieldStanding::Known => {}
            FieldStanding::Holds => self.inside(path, value, found),
            FieldStanding::LeftOut if found.contains(path) => {}
            FieldStanding::LeftOut => found.push(path.clone()),
        }
    }

    fn inside(&self, path: &mut String, value: &Value, found: &mut Vec<String>) {
        let length = path.len();
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    path.push('.');
                    path.push_str(name);
                    self.field(path, value, found);
                    path.truncate(length);
                }
            }
            Value::Array(items) => {
                path.push_str("[]");
                for item in items {
                    self.inside(path, item, found);
                }
                path.truncate(length);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn standing(&self, path: &str) -> FieldStanding {
        let at = self.known.partition_point(|known| *known < path);
        match self.known.get(at) {
            Some(known) if *known == path => FieldStanding::Known,
            Some(known)
                if known.starts_with(path) && known[path.len()..].starts_with(['.', '[']) =>
            {
                FieldStanding::Holds
            }
            Some(_) | None => FieldStanding::LeftOut,
        }
    }

    fn is_neutral(&self, path: &str, value: &Value) -> bool {
        let text = || value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.neutral
            .iter()
            .any(|(neutral, values)| *neutral == path && values.contains(&text().as_str()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FIELDS: Fields = Fields {
        known: &["a", "list[].b", "list[].c.d", "list[].whole"],
        refused: &["n"],
        neutral: &[("n", &["1"]), ("list[].e", &["false"])],
    };

    #[test]
    fn what_is_not_read_is_named_by_its_path_wherever_it_stands() {
        let body = json!({
            "a": {"anything": 1}, "z": 2, "n": 1, "none": null, "x-onyx-session-id": "s",
            "list": [
                {"b": 1, "c": {"d": 1, "f": 1}, "e": false},
                {"e": true, "whole": {"any": [1]}},
                {"e": true, "c": {"f": 2}},
            ],
        });
        let found = FIELDS.left_out(body.as_object().unwrap()).unwrap();
        assert_eq!(found, ["z", "list[].c.f", "list[].e"]);
        let refused = FIELDS.left_out(json!({"n": 2}).as_object().unwrap()).unwrap_err();
        assert_eq!(refused.path(), Some("n"));
    }

    #[test]
    fn the_paths_of_every_wire_are_sorted() {
        for fields in [
            super::super::chat::FIELDS,
            super::super::messages::FIELDS,
            super::super::responses::FIELDS,
        ] {
            assert!(fields.known.is_sorted(), "{:?}", fields.known);
        }
    }
}
