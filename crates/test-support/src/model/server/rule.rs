//! Answers by what a request holds, for programs that cannot hand over a function.

use crate::model::answer::Answer;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// All of these are in the request's body.
    pub contains: Vec<String>,
    /// How many requests it is for; without it, for every one.
    #[serde(default)]
    pub times: Option<u32>,
    pub answer: Answer,
}

impl Rule {
    fn fits(&self, body: &[u8]) -> bool {
        let is_in = |part: &String| memchr::memmem::find(body, part.as_bytes()).is_some();
        self.times != Some(0) && self.contains.iter().all(is_in)
    }
}

/// The answer of the first rule that fits, which is then used once.
pub(super) fn first_that_fits(rules: &mut [Rule], body: &[u8]) -> Option<Answer> {
    let rule = rules.iter_mut().find(|rule| rule.fits(body))?;
    rule.times = rule.times.map(|times| times - 1);
    Some(rule.answer.clone())
}
