//! Telegram's HTML by its documented grammar: which tags exist, how they nest, what must be
//! escaped. Telegram would refuse anything else.

/// The tags that Telegram supports.
const TAGS: &[&str] = &[
    "b",
    "strong",
    "i",
    "em",
    "u",
    "ins",
    "s",
    "strike",
    "del",
    "code",
    "pre",
    "a",
    "blockquote",
    "tg-spoiler",
    "span",
];

/// The text that a reader sees of Telegram's HTML.
pub fn telegram_text(html: &str) -> Result<String, String> {
    let mut seen = String::new();
    let mut open: Vec<String> = Vec::new();
    let mut styles = 0;
    let mut rest = html;
    while let Some(next) = rest.chars().next() {
        match next {
            '<' => {
                let end = rest.find('>').ok_or("a tag that is not closed")?;
                tag(&rest[1..end], &mut open, &mut styles)?;
                rest = &rest[end + 1..];
            }
            '>' => return Err("an unescaped >".to_owned()),
            '&' => {
                let end = rest.find(';').ok_or("an unescaped &")?;
                seen.push(entity(&rest[1..end])?);
                rest = &rest[end + 1..];
            }
            other => {
                seen.push(other);
                rest = &rest[other.len_utf8()..];
            }
        }
    }
    if let Some(tag) = open.pop() {
        return Err(format!("<{tag}> is not closed"));
    }
    if styles > 100 {
        return Err(format!("{styles} entities"));
    }
    Ok(seen)
}

fn entity(name: &str) -> Result<char, String> {
    match name {
        "lt" => Ok('<'),
        "gt" => Ok('>'),
        "amp" => Ok('&'),
        "quot" => Ok('"'),
        other => Err(format!("the entity &{other};")),
    }
}

fn tag(tag: &str, open: &mut Vec<String>, styles: &mut usize) -> Result<(), String> {
    if let Some(name) = tag.strip_prefix('/') {
        let last = open.pop().ok_or_else(|| format!("</{name}> closes nothing"))?;
        return if last == name { Ok(()) } else { Err(format!("</{name}> closes <{last}>")) };
    }
    let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
    if !TAGS.contains(&name) {
        return Err(format!("the tag <{name}>"));
    }
    let may_have = match name {
        "a" => attributes.starts_with("href=\"") && attributes.ends_with('"'),
        "code" => attributes.is_empty() || attributes.starts_with("class=\"language-"),
        "span" => attributes == "class=\"tg-spoiler\"",
        "blockquote" => attributes.is_empty() || attributes == "expandable",
        _ => attributes.is_empty(),
    };
    if !may_have {
        return Err(format!("<{tag}>"));
    }
    let inside = |outer: &str| open.iter().any(|tag| tag == outer);
    if inside("code") || (inside("pre") && name != "code") {
        return Err(format!("<{name}> inside code"));
    }
    if name == "code" && open.iter().any(|tag| tag != "pre" && tag != "blockquote") {
        return Err("<code> inside another mark".to_owned());
    }
    if name == "blockquote" && inside("blockquote") {
        return Err("a quote inside a quote".to_owned());
    }
    *styles += 1;
    open.push(name.to_owned());
    Ok(())
}

/// The text that a reader sees of Discord's markdown. Marks that do not end and marks that were not
/// escaped are errors, because Onyx must never send any.
pub fn discord_text(text: &str) -> Result<String, String> {
    let mut seen = String::new();
    let mut rest = text;
    let mut is_line_start = true;
    let mut open: Vec<&str> = Vec::new();
    while let Some(next) = rest.chars().next() {
        if is_line_start && let Some(quoted) = rest.strip_prefix("> ") {
            rest = quoted;
            is_line_start = false;
            continue;
        }
        if let Some(fenced) = rest.strip_prefix("```") {
            let end = fenced.find("```").ok_or("a fence that is not closed")?;
            let (language, code) = fenced[..end].split_once('\n').unwrap_or(("", &fenced[..end]));
            if language.contains(char::is_whitespace) {
                return Err(format!("the language {language:?}"));
            }
            seen.push_str(code.strip_suffix('\n').unwrap_or(code));
            rest = &fenced[end + 3..];
            is_line_start = false;
            continue;
        }
        if let Some(code) = rest.strip_prefix('`') {
            let end = code.find('`').ok_or("code that is not closed")?;
            seen.push_str(&code[..end]);
            rest = &code[end + 1..];
            is_line_start = false;
            continue;
        }
        if let Some(link) = rest.strip_prefix('<') {
            let end = link.find('>').ok_or("an unescaped <")?;
            if !link.starts_with("http") || link[..end].contains(char::is_whitespace) {
                return Err(format!("<{}>", &link[..end]));
            }
            seen.push_str(&link[..end]);
            rest = &link[end + 1..];
            is_line_start = false;
            continue;
        }
        if let Some(mark) = ["**", "~~", "*", "["].into_iter().find(|mark| rest.starts_with(mark)) {
            if open.last() == Some(&mark) {
                open.pop();
            } else if open.contains(&mark) {
                return Err(format!("{mark} closes {:?}", open.last()));
            } else {
                open.push(mark);
            }
            rest = &rest[mark.len()..];
            is_line_start = false;
            continue;
        }
        if let Some(link) = rest.strip_prefix("](<") {
            if open.pop() != Some("[") {
                return Err("a link that did not begin".to_owned());
            }
            let end = link.find(">)").ok_or("a link that does not end")?;
            if link[..end].contains(char::is_whitespace) {
                return Err("a link with a space".to_owned());
            }
            rest = &link[end + 2..];
            continue;
        }
        let (character, length) = match next {
            '\\' => {
                let escaped = rest[1..].chars().next().ok_or("a backslash at the end")?;
                if escaped.is_alphanumeric() || escaped.is_whitespace() {
                    return Err(format!("\\{escaped:?} escapes nothing"));
                }
                (escaped, 1 + escaped.len_utf8())
            }
            '_' | '|' | ']' | '@' => return Err(format!("an unescaped {next}")),
            '#' | '-' | '>' if is_line_start => {
                return Err(format!("a line that begins with {next}"));
            }
            other => (other, other.len_utf8()),
        };
        seen.push(character);
        rest = &rest[length..];
        is_line_start = character == '\n' && next == '\n';
    }
    match open.pop() {
        Some(mark) => Err(format!("{mark} is not closed")),
        None => Ok(seen.replace('\u{200b}', "")),
    }
}
