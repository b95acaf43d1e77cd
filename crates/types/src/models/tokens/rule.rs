/// Estimates tokens by rules that tokenizers have in common: a short word is a token, and so is a
/// line break with its indentation; a space before a word is free; three digits are one;
/// punctuation comes in small groups; words of other alphabets break more often, and wide
/// characters are about one each.
pub fn estimate_tokens(text: &str) -> usize {
    let mut weigher = Weigher { sum: 0, run: Run::default() };
    for &byte in text.as_bytes() {
        let kind = kind(byte);
        if kind == Kind::Inside {
            continue;
        }
        weigher.take(kind);
    }
    weigher.end()
}

/// One token in units of a twentieth, in which all weights are given so that sums are exact.
const ONE: usize = 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Space,
    LineEnd,
    Letter,
    /// A letter that has two bytes: accented, Greek, Cyrillic, Arabic, …
    OtherLetter,
    Digit,
    Mark,
    /// A character of three or four bytes: Chinese, Japanese, Korean, emoji, …
    Wide,
    /// A byte that is not the first of a character.
    Inside,
}

fn kind(byte: u8) -> Kind {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' => Kind::Letter,
        b'0'..=b'9' => Kind::Digit,
        b' ' | b'\t' => Kind::Space,
        b'\n' | b'\r' => Kind::LineEnd,
        0..=0x7f => Kind::Mark,
        0x80..=0xbf => Kind::Inside,
        0xc0..=0xdf => Kind::OtherLetter,
        0xe0..=0xff => Kind::Wide,
    }
}

/// Characters in a row that a tokenizer looks at together.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    group: Group,
    length: usize,
    /// Whether the run holds letters of two bytes, or a line's end.
    special: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Group {
    #[default]
    Blank,
    Word,
    Number,
    Marks,
    Wide,
}

struct Weigher {
    sum: usize,
    run: Run,
}

impl Weigher {
    fn take(&mut self, kind: Kind) {
        let (group, special) = match kind {
            Kind::Space => (Group::Blank, false),
            Kind::LineEnd => (Group::Blank, true),
            Kind::Letter => (Group::Word, false),
            Kind::OtherLetter => (Group::Word, true),
            Kind::Digit => (Group::Number, false),
            Kind::Mark => (Group::Marks, false),
            Kind::Wide | Kind::Inside => (Group::Wide, false),
        };
        if group != self.run.group {
            self.sum += self.run.weight();
            self.run = Run { group, ..Run::default() };
        }
        self.run.length += 1;
        self.run.special |= special;
    }

    fn end(self) -> usize {
        (self.sum + self.run.weight()).div_ceil(ONE)
    }
}

impl Run {
    fn weight(self) -> usize {
        let Self { group, length, special } = self;
        match group {
            Group::Blank if special || length > 1 => ONE,
            Group::Blank => 0,
            Group::Word if special => (length * 7).max(ONE),
            Group::Word => ONE + length.saturating_sub(7) * 4,
            Group::Number => length.div_ceil(3) * ONE,
            Group::Marks => (length * ONE * 5 / 8).max(ONE),
            Group::Wide => length * 18,
        }
    }
}
