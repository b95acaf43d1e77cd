//! Reads the header of a GGUF file: which model it holds, and whether the file is complete. This is
//! not left to llama.cpp, because it aborts the process on some damaged files and reports little
//! about others.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

/// A file's description of its model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gguf {
    pub architecture: String,
    pub name: Option<String>,
    pub licence: Option<String>,
    /// The context window with which the model was trained.
    pub context_length: Option<u32>,
    pub chat_template: Option<String>,
    pub parameters: u64,
    pub bytes: u64,
    /// How many bytes of memory one token of a conversation needs.
    pub(crate) bytes_per_token: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum GgufError {
    #[error("it cannot be read: {0}")]
    Unreadable(std::io::Error),
    #[error("it is not a GGUF model")]
    NotAModel,
    #[error("GGUF version {0} is not supported")]
    Version(u32),
    #[error("it ends after {found} of {expected} bytes")]
    Truncated { found: u64, expected: u64 },
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
}

impl From<std::io::Error> for GgufError {
    fn from(error: std::io::Error) -> Self {
        Self::Unreadable(error)
    }
}

/// No model has more entries, items or text than these limits: a file with more is damaged or made
/// to harm.
const MAX_ENTRIES: u64 = 1 << 20;
const MAX_ITEMS: u64 = 1 << 24;
const MAX_TEXT: u64 = 1 << 24;

impl Gguf {
    pub fn read(path: &Path) -> Result<Self, GgufError> {
        let file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(GgufError::NotAModel);
        }
        let bytes = file.metadata()?.len();
        let mut reader = Reader { input: BufReader::new(file), bytes };
        if &reader.take::<4>().map_err(|_| GgufError::NotAModel)? != b"GGUF" {
            return Err(GgufError::NotAModel);
        }
        let version = reader.u32()?;
        if !(2..=3).contains(&version) {
            return Err(GgufError::Version(version));
        }
        let tensors = reader.count(MAX_ENTRIES, "too many tensors")?;
        let entries = reader.count(MAX_ENTRIES, "too many entries")?;
        let metadata = Metadata::read(&mut reader, entries)?;
        let mut gguf = metadata.gguf(bytes);
        let layout = Layout::read(&mut reader, tensors)?;
        gguf.parameters = layout.elements;
        let start = reader.input.stream_position()?.next_multiple_of(metadata.alignment);
        let expected = start.saturating_add(layout.end);
        if bytes < expected {
            return Err(GgufError::Truncated { found: bytes, expected });
        }
        Ok(gguf)
    }

    /// Whether the file's chat template supports tools.
    pub fn takes_tools(&self) -> bool {
        self.chat_template.as_ref().is_some_and(|template| template.contains("tools"))
    }
}

struct Reader {
    input: BufReader<File>,
    bytes: u64,
}

impl Reader {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], GgufError> {
        let mut taken = [0; N];
        match self.input.read_exact(&mut taken) {
            Ok(()) => Ok(taken),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Err(GgufError::Truncated { found: self.bytes, expected: self.bytes + N as u64 })
            }
            Err(error) => Err(error.into()),
        }
    }

    fn u32(&mut self) -> Result<u32, GgufError> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    fn u64(&mut self) -> Result<u64, GgufError> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    fn count(&mut self, most: u64, why: &'static str) -> Result<u64, GgufError> {
        let count = self.u64()?;
        if count > most { Err(GgufError::Damaged(why)) } else { Ok(count) }
    }

    fn text(&mut self) -> Result<String, GgufError> {
        let length = self.count(MAX_TEXT, "a text of impossible length")?;
        let mut bytes = Vec::new();
        (&mut self.input).take(length).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < length {
            return Err(GgufError::Truncated { found: self.bytes, expected: self.bytes + length });
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn skip(&mut self, bytes: u64) -> Result<(), GgufError> {
        let bytes = i64::try_from(bytes).map_err(|_| GgufError::Damaged("an array too long"))?;
        Ok(self.input.seek_relative(bytes)?)
    }

    fn value(&mut self, kind: u32) -> Result<Value, GgufError> {
        match kind {
            8 => Ok(Value::Text(self.text()?)),
            9 => {
                let kind = self.u32()?;
                let items = self.count(MAX_ITEMS, "an array too long")?;
                match width(kind) {
                    Some(width) => self.skip(items * width)?,
                    None if kind == 8 => {
                        for _ in 0..items {
                            let length = self.count(MAX_TEXT, "a text of impossible length")?;
                            self.skip(length)?;
                        }
                    }
                    None => return Err(GgufError::Damaged("an array of arrays")),
                }
                Ok(Value::Other)
            }
            4 => Ok(Value::Number(u64::from(self.u32()?))),
            10 => Ok(Value::Number(self.u64()?)),
            other => {
                let width = width(other).ok_or(GgufError::Damaged("an entry of unknown kind"))?;
                self.skip(width)?;
                Ok(Value::Other)
            }
        }
    }
}

enum Value {
    Text(String),
    Number(u64),
    Other,
}

/// How many bytes a value has, if its kind decides that.
const fn width(kind: u32) -> Option<u64> {
    match kind {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}

struct Metadata {
    texts: Vec<(String, String)>,
    numbers: Vec<(String, u64)>,
    alignment: u64,
}

impl Metadata {
    fn read(reader: &mut Reader, entries: u64) -> Result<Self, GgufError> {
        let mut metadata = Self { texts: Vec::new(), numbers: Vec::new(), alignment: 32 };
        for _ in 0..entries {
            let key = reader.text()?;
            let kind = reader.u32()?;
            match reader.value(kind)? {
                Value::Text(text) => metadata.texts.push((key, text)),
                Value::Number(number) if key == "general.alignment" && number > 0 => {
                    metadata.alignment = number;
                }
                Value::Number(number) => metadata.numbers.push((key, number)),
                Value::Other => {}
            }
        }
        Ok(metadata)
    }

    fn text(&self, key: &str) -> Option<String> {
        self.texts.iter().find(|(other, _)| other == key).map(|(_, text)| text.clone())
    }

    fn gguf(&self, bytes: u64) -> Gguf {
        let architecture = self.text("general.architecture").unwrap_or_default();
        let number = |key: &str| {
            let key = format!("{architecture}.{key}");
            self.numbers.iter().find(|(other, _)| *other == key).map(|(_, number)| *number)
        };
        let heads = number("attention.head_count").unwrap_or(1).max(1);
        let heads_kept = number("attention.head_count_kv").unwrap_or(heads);
        let per_head = number("embedding_length").unwrap_or(0) / heads;
        let per_head = number("attention.key_length").unwrap_or(per_head);
        let layers = number("block_count").unwrap_or(0);
        Gguf {
            name: self.text("general.name"),
            licence: self.text("general.license"),
            context_length: number("context_length").and_then(|number| number.try_into().ok()),
            chat_template: self.text("tokenizer.chat_template"),
            // Each number of the cache is a key and a value of two bytes each.
            bytes_per_token: layers.saturating_mul(heads_kept).saturating_mul(per_head) * 4,
            parameters: 0,
            architecture,
            bytes,
        }
    }
}

/// The positions of the tensors.
#[derive(Default)]
struct Layout {
    elements: u64,
    /// The end of the tensors, counted from the first byte of the first one.
    end: u64,
}

impl Layout {
    fn read(reader: &mut Reader, tensors: u64) -> Result<Self, GgufError> {
        let mut layout = Self::default();
        for _ in 0..tensors {
            reader.text()?;
            let dimensions = reader.u32()?;
            if dimensions > 8 {
                return Err(GgufError::Damaged("a tensor of too many dimensions"));
            }
            let mut elements: u64 = 1;
            for _ in 0..dimensions {
                elements = elements.saturating_mul(reader.u64()?);
            }
            let (kind, offset) = (reader.u32()?, reader.u64()?);
            let (block, bytes) = block(kind);
            let length = elements.div_ceil(block).saturating_mul(bytes);
            layout.elements = layout.elements.saturating_add(elements);
            layout.end = layout.end.max(offset.saturating_add(length));
        }
        Ok(layout)
    }
}

/// How many numbers a block of a kind of tensor has, and in how many bytes. For newer kinds only
/// the position is known.
const fn block(kind: u32) -> (u64, u64) {
    match kind {
        0 | 26 => (1, 4),
        1 | 25 | 30 => (1, 2),
        2 | 20 => (32, 18),
        3 => (32, 20),
        6 => (32, 22),
        7 => (32, 24),
        8 => (32, 34),
        10 => (256, 84),
        11 | 21 => (256, 110),
        12 => (256, 144),
        13 => (256, 176),
        14 => (256, 210),
        16 => (256, 66),
        17 => (256, 74),
        18 => (256, 98),
        19 => (256, 50),
        22 => (256, 82),
        23 => (256, 136),
        24 => (1, 1),
        27 | 28 => (1, 8),
        29 => (256, 56),
        39 => (32, 17),
        _ => (1, 0),
    }
}
