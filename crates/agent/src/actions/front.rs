//! Parses an action file: front matter in YAML, then the prompt.

use onyx_tools::front_matter;
use onyx_types::AgentId;
use serde_json::{Map, Value};

use super::{ActionSpec, template};

const KNOWN: [&str; 5] = ["requires_confirmation", "max_steps", "agent", "model", "schedule"];

/// Reads an action file into what it does and warnings about it. An error says why it cannot be
/// run.
pub(super) fn parse(text: &str, longest: usize) -> Result<(ActionSpec, Vec<String>), String> {
    let (mut fields, body) = front_matter(text)?;
    let mut warnings: Vec<String> = fields
        .keys()
        .filter(|key| !KNOWN.contains(&key.as_str()))
        .map(|key| format!("the front matter has no key {key:?}; there are {}", KNOWN.join(", ")))
        .collect();
    let recipe = ActionSpec {
        requires_confirmation: flag(&mut fields, "requires_confirmation")?.unwrap_or(false),
        max_steps: count(&mut fields, "max_steps")?,
        agent: agent(&mut fields)?,
        model: words(&mut fields, "model")?,
        schedule: words(&mut fields, "schedule")?,
        prompt: body.trim().to_owned(),
    };
    if recipe.prompt.is_empty() {
        return Err("the prompt is empty".to_owned());
    }
    if recipe.prompt.len() > longest {
        return Err(format!("the prompt has {} bytes; {longest} are allowed", recipe.prompt.len()));
    }
    warnings.extend(template::unknown(&recipe.prompt).into_iter().map(|name| {
        format!(
            "{{{{{name}}}}} is not a known placeholder; there are {}",
            template::NAMES.join(", ")
        )
    }));
    Ok((recipe, warnings))
}

/// Splits a page into its front matter and the text below. `None`: its front matter cannot be read.
pub(super) fn page(text: &str) -> Option<(Map<String, Value>, &str)> {
    front_matter(text).ok().filter(|(fields, _)| !fields.is_empty())
}

fn take(fields: &mut Map<String, Value>, key: &str) -> Option<Value> {
    fields.shift_remove(key).filter(|value| !value.is_null())
}

fn flag(fields: &mut Map<String, Value>, key: &str) -> Result<Option<bool>, String> {
    match take(fields, key) {
        None => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(flag)),
        Some(other) => Err(format!("{key}: it must be true or false, not {other}")),
    }
}

fn count(fields: &mut Map<String, Value>, key: &str) -> Result<Option<u32>, String> {
    let Some(value) = take(fields, key) else { return Ok(None) };
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    let number = number.filter(|number| *number > 0);
    number.map(Some).ok_or_else(|| format!("{key}: it must be a whole number from 1, not {value}"))
}

fn words(fields: &mut Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match take(fields, key) {
        None => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.trim().to_owned())),
        Some(other) => Err(format!("{key}: it must be a text, not {other}")),
    }
}

fn agent(fields: &mut Map<String, Value>) -> Result<Option<AgentId>, String> {
    let Some(name) = words(fields, "agent")? else { return Ok(None) };
    name.parse().map(Some).map_err(|error| format!("agent: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text, 100).unwrap_err()
    }

    #[test]
    fn the_front_matter_is_read_whole() {
        let text = "---\nrequires_confirmation: true\nmax_steps: 3\nagent: main\n\
            model: mine/m # the small one\nschedule: '0 7 * * *'\n---\n\nDo it.\n---\nreally\n";
        let (recipe, warnings) = parse(text, 100).unwrap();
        let expected = ActionSpec {
            requires_confirmation: true,
            max_steps: Some(3),
            agent: Some("main".parse().unwrap()),
            model: Some("mine/m".to_owned()),
            schedule: Some("0 7 * * *".to_owned()),
            prompt: "Do it.\n---\nreally".to_owned(),
        };
        assert_eq!((recipe, warnings), (expected, vec![]));
    }

    #[test]
    fn a_file_without_front_matter_is_all_prompt() {
        let plain = |text: &str| parse(text, 100).unwrap().0;
        assert_eq!(plain("Hello\n").prompt, "Hello");
        assert_eq!(plain("\u{feff}---\r\n# nothing\r\n---\r\nHello\r\n").prompt, "Hello");
    }

    #[test]
    fn what_is_unknown_is_told_and_runs() {
        let (recipe, warnings) = parse("---\ncolour: red\n---\nAt {{hour}} {{date}}", 100).unwrap();
        assert_eq!(recipe.prompt, "At {{hour}} {{date}}");
        assert_eq!(
            warnings,
            [
                "the front matter has no key \"colour\"; there are requires_confirmation, \
                 max_steps, agent, model, schedule",
                "{{hour}} is not a known placeholder; there are date, time, person, selection",
            ]
        );
    }

    #[test]
    fn what_is_wrong_says_where() {
        assert!(error("---\na: [1\n---\nx").starts_with("the front matter is not YAML: line "));
        assert_eq!(error("---\n- a\n---\nx"), "the front matter must be lines of `key: value`");
        assert_eq!(
            error("---\nrequires_confirmation: 'true'\n---\nx"),
            "requires_confirmation: it must be true or false, not \"true\""
        );
        for steps in ["0", "-1", "1.5", "many"] {
            let text = format!("---\nmax_steps: {steps}\n---\nx");
            assert!(error(&text).starts_with("max_steps: it must be a whole number from 1"));
        }
        assert!(error("---\nagent: No Such\n---\nx").starts_with("agent: not a valid agent name"));
        assert_eq!(error("---\nmodel: 3\n---\nx"), "model: it must be a text, not 3");
        assert_eq!(error("---\nx: 1\n"), "the front matter has no end: a line of --- is missing");
        assert_eq!(error("---\n---\n \n"), "the prompt is empty");
        assert_eq!(error(&"x".repeat(101)), "the prompt has 101 bytes; 100 are allowed");
    }
}
