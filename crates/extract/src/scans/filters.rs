//! The filters of a picture's stream. They are undone here and not by the PDF library, because it
//! knows neither the settings of several filters nor the predictors of pictures with few bits.

use std::borrow::Cow;
use std::io::Read as _;

use flate2::read::ZlibDecoder;
use pdf_extract::filters::png::{FilterType, decode_row};
use pdf_extract::{Dictionary, Document, Object, Stream};

use super::{MOST_PIXELS, number, refused, value};
use crate::ExtractError;

/// The most bytes that a filter may unpack to: the largest picture in four colours.
const MOST_BYTES: usize = 4 * MOST_PIXELS + 1024 * 1024;

/// A picture without the filters that any stream may have.
pub(super) enum Encoded<'a> {
    Pixels(Cow<'a, [u8]>),
    Jpeg(Vec<u8>),
    Fax { data: Cow<'a, [u8]>, settings: Option<&'a Dictionary> },
}

pub(super) fn decode<'a>(
    document: &'a Document,
    stream: &'a Stream,
) -> Result<Encoded<'a>, ExtractError> {
    let names = all(document, &stream.dict, b"Filter");
    let settings = all(document, &stream.dict, b"DecodeParms");
    let mut data = Cow::Borrowed(stream.content.as_slice());
    for (index, name) in names.iter().enumerate() {
        let name = name.as_name().map_err(|_| damaged("the filter of its picture has no name"))?;
        let settings = settings.get(index).and_then(|settings| settings.as_dict().ok());
        data = match name {
            b"FlateDecode" => Cow::Owned(unpredicted(document, inflated(&data)?, settings)?),
            b"LZWDecode" => Cow::Owned(unpredicted(document, lzw(&data, settings)?, settings)?),
            b"ASCII85Decode" => Cow::Owned(by_library(name, None, &data)?),
            b"ASCIIHexDecode" => Cow::Owned(hex(&data)),
            b"RunLengthDecode" => Cow::Owned(run_lengths(&data)?),
            // The library has decrypted the whole document.
            b"Crypt" => data,
            b"DCTDecode" => return Ok(Encoded::Jpeg(data.into_owned())),
            b"CCITTFaxDecode" => return Ok(Encoded::Fax { data, settings }),
            b"JBIG2Decode" => return Err(unsupported("JBIG2")),
            b"JPXDecode" => return Err(unsupported("JPEG 2000")),
            _ => return Err(refused("its picture is compressed in a way that is not known")),
        };
    }
    Ok(Encoded::Pixels(data))
}

fn unsupported(format: &str) -> ExtractError {
    refused(format!("its picture is compressed with {format}, which is not supported"))
}

fn damaged(why: &str) -> ExtractError {
    ExtractError::Damaged(why.to_owned())
}

/// One value, or each of an array of them.
fn all<'a>(document: &'a Document, of: &'a Dictionary, key: &[u8]) -> Vec<&'a Object> {
    match value(document, of, key) {
        Some(Object::Array(several)) => several
            .iter()
            .filter_map(|one| document.dereference(one).ok())
            .map(|(_, object)| object)
            .collect(),
        Some(one) => vec![one],
        None => Vec::new(),
    }
}

fn inflated(data: &[u8]) -> Result<Vec<u8>, ExtractError> {
    let mut unpacked = Vec::new();
    let read = ZlibDecoder::new(data).take(MOST_BYTES as u64 + 1).read_to_end(&mut unpacked);
    // A wrong checksum at the end is no reason to lose a page.
    if read.is_err() && unpacked.is_empty() {
        return Err(damaged("its picture cannot be unpacked"));
    }
    bounded(unpacked)
}

fn lzw(data: &[u8], settings: Option<&Dictionary>) -> Result<Vec<u8>, ExtractError> {
    let early = settings.and_then(|settings| settings.get(b"EarlyChange").ok());
    bounded(by_library(b"LZWDecode", early, data)?)
}

fn by_library(
    name: &[u8],
    early_change: Option<&Object>,
    data: &[u8],
) -> Result<Vec<u8>, ExtractError> {
    let mut dictionary = Dictionary::new();
    dictionary.set("Filter", Object::Name(name.to_vec()));
    if let Some(early) = early_change {
        let mut settings = Dictionary::new();
        settings.set("EarlyChange", early.clone());
        dictionary.set("DecodeParms", Object::Dictionary(settings));
    }
    let stream = Stream::new(dictionary, data.to_vec());
    stream.decompressed_content().map_err(|_| damaged("its picture cannot be unpacked"))
}

fn hex(data: &[u8]) -> Vec<u8> {
    let digit =
        |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let digits: Vec<u8> = data.iter().take_while(|byte| **byte != b'>').filter_map(digit).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4) | pair.get(1).copied().unwrap_or(0)).collect()
}

fn run_lengths(data: &[u8]) -> Result<Vec<u8>, ExtractError> {
    const END: u8 = 128;
    let (mut unpacked, mut rest) = (Vec::new(), data);
    while let [length, after @ ..] = rest
        && *length != END
    {
        if *length < END {
            let count = (usize::from(*length) + 1).min(after.len());
            unpacked.extend_from_slice(&after[..count]);
            rest = &after[count..];
        } else if let [byte, after @ ..] = after {
            unpacked.extend(std::iter::repeat_n(*byte, 257 - usize::from(*length)));
            rest = after;
        } else {
            break;
        }
        if unpacked.len() > MOST_BYTES {
            break;
        }
    }
    bounded(unpacked)
}

fn bounded(unpacked: Vec<u8>) -> Result<Vec<u8>, ExtractError> {
    if unpacked.len() > MOST_BYTES {
        return Err(refused("its picture unpacks to more than is allowed"));
    }
    Ok(unpacked)
}

/// Undoes the predictor, which replaces each sample by its difference from its neighbours.
fn unpredicted(
    document: &Document,
    data: Vec<u8>,
    settings: Option<&Dictionary>,
) -> Result<Vec<u8>, ExtractError> {
    let Some(settings) = settings else { return Ok(data) };
    let setting = |key: &[u8], usual: usize| {
        let given = number(document, settings, key).and_then(|given| usize::try_from(given).ok());
        given.filter(|given| *given > 0).unwrap_or(usual)
    };
    let (colours, bits) = (setting(b"Colors", 1), setting(b"BitsPerComponent", 8));
    let columns = setting(b"Columns", 1);
    let bits_a_pixel = colours.checked_mul(bits).filter(|bits| *bits <= 64);
    let row = bits_a_pixel.and_then(|bits| bits.checked_mul(columns)).map(|bits| bits.div_ceil(8));
    let (Some(pixel), Some(row @ ..=MOST_BYTES)) = (bits_a_pixel, row) else {
        return Err(damaged("the predictor of its picture is impossible"));
    };
    let pixel = pixel.div_ceil(8);
    match setting(b"Predictor", 1) {
        1 => Ok(data),
        2 if bits == 8 => Ok(without_tiff_predictor(data, row, pixel)),
        10..=15 => without_png_predictor(&data, row, pixel),
        _ => Err(refused("its picture is compressed with a predictor that is not supported")),
    }
}

fn without_tiff_predictor(mut data: Vec<u8>, row: usize, pixel: usize) -> Vec<u8> {
    for row in data.chunks_mut(row) {
        for index in pixel..row.len() {
            row[index] = row[index].wrapping_add(row[index - pixel]);
        }
    }
    data
}

fn without_png_predictor(data: &[u8], row: usize, pixel: usize) -> Result<Vec<u8>, ExtractError> {
    let mut samples = Vec::with_capacity(data.len());
    let mut previous = vec![0; row];
    for line in data.chunks_exact(row + 1) {
        let filter = FilterType::try_from(line[0])
            .map_err(|()| damaged("the predictor of its picture is not known"))?;
        let mut current = line[1..].to_vec();
        decode_row(filter, pixel, &previous, &mut current);
        samples.extend_from_slice(&current);
        previous = current;
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    fn stream(head: &[(&str, Object)], content: &[u8]) -> Stream {
        let mut dictionary = Dictionary::new();
        for (key, value) in head {
            dictionary.set(*key, value.clone());
        }
        Stream::new(dictionary, content.to_vec())
    }

    fn settings(of: &[(&str, i64)]) -> Object {
        let mut dictionary = Dictionary::new();
        for (key, value) in of {
            dictionary.set(*key, Object::Integer(*value));
        }
        Object::Dictionary(dictionary)
    }

    fn named(name: &str) -> Object {
        Object::Name(name.as_bytes().to_vec())
    }

    fn deflated(content: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn pixels(stream: &Stream) -> Result<Vec<u8>, ExtractError> {
        match decode(&Document::new(), stream)? {
            Encoded::Pixels(data) => Ok(data.into_owned()),
            Encoded::Jpeg(_) | Encoded::Fax { .. } => panic!("not pixels"),
        }
    }

    #[test]
    fn filters_are_undone_in_their_order() {
        let plain = stream(&[], b"plain");
        assert_eq!(pixels(&plain).unwrap(), b"plain");
        let packed: String =
            deflated(b"pixels").iter().map(|byte| format!("{byte:02x} ")).collect();
        let both = Object::Array(vec![named("ASCIIHexDecode"), named("FlateDecode")]);
        let both = stream(&[("Filter", both)], format!("{packed}>").as_bytes());
        assert_eq!(pixels(&both).unwrap(), b"pixels");
        let runs =
            stream(&[("Filter", named("RunLengthDecode"))], &[1, b'a', b'b', 254, b'c', 128]);
        assert_eq!(pixels(&runs).unwrap(), b"abccc");
    }

    #[test]
    fn predictors_of_one_bit_and_of_colours_are_undone() {
        // Two rows of ten one-bit pixels: the second is the difference from the one above it.
        let packed = deflated(&[0, 0b1010_1010, 0b1100_0000, 2, 0, 0]);
        let of_bits = settings(&[("Predictor", 15), ("Columns", 10), ("BitsPerComponent", 1)]);
        let bits = [("Filter", named("FlateDecode")), ("DecodeParms", of_bits)];
        let row = [0b1010_1010, 0b1100_0000];
        assert_eq!(pixels(&stream(&bits, &packed)).unwrap(), [row, row].concat());

        let packed = deflated(&[1, 2, 3, 1, 1, 1]);
        let of_colours = settings(&[("Predictor", 2), ("Columns", 2), ("Colors", 3)]);
        let of_colours = Object::Array(vec![of_colours]);
        let filter = Object::Array(vec![named("FlateDecode")]);
        let colours = [("Filter", filter), ("DecodeParms", of_colours)];
        assert_eq!(pixels(&stream(&colours, &packed)).unwrap(), [1, 2, 3, 2, 3, 4]);

        let unknown =
            [("Filter", named("FlateDecode")), ("DecodeParms", settings(&[("Predictor", 9)]))];
        assert!(matches!(pixels(&stream(&unknown, &packed)), Err(ExtractError::Unreadable(_))));
    }

    #[test]
    fn what_no_reader_knows_is_refused_by_name() {
        for (filter, says) in [
            ("JBIG2Decode", "its picture is compressed with JBIG2, which is not supported"),
            ("JPXDecode", "its picture is compressed with JPEG 2000, which is not supported"),
            ("NewDecode", "its picture is compressed in a way that is not known"),
        ] {
            let refused = Err(ExtractError::Unreadable(says.to_owned()));
            assert_eq!(pixels(&stream(&[("Filter", named(filter))], b"x")), refused);
        }
        let broken = stream(&[("Filter", named("FlateDecode"))], b"not packed");
        assert!(matches!(pixels(&broken), Err(ExtractError::Damaged(_))));
    }
}
