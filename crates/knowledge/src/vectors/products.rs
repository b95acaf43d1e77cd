//! Products of one vector of bytes with many. Two fifths of a search by tokens were spent here, so
//! processors with AVX2 (nearly all since 2013) multiply 32 bytes at a time: in a loop of its own that
//! was ten times as fast as what the compiler makes for every processor. Those with VNNI multiply 64.

/// The largest number of the one vector. Pairs of products up to this can be added up in two bytes.
pub(super) const MOST: u8 = 20;

/// This many vectors are multiplied together, each with sums of its own, so that none waits for
/// another.
pub(super) const TOGETHER: usize = 4;

/// One product for each vector of `many`, which are as long as `one` and stand one after the other, a
/// multiple of `TOGETHER`. The numbers of `one` are at most `MOST`.
pub(super) fn products_with(one: &[u8], many: &[i8], products: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    if one.len().is_multiple_of(vnni::WIDTH) && has_vnni() {
        #[allow(unsafe_code, reason = "this processor was asked whether it has the instructions")]
        unsafe {
            vnni::products_with(one, many, products);
        }
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if one.len().is_multiple_of(avx2::WIDTH) && has_avx2() {
        #[allow(unsafe_code, reason = "this processor was asked whether it has the instructions")]
        unsafe {
            avx2::products_with(one, many, products);
        }
        return;
    }
    one_by_one(one, many, products);
}

/// The processor multiplies and adds up 64 bytes with one instruction: servers since 2019.
#[cfg(target_arch = "x86_64")]
fn has_vnni() -> bool {
    has_avx2() && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni")
}

/// The processor has AVX2 and an instruction that counts bits.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt")
}

fn one_by_one(one: &[u8], many: &[i8], products: &mut [i32]) {
    for (product, other) in products.iter_mut().zip(many.chunks_exact(one.len())) {
        *product = one.iter().zip(other).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
    }
}

/// The vectors that are multiplied together.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn quarters<Part>(vectors: &[Part]) -> [&[Part]; TOGETHER] {
    let (first, last) = vectors.split_at(vectors.len() / 2);
    let ((a, b), (c, d)) = (first.split_at(first.len() / 2), last.split_at(last.len() / 2));
    [a, b, c, d]
}

#[cfg(target_arch = "x86_64")]
mod vnni {
    use std::arch::x86_64::{
        __m256i, __m512i, _mm256_add_epi32, _mm512_castsi512_si256, _mm512_dpbusd_epi32,
        _mm512_extracti64x4_epi64, _mm512_loadu_si512, _mm512_setzero_si512,
    };

    use super::avx2::sums_of;
    use super::{TOGETHER, quarters};

    /// Bytes that are multiplied at a time.
    pub(super) const WIDTH: usize = 64;

    #[target_feature(enable = "avx2,avx512f,avx512vnni")]
    pub(super) fn products_with(one: &[u8], many: &[i8], products: &mut [i32]) {
        let one = one.as_chunks::<WIDTH>().0;
        let others = many.as_chunks::<WIDTH>().0.chunks_exact(TOGETHER * one.len());
        for (products, others) in products.as_chunks_mut::<TOGETHER>().0.iter_mut().zip(others) {
            let [a, b, c, d] = quarters(others);
            let [mut of_a, mut of_b, mut of_c, mut of_d] = [_mm512_setzero_si512(); TOGETHER];
            for (one, (((a, b), c), d)) in one.iter().zip(a.iter().zip(b).zip(c).zip(d)) {
                let one = loaded(one);
                of_a = _mm512_dpbusd_epi32(of_a, one, loaded(a));
                of_b = _mm512_dpbusd_epi32(of_b, one, loaded(b));
                of_c = _mm512_dpbusd_epi32(of_c, one, loaded(c));
                of_d = _mm512_dpbusd_epi32(of_d, one, loaded(d));
            }
            *products = sums_of([halved(of_a), halved(of_b), halved(of_c), halved(of_d)]);
        }
    }

    /// Eight parts of a product instead of sixteen.
    #[target_feature(enable = "avx2,avx512f")]
    #[inline]
    fn halved(sums: __m512i) -> __m256i {
        _mm256_add_epi32(_mm512_castsi512_si256(sums), _mm512_extracti64x4_epi64::<1>(sums))
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn loaded<Byte>(bytes: &[Byte; WIDTH]) -> __m512i {
        const { assert!(size_of::<Byte>() == 1) };
        #[allow(unsafe_code, reason = "as many bytes are read as the array has")]
        unsafe {
            _mm512_loadu_si512(bytes.as_ptr().cast())
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm_add_epi32, _mm_extract_epi32, _mm256_add_epi16, _mm256_add_epi32,
        _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_hadd_epi32, _mm256_loadu_si256,
        _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_set1_epi16, _mm256_setzero_si256,
        _mm256_storeu_si256,
    };

    use super::{TOGETHER, quarters};

    /// Bytes that are worked on at a time.
    pub(in crate::vectors) const WIDTH: usize = 32;
    /// This many sums of two products fit two bytes.
    const SHORT_SUMS: usize = i16::MAX as usize / (2 * super::MOST as usize * 128);

    #[target_feature(enable = "avx2")]
    pub(super) fn products_with(one: &[u8], many: &[i8], products: &mut [i32]) {
        let one = one.as_chunks::<WIDTH>().0;
        let others = many.as_chunks::<WIDTH>().0.chunks_exact(TOGETHER * one.len());
        for (products, others) in products.as_chunks_mut::<TOGETHER>().0.iter_mut().zip(others) {
            let [a, b, c, d] = quarters(others);
            *products = sums_of([sums(one, a), sums(one, b), sums(one, c), sums(one, d)]);
        }
    }

    /// Eight parts of a product.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn sums(one: &[[u8; WIDTH]], other: &[[i8; WIDTH]]) -> __m256i {
        let mut sums = zero();
        for (one, other) in one.chunks(SHORT_SUMS).zip(other.chunks(SHORT_SUMS)) {
            let mut short = zero();
            for (one, other) in one.iter().zip(other) {
                let pairs = _mm256_maddubs_epi16(loaded(one), loaded(other));
                short = _mm256_add_epi16(short, pairs);
            }
            let long = _mm256_madd_epi16(short, _mm256_set1_epi16(1));
            sums = _mm256_add_epi32(sums, long);
        }
        sums
    }

    /// The parts of four products added up.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn sums_of([a, b, c, d]: [__m256i; 4]) -> [i32; 4] {
        let halves = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
        let whole =
            _mm_add_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256::<1>(halves));
        [
            _mm_extract_epi32::<0>(whole),
            _mm_extract_epi32::<1>(whole),
            _mm_extract_epi32::<2>(whole),
            _mm_extract_epi32::<3>(whole),
        ]
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn zero() -> __m256i {
        _mm256_setzero_si256()
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub(in crate::vectors) fn loaded<Byte>(bytes: &[Byte; WIDTH]) -> __m256i {
        const { assert!(size_of::<Byte>() == 1) };
        #[allow(unsafe_code, reason = "as many bytes are read as the array has")]
        unsafe {
            _mm256_loadu_si256(bytes.as_ptr().cast())
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub(in crate::vectors) fn store(bytes: &mut [u8; WIDTH], value: __m256i) {
        #[allow(unsafe_code, reason = "as many bytes are written as the array has")]
        unsafe {
            _mm256_storeu_si256(bytes.as_mut_ptr().cast(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Way = fn(&[u8], &[i8], &mut [i32]);

    /// The ways in which this processor can multiply vectors of this many numbers.
    fn ways(dims: usize) -> Vec<Way> {
        let mut ways: Vec<Way> = vec![products_with];
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code, reason = "this processor was asked whether it has the instructions")]
        {
            if dims.is_multiple_of(avx2::WIDTH) && has_avx2() {
                ways.push(|one, many, products| unsafe {
                    avx2::products_with(one, many, products);
                });
            }
            if dims.is_multiple_of(vnni::WIDTH) && has_vnni() {
                ways.push(|one, many, products| unsafe {
                    vnni::products_with(one, many, products);
                });
            }
        }
        ways
    }

    #[test]
    fn every_way_to_multiply_gives_the_same() {
        // The largest numbers there are, and some that look random. 96 is as wide as three steps of
        // AVX2, 100 is no whole number of them.
        for dims in [32, 96, 100, 384] {
            let one: Vec<u8> =
                (0..dims).map(|at| if at < 64 { MOST } else { (at * 7 % 21) as u8 }).collect();
            let many: Vec<i8> = (0..2 * TOGETHER * dims)
                .map(|at| match at / dims {
                    0 => i8::MIN,
                    1 => i8::MAX,
                    _ => (at * at % 251) as u8 as i8,
                })
                .collect();
            let mut plain = [0; 2 * TOGETHER];
            one_by_one(&one, &many, &mut plain);
            for products_with in ways(dims) {
                let mut products = [0; 2 * TOGETHER];
                products_with(&one, &many, &mut products);
                assert_eq!(products, plain, "{dims}");
            }
            assert_eq!(plain[0], -128 * one.iter().map(|x| i32::from(*x)).sum::<i32>());
        }
    }
}
