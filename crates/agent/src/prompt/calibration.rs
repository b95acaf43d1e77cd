/// How far the estimate of tokens is from what the provider counted, learnt from its last answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    factor: f64,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { factor: 1.0 }
    }
}

impl Calibration {
    /// The provider counted `counted` tokens where we had estimated `estimated`.
    pub fn learn(&mut self, estimated: usize, counted: u64) {
        /// Too little to tell a ratio from noise.
        const LEAST: usize = 200;
        if estimated >= LEAST && counted > 0 {
            self.factor = (counted as f64 / estimated as f64).clamp(0.4, 3.0);
        }
    }

    pub fn apply(&self, estimated: usize) -> usize {
        (estimated as f64 * self.factor) as usize
    }
}
