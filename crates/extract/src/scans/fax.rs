//! Fax pictures (CCITT groups 3 and 4) stay compressed: in front of their data goes the head of a
//! TIFF file, which `tesseract` opens with the decoder of its own picture library.

use pdf_extract::{Dictionary, Document};

use super::pixels::Colours;
use super::{Size, number, refused, value};
use crate::ExtractError;

/// The width of a fax that does not say its own.
const USUAL_COLUMNS: i64 = 1728;

/// What a PDF says about its fax picture.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FaxSettings {
    scheme: Scheme,
    columns: Option<usize>,
    rows: RowEnds,
    /// The bit that a black run becomes.
    black: u8,
}

/// How lines are coded (`K` of the PDF).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Group3OneDimension,
    Group3TwoDimensions,
    Group4,
}

/// Where a coded line may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowEnds {
    Anywhere,
    AtBytes,
}

/// What the coded black runs are on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InkColour {
    Dark,
    Light,
}

impl FaxSettings {
    pub(super) fn of(document: &Document, settings: Option<&Dictionary>) -> Self {
        let integer = |key: &[u8]| settings.and_then(|settings| number(document, settings, key));
        let is_set = |key: &[u8]| {
            let set = settings.and_then(|settings| value(document, settings, key)?.as_bool().ok());
            set == Some(true)
        };
        let scheme = match integer(b"K").unwrap_or(0) {
            ..0 => Scheme::Group4,
            0 => Scheme::Group3OneDimension,
            1.. => Scheme::Group3TwoDimensions,
        };
        let columns = usize::try_from(integer(b"Columns").unwrap_or(USUAL_COLUMNS));
        Self {
            scheme,
            columns: columns.ok().filter(|columns| *columns > 0),
            rows: if is_set(b"EncodedByteAlign") { RowEnds::AtBytes } else { RowEnds::Anywhere },
            black: u8::from(is_set(b"BlackIs1")),
        }
    }
}

impl InkColour {
    pub(super) fn of(settings: &FaxSettings, colours: &Colours) -> Self {
        let (black, white) = (colours.of_bit(settings.black), colours.of_bit(1 - settings.black));
        if black <= white { Self::Dark } else { Self::Light }
    }
}

/// The fax as a TIFF file.
pub(super) fn tiff(
    data: &[u8],
    size: Size,
    settings: &FaxSettings,
    ink: InkColour,
) -> Result<Vec<u8>, ExtractError> {
    let (compression, options) = compression(data, settings)?;
    let long = |number: usize| {
        u32::try_from(number).map_err(|_| refused("its picture is larger than is allowed"))
    };
    let columns = settings.columns.filter(|columns| *columns <= 2 * size.width);
    let mut head = Head::default();
    head.long(256, long(columns.unwrap_or(size.width))?);
    head.long(257, long(size.height)?);
    head.short(258, 1);
    head.short(259, compression);
    head.short(
        262,
        match ink {
            InkColour::Dark => 0,
            InkColour::Light => 1,
        },
    );
    head.short(266, 1);
    // One strip holds all lines; it begins where the head ends.
    let entries = Head::ENTRIES_BEFORE_OPTIONS + u32::from(options.is_some());
    head.long(273, Head::length(entries));
    head.short(277, 1);
    head.long(278, long(size.height)?);
    head.long(279, long(data.len())?);
    if let Some((tag, options)) = options {
        head.long(tag, options);
    }
    Ok(head.followed_by(data))
}

/// The compression of a TIFF, and the tag of its options with their bits.
fn compression(
    data: &[u8],
    settings: &FaxSettings,
) -> Result<(u16, Option<(u16, u32)>), ExtractError> {
    const LINES: u16 = 2;
    const GROUP_3: u16 = 3;
    const GROUP_4: u16 = 4;
    let group_3 = |options| Ok((GROUP_3, Some((292, options))));
    match (settings.scheme, settings.rows) {
        (Scheme::Group4, RowEnds::Anywhere) => Ok((GROUP_4, Some((293, 0)))),
        (Scheme::Group3OneDimension, _) if begins_with_line_end(data) => group_3(0),
        (Scheme::Group3TwoDimensions, _) if begins_with_line_end(data) => group_3(1),
        (Scheme::Group3OneDimension, RowEnds::AtBytes) => Ok((LINES, None)),
        (Scheme::Group4 | Scheme::Group3TwoDimensions, RowEnds::AtBytes)
        | (Scheme::Group3OneDimension | Scheme::Group3TwoDimensions, RowEnds::Anywhere) => {
            Err(refused("its picture is a fax of a kind that is not supported"))
        }
    }
}

/// Whether the data begins with the code of a line end: at least eleven zero bits, then a one. The
/// PDF's own word for it is not reliable.
fn begins_with_line_end(data: &[u8]) -> bool {
    let zeros = data.iter().take_while(|byte| **byte == 0).count();
    let more = data.get(zeros).map_or(0, |byte| byte.leading_zeros() as usize);
    zeros < data.len() && zeros * 8 + more >= 11
}

/// The head of a little-endian TIFF file with one directory, whose entries are added in the order of
/// their tags.
#[derive(Default)]
struct Head {
    count: u16,
    entries: Vec<u8>,
}

impl Head {
    const ENTRIES_BEFORE_OPTIONS: u32 = 10;

    /// The bytes of a head with this number of entries.
    const fn length(entries: u32) -> u32 {
        8 + 2 + 12 * entries + 4
    }

    fn short(&mut self, tag: u16, value: u16) {
        self.entry(tag, 3, u32::from(value));
    }

    fn long(&mut self, tag: u16, value: u32) {
        self.entry(tag, 4, value);
    }

    fn entry(&mut self, tag: u16, kind: u16, value: u32) {
        self.count += 1;
        self.entries.extend(tag.to_le_bytes());
        self.entries.extend(kind.to_le_bytes());
        self.entries.extend(1_u32.to_le_bytes());
        self.entries.extend(value.to_le_bytes());
    }

    fn followed_by(self, data: &[u8]) -> Vec<u8> {
        let mut file = b"II*\0\x08\0\0\0".to_vec();
        file.extend(self.count.to_le_bytes());
        file.extend(self.entries);
        file.extend([0; 4]);
        file.extend_from_slice(data);
        file
    }
}

#[cfg(test)]
mod tests {
    use pdf_extract::Object;

    use super::*;

    const SIZE: Size = Size { width: 900, height: 260 };
    const LINE_END: [u8; 3] = [0x00, 0x13, 0x50];

    fn settings(of: &[(&str, Object)]) -> FaxSettings {
        let mut dictionary = Dictionary::new();
        for (key, value) in of {
            dictionary.set(*key, value.clone());
        }
        FaxSettings::of(&Document::new(), Some(&dictionary))
    }

    /// The entries of a TIFF's directory by their tags.
    fn entries(file: &[u8]) -> Vec<(u16, u32)> {
        let short = |at: usize| u16::from_le_bytes([file[at], file[at + 1]]);
        assert_eq!((&file[..4], short(4)), (b"II*\0".as_slice(), 8));
        let entry = |index: usize| {
            let at = 10 + 12 * index;
            let value = [file[at + 8], file[at + 9], file[at + 10], file[at + 11]];
            (short(at), u32::from_le_bytes(value))
        };
        (0..usize::from(short(8))).map(entry).collect()
    }

    #[test]
    fn a_fax_of_group_4_becomes_a_tiff_with_its_data_at_the_end() {
        let settings = settings(&[("K", Object::Integer(-1)), ("Columns", Object::Integer(900))]);
        let file = tiff(b"coded", SIZE, &settings, InkColour::Dark).unwrap();
        assert_eq!(
            entries(&file),
            [
                (256, 900),
                (257, 260),
                (258, 1),
                (259, 4),
                (262, 0),
                (266, 1),
                (273, 146),
                (277, 1),
                (278, 260),
                (279, 5),
                (293, 0)
            ]
        );
        assert_eq!(&file[146..], b"coded");
    }

    #[test]
    fn a_fax_of_group_3_is_known_by_its_line_ends() {
        let coding = |of: &[(&str, Object)], data: &[u8]| {
            let file = tiff(data, SIZE, &settings(of), InkColour::Light);
            file.map(|file| {
                let all = entries(&file);
                let of = |tag| all.iter().find(|(own, _)| *own == tag).map(|(_, value)| *value);
                assert_eq!(&file[of(273).unwrap() as usize..], data);
                (of(259), of(292), of(262))
            })
        };
        let (mixed, aligned) = (Object::Integer(4), Object::Boolean(true));
        assert_eq!(coding(&[], &LINE_END), Ok((Some(3), Some(0), Some(1))));
        assert_eq!(coding(&[("K", mixed.clone())], &LINE_END), Ok((Some(3), Some(1), Some(1))));
        let lines = [("EncodedByteAlign", aligned.clone())];
        assert_eq!(coding(&lines, b"\x35rows"), Ok((Some(2), None, Some(1))));
        let refused = Err(refused("its picture is a fax of a kind that is not supported"));
        assert_eq!(coding(&[], b"\x35rows"), refused);
        assert_eq!(coding(&[("K", mixed)], b"\x35rows"), refused);
        let group_4 = [("K", Object::Integer(-1)), ("EncodedByteAlign", aligned)];
        assert_eq!(coding(&group_4, b"rows"), refused);
    }

    #[test]
    fn black_runs_are_dark_unless_the_picture_turns_them_round() {
        let colours = |decode: &[i64]| {
            let mut picture = Dictionary::new();
            picture.set("ImageMask", Object::Boolean(true));
            let decode = decode.iter().map(|end| Object::Integer(*end)).collect();
            picture.set("Decode", Object::Array(decode));
            Colours::of(&Document::new(), &picture).unwrap()
        };
        let black_is_one = settings(&[("BlackIs1", Object::Boolean(true))]);
        assert_eq!(InkColour::of(&settings(&[]), &colours(&[0, 1])), InkColour::Dark);
        assert_eq!(InkColour::of(&settings(&[]), &colours(&[1, 0])), InkColour::Light);
        assert_eq!(InkColour::of(&black_is_one, &colours(&[0, 1])), InkColour::Light);
        assert_eq!(InkColour::of(&black_is_one, &colours(&[1, 0])), InkColour::Dark);
    }
}
