//! Telegram's HTML by its documented grammar: which tags there are, how they nest, what must be
//! escaped. Anything else is what Telegram would refuse.

/// Tags that may be anywhere, and what each may have.
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

/// What a reader sees of a text in Telegram's HTML.
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
