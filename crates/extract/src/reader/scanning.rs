use std::time::Duration;

use tokio::time::Instant;

use super::{PAGE_BREAK, Reader, turn};
use crate::ExtractError;
use crate::helper::{Answer, Task};
use crate::pdf::{Page, Section, sections_or};
use crate::recogniser::Recogniser;

/// The most scanned pages of a document; more would take too long.
const MOST_PAGES: usize = 200;
/// How long the scanned pages of a document may take together.
const MOST_TIME: Duration = Duration::from_secs(30 * 60);

impl Reader {
    /// The sections of a document of which some pages are scans. A page that cannot be read fails
    /// alone.
    pub(super) async fn scanned(
        &self,
        bytes: &[u8],
        pages: Vec<Page>,
    ) -> Result<Vec<Section>, ExtractError> {
        let Some(recogniser) = &self.recogniser else {
            return Ok(sections_or(pages, &ExtractError::NeedsOcr));
        };
        let _turn = turn(&self.scanning).await?;
        let languages = match recogniser.languages().await {
            Ok(languages) => languages,
            Err(error) => return Ok(sections_or(pages, &error)),
        };
        let mut budget = Budget::new(Instant::now());
        let mut sections = Vec::with_capacity(pages.len());
        for (number, page) in (1..).zip(pages) {
            let section = match page {
                Page::Picture => match budget.take(Instant::now()) {
                    Ok(()) => self.scanned_page(recogniser, &languages, bytes, number).await,
                    Err(left_out) => left_out,
                },
                Page::Text(_) | Page::Empty | Page::Unreadable => {
                    page.section_or(&ExtractError::NoText)
                }
            };
            sections.push(section);
        }
        Ok(sections)
    }

    async fn scanned_page(
        &self,
        recogniser: &Recogniser,
        languages: &str,
        bytes: &[u8],
        number: u32,
    ) -> Section {
        let picture = self.answer(&Task::Picture(number), bytes).await;
        let text = match picture.and_then(Answer::picture) {
            Ok(picture) => recogniser.read(&picture, languages).await,
            Err(error) => Err(error),
        };
        match text {
            Ok(text) => Section::Text(text.replace(PAGE_BREAK, "\n")),
            Err(error) => Section::Failed(error),
        }
    }
}

/// How many scanned pages may still be read, and until when.
#[derive(Debug)]
struct Budget {
    pages: usize,
    until: Instant,
    is_spent: bool,
}

impl Budget {
    fn new(now: Instant) -> Self {
        Self { pages: MOST_PAGES, until: now + MOST_TIME, is_spent: false }
    }

    /// Takes one page from the budget. If nothing is left, the first page that is left out says so
    /// for all that follow.
    fn take(&mut self, now: Instant) -> Result<(), Section> {
        if self.is_spent {
            return Err(Section::Empty);
        }
        let limit = if self.pages == 0 {
            format!("only {MOST_PAGES} scanned pages of a document are read")
        } else if now >= self.until {
            format!("scanned pages are read for {} minutes at most", MOST_TIME.as_secs() / 60)
        } else {
            self.pages -= 1;
            return Ok(());
        };
        self.is_spent = true;
        let why = format!("{limit}, so this one and all later ones are left out");
        Err(Section::Failed(ExtractError::Unreadable(why)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(left_out: Result<(), Section>) -> String {
        match left_out {
            Err(Section::Failed(error)) => error.to_string(),
            other => panic!("nothing is said: {other:?}"),
        }
    }

    #[test]
    fn what_is_over_the_limit_is_said_once() {
        let now = Instant::now();
        let mut budget = Budget::new(now);
        assert!((0..MOST_PAGES).all(|_| budget.take(now).is_ok()));
        let why = "only 200 scanned pages of a document are read, so this one and all later ones \
                   are left out";
        assert_eq!(said(budget.take(now)), why);
        assert_eq!(budget.take(now), Err(Section::Empty));
    }

    #[test]
    fn pages_after_the_time_limit_are_left_out() {
        let now = Instant::now();
        let mut budget = Budget::new(now);
        assert_eq!(budget.take(now), Ok(()));
        let why = "scanned pages are read for 30 minutes at most, so this one and all later ones \
                   are left out";
        assert_eq!(said(budget.take(now + MOST_TIME)), why);
        assert_eq!(budget.take(now + MOST_TIME), Err(Section::Empty));
    }
}
