//! Products of one vector of bytes with many. Two fifths of a search by tokens were spent here, so
//! processors with AVX2 (nearly all since 2013) multiply 32 bytes at a time: in a loop of its own that
//! was ten times as fast as what the compiler makes for every processor.

/// The largest number of the one vector. Pairs of products up to this can be added up in two bytes.
pub(super) const MOST: u8 = 20;

/// One product for each vector of `many`, which are as long as `one` and stand one after the other.
/// The numbers of `one` are at most `MOST`.
pub(super) fn products_with(one: &[u8], many: &[i8], products: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    if one.len().is_multiple_of(avx2::WIDTH) && is_x86_feature_detected!("avx2") {
        #[allow(unsafe_code, reason = "this processor was asked whether it has the instructions")]
        unsafe {
            avx2::products_with(one, many, products);
        }
        return;
    }
    one_by_one(one, many, products);
}

fn one_by_one(one: &[u8], many: &[i8], products: &mut [i32]) {
    for (product, other) in products.iter_mut().zip(many.chunks_exact(one.len())) {
        *product = one.iter().zip(other).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_hadd_epi32, _mm256_add_epi16,
        _mm256_add_epi32, _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_loadu_si256,
        _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_set1_epi16, _mm256_setzero_si256,
    };

    /// Bytes that are multiplied at a time.
    pub(super) const WIDTH: usize = 32;
    /// So many sums of two products fit two bytes.
    const TOGETHER: usize = i16::MAX as usize / (2 * super::MOST as usize * 128);

    #[target_feature(enable = "avx2")]
    pub(super) fn products_with(one: &[u8], many: &[i8], products: &mut [i32]) {
        let one = one.as_chunks::<WIDTH>().0;
        let many = many.as_chunks::<WIDTH>().0.chunks_exact(one.len());
        for (product, other) in products.iter_mut().zip(many) {
            let mut sums = _mm256_setzero_si256();
            for (one, other) in one.chunks(TOGETHER).zip(other.chunks(TOGETHER)) {
                let mut short = _mm256_setzero_si256();
                for (one, other) in one.iter().zip(other) {
                    let pairs = _mm256_maddubs_epi16(loaded(one), loaded(other));
                    short = _mm256_add_epi16(short, pairs);
                }
                let long = _mm256_madd_epi16(short, _mm256_set1_epi16(1));
                sums = _mm256_add_epi32(sums, long);
            }
            *product = sum_of(sums);
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn loaded<Byte>(bytes: &[Byte; WIDTH]) -> __m256i {
        const { assert!(size_of::<Byte>() == 1) };
        #[allow(unsafe_code, reason = "as many bytes are read as the array has")]
        unsafe {
            _mm256_loadu_si256(bytes.as_ptr().cast())
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn sum_of(sums: __m256i) -> i32 {
        let four = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
        let two = _mm_hadd_epi32(four, four);
        _mm_cvtsi128_si32(_mm_hadd_epi32(two, two))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_multiply_gives_the_same() {
        // The largest numbers there are, and some that look random. 96 is as wide as three steps of
        // AVX2, 100 is no whole number of them.
        for dims in [32, 96, 100, 384] {
            let one: Vec<u8> =
                (0..dims).map(|at| if at < 64 { MOST } else { (at * 7 % 21) as u8 }).collect();
            let many: Vec<i8> = (0..5 * dims)
                .map(|at| match at / dims {
                    0 => i8::MIN,
                    1 => i8::MAX,
                    _ => (at * at % 251) as u8 as i8,
                })
                .collect();
            let (mut wide, mut plain) = ([0; 5], [0; 5]);
            products_with(&one, &many, &mut wide);
            one_by_one(&one, &many, &mut plain);
            assert_eq!(wide, plain, "{dims}");
            assert_eq!(plain[0], -128 * one.iter().map(|x| i32::from(*x)).sum::<i32>());
        }
    }
}
