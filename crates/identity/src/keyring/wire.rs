//! The part of D-Bus's wire format that calls to a keyring need: strings, lists of bytes and of
//! strings, small dictionaries. Bytes from the bus are read within bounds, and `None` means that
//! they were not understood.

/// The longest message that is read. Messages with a key and some paths are far shorter.
const LONGEST: usize = 64 * 1024;
const FIXED_HEADER: usize = 16;

const CALL: u8 = 1;
const RETURN: u8 = 2;
const ERROR: u8 = 3;

mod field {
    pub(super) const PATH: u8 = 1;
    pub(super) const INTERFACE: u8 = 2;
    pub(super) const MEMBER: u8 = 3;
    pub(super) const ERROR_NAME: u8 = 4;
    pub(super) const REPLY_SERIAL: u8 = 5;
    pub(super) const DESTINATION: u8 = 6;
    pub(super) const SIGNATURE: u8 = 8;
}

/// A method and its arguments.
pub(super) struct Call<'a> {
    pub(super) to: &'static str,
    pub(super) path: &'a str,
    pub(super) interface: &'static str,
    pub(super) member: &'static str,
    /// The D-Bus types of `arguments`.
    pub(super) signature: &'static str,
    pub(super) arguments: Writer,
}

impl Call<'_> {
    pub(super) fn encode(&self, serial: u32) -> Vec<u8> {
        let mut message = Writer::default();
        message.bytes.extend([b'l', CALL, 0, 1]);
        message.u32(self.arguments.length());
        message.u32(serial);
        message.list(8, |fields| {
            fields.header_field(field::PATH, "o", self.path);
            fields.header_field(field::INTERFACE, "s", self.interface);
            fields.header_field(field::MEMBER, "s", self.member);
            fields.header_field(field::DESTINATION, "s", self.to);
            if !self.signature.is_empty() {
                fields.pad(8);
                fields.bytes.push(field::SIGNATURE);
                fields.signature("g");
                fields.signature(self.signature);
            }
        });
        message.pad(8);
        message.bytes.extend(&self.arguments.bytes);
        message.bytes
    }
}

#[derive(Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Pads to an alignment. Each value is aligned to its own size, counted from the beginning of
    /// the message.
    pub(super) fn pad(&mut self, to: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), 0);
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.pad(4);
        self.bytes.extend(value.to_le_bytes());
    }

    pub(super) fn boolean(&mut self, value: bool) {
        self.u32(value.into());
    }

    /// Writes a string or the path of an object.
    pub(super) fn string(&mut self, text: &str) {
        self.byte_list(text.as_bytes());
        self.bytes.push(0);
    }

    pub(super) fn byte_list(&mut self, bytes: &[u8]) {
        self.u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.bytes.extend(bytes);
    }

    pub(super) fn signature(&mut self, types: &'static str) {
        self.bytes.push(u8::try_from(types.len()).unwrap_or(u8::MAX));
        self.bytes.extend(types.as_bytes());
        self.bytes.push(0);
    }

    /// Writes a list; `alignment` is that of the list's items.
    pub(super) fn list(&mut self, alignment: usize, fill: impl FnOnce(&mut Self)) {
        self.u32(0);
        let length_at = self.bytes.len() - 4;
        self.pad(alignment);
        let begin = self.bytes.len();
        fill(self);
        let length = u32::try_from(self.bytes.len() - begin).unwrap_or(u32::MAX);
        self.bytes[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
    }

    /// Writes a dictionary of strings, as `a{ss}`.
    pub(super) fn dictionary(&mut self, entries: &[(&str, &str)]) {
        self.list(8, |list| {
            for (key, value) in entries {
                list.pad(8);
                list.string(key);
                list.string(value);
            }
        });
    }

    fn header_field(&mut self, code: u8, kind: &'static str, value: &str) {
        self.pad(8);
        self.bytes.push(code);
        self.signature(kind);
        self.string(value);
    }

    fn length(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(u32::MAX)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

/// The first bytes of a message, which contain its length.
pub(super) struct Head {
    order: Order,
    kind: u8,
    fields: usize,
    body: usize,
}

impl Head {
    pub(super) const LENGTH: usize = FIXED_HEADER;

    pub(super) fn decode(bytes: &[u8; Self::LENGTH]) -> Option<Self> {
        let order = match bytes[0] {
            b'l' => Order::Little,
            b'B' => Order::Big,
            _ => return None,
        };
        let mut reader = Reader { bytes, at: 4, order };
        let body = usize::try_from(reader.u32()?).ok()?;
        reader.u32()?;
        let fields = usize::try_from(reader.u32()?).ok()?;
        let is_bounded = fields <= LONGEST && body <= LONGEST;
        is_bounded.then_some(Self { order, kind: bytes[1], fields, body })
    }

    /// How many bytes follow the head.
    pub(super) fn rest(&self) -> usize {
        self.fields.next_multiple_of(8) + self.body
    }
}

/// A message of the bus; `answers` is the number of the call that it answers.
#[derive(Debug)]
pub(super) struct Message {
    kind: u8,
    pub(super) answers: Option<u32>,
    error: Option<String>,
    order: Order,
    body: Vec<u8>,
}

impl Message {
    /// Decodes a message; `rest` is the part after the head.
    pub(super) fn decode(head: &Head, rest: &[u8]) -> Option<Self> {
        let mut message = Self {
            kind: head.kind,
            answers: None,
            error: None,
            order: head.order,
            body: rest.get(head.fields.next_multiple_of(8)..)?.to_vec(),
        };
        let mut reader = Reader { bytes: rest.get(..head.fields)?, at: 0, order: head.order };
        while reader.at < reader.bytes.len() {
            reader.pad(8)?;
            let code = reader.take(1)?[0];
            match reader.signature()? {
                "u" if code == field::REPLY_SERIAL => message.answers = Some(reader.u32()?),
                "s" if code == field::ERROR_NAME => {
                    message.error = Some(reader.string()?.to_owned());
                }
                "u" => drop(reader.u32()?),
                "s" | "o" => drop(reader.string()?),
                "g" => drop(reader.signature()?),
                _ => return None,
            }
        }
        Some(message)
    }

    pub(super) fn is_answer(&self) -> bool {
        matches!(self.kind, RETURN | ERROR)
    }

    /// The error's name, if the message is an error.
    pub(super) fn error(&self) -> Option<&str> {
        (self.kind == ERROR).then(|| self.error.as_deref().unwrap_or_default())
    }

    pub(super) fn body(&self) -> Reader<'_> {
        Reader { bytes: &self.body, at: 0, order: self.order }
    }
}

pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    order: Order,
}

impl<'a> Reader<'a> {
    pub(super) fn pad(&mut self, to: usize) -> Option<()> {
        let skipped = self.at.next_multiple_of(to) - self.at;
        self.take(skipped).map(drop)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.pad(4)?;
        let bytes = self.take(4)?.try_into().ok()?;
        Some(match self.order {
            Order::Little => u32::from_le_bytes(bytes),
            Order::Big => u32::from_be_bytes(bytes),
        })
    }

    pub(super) fn byte_list(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.u32()?).ok()?;
        self.take(length)
    }

    pub(super) fn string(&mut self) -> Option<&'a str> {
        let text = std::str::from_utf8(self.byte_list()?).ok()?;
        self.take(1)?;
        Some(text)
    }

    pub(super) fn signature(&mut self) -> Option<&'a str> {
        let length = self.take(1)?[0];
        let types = std::str::from_utf8(self.take(length.into())?).ok()?;
        self.take(1)?;
        Some(types)
    }

    pub(super) fn strings(&mut self) -> Option<Vec<String>> {
        let bytes = self.byte_list()?;
        // Four bytes are their own alignment, so the list may be read without the part before it.
        let mut list = Reader { bytes, at: 0, order: self.order };
        let mut strings = Vec::new();
        while list.at < list.bytes.len() {
            strings.push(list.string()?.to_owned());
        }
        Some(strings)
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(order: u8) -> Vec<u8> {
        let number = |value: u32| match order {
            b'l' => value.to_le_bytes(),
            _ => value.to_be_bytes(),
        };
        // The message is an error with a name that answers call 7 and holds a list of one string.
        let mut fields = vec![field::ERROR_NAME, 1, b's', 0];
        fields.extend(number(3));
        fields.extend(b"a.b\0");
        fields.resize(fields.len().next_multiple_of(8), 0);
        fields.extend([field::REPLY_SERIAL, 1, b'u', 0]);
        fields.extend(number(7));
        let mut body = number(8).to_vec();
        body.extend(number(3));
        body.extend(b"/x/\0");
        let mut whole = vec![order, ERROR, 0, 1];
        whole.extend(number(body.len().try_into().unwrap()));
        whole.extend(number(1));
        whole.extend(number(fields.len().try_into().unwrap()));
        whole.extend(&fields);
        whole.resize(whole.len().next_multiple_of(8), 0);
        whole.extend(body);
        whole
    }

    fn read(whole: &[u8]) -> Option<(u32, String, Vec<String>)> {
        let head = Head::decode(whole.get(..Head::LENGTH)?.try_into().ok()?)?;
        let message = Message::decode(&head, &whole[Head::LENGTH..])?;
        let strings = message.body().strings()?;
        Some((message.answers?, message.error()?.to_owned(), strings))
    }

    #[test]
    fn an_answer_is_read_in_either_order_of_bytes() {
        for order in [b'l', b'B'] {
            let expected = (7, "a.b".to_owned(), vec!["/x/".to_owned()]);
            assert_eq!(read(&answer(order)), Some(expected));
        }
    }

    #[test]
    fn an_answer_that_is_cut_or_changed_anywhere_is_refused_or_read_but_never_more() {
        let whole = answer(b'l');
        for length in 0..whole.len() {
            assert_eq!(read(&whole[..length]), None, "cut at {length}");
        }
        for index in 0..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[index] = value;
                let _ = read(&changed);
            }
        }
        let mut huge = whole;
        huge[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(Head::decode(huge[..Head::LENGTH].try_into().unwrap()).is_none());
    }
}
