//! Answers that depend on the content of a request, for programs that cannot pass a function.

use crate::model::answer::Answer;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Texts that must all be in the request's body.
    pub contains: Vec<String>,
    /// How many requests the rule answers; without it, every one.
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

/// The answer of the first rule that matches; this counts as one use of the rule.
pub(super) fn first_that_fits(rules: &mut [Rule], body: &[u8]) -> Option<Answer> {
    let rule = rules.iter_mut().find(|rule| rule.fits(body))?;
    rule.times = rule.times.map(|times| times - 1);
    Some(rule.answer.clone())
}
