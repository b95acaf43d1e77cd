//! A minimal reader of `multipart/form-data` that finds one field.

use std::ops::Range;

/// The boundary of the parts, if the body is such a form.
pub(super) fn boundary(content_type: &str) -> Option<&str> {
    let rest = content_type.strip_prefix("multipart/form-data")?;
    let value = rest.split(';').find_map(|part| part.trim().strip_prefix("boundary="))?;
    Some(value.trim_matches('"'))
}

/// The position of a field's value.
pub(super) fn field(body: &[u8], boundary: &str, name: &str) -> Option<Range<usize>> {
    let mark = format!("--{boundary}");
    let wanted = format!("name=\"{name}\"");
    let mut at = 0;
    while let Some(start) = find(&body[at..], mark.as_bytes()).map(|found| at + found + mark.len())
    {
        let end = start + find(&body[start..], mark.as_bytes())?;
        let head = start + find(&body[start..end], b"\r\n\r\n")?;
        let header = String::from_utf8_lossy(&body[start..head]);
        if header.contains(&wanted) {
            let value = head + 4..end;
            let trimmed = body[value.clone()].strip_suffix(b"\r\n").map_or(value.end, |_| end - 2);
            return Some(value.start..trimmed);
        }
        at = end;
    }
    None
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_among_files() {
        let body = b"--xx\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n\
            --no--\r\n--xx\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nmine/w\r\n--xx--\r\n";
        let boundary = boundary("multipart/form-data; boundary=\"xx\"").unwrap();
        assert_eq!(&body[field(body, boundary, "model").unwrap()], b"mine/w");
        assert_eq!(field(body, boundary, "voice"), None);
    }
}
