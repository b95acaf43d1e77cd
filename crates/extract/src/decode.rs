use encoding_rs::{Encoding, WINDOWS_1252};

use crate::ExtractError;

/// Old texts may have a stray control character, but bytes that are not text have more of them in a
/// thousand.
const MOST_CONTROLS_IN_A_THOUSAND: usize = 1;

/// Decodes text by its byte order mark, else by its declared encoding, else as UTF-8, else as
/// Windows-1252. Line ends become `\n`.
pub(crate) fn text(bytes: &[u8], declared: Option<&str>) -> Result<String, ExtractError> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return Ok(lines(&encoding.decode_without_bom_handling(&bytes[mark..]).0));
    }
    if bytes.contains(&0) {
        return Err(ExtractError::NotText);
    }
    if let Some(encoding) = declared.and_then(|label| Encoding::for_label(label.as_bytes())) {
        return Ok(lines(&encoding.decode_without_bom_handling(bytes).0));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(lines(text)),
        Err(_) if controls(bytes) * 1000 > bytes.len() * MOST_CONTROLS_IN_A_THOUSAND => {
            Err(ExtractError::NotText)
        }
        Err(_) => Ok(lines(&WINDOWS_1252.decode_without_bom_handling(bytes).0)),
    }
}

/// The encoding that an HTML page declares, within the part where browsers look for it.
pub(crate) fn declared_in_html(bytes: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(1024)]).to_ascii_lowercase();
    charset(&head)
}

/// The value of `charset=` in a media type or a meta tag.
pub(crate) fn charset(text: &str) -> Option<String> {
    let value = text.split_once("charset=")?.1.trim_start_matches(['"', '\'', ' ']);
    let is_label = |letter: &char| letter.is_ascii_alphanumeric() || "-_:.".contains(*letter);
    let label: String = value.chars().take_while(is_label).collect();
    (!label.is_empty()).then_some(label)
}

fn controls(bytes: &[u8]) -> usize {
    let is_odd =
        |byte: &&u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c);
    bytes.iter().filter(is_odd).count()
}

fn lines(text: &str) -> String {
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n")
    } else {
        text.to_owned()
    }
}
