//! Values as small models write them: JSON, JSON with a comma too many, or Python.

use serde_json::{Map, Number, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// The text ends before the value is complete.
    Unfinished,
    Bad,
}

/// A value that is nested more deeply is nonsense.
const MAX_DEPTH: usize = 32;

/// The value at the beginning of a text, and where it ends.
pub(super) fn value(text: &str) -> Result<(Value, usize), Flaw> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    Ok((value, reader.at))
}

/// `name(key=value, …)` at the beginning of a text, as Llama 3.2 and Gemma write calls.
pub(super) fn python_call(text: &str) -> Result<(String, Value, usize), Flaw> {
    let mut reader = Reader { text, at: 0 };
    let name = reader.name()?;
    reader.expect('(')?;
    let mut arguments = Map::new();
    reader.space();
    while !reader.takes(')') {
        let key = reader.name()?;
        reader.space();
        reader.expect('=')?;
        arguments.insert(key, reader.value(0)?);
        reader.space();
        if !reader.takes(',') && reader.peek()? != ')' {
            return Err(Flaw::Bad);
        }
        reader.space();
    }
    Ok((name, arguments.into(), reader.at))
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Result<char, Flaw> {
        self.text[self.at..].chars().next().ok_or(Flaw::Unfinished)
    }

    fn takes(&mut self, mark: char) -> bool {
        let found = self.text[self.at..].starts_with(mark);
        if found {
            self.at += mark.len_utf8();
        }
        found
    }

    fn expect(&mut self, mark: char) -> Result<(), Flaw> {
        let found = self.peek()?;
        if found != mark {
            return Err(Flaw::Bad);
        }
        self.at += mark.len_utf8();
        Ok(())
    }

    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn word(&mut self, fits: impl Fn(char) -> bool) -> &str {
        let rest = &self.text[self.at..];
        let length = rest.find(|letter| !fits(letter)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn name(&mut self) -> Result<String, Flaw> {
        self.peek()?;
        let name =
            self.word(|letter| letter.is_alphanumeric() || "_.-".contains(letter)).to_owned();
        if name.is_empty() { Err(Flaw::Bad) } else { Ok(name) }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Flaw> {
        if depth > MAX_DEPTH {
            return Err(Flaw::Bad);
        }
        self.space();
        match self.peek()? {
            '{' => self.object(depth),
            '[' => self.list(depth),
            quote @ ('"' | '\'') => self.text_in(quote).map(Value::String),
            _ => self.bare(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Flaw> {
        self.expect('{')?;
        let mut fields = Map::new();
        loop {
            self.space();
            match self.peek()? {
                '}' => {
                    self.at += 1;
                    return Ok(fields.into());
                }
                quote @ ('"' | '\'') => {
                    let name = self.text_in(quote)?;
                    self.space();
                    self.expect(':')?;
                    fields.insert(name, self.value(depth + 1)?);
                }
                _ => return Err(Flaw::Bad),
            }
            self.space();
            if !self.takes(',') && self.peek()? != '}' {
                return Err(Flaw::Bad);
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, Flaw> {
        self.expect('[')?;
        let mut items = Vec::new();
        loop {
            self.space();
            if self.peek()? == ']' {
                self.at += 1;
                return Ok(items.into());
            }
            items.push(self.value(depth + 1)?);
            self.space();
            if !self.takes(',') && self.peek()? != ']' {
                return Err(Flaw::Bad);
            }
        }
    }

    /// Line ends within the quotes become part of the text: small models do not escape them.
    fn text_in(&mut self, quote: char) -> Result<String, Flaw> {
        self.expect(quote)?;
        let mut text = String::new();
        loop {
            let letter = self.peek()?;
            self.at += letter.len_utf8();
            match letter {
                '\\' => self.escape(&mut text)?,
                letter if letter == quote => return Ok(text),
                letter => text.push(letter),
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), Flaw> {
        let letter = self.peek()?;
        self.at += letter.len_utf8();
        match letter {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            'u' => {
                let digits = self.text.get(self.at..self.at + 4).ok_or(Flaw::Unfinished)?;
                let code = u32::from_str_radix(digits, 16).map_err(|_| Flaw::Bad)?;
                self.at += 4;
                // This is half of a surrogate pair, by which JSON writes characters beyond the
                // first 65,536.
                text.push(char::from_u32(code).unwrap_or('\u{fffd}'));
            }
            other => text.push(other),
        }
        Ok(())
    }

    fn bare(&mut self) -> Result<Value, Flaw> {
        let word =
            self.word(|letter| letter.is_alphanumeric() || "+-._".contains(letter)).to_owned();
        let ends = self.at == self.text.len();
        Ok(match word.as_str() {
            "true" | "True" => true.into(),
            "false" | "False" => false.into(),
            "null" | "None" => Value::Null,
            word => match word.parse::<i64>() {
                Ok(number) => number.into(),
                Err(_) => match word.parse::<f64>().ok().and_then(Number::from_f64) {
                    Some(number) => number.into(),
                    None if ends => return Err(Flaw::Unfinished),
                    None => return Err(Flaw::Bad),
                },
            },
        })
    }
}
