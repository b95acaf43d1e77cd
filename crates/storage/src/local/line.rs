//! One turn as one line of a log. Lines that Onyx writes end in `,"crc":"<8 hex>"}`, the CRC-32 of
//! the bytes before that suffix, so that a changed byte is noticed even where the JSON still reads.
//! Lines without it (imported or written by hand) are accepted as they are.

use onyx_types::{Turn, TurnBody};

use crate::StoreError;

const FIELD: &str = "crc";
const OPEN: &[u8] = b",\"crc\":\"";
const CLOSE: &[u8] = b"\"}";
const DIGITS: usize = 8;
const SUFFIX: usize = OPEN.len() + DIGITS + CLOSE.len();

/// The greatest depth of JSON that `serde_json` reads. A deeper line could be written but never
/// read again.
const MAX_DEPTH: usize = 127;

#[derive(Debug, PartialEq)]
pub(crate) enum Line {
    Turn(Turn),
    /// The line reads as a turn, but it is not what was written.
    Altered(Turn, &'static str),
    Unreadable(String),
    Blank,
}

/// Estimates how long a turn's line will be, so that a long line is not copied while it grows.
pub(crate) fn length_about(turn: &Turn) -> usize {
    const REST: usize = 512;
    // A line break or a quote takes one more byte in JSON.
    let text = |text: &str| text.len() + text.len() / 16;
    REST + match &turn.body {
        TurnBody::User(user) => {
            text(&user.content.text()) + user.context.as_deref().map_or(0, text)
        }
        TurnBody::AssistantText(said) => text(&said.content),
        TurnBody::ToolResult(result) => text(&result.output),
        TurnBody::Summary(summary) => text(&summary.content),
        TurnBody::Reasoning(_)
        | TurnBody::ToolCall(_)
        | TurnBody::Decision(_)
        | TurnBody::RunStart(_)
        | TurnBody::RunEnd(_)
        | TurnBody::Feedback(_)
        | TurnBody::Unknown(_) => 0,
    }
}

/// Appends the turn's line, including its newline.
pub(crate) fn encode(turn: &Turn, out: &mut Vec<u8>) -> Result<(), StoreError> {
    let start = out.len();
    // The log uses this field name itself, and two fields of one name could not be told apart
    // afterwards.
    let written = if carries_checksum(turn) {
        let mut turn = turn.clone();
        take_checksum(&mut turn);
        serde_json::to_writer(&mut *out, &turn)
    } else {
        serde_json::to_writer(&mut *out, turn)
    };
    written.map_err(|error| StoreError::Refused(format!("the turn cannot be written: {error}")))?;
    if depth(&out[start..]) > MAX_DEPTH {
        return Err(StoreError::Refused(format!(
            "the turn is nested deeper than {MAX_DEPTH} levels"
        )));
    }
    out.pop();
    let checksum = crc32fast::hash(&out[start..]);
    out.extend_from_slice(OPEN);
    out.extend_from_slice(&hex(checksum));
    out.extend_from_slice(CLOSE);
    out.push(b'\n');
    Ok(())
}

/// Reads a line without its newline. The bytes serve as scratch space and have their old values
/// again when this returns.
pub(crate) fn decode(line: &mut [u8]) -> Line {
    let end = line.trim_ascii_end().len();
    let line = &mut line[..end];
    if line.is_empty() {
        return Line::Blank;
    }
    match checksum(line) {
        Checksum::Absent => decode_json(line, None),
        Checksum::Good => decode_without_suffix(line, None),
        Checksum::Bad => decode_without_suffix(line, Some("its checksum differs")),
    }
}

/// Finds the end of the first whole line where several lines run together, as when the newline
/// between them was changed. A JSON string cannot hold the suffix unescaped, so this finds only
/// real ends.
pub(crate) fn first_whole(line: &[u8]) -> Option<usize> {
    let ends = (0..line.len().checked_sub(SUFFIX)?).map(|at| at + SUFFIX);
    let mut ends = ends.filter(|end| line[end - SUFFIX..].starts_with(OPEN));
    ends.find(|end| checksum(&line[..*end]) == Checksum::Good)
}

/// Splits what should have been one line into the lines that it contains.
pub(crate) fn pieces(line: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while let Some(length) = first_whole(&line[start..]) {
        pieces.push(start..start + length);
        start += length;
        start += line[start..].iter().take_while(|byte| **byte != b'{').count();
    }
    if start < line.len() {
        pieces.push(start..line.len());
    }
    pieces
}

fn decode_without_suffix(line: &mut [u8], altered: Option<&'static str>) -> Line {
    let end = line.len() - SUFFIX;
    let comma = std::mem::replace(&mut line[end], b'}');
    let decoded = decode_json(&line[..=end], altered);
    line[end] = comma;
    decoded
}

/// Reads the JSON of a line. A checksum that is a field of the JSON was moved there by another
/// program.
fn decode_json(json: &[u8], altered: Option<&'static str>) -> Line {
    let mut turn = match Turn::from_json(json) {
        Ok(turn) => turn,
        Err(error) => return Line::Unreadable(error.to_string()),
    };
    let altered = if carries_checksum(&turn) {
        take_checksum(&mut turn);
        altered.or(Some("the line was rewritten, so its checksum cannot be checked"))
    } else {
        altered
    };
    match altered {
        None => Line::Turn(turn),
        Some(why) => Line::Altered(turn, why),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Checksum {
    Absent,
    Good,
    Bad,
}

/// Checks the suffix. A changed byte inside the suffix must not make a line look like one that
/// never had a checksum, so a line counts as having one if either the marks around the sum or the
/// sum itself is right.
fn checksum(line: &[u8]) -> Checksum {
    let Some(end) = line.len().checked_sub(SUFFIX) else { return Checksum::Absent };
    let (body, suffix) = line.split_at(end);
    let (open, rest) = suffix.split_at(OPEN.len());
    let (digits, close) = rest.split_at(DIGITS);
    let wrong = wrong_bytes(open, OPEN) + wrong_bytes(close, CLOSE);
    if wrong > OPEN.len() / 2 {
        return Checksum::Absent;
    }
    match (wrong, digits == hex(crc32fast::hash(body))) {
        (0, true) => Checksum::Good,
        (_, true) | (0, false) => Checksum::Bad,
        (_, false) => Checksum::Absent,
    }
}

fn wrong_bytes(found: &[u8], expected: &[u8]) -> usize {
    found.iter().zip(expected).filter(|(found, expected)| found != expected).count()
}

fn hex(sum: u32) -> [u8; DIGITS] {
    let mut digits = [0; DIGITS];
    for (place, digit) in digits.iter_mut().enumerate() {
        let nibble = (sum >> (28 - 4 * place)) & 0xf;
        *digit = b"0123456789abcdef"[nibble as usize];
    }
    digits
}

fn carries_checksum(turn: &Turn) -> bool {
    turn.extra.contains_key(FIELD)
        || matches!(&turn.body, TurnBody::Unknown(unknown) if unknown.fields.contains_key(FIELD))
}

fn take_checksum(turn: &mut Turn) {
    turn.extra.shift_remove(FIELD);
    if let TurnBody::Unknown(unknown) = &mut turn.body {
        unknown.fields.shift_remove(FIELD);
    }
}

/// Measures how deep arrays and objects are nested in JSON that `serde_json` wrote.
fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    deepest
}

fn skip_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'"' => return,
            _ => {}
        }
    }
}
