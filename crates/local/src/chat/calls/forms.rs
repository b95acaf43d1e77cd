//! The forms in which models write calls: with their template's own marks, in a fence, or as bare
//! JSON that names a tool. Each is read from the beginning of a text.

use serde_json::{Map, Value};

use super::literal::{self, Flaw};

/// A call as it was written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WrittenCall {
    pub(super) name: String,
    pub(super) arguments: Value,
}

/// The form that a text begins with.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reading {
    /// Calls, and where they end.
    Calls(Vec<WrittenCall>, usize),
    /// The text may become one or more calls.
    Unfinished,
    /// A mark of calls that is followed by no call.
    Broken,
    /// Words up to this position.
    Words(usize),
    /// A mark after which words follow, up to this position.
    Mark(usize),
}

/// The marks before calls, each with its closing mark, if it has one.
const TAGS: [(&str, Option<&str>); 9] = [
    ("<tool_call>", Some("</tool_call>")),
    ("<tool_calls>", Some("</tool_calls>")),
    ("<function_call>", Some("</function_call>")),
    ("<tools>", Some("</tools>")),
    ("<|tool_call|>", Some("<|/tool_call|>")),
    ("<|python_tag|>", None),
    ("[TOOL_CALLS]", None),
    ("<|tool_calls|>", None),
    ("<|recipient|>", None),
];

/// `<function=name>{…}</function>`.
const FUNCTION: &str = "<function=";

/// Functionary's `>>>name` at the beginning of a line.
const ARROWS: &str = ">>>";

const FENCE: &str = "```";

/// The position of the first piece of a text that is or may become a call. `fresh`: the text starts
/// at the beginning of a line.
pub(super) fn candidate(text: &str, fresh: bool) -> Option<usize> {
    let marks = TAGS.iter().map(|(open, _)| *open).chain([FUNCTION]);
    let marked = marks.filter_map(|mark| text.find(mark)).min();
    let lined = line_starts(text, fresh).find(|at| {
        let line = &text[*at..];
        line.starts_with(['{', '[']) || line.starts_with(FENCE) || line.starts_with(ARROWS)
    });
    match (marked, lined) {
        (Some(marked), Some(lined)) => Some(marked.min(lined)),
        (marked, lined) => marked.or(lined),
    }
}

/// The length of the longest suffix of a text that could begin a mark.
pub(super) fn beginning_of_mark(text: &str, fresh: bool) -> usize {
    let marks = TAGS.iter().map(|(open, _)| *open).chain([FUNCTION]);
    let anywhere = marks.map(|mark| overlap(text, mark)).max().unwrap_or(0);
    let Some(last) = line_starts(text, fresh).last() else { return anywhere };
    let line = &text[last..];
    let begins = [FENCE, ARROWS].iter().any(|mark| mark.starts_with(line));
    if !begins {
        return anywhere;
    }
    // Includes the space before it, which may precede a call.
    let start = text[..last].trim_end_matches([' ', '\t']).len();
    anywhere.max(text.len() - start)
}

fn overlap(text: &str, mark: &str) -> usize {
    let longest = (mark.len() - 1).min(text.len());
    let fits = |length: &usize| {
        let start = text.len() - length;
        text.is_char_boundary(start) && mark.starts_with(&text[start..])
    };
    (1..=longest).rev().find(fits).unwrap_or(0)
}

/// The position of the first word in each line.
fn line_starts(text: &str, fresh: bool) -> impl Iterator<Item = usize> {
    let first = fresh.then_some(0).into_iter();
    let starts = first.chain(text.match_indices('\n').map(|(at, _)| at + 1));
    starts.map(|at| {
        let line = &text[at..];
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        at + blank
    })
}

/// Reads the call that a text begins with. `over`: the text is complete.
pub(super) fn read(text: &str, offered: &[String], over: bool) -> Reading {
    for (open, close) in TAGS {
        if let Some(rest) = text.strip_prefix(open) {
            return tagged(rest, open, close, over).moved(open.len());
        }
    }
    if let Some(rest) = text.strip_prefix(FUNCTION) {
        return function(rest, over).moved(FUNCTION.len());
    }
    if let Some(rest) = text.strip_prefix(ARROWS) {
        return arrows(rest, offered, over).moved(ARROWS.len());
    }
    if let Some(rest) = text.strip_prefix(FENCE) {
        return fenced(rest, offered, over).moved(FENCE.len());
    }
    bare(text, offered, over)
}

impl Reading {
    /// The same reading with its positions moved by the length of the mark before it.
    fn moved(self, by: usize) -> Self {
        match self {
            Self::Calls(calls, end) => Self::Calls(calls, end + by),
            Self::Words(end) => Self::Words(end + by),
            Self::Mark(end) => Self::Mark(end + by),
            other @ (Self::Unfinished | Self::Broken) => other,
        }
    }
}

fn tagged(rest: &str, open: &str, close: Option<&str>, over: bool) -> Reading {
    let body = rest.trim_start();
    let blank = rest.len() - body.len();
    if body.is_empty() {
        return if over { Reading::Broken } else { Reading::Unfinished };
    }
    let read = if let Some(named) = body.strip_prefix(FUNCTION) {
        function(named, over).moved(FUNCTION.len())
    } else if open == "[TOOL_CALLS]" && !body.starts_with(['[', '{']) {
        mistral(body, over)
    } else if open == "<|recipient|>" {
        recipient(body, over)
    } else {
        several(body, over)
    };
    let (calls, end) = match read.moved(blank) {
        Reading::Calls(calls, end) => (calls, end),
        decided @ (Reading::Mark(_) | Reading::Unfinished) => return decided,
        _ => return read_or_broken(body, over),
    };
    let after = rest[end..].trim_start();
    match close {
        Some(close) if after.starts_with(close) => {
            Reading::Calls(calls, rest.len() - after.len() + close.len())
        }
        // The closing mark may still be arriving.
        Some(close) if !over && close.starts_with(after) => Reading::Unfinished,
        _ => Reading::Calls(calls, end),
    }
}

fn read_or_broken(body: &str, over: bool) -> Reading {
    match literal::value(body) {
        Err(Flaw::Unfinished) if !over => Reading::Unfinished,
        _ if !over && (FUNCTION.starts_with(body) || body.starts_with(FUNCTION)) => {
            Reading::Unfinished
        }
        _ if !over && !body.starts_with(['{', '[']) && !body.contains(['{', '\n']) => {
            Reading::Unfinished
        }
        _ => Reading::Broken,
    }
}

/// One call after the other, or a list of them.
fn several(body: &str, over: bool) -> Reading {
    let mut calls = Vec::new();
    let mut end = 0;
    loop {
        let rest = body[end..].trim_start_matches([' ', '\n', '\t', '\r', ';', ',']);
        if !rest.starts_with(['{', '[']) {
            break;
        }
        let start = body.len() - rest.len();
        let (value, length) = match literal::value(rest) {
            Ok(read) => read,
            // Small models often forget the end and close one bracket too few.
            Err(Flaw::Unfinished) if over => match literal::value(&closed(rest)) {
                Ok((value, _)) => (value, rest.len()),
                Err(_) => break,
            },
            Err(Flaw::Unfinished) => return Reading::Unfinished,
            Err(Flaw::Bad) => match python_calls(rest) {
                Some((more, length)) => {
                    calls.extend(more);
                    end = start + length;
                    continue;
                }
                None => break,
            },
        };
        let Some(more) = calls_in(value, None) else { break };
        calls.extend(more);
        end = start + length;
    }
    if calls.is_empty() { Reading::Broken } else { Reading::Calls(calls, end) }
}

/// The text with its open brackets closed at the end.
fn closed(text: &str) -> String {
    let mut open = Vec::new();
    let (mut quoted, mut escaped) = (false, false);
    for letter in text.chars() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            '{' | '[' if !quoted => open.push(if letter == '{' { '}' } else { ']' }),
            '}' | ']' if !quoted => {
                open.pop();
            }
            _ => {}
        }
    }
    let mut text = text.trim_end().to_owned();
    if !quoted {
        text.extend(open.into_iter().rev());
    }
    text
}

/// `name[ARGS]{…}`, `name{…}`, several after one another with the mark between them.
fn mistral(body: &str, over: bool) -> Reading {
    let Some(brace) = body.find('{') else {
        return if over { Reading::Broken } else { Reading::Unfinished };
    };
    let name = body[..brace].trim().trim_end_matches("[ARGS]");
    let name = name.split("[CALL_ID]").next().unwrap_or_default().trim();
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Reading::Broken;
    }
    match literal::value(&body[brace..]) {
        Ok((arguments @ Value::Object(_), length)) => {
            let call = WrittenCall { name: name.to_owned(), arguments };
            Reading::Calls(vec![call], brace + length)
        }
        Err(Flaw::Unfinished) if !over => Reading::Unfinished,
        Ok(_) | Err(_) => Reading::Broken,
    }
}

/// Functionary 2: `name\n<|content|>{…}`.
fn recipient(body: &str, over: bool) -> Reading {
    const CONTENT: &str = "<|content|>";
    let Some(at) = body.find(CONTENT) else {
        return if over { Reading::Broken } else { Reading::Unfinished };
    };
    let name = body[..at].trim();
    let rest = &body[at + CONTENT.len()..];
    if name == "all" {
        return Reading::Mark(at + CONTENT.len());
    }
    named_object(name, rest, over).moved(at + CONTENT.len())
}

/// `name>{…}</function>`, or with `<parameter=key>value</parameter>` as Qwen's coders write it.
fn function(rest: &str, over: bool) -> Reading {
    const CLOSE: &str = "</function>";
    let unfinished = || if over { Reading::Broken } else { Reading::Unfinished };
    let Some(bracket) = rest.find('>') else { return unfinished() };
    let name = rest[..bracket].trim().trim_matches('"');
    let body = &rest[bracket + 1..];
    let end = body.find(CLOSE);
    let inside = match end {
        Some(end) => &body[..end],
        None if over => body,
        None => return Reading::Unfinished,
    };
    let length = bracket + 1 + end.map_or(body.len(), |end| end + CLOSE.len());
    let arguments = if inside.contains("<parameter=") {
        parameters(inside)
    } else if inside.trim().is_empty() {
        Value::Object(Map::new())
    } else {
        match literal::value(inside) {
            Ok((arguments, _)) => arguments,
            Err(_) => return Reading::Broken,
        }
    };
    Reading::Calls(vec![WrittenCall { name: name.to_owned(), arguments }], length)
}

/// The parameters as an object. A value that parses as JSON is that value; any other is text.
fn parameters(text: &str) -> Value {
    let mut fields = Map::new();
    for part in text.split("<parameter=").skip(1) {
        let Some((name, rest)) = part.split_once('>') else { continue };
        let written = rest.split("</parameter>").next().unwrap_or_default().trim_matches('\n');
        let value = serde_json::from_str(written).ok().filter(|value: &Value| !value.is_string());
        fields.insert(name.trim().to_owned(), value.unwrap_or_else(|| written.into()));
    }
    fields.into()
}

/// Functionary 3: `name\n{…}`, where the name `all` begins text for people.
fn arrows(rest: &str, offered: &[String], over: bool) -> Reading {
    let Some(line) = rest.find('\n') else {
        let may_be = "all".starts_with(rest) || offered.iter().any(|name| name.starts_with(rest));
        return if may_be && !over { Reading::Unfinished } else { Reading::Words(rest.len()) };
    };
    let name = rest[..line].trim();
    if name == "all" {
        return Reading::Mark(line + 1);
    }
    if !offered.iter().any(|offer| offer == name) {
        return Reading::Words(0);
    }
    named_object(name, &rest[line + 1..], over).moved(line + 1)
}

fn named_object(name: &str, text: &str, over: bool) -> Reading {
    match literal::value(text) {
        Ok((arguments @ Value::Object(_), end)) => {
            Reading::Calls(vec![WrittenCall { name: name.to_owned(), arguments }], end)
        }
        Err(Flaw::Unfinished) if !over => Reading::Unfinished,
        Ok(_) | Err(_) => Reading::Broken,
    }
}

/// Reads a fence whose content begins like JSON, or whose first line says that it is a call.
fn fenced(rest: &str, offered: &[String], over: bool) -> Reading {
    let Some(line) = rest.find('\n') else {
        let short = rest.len() < 16 && !rest.contains([' ', '`']);
        return if short && !over { Reading::Unfinished } else { Reading::Words(rest.len()) };
    };
    let kind = rest[..line].trim();
    let body = &rest[line + 1..];
    let content = body.trim_start();
    if content.is_empty() && !over {
        return Reading::Unfinished;
    }
    let code = matches!(kind, "tool_code" | "tool_call" | "python");
    let json = matches!(kind, "" | "json" | "tool_call" | "tool" | "function_call");
    if !(json && content.starts_with(['{', '[']) || code) {
        return Reading::Words(line + 1);
    }
    let Some(end) = body.find(FENCE) else {
        return if over { whole(content, offered, rest.len()) } else { Reading::Unfinished };
    };
    match whole(&body[..end], offered, line + 1 + end + FENCE.len()) {
        Reading::Words(_) => Reading::Words(line + 1 + end + FENCE.len()),
        read => read,
    }
}

/// Returns the calls if a text holds nothing else; otherwise the text is words up to `end`.
fn whole(text: &str, offered: &[String], end: usize) -> Reading {
    let text = text.trim();
    let read = match literal::value(text) {
        Ok((value, length)) if text[length..].trim().is_empty() => calls_in(value, Some(offered)),
        Ok(_) => match several(text, true) {
            Reading::Calls(calls, length) if text[length..].trim().is_empty() => Some(calls),
            _ => None,
        },
        Err(_) => python_calls(text).map(|(calls, _)| calls),
    };
    let known = |call: &WrittenCall| offered.contains(&call.name);
    match read.filter(|calls| !calls.is_empty() && calls.iter().all(known)) {
        Some(calls) => Reading::Calls(calls, end),
        None => Reading::Words(end),
    }
}

/// JSON at the beginning of a line, or a list of calls as Python writes them.
fn bare(text: &str, offered: &[String], over: bool) -> Reading {
    let (value, length) = match literal::value(text) {
        Ok(read) => read,
        Err(Flaw::Unfinished) if !over => return Reading::Unfinished,
        Err(Flaw::Unfinished) => {
            // A call that was cut off is not shown.
            let names_one = offered.iter().any(|name| text.contains(&format!("\"{name}\"")));
            return match whole(&closed(text), offered, text.len()) {
                Reading::Words(_) if names_one => Reading::Broken,
                read => read,
            };
        }
        Err(Flaw::Bad) => {
            return match python_calls(text) {
                Some((calls, end)) if calls.iter().all(|call| offered.contains(&call.name)) => {
                    Reading::Calls(calls, end)
                }
                _ if !over && may_be_python(text, offered) => Reading::Unfinished,
                _ => Reading::Words(1),
            };
        }
    };
    match calls_in(value, Some(offered)) {
        Some(calls) if !calls.is_empty() => Reading::Calls(calls, length),
        _ => Reading::Words(length),
    }
}

fn may_be_python(text: &str, offered: &[String]) -> bool {
    let inside = text.trim_start_matches('[').trim_start();
    let begins =
        |name: &String| inside.starts_with(&format!("{name}(")) || name.starts_with(inside);
    text.starts_with('[') && offered.iter().any(begins) && !text.contains(")]")
}

/// `[f(a=1), g(b=2)]`, or one call without the brackets.
fn python_calls(text: &str) -> Option<(Vec<WrittenCall>, usize)> {
    let inside = text.strip_prefix('[');
    let mut at = usize::from(inside.is_some());
    let mut calls = Vec::new();
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        let (name, arguments, length) = literal::python_call(&text[at..]).ok()?;
        let name = name.strip_prefix("functions.").unwrap_or(&name).to_owned();
        calls.push(WrittenCall { name, arguments });
        at += length;
        let rest = text[at..].trim_start();
        at = text.len() - rest.len();
        if inside.is_none() {
            return Some((calls, at));
        }
        if rest.starts_with(']') {
            return Some((calls, at + 1));
        }
        at += 1;
        rest.strip_prefix(',')?;
    }
}

/// The calls that a value describes. With `offered`, each must name one of these tools and hold
/// nothing else.
fn calls_in(value: Value, offered: Option<&[String]>) -> Option<Vec<WrittenCall>> {
    match value {
        Value::Array(items) => {
            let calls: Option<Vec<Vec<WrittenCall>>> =
                items.into_iter().map(|item| calls_in(item, offered)).collect();
            Some(calls?.into_iter().flatten().collect())
        }
        Value::Object(mut fields) => {
            if let Some(inner @ Value::Array(_)) = fields.get("tool_calls") {
                return calls_in(inner.clone(), offered);
            }
            for wrapper in ["function", "function_call", "tool_call"] {
                if let Some(Value::Object(inner)) = fields.get(wrapper) {
                    return calls_in(Value::Object(inner.clone()), offered);
                }
            }
            one_call(&mut fields, offered).map(|call| vec![call])
        }
        _ => None,
    }
}

const NAMES: [&str; 7] =
    ["name", "tool", "tool_name", "function", "function_name", "action", "recipient_name"];
const ARGUMENTS: [&str; 8] =
    ["arguments", "parameters", "args", "input", "tool_input", "action_input", "params", "kwargs"];
const BESIDE: [&str; 4] = ["type", "id", "tool_call_id", "call_id"];

fn one_call(fields: &mut Map<String, Value>, offered: Option<&[String]>) -> Option<WrittenCall> {
    let named = NAMES.iter().find(|name| fields.get(**name).is_some_and(Value::is_string));
    let Some(named) = named else { return keyed_call(fields, offered?) };
    let Some(Value::String(name)) = fields.shift_remove(*named) else { return None };
    let name = name.strip_prefix("functions.").unwrap_or(&name).to_owned();
    let known = offered.is_none_or(|offered| offered.contains(&name));
    let given = ARGUMENTS.iter().find_map(|field| fields.shift_remove(*field));
    let else_ = fields.keys().any(|field| !BESIDE.contains(&field.as_str()));
    if !known || (offered.is_some() && else_) {
        return None;
    }
    Some(WrittenCall { name, arguments: arguments(given, offered.is_some())? })
}

/// Some models write the arguments as text, as OpenAI does.
fn arguments(given: Option<Value>, strict: bool) -> Option<Value> {
    match given {
        None | Some(Value::Null) => Some(Value::Object(Map::new())),
        Some(Value::String(text)) if text.trim().is_empty() => Some(Value::Object(Map::new())),
        Some(Value::String(text)) => match literal::value(&text) {
            Ok((value @ Value::Object(_), _)) => Some(value),
            Ok(_) | Err(_) => None,
        },
        Some(value @ Value::Object(_)) => Some(value),
        Some(_) if strict => None,
        Some(other) => Some(other),
    }
}

/// Reads `{"tool": {…}}`, where the only field is the name of a tool.
fn keyed_call(fields: &Map<String, Value>, offered: &[String]) -> Option<WrittenCall> {
    let mut all = fields.iter();
    match (all.next(), all.next()) {
        (Some((name, arguments @ Value::Object(_))), None) if offered.contains(name) => {
            Some(WrittenCall { name: name.clone(), arguments: arguments.clone() })
        }
        _ => None,
    }
}
