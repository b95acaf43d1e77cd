//! Draws a link as a QR code that a phone can read.

use qrcodegen::{QrCode, QrCodeEcc};
use schemars::JsonSchema;
use serde::Serialize;

/// The dark squares of a QR code, with the empty margin that readers need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QrPicture {
    /// The number of squares along one side.
    pub size: u32,
    /// The squares as an SVG path, in which each is one unit wide.
    pub path: String,
}

const EDGE: i32 = 4;

/// Draws the QR code of a link; `None` if the link is too long for one.
pub fn qr_picture(link: &str) -> Option<QrPicture> {
    let code = QrCode::encode_text(link, QrCodeEcc::Medium).ok()?;
    let mut path = String::new();
    for y in 0..code.size() {
        for x in 0..code.size() {
            if code.get_module(x, y) {
                path.push_str(&format!("M{},{}h1v1h-1z", x + EDGE, y + EDGE));
            }
        }
    }
    Some(QrPicture { size: u32::try_from(code.size() + 2 * EDGE).ok()?, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_becomes_squares_within_an_edge() {
        let picture = qr_picture("https://t.me/onyx_test_bot").unwrap();
        // The code itself has 25 squares a side, and the margin adds four on each side.
        assert_eq!(picture.size, 33);
        // The picture begins with the upper edge of a corner mark, which has seven dark squares in
        // a row.
        assert!(
            picture.path.starts_with("M4,4h1v1h-1zM5,4h1v1h-1zM6,4h1v1h-1z"),
            "{}",
            picture.path
        );
        assert_eq!(qr_picture(&"x".repeat(10_000)), None);
    }
}
