//! A link as a QR code that a phone can read.

use qrcodegen::{QrCode, QrCodeEcc};
use schemars::JsonSchema;
use serde::Serialize;

/// The dark squares of a QR code, with the quiet edge that readers need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QrPicture {
    /// Squares along one side.
    pub size: u32,
    /// The squares as the path of an SVG, each one unit wide.
    pub path: String,
}

const EDGE: i32 = 4;

/// `None` for a link that is too long for one.
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
        // The smallest code that holds so many characters has 25 squares a side.
        assert_eq!(picture.size, 33);
        // Three corners with seven dark squares above each other's edge.
        assert!(
            picture.path.starts_with("M4,4h1v1h-1zM5,4h1v1h-1zM6,4h1v1h-1z"),
            "{}",
            picture.path
        );
        assert_eq!(qr_picture(&"x".repeat(10_000)), None);
    }
}
