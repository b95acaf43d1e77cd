//! Cuts a markdown text into chunks that can be understood alone. A chunk consists of whole blocks
//! where they fit, and knows its headings and the exact lines that it came from.

mod blocks;
mod pack;
mod ruler;
mod wording;

pub use pack::{Chunking, Piece};
pub use ruler::Ruler;
pub(crate) use wording::{embedded_text, indexed_text, searched_text, zone_of};

/// A text cut into pieces, with its title and date.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    pub title: Option<String>,
    /// The date in the front matter, as `YYYY-MM-DD`.
    pub date: Option<String>,
    pub pieces: Vec<Piece>,
}

impl Document {
    pub fn read(text: &str, chunking: &Chunking, ruler: &Ruler) -> Self {
        let blocks = blocks::read(text);
        let front = blocks.front_matter.as_deref().unwrap_or_default();
        let title = value_of(front, &["title"]).or_else(|| blocks.first_heading.clone());
        let date = value_of(front, &["date", "created", "updated"]);
        let date = date.filter(|date| is_date(date)).map(|date| date[..10].to_owned());
        Self { title, date, pieces: pack::pack(text, &blocks.blocks, chunking, ruler) }
    }
}

fn value_of(front_matter: &str, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| {
        front_matter.lines().find_map(|line| {
            let value = line.strip_prefix(name)?.trim_start().strip_prefix(':')?;
            let value = value.trim().trim_matches(['"', '\'']);
            (!value.is_empty()).then(|| value.to_owned())
        })
    })
}

/// Whether a text begins with a date as `YYYY-MM-DD`.
pub(crate) fn is_date(text: &str) -> bool {
    let shape = |(place, byte): (usize, u8)| match place {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    text.len() >= 10 && text.bytes().take(10).enumerate().all(shape)
}
