//! The grammar (GBNF, llama.cpp's notation) of the JSON that a schema describes.
//!
//! A grammar cannot express everything: `pattern`, `format`, `uniqueItems` and the bounds of
//! numbers are left to the model. Objects with `properties` have no others unless
//! `additionalProperties` allows them, and their members come in the schema's order.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// A schema that is nested more deeply is a mistake, or made to harm.
const MAX_DEPTH: usize = 64;
const MAX_RULES: usize = 4_000;
/// llama.cpp expands repetitions, so a higher bound is left out.
const MAX_REPETITIONS: u64 = 1_000;

const BASICS: &str = r#"ws ::= ("\n" [ ]{0,8} | " ")?
char ::= [^"\\\x7F\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})
string ::= "\"" char* "\""
integer ::= "-"? ("0" | [1-9] [0-9]{0,15})
number ::= integer ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,3})?
boolean ::= "true" | "false"
null ::= "null"
value ::= object | array | string | number | boolean | null
member ::= string ws ":" ws value
object ::= "{" ws (member ("," ws member)*)? ws "}"
array ::= "[" ws (value ("," ws value)*)? ws "]"
"#;

/// The whole grammar; an answer is its rule `root`.
pub(super) fn of_schema(schema: &Value) -> Result<String, String> {
    let mut grammar =
        Grammar { whole: schema, rules: String::new(), count: 0, named: HashMap::new() };
    let root = grammar.expression(schema, 0)?;
    Ok(format!("root ::= {root}\n{}{BASICS}", grammar.rules))
}

struct Grammar<'s> {
    whole: &'s Value,
    /// The text of the finished rules.
    rules: String,
    count: usize,
    /// The rules of what `$ref` points to, so that a schema may contain itself.
    named: HashMap<String, String>,
}

type Rule = String;

impl Grammar<'_> {
    fn fresh(&mut self) -> Result<Rule, String> {
        self.count += 1;
        if self.count > MAX_RULES {
            return Err("it is too large".to_owned());
        }
        Ok(format!("r{}", self.count))
    }

    fn define(&mut self, rule: &str, expression: &str) {
        self.rules.push_str(&format!("{rule} ::= {expression}\n"));
    }

    /// A rule's name, or an expression that can be used within any other.
    fn expression(&mut self, schema: &Value, depth: usize) -> Result<String, String> {
        if depth > MAX_DEPTH {
            return Err("it is too deep".to_owned());
        }
        let schema = match schema {
            Value::Bool(true) => return Ok("value".to_owned()),
            Value::Object(schema) => schema,
            other => return Err(format!("{other} is not a schema")),
        };
        if let Some(Value::String(pointer)) = schema.get("$ref") {
            return self.reference(pointer, depth);
        }
        if let Some(value) = schema.get("const") {
            return Ok(literal(&value.to_string()));
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            let values: Vec<String> =
                values.iter().map(|value| literal(&value.to_string())).collect();
            return one_of(&values);
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(choices)) = schema.get(key) {
                let choices: Result<Vec<String>, String> =
                    choices.iter().map(|choice| self.expression(choice, depth + 1)).collect();
                return one_of(&choices?);
            }
        }
        if let Some(Value::Array(parts)) = schema.get("allOf") {
            let merged = self.merged(schema, parts)?;
            return self.expression(&Value::Object(merged), depth + 1);
        }
        match schema.get("type") {
            Some(Value::Array(kinds)) => {
                let kinds: Result<Vec<String>, String> =
                    kinds.iter().map(|kind| self.of_type(kind, schema, depth)).collect();
                one_of(&kinds?)
            }
            Some(kind) => self.of_type(kind, schema, depth),
            None if schema.contains_key("properties") => self.object(schema, depth),
            None if schema.contains_key("items") => self.array(schema, depth),
            None => Ok("value".to_owned()),
        }
    }

    fn of_type(
        &mut self,
        kind: &Value,
        schema: &Map<String, Value>,
        depth: usize,
    ) -> Result<String, String> {
        match kind.as_str() {
            Some("object") => self.object(schema, depth),
            Some("array") => self.array(schema, depth),
            Some("string") => Ok(string(schema)),
            Some(basic @ ("integer" | "number" | "boolean" | "null")) => Ok(basic.to_owned()),
            _ => Err(format!("{kind} is no type")),
        }
    }

    fn reference(&mut self, pointer: &str, depth: usize) -> Result<String, String> {
        if let Some(rule) = self.named.get(pointer) {
            return Ok(rule.clone());
        }
        let target = self.target(pointer)?;
        let rule = self.fresh()?;
        self.named.insert(pointer.to_owned(), rule.clone());
        let expression = self.expression(&target, depth + 1)?;
        if expression == rule {
            return Err(format!("`{pointer}` points to itself"));
        }
        self.define(&rule, &expression);
        Ok(rule)
    }

    fn target(&self, pointer: &str) -> Result<Value, String> {
        let inside = pointer.strip_prefix('#');
        let target = inside.and_then(|inside| self.whole.pointer(inside));
        target.cloned().ok_or_else(|| format!("`{pointer}` leads nowhere in it"))
    }

    /// Merges several schemas that must all hold: the result has the members of all, and of any
    /// other keyword the last value.
    fn merged(
        &self,
        schema: &Map<String, Value>,
        parts: &[Value],
    ) -> Result<Map<String, Value>, String> {
        let mut merged = schema.clone();
        merged.remove("allOf");
        for part in parts {
            let part = match part.get("$ref") {
                Some(Value::String(pointer)) => self.target(pointer)?,
                _ => part.clone(),
            };
            let Value::Object(part) = part else { return Err(format!("{part} is not a schema")) };
            for (key, value) in part {
                match (merged.get_mut(&key), value) {
                    (Some(Value::Object(known)), Value::Object(more)) => known.extend(more),
                    (Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
                    (_, value) => {
                        merged.insert(key, value);
                    }
                }
            }
        }
        Ok(merged)
    }

    fn object(&mut self, schema: &Map<String, Value>, depth: usize) -> Result<String, String> {
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let others = match schema.get("additionalProperties") {
            None if properties.is_empty() => return Ok("object".to_owned()),
            None | Some(Value::Bool(false)) => None,
            Some(other) => Some(self.expression(other, depth + 1)?),
        };
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map_or_else(Vec::new, |names| names.iter().filter_map(Value::as_str).collect());
        let mut members = Vec::new();
        for (name, property) in properties {
            let value = self.expression(property, depth + 1)?;
            let key = literal(&Value::from(name.as_str()).to_string());
            let need =
                if required.contains(&name.as_str()) { MemberNeed::Must } else { MemberNeed::May };
            members.push((format!("{key} ws \":\" ws {value}"), need));
        }
        let members = self.members(&members, others.as_deref())?;
        let rule = self.fresh()?;
        self.define(&rule, &format!("\"{{\" ws {members} ws \"}}\""));
        Ok(rule)
    }

    /// Writes the members in their order, built from the last to the first: each is written or, if
    /// it is optional, left out, and a comma precedes all but the first that is written.
    fn members(
        &mut self,
        members: &[(String, MemberNeed)],
        others: Option<&str>,
    ) -> Result<String, String> {
        let (mut after_some, mut after_none) = match others {
            Some(value) => {
                let other = self.fresh()?;
                self.define(&other, &format!("string ws \":\" ws {value}"));
                (format!("(\",\" ws {other})*"), format!("({other} (\",\" ws {other})*)?"))
            }
            None => (String::new(), String::new()),
        };
        for (member, need) in members.iter().rev() {
            let (with_comma, first) = (self.fresh()?, self.fresh()?);
            let (written_next, written_first) =
                (format!("\",\" ws {member} {after_some}"), format!("{member} {after_some}"));
            match need {
                MemberNeed::Must => {
                    self.define(&with_comma, &written_next);
                    self.define(&first, &written_first);
                }
                MemberNeed::May => {
                    self.define(
                        &with_comma,
                        &format!("{written_next} | {}", or_empty(&after_some)),
                    );
                    self.define(&first, &format!("{written_first} | {}", or_empty(&after_none)));
                }
            }
            (after_some, after_none) = (with_comma, first);
        }
        Ok(after_none)
    }

    fn array(&mut self, schema: &Map<String, Value>, depth: usize) -> Result<String, String> {
        let rule = self.fresh()?;
        if let Some(Value::Array(items)) = schema.get("prefixItems") {
            let items: Result<Vec<String>, String> =
                items.iter().map(|item| self.expression(item, depth + 1)).collect();
            let items = items?.join(" \",\" ws ");
            self.define(&rule, &format!("\"[\" ws {items} ws \"]\""));
            return Ok(rule);
        }
        let any = Value::Bool(true);
        let item = self.expression(schema.get("items").unwrap_or(&any), depth + 1)?;
        let (least, most) = bounds(schema, "minItems", "maxItems");
        let more = repeated(least.saturating_sub(1), most.map(|most| most.saturating_sub(1)));
        let some = format!("{item} (\",\" ws {item}){more}");
        let items = match (least, most) {
            (_, Some(0)) => String::new(),
            (0, _) => format!("({some})?"),
            _ => some,
        };
        self.define(&rule, &format!("\"[\" ws {items} ws \"]\""));
        Ok(rule)
    }
}

/// Whether a member of an object may be absent.
enum MemberNeed {
    Must,
    May,
}

fn string(schema: &Map<String, Value>) -> String {
    match bounds(schema, "minLength", "maxLength") {
        (0, None) => "string".to_owned(),
        (least, most) => format!("\"\\\"\" char{} \"\\\"\"", repeated(least, most)),
    }
}

fn bounds(schema: &Map<String, Value>, least: &str, most: &str) -> (u64, Option<u64>) {
    let number = |key: &str| schema.get(key).and_then(Value::as_u64);
    let least = number(least).unwrap_or(0).min(MAX_REPETITIONS);
    (least, number(most).filter(|most| *most <= MAX_REPETITIONS))
}

fn repeated(least: u64, most: Option<u64>) -> String {
    match most {
        Some(most) => format!("{{{least},{most}}}"),
        None => format!("{{{least},}}"),
    }
}

fn one_of(choices: &[String]) -> Result<String, String> {
    if choices.is_empty() {
        return Err("nothing can be chosen in it".to_owned());
    }
    Ok(format!("({})", choices.join(" | ")))
}

/// An empty alternative must be written as an empty string.
fn or_empty(expression: &str) -> &str {
    if expression.is_empty() { "\"\"" } else { expression }
}

/// A text as a literal of the grammar.
fn literal(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The rules of a schema, without the basic rules that every grammar has.
    fn rules(schema: &Value) -> Vec<String> {
        let grammar = of_schema(schema).unwrap();
        let own = grammar.strip_suffix(BASICS).unwrap();
        own.lines().map(str::to_owned).collect()
    }

    #[test]
    fn plain_types_and_fixed_values_are_written_as_they_are() {
        assert_eq!(rules(&json!({"type": "integer"})), ["root ::= integer"]);
        assert_eq!(rules(&json!({"type": "object"})), ["root ::= object"]);
        assert_eq!(rules(&json!(true)), ["root ::= value"]);
        assert_eq!(
            rules(&json!({"enum": ["a \"b\"", 1, null]})),
            [r#"root ::= ("\"a \\\"b\\\"\"" | "1" | "null")"#]
        );
        assert_eq!(rules(&json!({"const": "x"})), [r#"root ::= "\"x\"""#]);
        assert_eq!(rules(&json!({"type": ["string", "null"]})), ["root ::= (string | null)"]);
        assert_eq!(
            rules(&json!({"type": "string", "minLength": 1, "maxLength": 20})),
            [r#"root ::= "\"" char{1,20} "\"""#]
        );
        assert_eq!(
            rules(&json!({"type": "string", "maxLength": 1_000_000, "minLength": 2})),
            [r#"root ::= "\"" char{2,} "\"""#]
        );
    }

    #[test]
    fn members_keep_their_order_and_those_that_may_be_absent_take_their_comma_along() {
        let schema = json!({
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}},
            "required": ["b"],
        });

        assert_eq!(
            rules(&schema),
            [
                "root ::= r5",
                r#"r1 ::= "," ws "\"b\"" ws ":" ws boolean "#,
                r#"r2 ::= "\"b\"" ws ":" ws boolean "#,
                r#"r3 ::= "," ws "\"a\"" ws ":" ws integer r1 | r1"#,
                r#"r4 ::= "\"a\"" ws ":" ws integer r1 | r2"#,
                r#"r5 ::= "{" ws r4 ws "}""#,
            ]
        );
    }

    #[test]
    fn arrays_are_bounded_and_a_schema_may_contain_itself() {
        let schema = json!({
            "$ref": "#/$defs/tree",
            "$defs": {"tree": {"type": "array", "maxItems": 3, "items": {"$ref": "#/$defs/tree"}}},
        });

        assert_eq!(
            rules(&schema),
            ["root ::= r1", r#"r2 ::= "[" ws (r1 ("," ws r1){0,2})? ws "]""#, "r1 ::= r2",]
        );
    }

    #[test]
    fn what_is_no_schema_is_refused_with_a_reason() {
        let deep = (0..100).fold(json!({}), |inner, _| json!({"type": "array", "items": inner}));
        for (schema, reason) in [
            (json!({"type": "colour"}), "\"colour\" is no type"),
            (json!({"$ref": "#/nowhere"}), "leads nowhere"),
            (json!({"$ref": "#"}), "points to itself"),
            (json!({"anyOf": []}), "nothing can be chosen"),
            (json!(17), "17 is not a schema"),
            (deep, "too deep"),
        ] {
            let error = of_schema(&schema).unwrap_err();
            assert!(error.contains(reason), "{schema}: {error}");
        }
    }
}
