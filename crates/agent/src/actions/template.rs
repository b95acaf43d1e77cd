//! Fills in placeholders such as `{{date}}`, once: text that was filled in is not expanded again.

pub(super) const NAMES: [&str; 4] = ["date", "time", "person", "selection"];

pub(super) struct TemplateValues<'a> {
    pub(super) date: &'a str,
    pub(super) time: &'a str,
    pub(super) person: &'a str,
    pub(super) selection: &'a str,
}

impl<'a> TemplateValues<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        match name {
            "date" => Some(self.date),
            "time" => Some(self.time),
            "person" => Some(self.person),
            "selection" => Some(self.selection),
            _ => None,
        }
    }
}

/// Fills in the template. If the template has no place for the selection, it is added at the end.
pub(super) fn render(template: &str, values: &TemplateValues<'_>) -> String {
    let mut text = String::new();
    let mut rest = template;
    let mut has_selection = false;
    while let Some((before, name, after)) = next(rest) {
        text.push_str(before);
        match values.get(name) {
            Some(value) => text.push_str(value),
            None => text.push_str(&rest[before.len()..rest.len() - after.len()]),
        }
        has_selection |= name == "selection";
        rest = after;
    }
    text.push_str(rest);
    if !has_selection && !values.selection.trim().is_empty() {
        text.push_str("\n\n");
        text.push_str(values.selection);
    }
    text
}

/// Whether the template has a place for the text that the person has marked.
pub(super) fn has_selection(template: &str) -> bool {
    let mut rest = template;
    while let Some((_, name, after)) = next(rest) {
        if name == "selection" {
            return true;
        }
        rest = after;
    }
    false
}

/// The names in braces that are not placeholders of Onyx.
pub(super) fn unknown(template: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = template;
    while let Some((_, name, after)) = next(rest) {
        if !NAMES.contains(&name) && !names.contains(&name) {
            names.push(name);
        }
        rest = after;
    }
    names
}

/// The text before the next `{{name}}`, the name, and the text after it.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let open = from + text[from..].find("{{")?;
        let inside = &text[open + 2..];
        let close = inside.find("}}")?;
        let name = inside[..close].trim();
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if !name.is_empty() && name.chars().all(is_name) {
            return Some((&text[..open], name, &inside[close + 2..]));
        }
        from = open + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: TemplateValues<'_> = TemplateValues {
        date: "2026-11-15",
        time: "09:30",
        person: "anna",
        selection: "{{date}} it",
    };

    #[test]
    fn each_name_is_filled_in_once_and_others_stay() {
        let text = "{{date}} {{ time }} {{person}}: {{selection}} {{other}} {{}} {{a b}} {x} {{";
        assert_eq!(
            render(text, &VALUES),
            "2026-11-15 09:30 anna: {{date}} it {{other}} {{}} {{a b}} {x} {{"
        );
        assert_eq!(unknown(text), ["other"]);
    }

    #[test]
    fn a_selection_without_a_place_follows() {
        assert_eq!(render("Tidy.", &VALUES), "Tidy.\n\n{{date}} it");
        assert_eq!(render("Tidy.", &TemplateValues { selection: " ", ..VALUES }), "Tidy.");
    }
}
