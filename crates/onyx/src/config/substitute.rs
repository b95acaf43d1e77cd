//! Fills in `${NAME}` in the config's strings. A value whose variable is missing is removed, together with
//! everything that depends on it, and reported: one missing key disables one thing.

use std::fmt;

use serde_json::Value;

use super::path::Path;

/// A variable that the config uses and that is not set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) variable: String,
    /// The path of the value that uses the variable.
    pub(crate) at: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: the environment variable {} is not set", self.at, self.variable)
    }
}

pub(super) fn substitute(
    value: &mut Value,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Vec<Missing> {
    let mut walk = Walk { environment, missing: Vec::new() };
    walk.visit(&Path::root(), value);
    walk.missing
}

pub(super) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

struct Walk<'a> {
    environment: &'a dyn Fn(&str) -> Option<String>,
    missing: Vec<Missing>,
}

/// Whether every variable of a value is set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Completeness {
    Whole,
    Lacking,
}

impl Walk<'_> {
    fn visit(&mut self, path: &Path<'_>, value: &mut Value) -> Completeness {
        match value {
            Value::String(text) => match expand(text, self.environment) {
                Ok(expanded) => {
                    *text = expanded;
                    Completeness::Whole
                }
                Err(variable) => {
                    self.missing.push(Missing { variable, at: path.to_string() });
                    Completeness::Lacking
                }
            },
            Value::Array(items) => {
                let mut index = 0;
                let mut whole = Completeness::Whole;
                items.retain_mut(|item| {
                    let filled = self.visit(&path.index(index), item);
                    index += 1;
                    self.keep(&path.index(index - 1), filled, &mut whole)
                });
                whole
            }
            Value::Object(fields) => {
                let mut whole = Completeness::Whole;
                fields.retain(|name, field| {
                    let path = path.key(name);
                    let filled = self.visit(&path, field);
                    self.keep(&path, filled, &mut whole)
                });
                whole
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Completeness::Whole,
        }
    }

    /// Whether to keep a value. A variable that is not set removes the whole agent that uses it,
    /// and elsewhere only the key.
    fn keep(&self, path: &Path<'_>, filled: Completeness, parent: &mut Completeness) -> bool {
        match filled {
            Completeness::Whole => true,
            Completeness::Lacking if path.depth() > 3 && path.starts_with(&["agents"]) => {
                *parent = Completeness::Lacking;
                true
            }
            Completeness::Lacking => false,
        }
    }
}

/// The text with its variables replaced, or the name of the first variable that is not set. `$${`
/// stands for a plain `${`.
pub(super) fn expand(
    text: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        if let Some(plain) = before.strip_suffix('$') {
            expanded.push_str(plain);
            expanded.push_str("${");
            rest = &from[2..];
            continue;
        }
        expanded.push_str(before);
        match from[2..].split_once('}').filter(|(name, _)| is_name(name)) {
            Some((name, after)) => {
                expanded.push_str(&environment(name).ok_or_else(|| name.to_owned())?);
                rest = after;
            }
            None => {
                expanded.push_str("${");
                rest = &from[2..];
            }
        }
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn environment(name: &str) -> Option<String> {
        matches!(name, "HERE" | "_2").then(|| format!("<{name}>"))
    }

    #[test]
    fn variables_are_filled_in_wherever_a_string_is() {
        let mut value = json!({
            "a": "x${HERE}y${_2}", "b": [1, "${HERE}"], "c": {"d": "$${HERE} ${not a name} ${"},
        });
        let missing = substitute(&mut value, &environment);
        let expected = json!({
            "a": "x<HERE>y<_2>", "b": [1, "<HERE>"], "c": {"d": "${HERE} ${not a name} ${"},
        });
        assert_eq!((value, missing), (expected, vec![]));
    }

    #[test]
    fn a_missing_variable_takes_its_agent_or_its_key_and_no_more() {
        let mut value = json!({
            "gateway": {"port": 1, "auth": {"token": "${GONE}"}},
            "agents": {
                "list": [{"id": "a", "model": {"primary": "${GONE}/m"}}, {"id": "b"}],
                "entries": {"c": {"tools": {"allow": ["${GONE}"]}}, "d": {}},
            },
        });
        let missing = substitute(&mut value, &environment);
        let expected = json!({
            "gateway": {"port": 1, "auth": {}},
            "agents": {"list": [{"id": "b"}], "entries": {"d": {}}},
        });
        let at = |path: &str| Missing { variable: "GONE".to_owned(), at: path.to_owned() };
        let reported = vec![
            at("gateway.auth.token"),
            at("agents.list[0].model.primary"),
            at("agents.entries.c.tools.allow[0]"),
        ];
        assert_eq!((value, missing), (expected, reported));
    }
}
