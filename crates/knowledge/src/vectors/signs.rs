//! Stores which numbers of each vector are positive, ordered by number instead of by vector. One
//! word holds the same sign of 64 vectors, so that differing signs are counted for all of them at
//! once with plain `and` and `xor`, of which every processor does many at a time.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

#[cfg(target_arch = "x86_64")]
use super::products::has_avx2;

/// How many words are processed together, which is one line of the processor's cache.
const WIDTH: usize = 8;
/// One bit for each vector of a block.
type BlockBits = [u64; WIDTH];
/// The number of vectors in a block.
const BLOCK: usize = WIDTH * 64;
/// The number of binary digits of a count.
const DIGITS: usize = 17;
/// How many signs are added up at a time.
const STEP: usize = 8;
/// The limits that decide how much a number of the query counts. A number counts 0, 1, 2 or 4, by
/// how many of these limits it reaches when measured in average sizes. With equal weights three
/// times as many candidates would be needed to miss as few.
const WEIGHED: [f32; 3] = [0.5, 0.75, 1.5];
/// The longest vector whose differing signs can be counted.
pub(crate) const LONGEST: usize = (1 << DIGITS) / (1 << (WEIGHED.len() - 1)) - 1;

const NONE: BlockBits = [0; WIDTH];

#[derive(Debug, Default)]
pub(crate) struct Signs {
    dims: usize,
    /// One element for each number of a vector and an empty one, block after block.
    blocks: Vec<BlockBits>,
}

/// A set of slots, one bit each.
#[derive(Clone, Debug, Default)]
pub(crate) struct VectorSlots(Vec<BlockBits>);

/// A number of the query: its index, and its sign in every bit.
type Sign = (usize, u64);
/// The numbers of a query by how much they count, those that count least first.
type Weighed = [Vec<Sign>; WEIGHED.len()];

impl Signs {
    pub(crate) fn new(dims: usize) -> Self {
        Self { dims, blocks: Vec::new() }
    }

    /// The number of bytes of memory that the signs take, which is that of whole blocks.
    pub(crate) fn memory(&self) -> usize {
        self.blocks.capacity() * size_of::<BlockBits>()
    }

    pub(crate) fn set(&mut self, slot: usize, vector: &[f32]) {
        let length = self.dims + 1;
        let start = slot / BLOCK * length;
        if self.blocks.len() < start + length {
            self.blocks.resize(start + length, NONE);
        }
        let (word, bit) = (slot % BLOCK / 64, slot % 64);
        for (bits, number) in self.blocks[start..].iter_mut().zip(vector) {
            let sign = u64::from(*number > 0.0) << bit;
            bits[word] = (bits[word] & !(1 << bit)) | sign;
        }
    }

    /// The `count` slots whose signs differ least from the query's strong numbers, and all others
    /// that differ as little.
    pub(crate) fn nearest(&self, query: &[f32], among: &VectorSlots, count: usize) -> Vec<usize> {
        let signs = by_weight(query);
        let most = signs.iter().rev().fold(0, |most, signs| most * 2 + signs.len());
        let digits = digits_of(most).max(1);
        let counts = self.counted(&signs, digits);
        let bound = bound(&counts, digits, among, count);
        let mut near = Vec::with_capacity(count * 2);
        for (place, (counts, among)) in counts.chunks_exact(digits).zip(&among.0).enumerate() {
            for (word, near_bits) in up_to(counts, bound, among).into_iter().enumerate() {
                let first = place * BLOCK + word * 64;
                near.extend(bits(near_bits).map(|bit| first + bit));
            }
        }
        near
    }

    /// How much the signs of each vector differ from the query's, in `digits` binary digits for
    /// each block.
    fn counted(&self, signs: &Weighed, digits: usize) -> Vec<BlockBits> {
        let length = self.dims + 1;
        let mut counts = vec![NONE; self.blocks.len() / length * digits];
        let blocks = self.blocks.chunks_exact(length);
        // Each block is fetched while the block before it is counted. No block follows the last
        // one.
        let next = self.blocks.chunks_exact(length).skip(1).chain([[].as_slice()]);
        for ((block, next), counts) in blocks.zip(next).zip(counts.chunks_exact_mut(digits)) {
            count(block, next, signs, counts);
        }
        counts
    }
}

impl VectorSlots {
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

impl FromIterator<bool> for VectorSlots {
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

/// The indexes of the bits that are set.
fn bits(word: u64) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(word), |word| Some(word & word.wrapping_sub(1)))
        .take_while(|word| *word != 0)
        .map(|word| word.trailing_zeros() as usize)
}

fn by_weight(query: &[f32]) -> Weighed {
    let squares: f32 = query.iter().map(|number| number * number).sum();
    let usual = (squares / query.len().max(1) as f32).sqrt();
    let mut signs = [const { Vec::new() }; WEIGHED.len()];
    for (place, number) in query.iter().enumerate() {
        let weight = WEIGHED.iter().rposition(|least| number.abs() >= least * usual);
        if let Some(weight) = weight {
            signs[weight].push((place, if *number > 0.0 { u64::MAX } else { 0 }));
        }
    }
    // The signs are filled up to whole steps with the empty element, which differs nowhere.
    for signs in &mut signs {
        signs.resize(signs.len().next_multiple_of(STEP), (query.len(), 0));
    }
    signs
}

fn digits_of(number: usize) -> usize {
    (usize::BITS - number.leading_zeros()) as usize
}

/// How much the signs of each vector of a block differ from the query's, digit by digit from the
/// lowest.
fn count(block: &[BlockBits], next: &[BlockBits], signs: &Weighed, counts: &mut [BlockBits]) {
    #[cfg(target_arch = "x86_64")]
    if has_avx512() {
        #[allow(unsafe_code, reason = "this processor was asked whether it has the instructions")]
        unsafe {
            count_with_avx512(block, next, signs, counts);
        }
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        #[allow(unsafe_code, reason = "this processor was asked whether it has the instructions")]
        unsafe {
            count_with_avx2(block, next, signs, counts);
        }
        return;
    }
    count_differing(block, signs, counts, |_| ());
}

/// Whether the processor can work on a whole cache line at a time and add three bits with two
/// instructions.
#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
}

/// Counts the same, compiled for processors that work on eight words at a time. Blocks of many
/// vectors are in memory and not in the cache, so the needed part of the next block is fetched
/// meanwhile.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn count_with_avx512(
    block: &[BlockBits],
    next: &[BlockBits],
    signs: &Weighed,
    counts: &mut [BlockBits],
) {
    count_differing(block, signs, counts, |place| fetch(next, place));
}

/// Counts the same, compiled for processors that work on four words at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn count_with_avx2(
    block: &[BlockBits],
    next: &[BlockBits],
    signs: &Weighed,
    counts: &mut [BlockBits],
) {
    count_differing(block, signs, counts, |place| fetch(next, place));
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch(next: &[BlockBits], place: usize) {
    if let Some(bits) = next.get(place) {
        prefetch(bits.as_ptr().cast());
    }
}

/// Fetches a line of memory into the processor's cache.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn prefetch(line: *const i8) {
    #[allow(unsafe_code, reason = "every address may be fetched, and every such processor has SSE")]
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(line);
    }
}

#[inline(always)]
fn count_differing(
    block: &[BlockBits],
    signs: &Weighed,
    counts: &mut [BlockBits],
    fetch: impl Fn(usize),
) {
    let mut most = 0;
    for signs in signs.iter().rev() {
        if most > 0 {
            // What was counted so far counts twice as much as what follows.
            counts.copy_within(..counts.len() - 1, 1);
            counts[0] = NONE;
        }
        most = most * 2 + signs.len();
        let counts = &mut counts[..digits_of(most)];
        for step in signs.as_chunks::<STEP>().0 {
            add_step(counts, block, step);
            step.iter().for_each(|(place, _)| fetch(*place));
        }
    }
}

#[inline(always)]
fn differ(block: &[BlockBits], (place, sign): Sign) -> BlockBits {
    let mut bits = block[place];
    for word in &mut bits {
        *word ^= sign;
    }
    bits
}

/// Adds eight signs to the counts, with a single carry into the higher digits.
#[inline(always)]
fn add_step(counts: &mut [BlockBits], block: &[BlockBits], signs: &[Sign; STEP]) {
    let [ones, twos, fours, higher @ ..] = counts else { return };
    let two_1 = add(ones, differ(block, signs[0]), differ(block, signs[1]));
    let two_2 = add(ones, differ(block, signs[2]), differ(block, signs[3]));
    let four_1 = add(twos, two_1, two_2);
    let two_1 = add(ones, differ(block, signs[4]), differ(block, signs[5]));
    let two_2 = add(ones, differ(block, signs[6]), differ(block, signs[7]));
    let four_2 = add(twos, two_1, two_2);
    carry(higher, add(fours, four_1, four_2));
}

/// Adds two bits to a digit, and returns the carry for the next digit.
#[inline(always)]
fn add(digit: &mut BlockBits, a: BlockBits, b: BlockBits) -> BlockBits {
    let mut carried = NONE;
    for ((digit, carried), (a, b)) in digit.iter_mut().zip(&mut carried).zip(a.iter().zip(&b)) {
        let one = a ^ b;
        *carried = (a & b) | (one & *digit);
        *digit ^= one;
    }
    carried
}

#[inline(always)]
fn carry(digits: &mut [BlockBits], mut carried: BlockBits) {
    for digit in digits {
        for (digit, carried) in digit.iter_mut().zip(&mut carried) {
            (*digit, *carried) = (*digit ^ *carried, *digit & *carried);
        }
    }
}

/// The smallest count that at least `count` slots do not exceed. It is found digit by digit from
/// the highest.
fn bound(counts: &[BlockBits], digits: usize, among: &VectorSlots, count: usize) -> usize {
    let mut bound = 0;
    let mut smaller = 0;
    // The slots whose higher digits equal those of the bound.
    let mut alike = among.0.clone();
    for digit in (0..digits).rev() {
        let column = counts.iter().skip(digit).step_by(digits);
        let without: usize =
            column.clone().zip(&alike).map(|(digit, alike)| without_digit(alike, digit)).sum();
        let is_set = smaller + without < count;
        if is_set {
            smaller += without;
            bound |= 1 << digit;
        }
        let wanted = if is_set { u64::MAX } else { 0 };
        for (digit, alike) in column.zip(&mut alike) {
            for (alike, digit) in alike.iter_mut().zip(digit) {
                *alike &= !(wanted ^ digit);
            }
        }
    }
    bound
}

/// How many slots of a block do not have this digit set.
#[inline]
fn without_digit(alike: &BlockBits, digit: &BlockBits) -> usize {
    alike.iter().zip(digit).map(|(alike, digit)| (alike & !digit).count_ones() as usize).sum()
}

/// The slots of a block whose count does not exceed a limit.
#[inline]
fn up_to(counts: &[BlockBits], limit: usize, among: &BlockBits) -> BlockBits {
    let (mut below, mut alike) = (NONE, *among);
    for (digit, bits) in counts.iter().enumerate().rev() {
        let wanted = if (limit >> digit) & 1 == 1 { u64::MAX } else { 0 };
        for ((below, alike), digit) in below.iter_mut().zip(&mut alike).zip(bits) {
            *below |= *alike & wanted & !digit;
            *alike &= !(wanted ^ digit);
        }
    }
    below.iter_mut().zip(alike).for_each(|(below, alike)| *below |= alike);
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
        let mut slots = VectorSlots::default();
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
        let mut slots: VectorSlots = (0..1_500).map(|slot| slot % 2 == 1).collect();
        slots.set(97, false);
        let near = signs.nearest(&query, &slots, 8);
        let odd = expected.into_iter().filter(|slot| slot % 2 == 1 && *slot != 97);
        assert_eq!(near, odd.collect::<Vec<_>>());
        assert_eq!(signs.nearest(&query, &slots, 10_000).len(), 749);
        assert_eq!(slots.iter().count(), 749);
    }

    #[test]
    fn both_ways_to_count_give_the_same() {
        let query: Vec<f32> = (0..100).map(|at| ((at * 37 % 41) as f32) - 20.0).collect();
        let block: Vec<BlockBits> = (0..=100)
            .map(|place: u64| {
                std::array::from_fn(|word| {
                    let mixed = (place * 8 + word as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    if place < 100 { mixed ^ (mixed >> 29) } else { 0 }
                })
            })
            .collect();
        let signs = by_weight(&query);
        let (mut fast, mut plain) = ([NONE; DIGITS], [NONE; DIGITS]);
        count(&block, &block, &signs, &mut fast);
        count_differing(&block, &signs, &mut plain, |_| ());
        assert_eq!(fast, plain);
        let of_first = |counts: &[BlockBits]| {
            counts.iter().rev().fold(0, |count, digit| count * 2 + (digit[0] & 1))
        };
        let weights = signs.iter().zip([1, 2, 4]);
        let differing = weights.map(|(signs, weight)| {
            let differ = |(place, sign): &&Sign| (block[*place][0] ^ sign) & 1 == 1;
            weight * signs.iter().filter(differ).count() as u64
        });
        assert_eq!(of_first(&plain), differing.sum::<u64>());
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
        // The weighted sum decides: 4 for the first against 3 for the second, in which the last
        // three numbers count nothing.
        signs.set(0, &flipped(&[0]));
        signs.set(1, &flipped(&[1, 2, 3, 4, 5, 6]));
        let slots: VectorSlots = [true, true].into_iter().collect();
        assert_eq!(signs.nearest(&query, &slots, 1), [1]);
    }
}
