//! Finds the nearest token of a text for each token of a question. A third of the time of a search
//! by tokens was spent here. So sixteen tokens of a question are compared at a time with four of a
//! text, and the whole loop is compiled for processors with VNNI (servers since 2019), for those
//! with AVX2 (nearly all since 2013) and for all others. With VNNI a token of a text takes a third
//! of the time that separate products took.

use super::tokens::{A_BYTE, FAR};

/// How many tokens of a question are compared at a time.
pub(super) const LANES: usize = 16;
/// How many tokens of a text are compared at a time, so that no sum waits for another.
const TOGETHER: usize = 4;

/// The most that a raised number of a text can be. Sums of two products with numbers up to this one
/// fit into two bytes.
const MOST: u8 = 2 * FAR;
const _: () = assert!(MOST <= 20);

/// Up to sixteen tokens of a question, which are compared together.
#[derive(Clone, Debug)]
pub(super) struct AskedLanes {
    /// For each byte of a code, the four numbers of every token at that place.
    numbers: Vec<[[i8; A_BYTE]; LANES]>,
    /// How much the products of each token are too large, because the numbers of texts are raised.
    raised_by: [i32; LANES],
}

/// Lookup tables for the comparison with texts.
pub(super) struct Tables<'a> {
    /// The raised numbers that each byte of a code stands for.
    pub(super) raised: &'a [[u8; A_BYTE]; 256],
    /// The factors by which products are divided by a token's length, indexed by how many of its
    /// numbers are far.
    pub(super) shares: &'a [f32],
}

impl AskedLanes {
    /// Prepares at most `LANES` vectors.
    pub(super) fn new(vectors: &[&[i8]]) -> Self {
        let bytes = vectors.first().map_or(0, |vector| vector.len() / A_BYTE);
        let mut numbers = vec![[[0; A_BYTE]; LANES]; bytes];
        let mut raised_by = [0; LANES];
        for (lane, vector) in vectors.iter().enumerate().take(LANES) {
            for (numbers, four) in numbers.iter_mut().zip(vector.as_chunks::<A_BYTE>().0) {
                numbers[lane] = *four;
            }
            let sum: i32 = vector.iter().map(|number| i32::from(*number)).sum();
            raised_by[lane] = i32::from(FAR) * sum;
        }
        Self { numbers, raised_by }
    }

    /// For each token, its largest product with a token of the text, which has at least one.
    pub(super) fn best(&self, codes: &[u8], tables: &Tables<'_>) -> [f32; LANES] {
        #[cfg(target_arch = "x86_64")]
        if has_vnni() {
            #[allow(
                unsafe_code,
                reason = "this processor was asked whether it has the instructions"
            )]
            return unsafe { self.best_with_vnni(codes, tables) };
        }
        #[cfg(target_arch = "x86_64")]
        if has_avx2() {
            #[allow(
                unsafe_code,
                reason = "this processor was asked whether it has the instructions"
            )]
            return unsafe { self.best_with_avx2(codes, tables) };
        }
        self.best_of(codes, tables, products)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,avx512f,avx512vnni,popcnt")]
    fn best_with_vnni(&self, codes: &[u8], tables: &Tables<'_>) -> [f32; LANES] {
        self.best_of(codes, tables, |numbers, codes, raised| vnni::products(numbers, codes, raised))
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,popcnt")]
    fn best_with_avx2(&self, codes: &[u8], tables: &Tables<'_>) -> [f32; LANES] {
        self.best_of(codes, tables, |numbers, codes, raised| avx2::products(numbers, codes, raised))
    }

    #[inline(always)]
    fn best_of(
        &self,
        codes: &[u8],
        tables: &Tables<'_>,
        products: impl Fn(&[Numbers], [&[u8]; TOGETHER], &Raised) -> [[i32; LANES]; TOGETHER],
    ) -> [f32; LANES] {
        let bytes = self.numbers.len();
        let mut best = [f32::MIN; LANES];
        let last = codes.len() / bytes - 1;
        for first in (0..=last).step_by(TOGETHER) {
            // If fewer tokens are left, the last one is compared more than once, which does not
            // change the result.
            let four: [&[u8]; TOGETHER] =
                std::array::from_fn(|next| &codes[(first + next).min(last) * bytes..][..bytes]);
            for (products, code) in products(&self.numbers, four, tables.raised).iter().zip(four) {
                let share = tables.shares[far_numbers(code)];
                for ((best, product), raised_by) in
                    best.iter_mut().zip(products).zip(&self.raised_by)
                {
                    *best = best.max((product - raised_by) as f32 * share);
                }
            }
        }
        best
    }
}

/// The numbers of the question's tokens at one byte of a code.
type Numbers = [[i8; A_BYTE]; LANES];
type Raised = [[u8; A_BYTE]; 256];

/// The bits of a code that say which numbers are far.
const IS_FAR: u64 = 0xaaaa_aaaa_aaaa_aaaa;

/// How many numbers of a token are far.
#[inline(always)]
fn far_numbers(code: &[u8]) -> usize {
    let (words, rest) = code.as_chunks::<8>();
    let in_words = words.iter().map(|word| (u64::from_le_bytes(*word) & IS_FAR).count_ones());
    let in_rest = rest.iter().map(|byte| (byte & IS_FAR as u8).count_ones());
    in_words.chain(in_rest).sum::<u32>() as usize
}

/// Whether the processor can multiply and add up 64 bytes with one instruction.
#[cfg(target_arch = "x86_64")]
fn has_vnni() -> bool {
    has_avx2() && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni")
}

/// Whether the processor has AVX2 and an instruction that counts bits.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt")
}

/// The products of four tokens of a text with those of the question.
#[inline(always)]
fn products(
    numbers: &[Numbers],
    codes: [&[u8]; TOGETHER],
    raised: &Raised,
) -> [[i32; LANES]; TOGETHER] {
    codes.map(|code| {
        let mut sums = [0; LANES];
        for (numbers, byte) in numbers.iter().zip(code) {
            let text = raised[usize::from(*byte)];
            for (sum, asked) in sums.iter_mut().zip(numbers) {
                *sum +=
                    text.iter().zip(asked).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum::<i32>();
            }
        }
        sums
    })
}

#[cfg(target_arch = "x86_64")]
mod vnni {
    use std::arch::x86_64::{
        __m512i, _mm512_dpbusd_epi32, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_setzero_si512,
        _mm512_storeu_si512,
    };

    use super::{LANES, Numbers, Raised, TOGETHER};

    #[target_feature(enable = "avx512f,avx512vnni")]
    #[inline]
    pub(super) fn products(
        numbers: &[Numbers],
        [a, b, c, d]: [&[u8]; TOGETHER],
        raised: &Raised,
    ) -> [[i32; LANES]; TOGETHER] {
        let text = |byte: &u8| _mm512_set1_epi32(i32::from_le_bytes(raised[usize::from(*byte)]));
        let [mut of_a, mut of_b, mut of_c, mut of_d] = [_mm512_setzero_si512(); TOGETHER];
        for ((((numbers, a), b), c), d) in numbers.iter().zip(a).zip(b).zip(c).zip(d) {
            let numbers = loaded(numbers);
            of_a = _mm512_dpbusd_epi32(of_a, text(a), numbers);
            of_b = _mm512_dpbusd_epi32(of_b, text(b), numbers);
            of_c = _mm512_dpbusd_epi32(of_c, text(c), numbers);
            of_d = _mm512_dpbusd_epi32(of_d, text(d), numbers);
        }
        [lanes(of_a), lanes(of_b), lanes(of_c), lanes(of_d)]
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn loaded(numbers: &Numbers) -> __m512i {
        const { assert!(size_of::<Numbers>() == size_of::<__m512i>()) };
        #[allow(unsafe_code, reason = "as many bytes are read as the array has")]
        unsafe {
            _mm512_loadu_si512(numbers.as_ptr().cast())
        }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn lanes(sums: __m512i) -> [i32; LANES] {
        let mut lanes = [0; LANES];
        #[allow(unsafe_code, reason = "as many bytes are written as the array has")]
        unsafe {
            _mm512_storeu_si512(lanes.as_mut_ptr().cast(), sums);
        }
        lanes
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi16, _mm256_add_epi32, _mm256_loadu_si256, _mm256_madd_epi16,
        _mm256_maddubs_epi16, _mm256_set1_epi16, _mm256_set1_epi32, _mm256_setzero_si256,
        _mm256_storeu_si256,
    };

    use super::{LANES, MOST, Numbers, Raised, TOGETHER};

    /// How many lanes fit into one register.
    const HALF: usize = LANES / 2;
    /// How many sums of two products fit into two bytes.
    const SHORT_SUMS: usize = i16::MAX as usize / (2 * MOST as usize * 128);

    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn products(
        numbers: &[Numbers],
        codes: [&[u8]; TOGETHER],
        raised: &Raised,
    ) -> [[i32; LANES]; TOGETHER] {
        let mut products = [[0; LANES]; TOGETHER];
        for (products, code) in products.iter_mut().zip(codes) {
            let mut sums = [_mm256_setzero_si256(); 2];
            for (numbers, code) in numbers.chunks(SHORT_SUMS).zip(code.chunks(SHORT_SUMS)) {
                let mut short = [_mm256_setzero_si256(); 2];
                for (numbers, byte) in numbers.iter().zip(code) {
                    let four = i32::from_le_bytes(raised[usize::from(*byte)]);
                    let text = _mm256_set1_epi32(four);
                    let halves = short.iter_mut().zip(numbers.as_chunks::<HALF>().0);
                    for (short, numbers) in halves {
                        let pairs = _mm256_maddubs_epi16(text, loaded(numbers));
                        *short = _mm256_add_epi16(*short, pairs);
                    }
                }
                for (sums, short) in sums.iter_mut().zip(short) {
                    let long = _mm256_madd_epi16(short, _mm256_set1_epi16(1));
                    *sums = _mm256_add_epi32(*sums, long);
                }
            }
            for (products, sums) in products.as_chunks_mut::<HALF>().0.iter_mut().zip(sums) {
                store(products, sums);
            }
        }
        products
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn loaded(numbers: &[[i8; 4]; HALF]) -> __m256i {
        #[allow(unsafe_code, reason = "as many bytes are read as the array has")]
        unsafe {
            _mm256_loadu_si256(numbers.as_ptr().cast())
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn store(products: &mut [i32; HALF], sums: __m256i) {
        #[allow(unsafe_code, reason = "as many bytes are written as the array has")]
        unsafe {
            _mm256_storeu_si256(products.as_mut_ptr().cast(), sums);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Way = fn(&AskedLanes, &[u8], &Tables<'_>) -> [f32; LANES];

    /// All implementations that this processor can run.
    fn ways() -> Vec<Way> {
        let mut ways: Vec<Way> = vec![AskedLanes::best];
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code, reason = "this processor was asked whether it has the instructions")]
        {
            if has_avx2() {
                ways.push(|asked, codes, tables| unsafe { asked.best_with_avx2(codes, tables) });
            }
            if has_vnni() {
                ways.push(|asked, codes, tables| unsafe { asked.best_with_vnni(codes, tables) });
            }
        }
        ways
    }

    #[test]
    fn every_way_to_compare_gives_the_same() {
        // Each byte stands for the largest numbers, or for pseudo-random ones.
        let raised = std::array::from_fn(|byte| {
            std::array::from_fn(
                |place| if byte < 64 { MOST } else { (byte * (place + 3) % 21) as u8 },
            )
        });
        for (bytes, texts) in [(1, 1), (24, 3), (25, 4), (96, 9)] {
            let vectors: Vec<Vec<i8>> = (0..LANES - 3)
                .map(|lane| {
                    let number = |at: usize| match lane {
                        0 => i8::MIN,
                        1 => i8::MAX,
                        _ => (at * at % 251 + lane) as u8 as i8,
                    };
                    (0..bytes * A_BYTE).map(number).collect()
                })
                .collect();
            let asked = AskedLanes::new(&vectors.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let codes: Vec<u8> = (0..bytes * texts).map(|at| (at * 7) as u8).collect();
            let shares: Vec<f32> = (0..=bytes * A_BYTE).map(|far| 1.0 / (9 + far) as f32).collect();
            let tables = Tables { raised: &raised, shares: &shares };
            let plain = asked.best_of(&codes, &tables, products);
            for best in ways() {
                assert_eq!(best(&asked, &codes, &tables), plain, "{bytes} {texts}");
            }
            for (vector, best) in vectors.iter().zip(plain) {
                let product = |code: &[u8]| {
                    let numbers = code.iter().flat_map(|byte| raised[usize::from(*byte)]);
                    let lowered = numbers.map(|number: u8| i32::from(number) - i32::from(FAR));
                    let products = lowered.zip(vector).map(|(a, b)| a * i32::from(*b));
                    products.sum::<i32>() as f32 * shares[far_numbers(code)]
                };
                let wanted = codes.chunks_exact(bytes).map(product).fold(f32::MIN, f32::max);
                assert_eq!(best, wanted, "{bytes} {texts}");
            }
        }
    }
}
