//! Measures how good an order of answers is.

use std::fmt;

/// How many answers count.
pub(crate) const DEPTH: usize = 10;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Scores {
    pub(crate) ndcg: f64,
    pub(crate) recall: f64,
}

impl Scores {
    /// The scores of one question. `found` is in order, best first, and names each answer once.
    pub(crate) fn of(found: &[String], relevant: &[String]) -> Self {
        let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
        let hits: Vec<usize> = found
            .iter()
            .take(DEPTH)
            .enumerate()
            .filter(|(_, path)| relevant.contains(path))
            .map(|(rank, _)| rank)
            .collect();
        let best: f64 = (0..relevant.len().min(DEPTH)).map(gain).sum();
        let reached: f64 = hits.iter().copied().map(gain).sum();
        Self { ndcg: reached / best, recall: hits.len() as f64 / relevant.len() as f64 }
    }

    pub(crate) fn mean(all: &[Self]) -> Self {
        let count = f64::max(all.len() as f64, 1.0);
        Self {
            ndcg: all.iter().map(|one| one.ndcg).sum::<f64>() / count,
            recall: all.iter().map(|one| one.recall).sum::<f64>() / count,
        }
    }
}

/// The interval that contains the mean of other questions of the same kind in nineteen of twenty
/// cases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    low: f64,
    high: f64,
}

const DRAWS: usize = 1_000;

impl Interval {
    /// Finds the interval by drawing the same number of questions from them many times, in the same
    /// way in each run.
    pub(crate) fn of(scores: &[Scores], value: impl Fn(&Scores) -> f64) -> Self {
        let values: Vec<f64> = scores.iter().map(value).collect();
        if values.is_empty() {
            return Self { low: 0.0, high: 0.0 };
        }
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut draw = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            values[(state >> 33) as usize % values.len()]
        };
        let count = values.len() as f64;
        let mut means: Vec<f64> =
            (0..DRAWS).map(|_| (0..values.len()).map(|_| draw()).sum::<f64>() / count).collect();
        means.sort_by(f64::total_cmp);
        Self { low: means[DRAWS / 40], high: means[DRAWS - 1 - DRAWS / 40] }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({:.3}–{:.3})", self.low, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(found: &[&str], relevant: &[&str]) -> Scores {
        let owned =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        Scores::of(&owned(found), &owned(relevant))
    }

    #[test]
    fn first_is_best_and_nothing_found_is_nothing() {
        assert_eq!(of(&["a", "b"], &["a"]), Scores { ndcg: 1.0, recall: 1.0 });
        assert_eq!(of(&["b", "a"], &["c"]), Scores { ndcg: 0.0, recall: 0.0 });
        assert_eq!(of(&[], &["c"]), Scores { ndcg: 0.0, recall: 0.0 });
    }

    #[test]
    fn a_later_rank_gains_less() {
        let second = of(&["b", "a"], &["a"]);
        assert_eq!((second.ndcg, second.recall), (1.0 / 3_f64.log2(), 1.0));
        let one_of_two = of(&["a", "x"], &["a", "b"]);
        assert_eq!(one_of_two.recall, 0.5);
        assert!((one_of_two.ndcg - 1.0 / (1.0 + 1.0 / 3_f64.log2())).abs() < 1e-12);
    }

    #[test]
    fn what_stands_after_the_tenth_is_not_found() {
        let found: Vec<String> = (0..11).map(|number| number.to_string()).collect();
        assert_eq!(Scores::of(&found, &["10".to_owned()]), Scores::default());
    }

    #[test]
    fn an_interval_holds_the_mean_and_narrows_with_more_questions() {
        let half = |count: usize| -> Vec<Scores> {
            let recall = |number: usize| (number % 2) as f64;
            (0..count).map(|number| Scores { ndcg: 0.0, recall: recall(number) }).collect()
        };
        let width = |count: usize| {
            let Interval { low, high } = Interval::of(&half(count), |scores| scores.recall);
            assert!(low < 0.5 && 0.5 < high, "{low} {high}");
            high - low
        };
        // The standard errors are .05 and .025, and the interval has nearly two of them on either
        // side.
        assert!((width(100) - 0.196).abs() < 0.04 && (width(400) - 0.098).abs() < 0.02);
    }
}
