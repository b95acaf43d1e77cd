//! Performs what `step` decides.

pub(crate) mod decisions;
pub(crate) mod driver;
pub(crate) mod live_text;
pub(crate) mod model_streams;
pub(crate) mod report;
pub(crate) mod slots;
