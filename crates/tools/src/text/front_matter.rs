use serde_json::{Map, Value};

/// Splits a text into the fields between two lines of `---` at its beginning, and the text below.
pub fn front_matter(text: &str) -> Result<(Map<String, Value>, &str), String> {
    let (front, body) = split(text)?;
    Ok((front.map_or(Ok(Map::new()), fields)?, body))
}

fn split(text: &str) -> Result<(Option<&str>, &str), String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else {
        return Ok((None, text));
    };
    let mut end = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            return Ok((Some(&text[first.len()..end]), &text[end + line.len()..]));
        }
        end += line.len();
    }
    Err("the front matter has no end: a line of --- is missing".to_owned())
}

fn fields(front: &str) -> Result<Map<String, Value>, String> {
    if front.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Map::new());
    }
    let read: Result<Value, _> = serde_saphyr::from_str(front);
    match read {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err("the front matter must be lines of `key: value`".to_owned()),
        Err(error) => {
            let error = error.without_snippet();
            // The line is counted from the top of the file; the front matter begins in the second
            // line.
            let place = error.location().map(|at| format!("line {}: ", at.line() + 1));
            let words = error.to_string();
            let words = words.lines().next().unwrap_or_default();
            Err(format!("the front matter is not YAML: {}{words}", place.unwrap_or_default()))
        }
    }
}
