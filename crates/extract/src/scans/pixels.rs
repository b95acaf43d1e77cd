//! Pictures that are stored pixel by pixel become gray ones in the PGM format. Colours do not help
//! to recognise text.

use pdf_extract::{Dictionary, Document, Object};

use super::filters::{self, Encoded};
use super::{Size, number, refused, value};
use crate::ExtractError;

/// How deep colour spaces may be nested: a palette over the profile of a device.
const MOST_NESTED: usize = 3;

/// How the samples of a picture become brightness.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Colours {
    space: Space,
    /// Bits of one sample: 1, 2, 4, 8 or 16.
    bits: usize,
    polarity: Polarity,
}

#[derive(Debug, PartialEq, Eq)]
enum Space {
    Gray,
    Rgb,
    Cmyk,
    /// One ink, of which none is white.
    Ink,
    /// The brightness of each entry of a palette.
    Palette(Vec<u8>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Polarity {
    Usual,
    Inverted,
}

/// The picture as a PGM file.
pub(super) fn pgm(data: &[u8], size: Size, colours: &Colours) -> Result<Vec<u8>, ExtractError> {
    let Size { width, height } = size;
    let row = (width * colours.space.components() * colours.bits).div_ceil(8);
    if data.len() / row < height {
        return Err(ExtractError::Damaged("its picture is cut off".to_owned()));
    }
    let mut file = format!("P5\n{width} {height}\n255\n").into_bytes();
    file.reserve(width * height);
    for row in data.chunks_exact(row).take(height) {
        file.extend((0..width).map(|column| colours.pixel(row, column)));
    }
    Ok(file)
}

impl Colours {
    pub(super) fn of(document: &Document, picture: &Dictionary) -> Result<Self, ExtractError> {
        let is_mask = value(document, picture, b"ImageMask").and_then(|mask| mask.as_bool().ok());
        let (space, usual) = match value(document, picture, b"ColorSpace") {
            _ if is_mask == Some(true) => (Space::Gray, 1),
            Some(space) => (Space::of(document, space, 0)?, 8),
            None => (Space::Gray, 8),
        };
        let bits = match number(document, picture, b"BitsPerComponent").unwrap_or(usual) {
            1 => 1,
            2 => 2,
            4 => 4,
            8 => 8,
            16 => 16,
            _ => return Err(refused("its picture has a number of bits that is not supported")),
        };
        let polarity = match space {
            Space::Palette(_) => Polarity::Usual,
            Space::Gray | Space::Rgb | Space::Cmyk | Space::Ink => Polarity::of(document, picture),
        };
        Ok(Self { space, bits, polarity })
    }

    /// The brightness of a bit of a picture that has one bit a pixel.
    pub(super) fn of_bit(&self, bit: u8) -> u8 {
        let sample = if let Space::Palette(_) = self.space { bit } else { bit * 255 };
        self.brightness([sample; 4])
    }

    fn pixel(&self, row: &[u8], column: usize) -> u8 {
        let first = column * self.space.components();
        let mut samples = [0; 4];
        for (index, sample) in samples.iter_mut().enumerate().take(self.space.components()) {
            *sample = self.sample(row, first + index);
        }
        self.brightness(samples)
    }

    /// A sample as one byte; the entry of a palette as it is.
    fn sample(&self, row: &[u8], index: usize) -> u8 {
        match self.bits {
            8 => row[index],
            16 => row[2 * index],
            bits => {
                let (at, most) = (index * bits, (1_u8 << bits) - 1);
                let sample = (row[at / 8] >> (8 - bits - at % 8)) & most;
                if let Space::Palette(_) = self.space { sample } else { sample * (255 / most) }
            }
        }
    }

    fn brightness(&self, samples: [u8; 4]) -> u8 {
        let brightness = self.space.brightness(samples);
        match self.polarity {
            Polarity::Usual => brightness,
            Polarity::Inverted => 255 - brightness,
        }
    }
}

impl Polarity {
    fn of(document: &Document, picture: &Dictionary) -> Self {
        let range = value(document, picture, b"Decode").and_then(|range| range.as_array().ok());
        let end = |index: usize| range?.get(index)?.as_float().ok();
        match (end(0), end(1)) {
            (Some(first), Some(last)) if first > last => Self::Inverted,
            _ => Self::Usual,
        }
    }
}

impl Space {
    fn of(document: &Document, object: &Object, depth: usize) -> Result<Self, ExtractError> {
        match object {
            _ if depth > MOST_NESTED => Err(unknown()),
            Object::Name(name) => Self::named(name),
            Object::Array(parts) => Self::of_parts(document, parts, depth),
            _ => Err(unknown()),
        }
    }

    fn named(name: &[u8]) -> Result<Self, ExtractError> {
        match name {
            b"DeviceGray" | b"CalGray" | b"G" => Ok(Self::Gray),
            b"DeviceRGB" | b"CalRGB" | b"RGB" => Ok(Self::Rgb),
            b"DeviceCMYK" | b"CMYK" => Ok(Self::Cmyk),
            _ => Err(unknown()),
        }
    }

    /// A space of a kind and its settings.
    fn of_parts(document: &Document, parts: &[Object], depth: usize) -> Result<Self, ExtractError> {
        let part = |index: usize| {
            let part = parts.get(index).and_then(|part| document.dereference(part).ok());
            part.map(|(_, object)| object).ok_or_else(unknown)
        };
        match part(0)?.as_name() {
            Ok(b"ICCBased") => {
                let profile = part(1)?.as_stream().map_err(|_| unknown())?;
                match number(document, &profile.dict, b"N") {
                    Some(1) => Ok(Self::Gray),
                    Some(3) => Ok(Self::Rgb),
                    Some(4) => Ok(Self::Cmyk),
                    Some(_) | None => Err(unknown()),
                }
            }
            Ok(b"Indexed" | b"I") => {
                let base = Self::of(document, part(1)?, depth + 1)?;
                Ok(Self::Palette(base.palette(&table_bytes(document, part(3)?)?)))
            }
            Ok(b"Separation") => Ok(Self::Ink),
            Ok(name) => Self::named(name),
            Err(_) => Err(unknown()),
        }
    }

    fn palette(&self, table: &[u8]) -> Vec<u8> {
        let entry = |entry: &[u8]| {
            let mut samples = [0; 4];
            samples[..entry.len()].copy_from_slice(entry);
            self.brightness(samples)
        };
        table.chunks_exact(self.components()).map(entry).collect()
    }

    fn components(&self) -> usize {
        match self {
            Self::Gray | Self::Ink | Self::Palette(_) => 1,
            Self::Rgb => 3,
            Self::Cmyk => 4,
        }
    }

    fn brightness(&self, samples: [u8; 4]) -> u8 {
        let [first, second, third, fourth] = samples;
        match self {
            Self::Gray => first,
            Self::Ink => 255 - first,
            Self::Rgb => luminance(first, second, third),
            Self::Cmyk => (255 - luminance(first, second, third)).saturating_sub(fourth),
            // An entry that the palette does not have is paper.
            Self::Palette(palette) => palette.get(usize::from(first)).copied().unwrap_or(255),
        }
    }
}

fn unknown() -> ExtractError {
    refused("the colours of its picture are not supported")
}

fn luminance(red: u8, green: u8, blue: u8) -> u8 {
    let weighed = 77 * u32::from(red) + 150 * u32::from(green) + 29 * u32::from(blue);
    u8::try_from(weighed >> 8).unwrap_or(u8::MAX)
}

fn table_bytes(document: &Document, table: &Object) -> Result<Vec<u8>, ExtractError> {
    let unreadable = || ExtractError::Damaged("the palette of its picture is missing".to_owned());
    match table {
        Object::String(bytes, _) => Ok(bytes.clone()),
        Object::Stream(stream) => match filters::decode(document, stream)? {
            Encoded::Pixels(bytes) => Ok(bytes.into_owned()),
            Encoded::Jpeg(_) | Encoded::Fax { .. } => Err(unreadable()),
        },
        _ => Err(unreadable()),
    }
}

#[cfg(test)]
mod tests {
    use pdf_extract::StringFormat;

    use super::*;

    fn picture(space: Object, bits: i64, decode: &[i64]) -> Dictionary {
        let mut picture = Dictionary::new();
        picture.set("ColorSpace", space);
        picture.set("BitsPerComponent", Object::Integer(bits));
        if !decode.is_empty() {
            let decode = decode.iter().map(|end| Object::Integer(*end)).collect();
            picture.set("Decode", Object::Array(decode));
        }
        picture
    }

    fn named(name: &str) -> Object {
        Object::Name(name.as_bytes().to_vec())
    }

    /// The gray pixels of a picture of two columns, without the head of the file.
    fn gray(picture: &Dictionary, height: usize, data: &[u8]) -> Vec<u8> {
        let colours = Colours::of(&Document::new(), picture).unwrap();
        let file = pgm(data, Size { width: 2, height }, &colours).unwrap();
        let head = format!("P5\n2 {height}\n255\n");
        assert!(file.starts_with(head.as_bytes()));
        file[head.len()..].to_vec()
    }

    #[test]
    fn samples_of_any_number_of_bits_become_gray() {
        let of_bits = |bits| picture(named("DeviceGray"), bits, &[]);
        assert_eq!(gray(&of_bits(1), 2, &[0b0100_0000, 0b1000_0000]), [0, 255, 255, 0]);
        assert_eq!(gray(&of_bits(2), 1, &[0b0111_0000]), [85, 255]);
        assert_eq!(gray(&of_bits(4), 1, &[0x3f]), [51, 255]);
        assert_eq!(gray(&of_bits(8), 1, &[7, 8]), [7, 8]);
        assert_eq!(gray(&of_bits(16), 1, &[7, 99, 8, 99]), [7, 8]);
    }

    #[test]
    fn colours_become_their_brightness() {
        let rgb = picture(named("DeviceRGB"), 8, &[]);
        assert_eq!(gray(&rgb, 1, &[255, 255, 255, 0, 255, 0]), [255, 149]);
        let cmyk = picture(named("DeviceCMYK"), 8, &[]);
        assert_eq!(gray(&cmyk, 1, &[0, 0, 0, 0, 0, 0, 0, 255]), [255, 0]);
        let ink = Object::Array(vec![named("Separation"), named("Black"), named("DeviceGray")]);
        assert_eq!(gray(&picture(ink, 8, &[]), 1, &[0, 255]), [255, 0]);
        let inverted = picture(named("DeviceGray"), 8, &[1, 0]);
        assert_eq!(gray(&inverted, 1, &[0, 255]), [255, 0]);
    }

    #[test]
    fn a_palette_names_the_colours() {
        let table =
            Object::String(vec![0, 0, 0, 255, 255, 255, 0, 255, 0], StringFormat::Hexadecimal);
        let parts = vec![named("Indexed"), named("DeviceRGB"), Object::Integer(2), table];
        let palette = picture(Object::Array(parts), 2, &[]);
        assert_eq!(gray(&palette, 2, &[0b0001_0000, 0b1011_0000]), [0, 255, 149, 255]);
    }

    #[test]
    fn a_picture_that_is_cut_off_or_of_unknown_colours_is_refused() {
        let colours = Colours::of(&Document::new(), &picture(named("DeviceGray"), 8, &[])).unwrap();
        let size = Size { width: 2, height: 2 };
        assert!(matches!(pgm(&[1, 2, 3], size, &colours), Err(ExtractError::Damaged(_))));
        for (space, bits) in [("DeviceGray", 3), ("Lab", 8)] {
            let colours = Colours::of(&Document::new(), &picture(named(space), bits, &[]));
            assert!(matches!(colours, Err(ExtractError::Unreadable(_))), "{space} {bits}");
        }
    }
}
