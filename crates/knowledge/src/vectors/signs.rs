//! Which numbers of each vector are positive, laid out by number instead of by vector: one word
//! holds the same sign of 64 vectors, so that differing signs are counted for all of them at once
//! with plain `and` and `xor`, which every processor does many of at a time.

#[cfg(target_arch = "x86_64")]
use super::products::has_avx2;

/// Words that are worked on together: a line of the processor's cache.
const WIDTH: usize = 8;
/// One bit for each vector of a block.
type Lanes = [u64; WIDTH];
/// Vectors of a block.
const BLOCK: usize = WIDTH * 64;
/// Digits of a count, in binary, of which the highest is never used up.
const DIGITS: usize = 18;
/// How much the vectors of a block differ, a digit at a time, the lowest first.
type Counts = [Lanes; DIGITS];
/// Signs that are added up at a time.
const STEP: usize = 8;
/// A number of the query counts as much as the last of these that it reaches, measured by its usual
/// size: nothing, 1, 2 or 4. With equal weights three times as many would have to be picked to miss
/// as few.
const WEIGHED: [f32; 3] = [0.25, 0.75, 1.5];
/// Numbers of a vector whose differing signs can be counted.
pub(crate) const LONGEST: usize = (1 << (DIGITS - 1)) / (1 << (WEIGHED.len() - 1)) - 1;

const NONE: Lanes = [0; WIDTH];

#[derive(Debug, Default)]
pub(crate) struct Signs {
    dims: usize,
    /// One for each number of a vector and an empty one, block after block.
    lanes: Vec<Lanes>,
}

/// Vectors, a bit each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots(Vec<Lanes>);

/// A number of the query: its place, and its sign in every bit.
type Sign = (usize, u64);

impl Signs {
    pub(crate) fn new(dims: usize) -> Self {
        Self { dims, lanes: Vec::new() }
    }

    pub(crate) fn set(&mut self, slot: usize, vector: &[f32]) {
        let length = self.dims + 1;
        let start = slot / BLOCK * length;
        if self.lanes.len() < start + length {
            self.lanes.resize(start + length, NONE);
        }
        let (word, bit) = (slot % BLOCK / 64, slot % 64);
        for (lanes, number) in self.lanes[start..].iter_mut().zip(vector) {
            let sign = u64::from(*number > 0.0) << bit;
            lanes[word] = (lanes[word] & !(1 << bit)) | sign;
        }
    }

    /// Those of the slots whose signs differ least from the query's where it is strong: so many,
    /// and all others that differ as little.
    pub(crate) fn nearest(&self, query: &[f32], among: &Slots, count: usize) -> Vec<usize> {
        let signs = by_weight(query);
        let most = signs.iter().rev().fold(0, |most, signs| most * 2 + signs.len());
        let digits = digits_of(most) + 1;
        let blocks = self.lanes.chunks_exact(self.dims + 1);
        let counted: Vec<(Counts, Lanes)> =
            blocks.zip(&among.0).map(|(block, among)| (counted(block, &signs), *among)).collect();
        let bound = bound(&counted, digits, count);
        let mut near = Vec::with_capacity(count * 2);
        for (place, (counts, among)) in counted.iter().enumerate() {
            for (word, lanes) in below(counts, digits, bound + 1, among).into_iter().enumerate() {
                let first = place * BLOCK + word * 64;
                near.extend(bits(lanes).map(|bit| first + bit));
            }
        }
        near
    }
}

impl Slots {
    pub(crate) fn set(&mut self, slot: usize, is_in: bool) {
        if self.0.len() <= slot / BLOCK {
            self.0.resize(slot / BLOCK + 1, NONE);
        }
        let word = &mut self.0[slot / BLOCK][slot % BLOCK / 64];
        *word = (*word & !(1 << (slot % 64))) | (u64::from(is_in) << (slot % 64));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        let words = self.0.iter().flatten().enumerate();
        words.flat_map(|(place, word)| bits(*word).map(move |bit| place * 64 + bit))
    }
}

impl FromIterator<bool> for Slots {
    fn from_iter<Bools: IntoIterator<Item = bool>>(bools: Bools) -> Self {
        let mut slots = Self::default();
        for (slot, is_in) in bools.into_iter().enumerate() {
            if slot % BLOCK == 0 {
                slots.0.push(NONE);
            }
            slots.0[slot / BLOCK][slot % BLOCK / 64] |= u64::from(is_in) << (slot % 64);
        }
        slots
    }
}

/// The places of the bits that are set.
fn bits(word: u64) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(word), |word| Some(word & word.wrapping_sub(1)))
        .take_while(|word| *word != 0)
        .map(|word| word.trailing_zeros() as usize)
}

/// The numbers of a query by what they count, those that count least first.
fn by_weight(query: &[f32]) -> [Vec<Sign>; WEIGHED.len()] {
    let squares: f32 = query.iter().map(|number| number * number).sum();
    let usual = (squares / query.len().max(1) as f32).sqrt();
    let mut signs = [const { Vec::new() }; WEIGHED.len()];
    for (place, number) in query.iter().enumerate() {
        let weight = WEIGHED.iter().rposition(|least| number.abs() >= least * usual);
        if let Some(weight) = weight {
            signs[weight].push((place, if *number > 0.0 { u64::MAX } else { 0 }));
        }
    }
    // Filled up to whole steps with what differs nowhere: the empty lanes.
    for signs in &mut signs {
        signs.resize(signs.len().next_multiple_of(STEP), (query.len(), 0));
    }
    signs
}

fn digits_of(number: usize) -> usize {
    (usize::BITS - number.leading_zeros()) as usize
}

/// How much the signs of each vector of a block differ from the query's.
fn counted(block: &[Lanes], signs: &[Vec<Sign>; WEIGHED.len()]) -> Counts {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        #[allow(unsafe_code, reason = "this processor was asked whether it has the instructions")]
        return unsafe { differing_with_avx2(block, signs) };
    }
    differing(block, signs)
}

/// The same, compiled for processors that work on four words at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn differing_with_avx2(block: &[Lanes], signs: &[Vec<Sign>; WEIGHED.len()]) -> Counts {
    differing(block, signs)
}

#[inline(always)]
fn differing(block: &[Lanes], signs: &[Vec<Sign>; WEIGHED.len()]) -> Counts {
    let mut counts = [NONE; DIGITS];
    let mut most = 0;
    for signs in signs.iter().rev() {
        if most > 0 {
            // What was counted so far counts twice as much as what comes.
            counts.copy_within(..DIGITS - 1, 1);
            counts[0] = NONE;
        }
        most = most * 2 + signs.len();
        let counts = &mut counts[..digits_of(most)];
        for step in signs.as_chunks::<STEP>().0 {
            add_step(counts, block, step);
        }
    }
    counts
}

#[inline(always)]
fn differ(block: &[Lanes], (place, sign): Sign) -> Lanes {
    let mut lanes = block[place];
    for word in &mut lanes {
        *word ^= sign;
    }
    lanes
}

/// Adds eight signs to the counts, with one carry into the higher digits for all of them.
#[inline(always)]
fn add_step(counts: &mut [Lanes], block: &[Lanes], signs: &[Sign; STEP]) {
    let [ones, twos, fours, higher @ ..] = counts else { return };
    let two_1 = add(ones, differ(block, signs[0]), differ(block, signs[1]));
    let two_2 = add(ones, differ(block, signs[2]), differ(block, signs[3]));
    let four_1 = add(twos, two_1, two_2);
    let two_1 = add(ones, differ(block, signs[4]), differ(block, signs[5]));
    let two_2 = add(ones, differ(block, signs[6]), differ(block, signs[7]));
    let four_2 = add(twos, two_1, two_2);
    carry(higher, add(fours, four_1, four_2));
}

/// Adds two to a digit and returns what is carried to the next.
#[inline(always)]
fn add(digit: &mut Lanes, a: Lanes, b: Lanes) -> Lanes {
    let mut carried = NONE;
    for ((digit, carried), (a, b)) in digit.iter_mut().zip(&mut carried).zip(a.iter().zip(&b)) {
        let one = a ^ b;
        *carried = (a & b) | (one & *digit);
        *digit ^= one;
    }
    carried
}

#[inline(always)]
fn carry(digits: &mut [Lanes], mut carried: Lanes) {
    for digit in digits {
        for (digit, carried) in digit.iter_mut().zip(&mut carried) {
            (*digit, *carried) = (*digit ^ *carried, *digit & *carried);
        }
    }
}

/// The smallest count that so many do not exceed.
fn bound(counted: &[(Counts, Lanes)], digits: usize, count: usize) -> usize {
    let mut bound = 0;
    // The highest digit is left for one more than all.
    for digit in (0..digits - 1).rev() {
        let tried = bound | (1 << digit);
        let found: u32 = counted
            .iter()
            .map(|(counts, among)| {
                below(counts, digits, tried, among)
                    .iter()
                    .map(|word| word.count_ones())
                    .sum::<u32>()
            })
            .sum();
        if (found as usize) < count {
            bound = tried;
        }
    }
    bound
}

/// Those of a block whose count is below a limit.
#[inline]
fn below(counts: &Counts, digits: usize, limit: usize, among: &Lanes) -> Lanes {
    let (mut below, mut alike) = (NONE, *among);
    for digit in (0..digits).rev() {
        let wanted = if (limit >> digit) & 1 == 1 { u64::MAX } else { 0 };
        for ((below, alike), digit) in below.iter_mut().zip(&mut alike).zip(&counts[digit]) {
            *below |= *alike & wanted & !digit;
            *alike &= !(wanted ^ digit);
        }
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_differ_least_are_found_among_those_that_are_asked_for() {
        // Vector n differs from the query in n % 97 of its signs.
        let dims = 100;
        let mut signs = Signs::new(dims);
        let mut slots = Slots::default();
        for slot in 0..1_500 {
            let vector: Vec<f32> =
                (0..dims).map(|at| if at < slot % 97 { -1.0 } else { 1.0 }).collect();
            signs.set(slot, &vector);
            slots.set(slot, true);
        }
        let query = vec![1.0; dims];
        let near = signs.nearest(&query, &slots, 20);
        let expected: Vec<usize> = (0..1_500).filter(|slot| slot % 97 <= 1).collect();
        assert_eq!(near, expected);
        let mut slots: Slots = (0..1_500).map(|slot| slot % 2 == 1).collect();
        slots.set(97, false);
        let near = signs.nearest(&query, &slots, 8);
        let odd = expected.into_iter().filter(|slot| slot % 2 == 1 && *slot != 97);
        assert_eq!(near, odd.collect::<Vec<_>>());
        assert_eq!(signs.nearest(&query, &slots, 10_000).len(), 749);
        assert_eq!(slots.iter().count(), 749);
    }

    #[test]
    fn a_strong_number_counts_more_than_several_weak_ones() {
        let query = [4.0, 1.0, 1.0, 1.0, 0.1, 0.1, 0.1];
        let mut signs = Signs::new(query.len());
        let flipped = |places: &[usize]| {
            let mut vector = query;
            places.iter().for_each(|place| vector[*place] = -1.0);
            vector
        };
        // By the sum of what counts: 4 against 3, and the last three count nothing.
        signs.set(0, &flipped(&[0]));
        signs.set(1, &flipped(&[1, 2, 3, 4, 5, 6]));
        let slots: Slots = [true, true].into_iter().collect();
        assert_eq!(signs.nearest(&query, &slots, 1), [1]);
    }
}
