//! How good an order of answers is.

/// Answers that count.
pub(crate) const DEPTH: usize = 10;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Scores {
    pub(crate) ndcg: f64,
    pub(crate) recall: f64,
}

impl Scores {
    /// Of one question: `found` best first, each once.
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

    pub(crate) fn mean(all: impl Iterator<Item = Self>) -> Self {
        let (mut sum, mut count) = (Self::default(), 0.0);
        for one in all {
            sum.ndcg += one.ndcg;
            sum.recall += one.recall;
            count += 1.0;
        }
        Self { ndcg: sum.ndcg / f64::max(count, 1.0), recall: sum.recall / f64::max(count, 1.0) }
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
}
